"""What every request passes: host, secret, role, same-origin token, headers."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from haystat.web.auth import CSRF_HEADER, MANAGER, Auth, Session, TooManyTries, cookie_header
from haystat.web.routes.pages import error_page, login_page

READING = ("GET", "HEAD", "OPTIONS")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'self'; manifest-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with no-referrer, forms say that they come from nowhere
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-store",
}
RAW_HEADERS = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
#: what can be had without the secret
OPEN_PATHS = ("/login", "/static/", "/favicon.ico")


class AccessMiddleware:
    """Middleware in front of the whole application.

    hosts: names under which the server may be called; none means any. for_annotators: the
    addresses, (method, path), that need no manager.
    """

    def __init__(
        self,
        app: ASGIApp,
        auth: Auth,
        hosts: tuple[str, ...],
        for_annotators: Collection[tuple[str, str]],
    ) -> None:
        self._app = app
        self._guard = auth
        self._hosts = hosts
        self._for_annotators = for_annotators

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            refusal, session, is_new = self._admit(scope, Headers(scope=scope))
        except TooManyTries as error:
            refusal = JSONResponse({"error": str(error)}, 429, error.headers)
            session, is_new = None, False
        scope.setdefault("state", {})["session"] = session
        cookie = self._cookie(scope, session) if is_new and session else None
        await (refusal or self._app)(scope, receive, _with_headers(send, cookie))

    def _admit(
        self, scope: Scope, headers: Headers
    ) -> tuple[Response | None, Session | None, bool]:
        """What to say instead of letting a request in, its session, and whether that is new."""
        if self._hosts and _host_name(headers.get("host", "")) not in self._hosts:
            return PlainTextResponse("this name is not served here", 400), None, False
        if scope["method"] not in READING and not _same_origin(headers):
            return _error(403, "the request comes from another site"), None, False
        address = client_of(scope)
        session = self._guard.session(
            headers.get("cookie", ""), headers.get("authorization", ""), address
        )
        if scope["path"].startswith(OPEN_PATHS):
            return None, session or self._guard.new_session(), False
        if scope["method"] == "GET" and not self._guard.is_open:
            given = dict(parse_qsl(scope["query_string"].decode("latin-1"))).get("token")
            if given is not None:
                role = self._guard.role_of(given, address)
                found = None if role is None else self._guard.new_session(role)
                return _without_token(scope) if found else _unknown(), found, True
        if session is None and self._guard.is_open:
            session = self._guard.new_session()
            return self._refusal(scope, headers, session), session, scope["method"] == "GET"
        return self._refusal(scope, headers, session), session, False

    def _refusal(self, scope: Scope, headers: Headers, session: Session | None) -> Response | None:
        """What to say instead of letting the request of a session in; None lets it in."""
        path, method = scope["path"], scope["method"]
        if session is None:
            return _unknown() if path.startswith("/api/") else login_page(401)
        method_read = "GET" if method == "HEAD" else method
        if session.role != MANAGER and (method_read, path) not in self._for_annotators:
            why = "this is for managers; sign in with their token or password"
            return _error(403, why) if path.startswith("/api/") else error_page(403, why)
        if method in READING or self._guard.may_change(session, headers.get(CSRF_HEADER, "")):
            return None
        return _error(
            403,
            f"a request that changes something needs the header {CSRF_HEADER} with the token of "
            "GET /api/session, or Authorization: Bearer and the server's token",
        )

    def _cookie(self, scope: Scope, session: Session) -> str:
        return cookie_header(self._guard.cookie(session), scope["scheme"] == "https")


def _with_headers(send: Send, cookie: str | None) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            there = {name for name, _ in message["headers"]}
            extra = [pair for pair in RAW_HEADERS if pair[0] not in there]
            if cookie is not None:
                extra.append((b"set-cookie", cookie.encode("latin-1")))
            message = {**message, "headers": [*message["headers"], *extra]}
        await send(message)

    return sending


def _host_name(host: str) -> str:
    """The host without its port.

    >>> _host_name("localhost:8000"), _host_name("[::1]:8000")
    ('localhost', '[::1]')
    """
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).lower()


def _same_origin(headers: Headers) -> bool:
    """Whether a browser says that one of our own pages sent this; programs say nothing."""
    site = headers.get("sec-fetch-site", "same-origin")
    origin = headers.get("origin")
    same = origin is None or urlsplit(origin).netloc == headers.get("host", "")
    return same and site in ("same-origin", "none")


def _without_token(scope: Scope) -> Response:
    """To the same page, without the secret in its address."""
    query = parse_qsl(scope["query_string"].decode("latin-1"))
    rest = urlencode([(name, value) for name, value in query if name != "token"])
    path = "/" + scope["path"].lstrip("/\\")  # never to another host
    return RedirectResponse(path + (f"?{rest}" if rest else ""), 303)


def client_of(scope: Scope) -> str:
    """Where a request comes from."""
    return str((scope.get("client") or ("",))[0])


def _unknown() -> Response:
    return JSONResponse({"error": "not allowed"}, 401, {"www-authenticate": "Bearer"})


def _error(status: int, why: str) -> Response:
    return JSONResponse({"error": why}, status)
