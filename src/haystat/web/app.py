"""The application: every address in one table."""

from __future__ import annotations

import asyncio
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

from haystat.errors import (
    ConflictingAnswer,
    HaystatError,
    StorageError,
    StorageFull,
    StudyError,
    StudyExists,
    UnknownItem,
    UnknownName,
)
from haystat.web import api, downloads, hook, manage, pages
from haystat.web.body import limited
from haystat.web.gate import Gate
from haystat.web.guard import Guard, cookie_header
from haystat.web.settings import Settings
from haystat.web.shelf import NoSuchStudy, Shelf

STATIC = Path(__file__).parent / "static"
DAY = 86400
RETRY_AFTER = {"retry-after": "2"}  # seconds until a study that could not be written is tried again
#: what went wrong -> status; the first that fits counts
STATUS: tuple[tuple[type[HaystatError], int], ...] = (
    (NoSuchStudy, 404),
    (UnknownItem, 404),
    (ConflictingAnswer, 409),
    (StudyExists, 409),
    (StorageFull, 507),
    (StorageError, 503),
    (StudyError, 500),
    (UnknownName, 400),
    (HaystatError, 400),
)


def make_app(settings: Settings) -> Starlette:
    """The application for a folder of studies."""
    guard = Guard(settings.secret)
    shelf = Shelf(settings)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        if settings.main is not None:
            await shelf.room(settings.main)  # a study that cannot be opened is refused now
        drawing = asyncio.create_task(asyncio.to_thread(vega_script))
        yield
        await shelf.close()
        drawing.cancel()

    app = Starlette(
        routes=_routes(),
        middleware=[Middleware(Gate, guard=guard, hosts=settings.hosts)],
        exception_handlers={
            HaystatError: _refused,
            FileNotFoundError: _gone,
            HTTPException: _http_error,
        },
        lifespan=lifespan,
    )
    app.state.guard = guard
    app.state.shelf = shelf
    return app


def _routes() -> list[Route | Mount]:
    def post(path: str, handler: object) -> Route:
        return Route(path, handler, methods=["POST"])  # type: ignore[arg-type]

    return [
        Route("/", pages.home),
        Route("/label", pages.label),
        Route("/watch", pages.watch),
        Route("/explain", pages.explain),
        Route("/studies", pages.studies),
        Route("/new", pages.new),
        Route("/login", pages.show_login, methods=["GET"]),
        post("/login", log_in),
        Route("/answers.csv", downloads.answers),
        Route("/report", downloads.report),
        Route("/study.haystat", downloads.study_file),
        Route("/picture", downloads.picture),
        Route("/api/openapi.json", api.openapi),
        Route("/api/session", api.session),
        Route("/api/studies", api.studies, methods=["GET"]),
        post("/api/studies", manage.create),
        Route("/api/study", api.about_study),
        post("/api/ask", api.ask),
        post("/api/tell", api.tell),
        post("/api/skip", api.skip),
        post("/api/note", api.note),
        post("/api/release", api.release),
        Route("/api/status", api.status),
        Route("/api/estimate", api.estimate),
        Route("/api/events", api.events),
        Route("/api/files", manage.list_files),
        Route("/api/preview", manage.preview),
        post("/api/plan", manage.plan),
        post("/api/upload", manage.upload),
        post("/api/label-studio", hook.label_studio),
        Route("/favicon.ico", icon),
        Route("/static/vega.js", vega),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]


async def log_in(request: Request) -> Response:
    """Take the token or password from the form."""
    guard: Guard = request.app.state.guard
    fields = parse_qs((await limited(request, 4096)).decode("utf-8", "replace"))
    if not guard.knows(fields.get("secret", [""])[0]):
        await asyncio.sleep(0.3)  # guessing is slow
        return pages.login_page(401)
    response = RedirectResponse("/", 303)
    value = guard.cookie(guard.new_session())
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
    why = str(error).replace(str(request.app.state.shelf.settings.folder), "…")
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


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if request.url.path.startswith("/api/"):
        headers = getattr(error, "headers", None)
        return JSONResponse({"error": error.detail}, error.status_code, headers)
    return pages.error_page(error.status_code, error.detail)
