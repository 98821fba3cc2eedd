"""Who may use the page, and which requests may change something.

A browser proves itself with a cookie that is signed with the server's secret, a program with
`Authorization: Bearer SECRET`. A request that changes something needs, besides the cookie, a token
that only a page of the same origin can read. All comparisons take the same time whatever differs.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass

COOKIE = "haystat_session"
CSRF_HEADER = "x-haystat-csrf"
DAYS = 30


@dataclass(frozen=True)
class Session:
    """One browser, or a program that knows the secret."""

    id: str
    is_program: bool = False


class Guard:
    """Checks of secrets, cookies and tokens.

    The key is made from the secret where there is one, so that browsers stay signed in when the
    server starts again.
    """

    def __init__(self, secret: str | None) -> None:
        self._secret = None if secret is None else _digest(secret)
        seed = secrets.token_bytes(32) if secret is None else secret.encode()
        self._key = hashlib.pbkdf2_hmac("sha256", seed, b"haystat session key", 50_000)

    @property
    def is_open(self) -> bool:
        """Whether nobody needs a secret."""
        return self._secret is None

    def knows(self, secret: str) -> bool:
        """Whether this is the secret. Digests are compared, so lengths do not show either."""
        wanted = self._secret
        return wanted is not None and hmac.compare_digest(_digest(secret), wanted)

    def new_session(self) -> Session:
        """A session for a browser that has none."""
        return Session(secrets.token_hex(16))

    def cookie(self, session: Session) -> str:
        """The value of the cookie of a session."""
        return f"{session.id}.{self._sign('session', session.id)}"

    def csrf(self, session: Session) -> str:
        """The token that requests of a session which change something carry."""
        return self._sign("csrf", session.id)

    def session(self, cookie_header: str, authorization: str) -> Session | None:
        """The session of a request, from two of its headers."""
        kind, _, given = authorization.partition(" ")
        if kind.lower() == "bearer" and not self.is_open:
            return Session("program", is_program=True) if self.knows(given.strip()) else None
        id_, _, signature = _cookie_value(cookie_header).partition(".")
        right = self._sign("session", id_)
        return Session(id_) if hmac.compare_digest(signature.encode(), right.encode()) else None

    def may_change(self, session: Session, token: str) -> bool:
        """Whether a request may change something."""
        right = self.csrf(session)
        return session.is_program or hmac.compare_digest(token.encode(), right.encode())

    def _sign(self, purpose: str, text: str) -> str:
        message = f"{purpose}:{text}".encode("utf-8", "surrogatepass")
        return hmac.new(self._key, message, "sha256").hexdigest()


def cookie_header(value: str, secure: bool) -> str:
    """The Set-Cookie header of a session."""
    ending = "; Secure" if secure else ""
    return f"{COOKIE}={value}; Path=/; Max-Age={DAYS * 86400}; HttpOnly; SameSite=Lax{ending}"


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _cookie_value(header: str) -> str:
    for part in header.split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            return value
    return ""
