"""The pages as HTML. Every text from outside is escaped by the templates."""

from __future__ import annotations

from functools import cache
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from haystat import designs
from haystat.web import manage
from haystat.web.api import room_of, study_dict
from haystat.web.guard import Guard
from haystat.web.keys import label_keys
from haystat.web.settings import MEGABYTE
from haystat.web.shelf import Shelf


@cache
def _templates() -> Environment:
    loader = PackageLoader("haystat.web")
    found = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters["at"] = lambda text: quote(str(text), safe="")
    return found


def _render(request: Request, name: str, status: int = 200, **values: Any) -> Response:
    guard: Guard = request.app.state.guard
    values.setdefault("room", None)
    csrf = guard.csrf(request.state.session)
    text = _templates().get_template(name).render(csrf=csrf, page=name, **values)
    return HTMLResponse(text, status)


async def home(request: Request) -> Response:
    """To the study, if the server was started with one."""
    shelf: Shelf = request.app.state.shelf
    main = shelf.settings.main
    target = "/studies" if main is None else f"/label?study={quote(main, safe='')}"
    return RedirectResponse(target, 303)


async def label(request: Request) -> Response:
    """Questions and answers."""
    room = await room_of(request)
    keys = label_keys(len(room.study.pool.classes))
    boot = {**study_dict(room), "keys": keys, "mark": room.mark}
    return _render(request, "label.html", room=room, boot=boot)


async def watch(request: Request) -> Response:
    """The numbers, live."""
    room = await room_of(request)
    return _render(request, "watch.html", room=room, boot=study_dict(room))


async def explain(request: Request) -> Response:
    """What the numbers mean, for somebody who has to decide on them."""
    room = await room_of(request)
    found = await room.watch.now()
    return _render(request, "explain.html", room=room, boot=study_dict(room), now=found)


async def studies(request: Request) -> Response:
    """All studies of the folder."""
    shelf: Shelf = request.app.state.shelf
    return _render(request, "studies.html", names=shelf.names)


async def new(request: Request) -> Response:
    """The form for a new study."""
    shelf: Shelf = request.app.state.shelf
    return _render(
        request,
        "new.html",
        measures=manage.measure_names(),
        designs=list(designs.DESIGNS),
        wanted=shelf.settings.wanted,
        limit=f"{shelf.settings.upload_limit / MEGABYTE:.0f} MB",
    )


async def show_login(request: Request) -> Response:
    """The form that asks for the token or password."""
    return login_page(200)


def login_page(status: int) -> Response:
    """The form, without a word about why."""
    text = _templates().get_template("login.html").render(csrf="", page="login.html", room=None)
    return HTMLResponse(text, status)


def error_page(status: int, why: str) -> Response:
    """A page that says what is wrong."""
    template = _templates().get_template("error.html")
    text = template.render(csrf="", page="error.html", room=None, status=status, why=why)
    return HTMLResponse(text, status)
