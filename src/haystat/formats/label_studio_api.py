"""Label Studio over HTTP: what a project holds now, for those who cannot receive its webhooks."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, build_opener

from haystat.errors import BadOption, FileError, RemoteError
from haystat.formats.http_api import LATER, NoRedirect, check_address, check_token

LARGEST = 256 << 20  # bytes of an answer
CHUNK = 1 << 16
REFUSED = (401, 403)


@dataclass(frozen=True)
class Server:
    """A Label Studio, one of its projects, and the token of somebody who may read it.

    token: a legacy token or a personal access token. timeout: seconds for one request.
    """

    url: str
    project: int
    token: str
    timeout: float = 60.0

    def __post_init__(self) -> None:
        check_address(self.url, "Label Studio", "http://localhost:8080")
        if self.project < 1:
            raise BadOption(f"the project is {self.project}; give its number, 1 or more")
        if not self.token:
            raise BadOption(
                "Label Studio wants a token (Account & Settings there); give it in the "
                "environment variable HAYSTAT_LABEL_STUDIO_TOKEN, or with --token"
            )
        check_token(self.token)
        if not 0 < self.timeout < float("inf"):
            raise BadOption(f"the timeout is {self.timeout}; give a positive number of seconds")

    @property
    def address(self) -> str:
        """The address without a slash at its end."""
        return self.url.rstrip("/")


def project_tasks(server: Server) -> list[dict[str, Any]]:
    """All annotated tasks of a project, as its JSON export has them.

    Raises RemoteError where another try may go well, and BadOption where it will not.
    """
    path = f"/api/projects/{server.project}/export?exportType=JSON"
    tasks = _json(server, path, {"Authorization": _authorization(server)})
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise FileError(f"{server.address} sent no list of tasks; is it Label Studio?")
    return tasks


def _authorization(server: Server) -> str:
    """A legacy token as it is; a personal one (a JWT) buys a token that lasts for minutes."""
    if server.token.count(".") != 2:
        return f"Token {server.token}"
    body = json.dumps({"refresh": server.token}).encode()
    found = _json(server, "/api/token/refresh", {"Content-Type": "application/json"}, body)
    access = found.get("access") if isinstance(found, dict) else None
    if not isinstance(access, str) or not access.isascii() or not access.isprintable():
        raise RemoteError(f"{server.address} gave nothing for the personal access token")
    return f"Bearer {access}"


def _json(server: Server, path: str, headers: dict[str, str], body: bytes | None = None) -> Any:
    request = Request(
        server.address + path, body, {"Accept": "application/json", **headers}
    )  # only http and https get here: Server checks it
    try:
        # Redirects are not followed: the token would go along to wherever they lead.
        with build_opener(NoRedirect).open(request, timeout=server.timeout) as response:
            content = _content(server, response)
    except HTTPError as error:
        with error:
            raise _refusal(server, error) from None
    except TimeoutError:
        raise RemoteError(_too_slow(server)) from None
    except (URLError, HTTPException, OSError) as error:
        reason = getattr(error, "reason", None) or error
        if isinstance(reason, TimeoutError):
            raise RemoteError(_too_slow(server)) from None
        raise RemoteError(
            f"{server.address} cannot be reached, or hung up ({_short(reason)}); is Label Studio "
            "running there?"
        ) from None
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise RemoteError(
            f"{server.address} sent {len(content)} bytes that are not whole JSON; is it Label "
            "Studio, and was it cut short?"
        ) from None


def _content(server: Server, response: HTTPResponse) -> bytes:
    """The whole body; one that drips in or never ends is an error."""
    deadline = time.monotonic() + server.timeout
    content = bytearray()
    while part := response.read1(CHUNK):
        content += part
        if len(content) > LARGEST:
            raise FileError(
                f"{server.address} sent more than {LARGEST >> 20} MB; export the project to a "
                "file and import that"
            )
        if time.monotonic() > deadline:
            raise TimeoutError
    if response.length:  # bytes that were announced and did not come
        raise RemoteError(
            f"{server.address} sent {len(content)} bytes and hung up {response.length} too early"
        )
    return bytes(content)


def _refusal(server: Server, error: HTTPError) -> Exception:
    """What an HTTP status says about the way to go on."""
    where, code = server.address, error.code
    if code in REFUSED:
        return BadOption(
            f"{where} refuses the token ({code}); is it whole, allowed by the organization's "
            "Access Token Settings, and of somebody who may see the project?"
        )
    if code == 404:
        return BadOption(
            f"{where} has no project {server.project} (404); its number stands in the address "
            "of its page, and --url is the address of Label Studio itself"
        )
    if 300 <= code < 400:
        target = ascii(error.headers.get("Location", "elsewhere"))[1:-1][:200]
        return BadOption(f"{where} leads on to {target}; give the address that answers itself")
    if code >= 500 or code in LATER:
        return RemoteError(f"{where} failed ({code} {_short(error.reason)}); try again later")
    return BadOption(f"{where} refuses the request ({code} {_short(error.reason)})")


def _too_slow(server: Server) -> str:
    return f"{server.address} took longer than {server.timeout:g} seconds; try --timeout"


def _short(reason: Any) -> str:
    text = " ".join(str(getattr(reason, "strerror", None) or reason).split())
    return ascii(text)[1:-1][:120] or type(reason).__name__
