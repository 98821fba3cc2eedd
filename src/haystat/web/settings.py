"""What a server was started with."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

from haystat.errors import BadOption

MEGABYTE = 1 << 20
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]", "::1")


@dataclass(frozen=True)
class Settings:
    """What a server may touch, and who may use it.

    folder: studies, pools and uploads; nothing outside of it is read or written. main: the study
    that is opened first, main_path its file. secret: the token or password, if one is needed.
    hosts: names under which the server may be called; none means any. wanted: width of the
    interval at which to stop, where a study does not say. upload_limit: bytes.
    """

    folder: Path
    main: str | None = None
    main_path: Path | None = None
    secret: str | None = None
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


def checked_address(host: str, secret: str | None) -> None:
    """Raise when others could reach the server and nothing keeps them out."""
    if not is_loopback(host) and not secret:
        raise BadOption(
            f"--host is {host}, which others can reach; protect the page with --token auto or "
            "--password, or leave --host at 127.0.0.1"
        )
    if secret is not None and len(secret) < 8:
        raise BadOption("the token or password has fewer than 8 characters; take a longer one")
