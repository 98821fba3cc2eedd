"""Make a study in the browser: files, preview, plan, create."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from haystat import designs, measures
from haystat.errors import BadOption
from haystat.evaluation import seed_from
from haystat.measures.regression import R2, MeanAbsoluteError, MeanSquaredError
from haystat.study.source import PoolFile
from haystat.study.study import Study
from haystat.web import body, files
from haystat.web.options import PageOptions, keep_options
from haystat.web.shelf import Shelf

DEFAULT_DESIGN = "adaptive"


def measure_names() -> list[str]:
    """Measures of labels that are classes."""
    numeric = (R2, MeanAbsoluteError, MeanSquaredError)
    every = measures.MEASURES
    return [
        name
        for name, make in every.items()
        if not (isinstance(make, type) and issubclass(make, numeric))
    ]


def default_design() -> str:
    """The design that Study.create takes when nothing is said."""
    default = Study.create.__kwdefaults__ or {}
    first = (Study.create.__defaults__ or ())[1:2]
    chosen = default.get("design", first[0] if first else DEFAULT_DESIGN)
    return chosen if chosen in designs.DESIGNS else DEFAULT_DESIGN


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
    design: str
    seed: int
    options: PageOptions


def read_wish(given: Mapping[str, Any], folder: Path) -> Wish:
    """The wish in a JSON object, checked as far as the file need not be read."""
    path = files.checked_file(folder, body.text(given, "file", most=255))
    measure, design = body.text(given, "measure", "f1"), body.text(given, "design", "")
    measures.resolve(measure)
    designs.resolve(design or default_design())
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
    return Wish(source, measure, design or default_design(), seed, page)


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
        study = Study.create(path, wish.source, wish.measure, wish.design, random_state=wish.seed)
    except FileNotFoundError as error:  # it was there when it was chosen
        raise BadOption(str(error)) from None
    try:
        keep_options(study, wish.options)
    except BaseException:
        study.close()
        raise
    return study


async def plan(request: Request) -> Response:
    """How many labels a precision will take, if this haystat can tell."""
    given = await body.json_body(request)
    wish = read_wish(given, _shelf(request).settings.folder)
    return JSONResponse(await asyncio.to_thread(_planned, wish))


def _planned(wish: Wish) -> dict[str, Any]:
    planner = _planner()
    if planner is None:
        return {"known": False}
    pool, _ = wish.source.read()
    found = planner(pool, wish.measure, wish.options.wanted or 0.1)
    names = ("labels", "low", "high", "passive")
    numbers = {name: _whole(getattr(found, name, None)) for name in names}
    return {"known": numbers["labels"] is not None, **numbers}


def can_plan() -> bool:
    """Whether this haystat can tell in advance how many labels a study takes."""
    return _planner() is not None


def _planner() -> Callable[..., Any] | None:
    try:
        return import_module("haystat.plan").plan  # type: ignore[no-any-return]
    except ImportError:
        return None


def _whole(value: Any) -> int | None:
    fits = isinstance(value, int | float) and math.isfinite(value)
    return math.ceil(value) if fits else None


def _values(classes: tuple[str, ...]) -> list[Any]:
    """Label values: numbers where all of them are, else texts."""
    try:
        return [int(part) for part in classes]
    except ValueError:
        return list(classes)


def _shelf(request: Request) -> Shelf:
    shelf: Shelf = request.app.state.shelf
    return shelf
