"""Every address under /api in one table: what it takes, gives, and who may use it.

The routes and the OpenAPI document are made from this table and from the types of its handlers.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_type_hints

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from haystat.web import body, models, webhook
from haystat.web.routes import api, decisions, manage, opinions, versions

JSON, BINARY, EVENTS = "application/json", "application/octet-stream", "text/event-stream"


@dataclass(frozen=True)
class Operation:
    """One method of one address.

    handler: gets the request and what is `given`, of the type that it names: the JSON body of a
    POST, else what stands in the address. One that names nothing reads the request by itself.
    query: what stands in the address of a POST. sends, gives: kinds of content. managers: whether
    it is for managers alone. about: what else there is to know.
    """

    method: str
    path: str
    handler: Callable[..., Awaitable[Any]]
    query: Any = None
    status: int = 200
    managers: bool = False
    sends: str = JSON
    gives: str = JSON
    about: str = ""

    async def __call__(self, request: Request) -> Response:
        """Read the request, and write the reply."""
        if "given" not in self.types:
            found = await self.handler(request)
        elif self.body is not None:
            found = await self.handler(request, await body.read_body(request, self.body))
        else:
            asked = self.address
            found = await self.handler(request, asked and body.read_query(request, asked))
        return found if isinstance(found, Response) else body.reply(found, self.status)

    @cached_property
    def types(self) -> dict[str, Any]:
        """Types of what a handler takes and returns, by name."""
        return get_type_hints(self.handler)

    @cached_property
    def body(self) -> Any:
        """The type of a JSON body."""
        in_body = self.method == "POST" and self.sends == JSON
        return self.types.get("given") if in_body else None

    @cached_property
    def address(self) -> Any:
        """The type of what stands in an address."""
        given = self.types.get("given") if self.body is None else None
        return self.query if given in (None, type(None)) else given


STUDY = models.OfStudy
#: (method, path) -> what answers there
OPERATIONS = {
    (one.method, one.path): one
    for one in (
        Operation("GET", "/api/session", api.session),
        Operation("GET", "/api/studies", api.studies),
        Operation("POST", "/api/studies", manage.create, status=201, managers=True),
        Operation("POST", "/api/next", versions.next_version, STUDY, status=201, managers=True),
        Operation("GET", "/api/change", versions.change, managers=True),
        Operation("GET", "/api/study", api.about_study),
        Operation("POST", "/api/ask", api.ask, STUDY),
        Operation("POST", "/api/tell", api.tell, STUDY),
        Operation("POST", "/api/skip", api.skip, STUDY),
        Operation("POST", "/api/note", api.note, STUDY),
        Operation("POST", "/api/release", api.release, STUDY),
        Operation("GET", "/api/history", api.history, managers=True),
        Operation("GET", "/api/open", api.open_questions, managers=True),
        Operation("POST", "/api/free", api.free, STUDY, managers=True),
        Operation("GET", "/api/status", api.status),
        Operation("GET", "/api/estimate", api.estimate),
        Operation("GET", "/api/threshold", decisions.threshold, managers=True),
        Operation("GET", "/api/gate", decisions.gate, managers=True),
        Operation("GET", "/api/disagreements", api.disagreements, managers=True),
        Operation("GET", "/api/differences", opinions.differing, managers=True),
        Operation("POST", "/api/decide", opinions.decide, STUDY, managers=True),
        Operation("GET", "/api/events", api.events, gives=EVENTS),
        Operation("GET", "/api/files", manage.list_files, managers=True),
        Operation("GET", "/api/preview", manage.preview, managers=True),
        Operation("POST", "/api/plan", manage.plan, managers=True),
        Operation("POST", "/api/upload", manage.upload, status=201, managers=True, sends=BINARY),
        Operation("POST", "/api/label-studio", webhook.label_studio, STUDY, about=webhook.BANNED),
    )
}


def api_routes() -> list[Route]:
    """One route an address, so that a wrong method is told all the right ones."""
    by_path: dict[str, dict[str, Operation]] = {}
    for one in OPERATIONS.values():
        by_path.setdefault(one.path, {})[one.method] = one
    return [
        Route(path, _endpoint(methods), methods=list(methods)) for path, methods in by_path.items()
    ]


def _endpoint(methods: Mapping[str, Operation]) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        return await methods["GET" if request.method == "HEAD" else request.method](request)

    return endpoint
