"""What people take away: answers, the report, the study file; and pictures of items."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from haystat.report import FORMATS, collect
from haystat.study.answer_files import COLUMNS, answer_rows, item_named, print_csv
from haystat.study.open_files import is_open_here
from haystat.study.study import Study
from haystat.web.routes.api import room_of
from haystat.web.study_folder import ENDING, Room
from haystat.web.uploads import PICTURES

REPORTS = {"html": "text/html", "md": "text/markdown", "json": "application/json"}
#: the report styles itself, and may do nothing else
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'none'; sandbox"
)


async def answers(request: Request) -> Response:
    """The answers as CSV."""
    room = await room_of(request)
    text = await room.reader.read(_answers)
    return _attachment(text, "text/csv", f"{room.name}-answers.csv")


def _answers(study: Study) -> str:
    text = io.StringIO()
    print_csv(answer_rows(study), COLUMNS, text)
    return text.getvalue()


async def report(request: Request) -> Response:
    """The report: HTML to look at, or Markdown or JSON to take away."""
    room = await room_of(request)
    form = request.query_params.get("format", "html")
    if form not in REPORTS:
        raise HTTPException(404, f"reports are {', '.join(REPORTS)}")
    text = await room.reader.read(lambda study: FORMATS[form](collect(study)))
    if form == "html" and "download" not in request.query_params:
        headers = {"content-security-policy": REPORT_POLICY}
        return Response(text, media_type="text/html", headers=headers)
    return _attachment(text, REPORTS[form], f"{room.name}-report.{form}")


async def study_file(request: Request) -> Response:
    """A whole copy of the study as it is now."""
    room = await room_of(request)
    folder = tempfile.TemporaryDirectory()
    copy = Path(folder.name) / f"{room.name}{ENDING}"
    await room.reader.read(lambda study: study.copy_to(copy))
    cleaning = BackgroundTask(folder.cleanup)
    return FileResponse(
        copy, media_type="application/vnd.sqlite3", filename=copy.name, background=cleaning
    )


async def picture(request: Request) -> Response:
    """A picture of an item that was asked about; its path comes from the pool, not the request."""
    room = await room_of(request)
    item = request.query_params.get("item", "")
    column = request.query_params.get("column", "")
    path = await room.queue.read(lambda study: picture_path(room, study, item, column))
    if path is None:
        raise HTTPException(404, "no such picture")
    return FileResponse(path, media_type=PICTURES[path.suffix.lower()])


def picture_path(room: Room, study: Study, item: str, column: str) -> Path | None:
    """Where a picture lies, if that is beside the pool's file or below it."""
    if column not in room.options.images:
        return None
    with study.reading() as state:
        named = item_named(state, item)
        index = state.questions.index_of.get(named)
        record = {} if index is None else state.pool.record_of(index)
        # What waits for the answer is no picture before it, either.
        value = (state.revealed(named) if column in state.after else record).get(column)
    source = study.settings.get("source") or {}
    folder = Path(source["path"]).parent if source.get("path") else study.path.parent
    return path_below(folder, value) if isinstance(value, str) else None


def path_below(folder: Path, name: str) -> Path | None:
    """The picture of that name in a folder or below it, links followed; None if it is not."""
    try:
        root = folder.resolve()
        path = (root / name).resolve()
        fits = path.is_relative_to(root) and path.suffix.lower() in PICTURES
        return path if fits and path.is_file() and not is_open_here(path) else None
    except (OSError, ValueError):
        return None


def _attachment(text: str, kind: str, name: str) -> Response:
    plain = name.encode("ascii", "replace").decode().replace('"', "'").replace("?", "-")
    headers = {"content-disposition": f'attachment; filename="{plain}"'}
    return Response(text, media_type=f"{kind}; charset=utf-8", headers=headers)
