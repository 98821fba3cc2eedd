"""The application: every address in one table."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from haystat.core.drafts import remove_dead_drafts
from haystat.errors import (
    ConflictingAnswer,
    HaystatError,
    StorageError,
    StorageFull,
    StudyError,
    StudyExists,
    UnknownItem,
    UnknownLabel,
    UnknownName,
)
from haystat.web.auth import Auth, TooManyTries, cookie_header
from haystat.web.body import BadRequest, Unsuitable, limited
from haystat.web.middleware import AccessMiddleware, client_of
from haystat.web.openapi import PATH, openapi
from haystat.web.operations import OPERATIONS, api_routes
from haystat.web.routes import downloads, pages
from haystat.web.settings import Settings
from haystat.web.study_folder import ENDING, NoSuchStudy, StudyFolder
from haystat.web.upload_limits import TooLarge
from haystat.web.uploads import NoSuchFile

STATIC = Path(__file__).parent / "static"
DAY = 86400
RETRY_AFTER = {"retry-after": "2"}  # seconds until a study that could not be written is tried again
DRAFTS = rf"upload-[0-9a-f]{{16}}|.+{re.escape(ENDING)}"  # that a server may have left
#: what went wrong -> status; the first that fits counts
STATUS: tuple[tuple[type[HaystatError], int], ...] = (
    (BadRequest, 400),
    (NoSuchStudy, 404),
    (NoSuchFile, 404),
    (UnknownItem, 404),
    (TooLarge, 422),
    (Unsuitable, 422),
    (UnknownLabel, 422),
    (ConflictingAnswer, 409),
    (StudyExists, 409),
    (StorageFull, 507),
    (StorageError, 503),
    (StudyError, 500),
    (UnknownName, 400),
    (HaystatError, 400),
)

#: what people who only answer questions may open, besides what is under /api
PAGES_FOR_ANNOTATORS = ("/", "/label", "/studies", "/picture", PATH)
FOR_ANNOTATORS = frozenset(
    [("GET", path) for path in PAGES_FOR_ANNOTATORS]
    + [(one.method, one.path) for one in OPERATIONS.values() if not one.managers]
)


def make_app(settings: Settings) -> Starlette:
    """The application for a folder of studies."""
    auth = Auth(settings.secret, settings.annotator_secret)
    study_folder = StudyFolder(settings)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        await asyncio.to_thread(remove_dead_drafts, settings.folder, DRAFTS)
        if settings.main is not None:
            await study_folder.room(settings.main)  # a study that cannot be opened is refused now
        drawing = asyncio.create_task(asyncio.to_thread(vega_script))
        yield
        await study_folder.close()
        drawing.cancel()

    app = Starlette(
        routes=_routes(),
        middleware=[
            Middleware(
                AccessMiddleware, auth=auth, hosts=settings.hosts, for_annotators=FOR_ANNOTATORS
            )
        ],
        exception_handlers={
            HaystatError: _refused,
            FileNotFoundError: _gone,
            HTTPException: _http_error,
            TooManyTries: _too_many,
        },
        lifespan=lifespan,
    )
    app.state.auth = auth
    app.state.study_folder = study_folder
    return app


def _routes() -> list[Route | Mount]:
    def post(path: str, handler: object) -> Route:
        return Route(path, handler, methods=["POST"])  # type: ignore[arg-type]

    return [
        *api_routes(),  # first, since every answer looks for its address in this order
        Route("/", pages.home),
        Route("/label", pages.label),
        Route("/watch", pages.watch),
        Route("/disagreements", pages.disagreements),
        Route("/explain", pages.explain),
        Route("/studies", pages.studies),
        Route("/new", pages.new),
        Route("/login", pages.show_login, methods=["GET"]),
        post("/login", log_in),
        Route("/answers.csv", downloads.answers),
        Route("/report", downloads.report),
        Route("/study.haystat", downloads.study_file),
        Route("/picture", downloads.picture),
        Route(PATH, openapi),
        Route("/favicon.ico", icon),
        Route("/static/vega.js", vega),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]


async def log_in(request: Request) -> Response:
    """Take the token or password from the form."""
    auth: Auth = request.app.state.auth
    fields = parse_qs((await limited(request, 4096)).decode("utf-8", "replace"))
    role = auth.role_of(fields.get("secret", [""])[0], client_of(request.scope))
    if role is None:
        return pages.login_page(401)
    response = RedirectResponse("/", 303)
    value = auth.cookie(auth.new_session(role))
    response.headers.append("set-cookie", cookie_header(value, request.url.scheme == "https"))
    return response


async def vega(request: Request) -> Response:
    """The charting library, from the package that brings it."""
    text = await asyncio.to_thread(vega_script)
    headers = {"cache-control": f"private, max-age={DAY}"}
    return Response(text, media_type="text/javascript", headers=headers)


async def icon(request: Request) -> Response:
    """For browsers that look for it without being told."""
    return FileResponse(STATIC / "icon.svg", media_type="image/svg+xml")


@cache
def vega_script() -> bytes:
    """Vega, Vega-Lite and Vega-Embed as one script."""
    import vl_convert

    snippet = "window.vegaEmbed = vegaEmbed;"
    return str(vl_convert.javascript_bundle(snippet)).encode()


async def _refused(request: Request, error: Exception) -> Response:
    """A wrong input, or a study that cannot be written: one line, nothing about the machine."""
    status = next(code for kind, code in STATUS if isinstance(error, kind))
    why = str(error).replace(str(request.app.state.study_folder.settings.folder), "…")
    if request.url.path.startswith("/api/"):
        response: Response = JSONResponse({"error": why}, status)
    else:
        response = pages.error_page(status, why)
    if isinstance(error, StorageError):
        response.headers.update(RETRY_AFTER)
    return response


async def _gone(request: Request, error: Exception) -> Response:
    """A file that was there when it was listed."""
    return JSONResponse({"error": "the file is not there any more"}, 404)


async def _too_many(request: Request, error: Exception) -> Response:
    assert isinstance(error, TooManyTries)
    found = pages.error_page(429, str(error))
    found.headers.update(error.headers)
    return found


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if request.url.path.startswith("/api/"):
        headers = getattr(error, "headers", None)
        return JSONResponse({"error": error.detail}, error.status_code, headers)
    return pages.error_page(error.status_code, error.detail)
