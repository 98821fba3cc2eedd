"""Who may use the page, in which role, and which requests may change something.

A browser proves itself with a cookie that is signed with the server's key, a program with
`Authorization: Bearer SECRET`. The secret says the role: annotators get questions and answer them,
managers may do everything. A request that changes something needs, besides the cookie, a token
that only a page of the same origin can read. All comparisons take the same time whatever differs.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import secrets
from dataclasses import dataclass

from haystat.web.login_limiter import Limiter

COOKIE = "haystat_session"
CSRF_HEADER = "x-haystat-csrf"
DAYS = 30
MANAGER, ANNOTATOR = "manager", "annotator"


@dataclass(frozen=True)
class Session:
    """One browser, or a program that knows a secret."""

    id: str
    is_program: bool = False
    role: str = MANAGER


class TooManyTries(Exception):
    """Somebody guesses: secrets from this address are not looked at for some seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"too many wrong secrets; try again in {math.ceil(seconds)} s")
        self.headers = {"retry-after": str(math.ceil(seconds))}


class Auth:
    """Checks of secrets, cookies and tokens.

    The key of a role is made from its secret where there is one, so that browsers stay signed in
    when the server starts again, and no longer once the secret was changed; a cookie of an
    annotator says nothing about the manager's. Without a manager's secret everybody is a manager.
    """

    def __init__(self, manager: str | None, annotator: str | None = None) -> None:
        given = {MANAGER: manager, ANNOTATOR: annotator}
        self.is_open = manager is None
        self._digests = {role: _digest(secret) for role, secret in given.items() if secret}
        self._keys = {role: _key(secret) for role, secret in given.items()}
        self._limiter = Limiter()

    def role_of(self, secret: str, address: str) -> str | None:
        """The role that a secret gives; None for a wrong one. The only way to try a secret.

        Digests are compared, so lengths do not show either.
        """
        wait = self._limiter.wait(address)
        if wait > 0:
            raise TooManyTries(wait)
        given = _digest(secret)
        fits = [r for r, right in self._digests.items() if hmac.compare_digest(given, right)]
        if not fits:
            self._limiter.failed(address)
        return fits[0] if fits else None

    def new_session(self, role: str = MANAGER) -> Session:
        """A session for a browser that has none."""
        return Session(secrets.token_hex(16), role=role)

    def cookie(self, session: Session) -> str:
        """The value of the cookie of a session."""
        return f"{session.id}.{session.role}.{self._sign('session', session)}"

    def csrf(self, session: Session) -> str:
        """The token that requests of a session which change something carry."""
        return self._sign("csrf", session)

    def session(self, cookie_header: str, authorization: str, address: str = "") -> Session | None:
        """The session of a request, from two of its headers and where it comes from."""
        kind, _, given = authorization.partition(" ")
        if kind.lower() == "bearer" and not self.is_open:
            role = self.role_of(given.strip(), address)
            return None if role is None else Session("program", is_program=True, role=role)
        id_, _, rest = _cookie_value(cookie_header).partition(".")
        role, _, signature = rest.partition(".")
        found = Session(id_, role=role if role in self._keys else MANAGER)
        right = self._sign("session", found)
        return found if hmac.compare_digest(signature.encode(), right.encode()) else None

    def may_change(self, session: Session, token: str) -> bool:
        """Whether a request may change something."""
        right = self.csrf(session)
        return session.is_program or hmac.compare_digest(token.encode(), right.encode())

    def _sign(self, purpose: str, session: Session) -> str:
        message = f"{purpose}:{session.role}:{session.id}".encode("utf-8", "surrogatepass")
        return hmac.new(self._keys[session.role], message, "sha256").hexdigest()


def cookie_header(value: str, secure: bool) -> str:
    """The Set-Cookie header of a session."""
    ending = "; Secure" if secure else ""
    return f"{COOKIE}={value}; Path=/; Max-Age={DAYS * 86400}; HttpOnly; SameSite=Lax{ending}"


def _key(secret: str | None) -> bytes:
    seed = secrets.token_bytes(32) if secret is None else secret.encode("utf-8", "surrogatepass")
    return hashlib.pbkdf2_hmac("sha256", seed, b"haystat session key", 50_000)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def _cookie_value(header: str) -> str:
    for part in header.split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            return value
    return ""
