"""What a server was started with."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from haystat.errors import BadOption

MEGABYTE = 1 << 20
#: characters of a token or password, and how many of them differ
LEAST_LETTERS, LEAST_DIFFERENT = 12, 6
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]", "::1")


@dataclass(frozen=True)
class Settings:
    """What a server may touch, and who may use it.

    folder: studies, pools and uploads; nothing outside of it is read or written. main: the study
    that is opened first, main_path its file. secret: the token or password of managers, if one is
    needed; annotator_secret: that of people who only answer questions. hosts: names under which
    the server may be called; none means any. wanted: width of the interval at which to stop,
    where a study does not say. upload_limit: bytes.
    """

    folder: Path
    main: str | None = None
    main_path: Path | None = None
    secret: str | None = None
    annotator_secret: str | None = None
    hosts: tuple[str, ...] = LOOPBACK_NAMES
    wanted: float = 0.1
    upload_limit: int = 200 * MEGABYTE


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> is_loopback("localhost"), is_loopback("127.0.0.1"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def checked_secrets(host: str, manager: str | None, annotator: str | None) -> None:
    """Raise when others could get in: nothing keeps them out, or something they can guess."""
    if not is_loopback(host) and not manager:
        raise BadOption(
            f"--host is {host}, which others can reach; protect the page with --token auto or "
            "--password, or leave --host at 127.0.0.1"
        )
    if annotator is not None and manager is None:
        raise BadOption(
            "annotators have a secret and managers have none; add --token or --password"
        )
    if annotator is not None and annotator == manager:
        raise BadOption("annotators and managers have the same secret; take two different ones")
    for secret in (manager, annotator):
        if secret is not None and not _is_long(secret):
            raise BadOption(
                f"a token or password is shorter than {LEAST_LETTERS} characters, or repeats a "
                "few of them; take four or more words at random, or let --token auto make one"
            )


def _is_long(secret: str) -> bool:
    return len(secret) >= LEAST_LETTERS and len(set(secret)) >= LEAST_DIFFERENT
