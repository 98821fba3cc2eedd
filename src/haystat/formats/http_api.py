"""JSON over HTTP to a server of another tool: one request, one clear error."""

from __future__ import annotations

import json
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from haystat.errors import BadOption, RemoteError

LARGEST = 64 << 20  # bytes of an answer
LATER = (408, 425, 429)  # what may go well the next time, besides 5xx
SHOWN = 200  # characters of a refusal that a message repeats


@dataclass(frozen=True)
class Target:
    """Where results go: a server, and what they are to be called there.

    run, experiment: of MLflow; a new run is made where none is named. name: of the assessments.
    """

    tool: str
    url: str
    token: str = ""
    run: str | None = None
    experiment: str = "Default"
    name: str = "human_review"
    timeout: float = 60.0

    def __post_init__(self) -> None:
        check_address(self.url, self.tool, "http://localhost:5000")
        check_token(self.token)

    @property
    def address(self) -> str:
        """The address without a slash at its end."""
        return self.url.rstrip("/")

    def get(self, path: str) -> Any:
        """What the server has there; None where it has nothing."""
        return self._call("GET", path, None, missing=True)

    def post(self, path: str, body: Any) -> Any:
        """Send an object."""
        return self._call("POST", path, body)

    def _call(self, method: str, path: str, body: Any, missing: bool = False) -> Any:
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        headers |= {"Authorization": f"Bearer {self.token}"} if self.token else {}
        data = None if body is None else json.dumps(body).encode()
        request = Request(self.address + path, data, headers, method=method)
        try:
            # Redirects are not followed: the token would go along to wherever they lead.
            with build_opener(NoRedirect).open(request, timeout=self.timeout) as response:
                content = response.read(LARGEST)
            return json.loads(content or b"null")
        except HTTPError as error:
            with error:
                if missing and error.code == 404:
                    return None
                raise self._refusal(error) from None
        except (URLError, HTTPException, OSError) as error:
            reason = str(getattr(error, "reason", None) or error)
            raise RemoteError(
                f"{self.address} cannot be reached, or hung up ({reason[:SHOWN]}); is {self.tool} "
                "running there?"
            ) from None
        except (ValueError, RecursionError):
            raise RemoteError(f"{self.address} sent no JSON; is it {self.tool}?") from None

    def _refusal(self, error: HTTPError) -> Exception:
        said = " ".join(error.read(4096).decode("utf-8", "replace").split())[:SHOWN]
        if error.code in (401, 403):
            return BadOption(f"{self.address} refuses the token ({error.code}); give another")
        if error.code >= 500 or error.code in LATER:
            return RemoteError(f"{self.address} failed ({error.code} {said}); try again later")
        return BadOption(f"{self.address} refuses what was sent ({error.code} {said})")


class NoRedirect(HTTPRedirectHandler):
    """Goes nowhere else."""

    def redirect_request(self, *_: Any) -> None:
        """No new request."""


def check_address(url: str, tool: str, example: str) -> None:
    """Refuse what is no address of a server."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname)
        usable = usable and parts.port != 0 and url.isascii() and url.isprintable()
    except ValueError:
        usable = False
    if not usable or any(sign in url for sign in " ?#"):
        raise BadOption(f"the address is {url!r}; give that of {tool}, such as {example}")


def check_token(token: str) -> None:
    """Refuse what no header can carry."""
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise BadOption("the token has blanks or other signs that no token has; copy it again")
