"""Every address under /api in one table: what it takes, gives, and who may use it.

The routes and the OpenAPI document are made from this table.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from haystat.web import api, body, hook, manage, models

Handler = Callable[..., Awaitable[Any]]


@dataclass(frozen=True)
class Operation:
    """One method of one address.

    takes: the type of the JSON body; query: that of what stands in the address. A handler gets the
    body, or else the query, as its second argument; one that reads the request by itself (raw)
    gets the request alone. gives: the type of the reply, a kind of content, or dict for an object
    that is not described. managers: whether it is for managers alone.
    """

    method: str
    path: str
    handler: Handler
    summary: str
    gives: Any = dict
    takes: Any = None
    query: Any = None
    status: int = 200
    managers: bool = False
    raw: bool = False

    async def __call__(self, request: Request) -> Response:
        """Read the request, and write the reply."""
        given = None if self.query is None else body.read_query(request, self.query)
        if self.raw:
            found = await self.handler(request)
        else:
            taken = self.takes if isinstance(self.takes, type) else None
            given = given if taken is None else await body.read_body(request, taken)
            found = await self.handler(request, given)
        return found if isinstance(found, Response) else body.reply(found, self.status)


STUDY = models.OfStudy
BINARY = "application/octet-stream"
EVENTS = "text/event-stream"

OPERATIONS = (
    Operation("GET", "/api/session", api.session, "The token that changes need", models.Session),
    Operation("GET", "/api/studies", api.studies, "List the studies", models.Studies),
    Operation(
        "POST",
        "/api/studies",
        manage.create,
        "Make a study from a file",
        models.Made,
        models.NewStudy,
        status=201,
        managers=True,
    ),
    Operation(
        "GET", "/api/study", api.about_study, "What there is to know before asking",
        models.StudyInfo, query=STUDY,
    ),
    Operation(
        "POST", "/api/ask", api.ask, "Get questions; nobody else gets them",
        models.Questions, models.Ask, STUDY,
    ),
    Operation(
        "POST", "/api/tell", api.tell, "Take answers: all of them or none",
        models.Taken, models.Tell, STUDY,
    ),
    Operation(
        "POST", "/api/skip", api.skip, "Say that nobody can tell", models.Told, models.Skip, STUDY
    ),
    Operation(
        "POST", "/api/note", api.note, "Write a remark into the journal",
        models.Noted, models.Note, STUDY,
    ),
    Operation(
        "POST", "/api/release", api.release, "Give back questions",
        models.Released, models.Release, STUDY,
    ),
    Operation("GET", "/api/status", api.status, "How far the study is", query=STUDY),
    Operation("GET", "/api/estimate", api.estimate, "The estimate", query=models.EstimateQuery),
    Operation(
        "GET", "/api/events", api.events, "Numbers as they change, as server-sent events",
        EVENTS, query=STUDY,
    ),
    Operation(
        "GET", "/api/files", manage.list_files, "Files that may hold a pool",
        models.Files, managers=True,
    ),
    Operation(
        "GET", "/api/preview", manage.preview, "Columns of a file",
        query=models.FileQuery, managers=True,
    ),
    Operation(
        "POST", "/api/plan", manage.plan, "Labels to expect", takes=models.Wish, managers=True
    ),
    Operation(
        "POST",
        "/api/upload",
        manage.upload,
        "Upload a CSV or Parquet file: the body is the file",
        models.Uploaded,
        BINARY,
        models.UploadQuery,
        status=201,
        managers=True,
    ),
    Operation(
        "POST", "/api/label-studio", hook.label_studio, "Receive a webhook of Label Studio",
        takes=models.LabelStudio, query=STUDY, raw=True,
    ),
)  # fmt: skip


def api_routes() -> list[Route]:
    """One route an address, so that a wrong method is told all the right ones."""
    by_path: dict[str, dict[str, Operation]] = {}
    for one in OPERATIONS:
        by_path.setdefault(one.path, {})[one.method] = one
    return [
        Route(path, _endpoint(methods), methods=list(methods)) for path, methods in by_path.items()
    ]


def _endpoint(methods: Mapping[str, Operation]) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        return await methods["GET" if request.method == "HEAD" else request.method](request)

    return endpoint
