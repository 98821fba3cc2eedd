"""The pages as HTML. Every text from outside is escaped by the templates."""

from __future__ import annotations

from math import isfinite
from typing import Any
from urllib.parse import quote

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from haystat import designs
from haystat.display.render import environment
from haystat.report.collect import version_rows
from haystat.study.study import Study
from haystat.web.auth import Auth
from haystat.web.body import encode
from haystat.web.routes import manage
from haystat.web.routes.api import is_manager, room_of, study_info
from haystat.web.settings import MEGABYTE
from haystat.web.study_folder import Room, StudyFolder

LEVEL = 0.95  # of the intervals of versions
#: what a page knows of somebody who is not in
NOBODY: dict[str, Any] = {"csrf": "", "room": None, "manager": False}


def _quoted(text: object) -> str:
    return quote(str(text), safe="")


def _template(name: str) -> Any:
    return environment("haystat.web", at=_quoted).get_template(name)


def _render(request: Request, name: str, status: int = 200, **values: Any) -> Response:
    auth: Auth = request.app.state.auth
    values.setdefault("room", None)
    room = values["room"]
    values["judged"] = room is not None and bool(room.study.settings.get("after"))
    values |= {"csrf": auth.csrf(request.state.session), "manager": is_manager(request)}
    return HTMLResponse(_template(name).render(page=name, **values), status)


def _boot(room: Room) -> dict[str, Any]:
    """What the script of a page starts from."""
    found: dict[str, Any] = msgspec.to_builtins(study_info(room))
    return found


async def home(request: Request) -> Response:
    """To the study, if the server was started with one."""
    study_folder: StudyFolder = request.app.state.study_folder
    main = study_folder.settings.main
    target = "/studies" if main is None else f"/label?study={quote(main, safe='')}"
    return RedirectResponse(target, 303)


async def label(request: Request) -> Response:
    """Questions and answers."""
    room = await room_of(request)
    hidden = room.options.blind and not is_manager(request)
    boot = {**_boot(room), "mark": room.mark, "hidden": hidden}
    return _render(request, "label.html", room=room, boot=boot)


async def watch(request: Request) -> Response:
    """The numbers, live, and those of earlier versions as they stood."""
    room = await room_of(request)
    versions = await room.reader.read(_versions) if "version" in room.study.settings else []
    boot = {**_boot(room), "versions": versions}
    later = f"v{room.study.settings.get('version', {}).get('number', 1) + 1}"
    found: dict[str, Any] = {"room": room, "versions": versions, "next_name": later}
    return _render(request, "watch.html", boot=boot, **found)


def _versions(study: Study) -> list[dict[str, Any]]:
    return [row for row in version_rows(study, LEVEL) if isfinite(row["value"])]


async def disagreements(request: Request) -> Response:
    """Where people and the judge differ."""
    room = await room_of(request)
    return _render(request, "disagreements.html", room=room, boot=_boot(room))


async def explain(request: Request) -> Response:
    """What the numbers mean, for somebody who has to decide on them."""
    room = await room_of(request)
    found = msgspec.json.decode(encode(await room.watch.now()))  # without NaN
    return _render(request, "explain.html", room=room, boot=_boot(room), now=found)


async def studies(request: Request) -> Response:
    """All studies of the folder."""
    study_folder: StudyFolder = request.app.state.study_folder
    return _render(request, "studies.html", names=study_folder.names)


async def new(request: Request) -> Response:
    """The form for a new study."""
    study_folder: StudyFolder = request.app.state.study_folder
    return _render(
        request,
        "new.html",
        measures=manage.measure_names(),
        designs=list(designs.DESIGNS),
        wanted=study_folder.settings.wanted,
        limit=f"{study_folder.settings.upload_limit / MEGABYTE:.0f} MB",
    )


async def show_login(request: Request) -> Response:
    """The form that asks for the token or password."""
    return login_page(200)


def login_page(status: int) -> Response:
    """The form, without a word about why."""
    text = _template("login.html").render(page="login.html", **NOBODY)
    return HTMLResponse(text, status)


def error_page(status: int, why: str) -> Response:
    """A page that says what is wrong."""
    template = _template("error.html")
    text = template.render(page="error.html", status=status, why=why, **NOBODY)
    return HTMLResponse(text, status)
