"""Make a study in the browser: files, preview, plan, create."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from haystat import designs, measures
from haystat.errors import BadOption
from haystat.evaluation import seed_from
from haystat.measures.regression import R2, MeanAbsoluteError, MeanSquaredError
from haystat.planning.plan import plan as make_plan
from haystat.study.source import PoolFile
from haystat.study.study import Study
from haystat.web import body, files
from haystat.web.options import PageOptions, keep_options
from haystat.web.shelf import Shelf

#: a plan on the page is to come soon: few worlds, and no budget that nobody would pay
WORLDS, CAP = 8, 3000


def measure_names() -> list[str]:
    """Measures of labels that are classes."""
    numeric = (R2, MeanAbsoluteError, MeanSquaredError)
    every = measures.MEASURES
    return [
        name
        for name, make in every.items()
        if not (isinstance(make, type) and issubclass(make, numeric))
    ]


async def list_files(request: Request) -> Response:
    """Files of the server's folder that may hold a pool."""
    return JSONResponse({"files": files.pool_files(_shelf(request).settings.folder)})


async def upload(request: Request) -> Response:
    """Take a CSV or Parquet file; the body is the file."""
    settings = _shelf(request).settings
    name = body.checked_text("name", request.query_params.get("name", ""), 255)
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > settings.upload_limit:
        text = f"the file is larger than {settings.upload_limit / 1e6:.0f} MB"
        return JSONResponse({"error": text}, 413)
    kept = await files.receive(settings.folder, name, request.stream(), settings.upload_limit)
    return JSONResponse({"file": kept}, 201)


async def preview(request: Request) -> Response:
    """Columns of a file, with their first values."""
    folder = _shelf(request).settings.folder
    path = files.checked_file(folder, request.query_params.get("file", ""))
    return JSONResponse(await asyncio.to_thread(files.preview, path))


@dataclass(frozen=True)
class Wish:
    """What somebody wants a study of."""

    source: PoolFile
    measure: str
    design: str | None
    seed: int
    options: PageOptions

    @property
    def chosen(self) -> dict[str, Any]:
        """The design, if one was named; else the library's own choice counts."""
        return {} if self.design is None else {"design": self.design}


def read_wish(given: Mapping[str, Any], folder: Path) -> Wish:
    """The wish in a JSON object, checked as far as the file need not be read."""
    path = files.checked_file(folder, body.text(given, "file", most=255))
    measure, design = body.text(given, "measure", "f1"), body.text(given, "design", "")
    measures.resolve(measure)
    if design:
        designs.resolve(design)
    seed = seed_from(given["seed"] if isinstance(given.get("seed"), int) else None)
    classes = body.texts(given, "classes") or ("0", "1")
    options: dict[str, Any] = {"classes": _values(classes), "seed": seed}
    threshold = body.number(given, "threshold", None)
    options |= {} if threshold is None else {"threshold": threshold}
    prediction = body.text(given, "prediction", "")
    source = PoolFile(
        str(path),
        (body.text(given, "score"),),
        body.text(given, "id", "") or None,
        (prediction,) if prediction else (),
        (),
        body.texts(given, "show"),
        options,
    )
    page = PageOptions(
        prompt=body.text(given, "prompt", ""),
        names=body.texts(given, "names"),
        images=body.texts(given, "images"),
        wanted=body.number(given, "wanted", None),
        reveal=body.flag(given, "reveal"),
        second=body.number(given, "second", 0.0) or 0.0,
    )
    return Wish(source, measure, design or None, seed, page)


async def create(request: Request) -> Response:
    """Make a study and open it."""
    shelf = _shelf(request)
    given = await body.json_body(request)
    name = body.text(given, "name", most=100).strip()
    path = shelf.path_of(name)
    wish = read_wish(given, shelf.settings.folder)
    study = await asyncio.to_thread(_create, path, wish)
    shelf.add(name, study)
    return JSONResponse({"study": name, "items": study.pool.size}, 201)


def _create(path: Path, wish: Wish) -> Study:
    try:
        study = Study.create(path, wish.source, wish.measure, random_state=wish.seed, **wish.chosen)
    except FileNotFoundError as error:  # it was there when it was chosen
        raise BadOption(str(error)) from None
    try:
        keep_options(study, wish.options)
    except BaseException:
        study.close()
        raise
    return study


async def plan(request: Request) -> Response:
    """How many labels a precision will take, before there is one."""
    shelf = _shelf(request)
    given = await body.json_body(request)
    wish = read_wish(given, shelf.settings.folder)
    async with shelf.planning:  # one at a time: people label meanwhile
        return JSONResponse(await asyncio.to_thread(_planned, wish, shelf.settings.wanted))


def _planned(wish: Wish, wanted: float) -> dict[str, Any]:
    pool, _ = wish.source.read()
    width = wish.options.wanted or wanted
    found = make_plan(pool, wish.measure, width, worlds=WORLDS, cap=CAP, **wish.chosen)
    names = ("labels", "low", "high", "passive", "cap", "width", "design")
    return {name: getattr(found, name) for name in names}


def _values(classes: tuple[str, ...]) -> list[Any]:
    """Label values: numbers where all of them are, else texts."""
    try:
        return [int(part) for part in classes]
    except ValueError:
        return list(classes)


def _shelf(request: Request) -> Shelf:
    shelf: Shelf = request.app.state.shelf
    return shelf
