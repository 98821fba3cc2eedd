"""Make a study in the browser: files, preview, plan, create."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request

from haystat import measures
from haystat.loop.loop import seed_from
from haystat.planning.plan import plan as make_plan
from haystat.pool.base import AnyPool
from haystat.pool.known import INCLUSION, ITEM, KIND, LABEL, read_known
from haystat.study.pool_source import PoolFile
from haystat.study.study import Study
from haystat.web import models, uploads
from haystat.web.body import Unsuitable, suitable
from haystat.web.new_study import NewStudy, Wish
from haystat.web.options import ONE_OF_SEVERAL, PageOptions, as_note
from haystat.web.study_folder import StudyFolder
from haystat.web.upload_limits import check_table

#: a plan on the page is to come soon: few worlds, and no budget that nobody would pay
WORLDS, CAP = 8, 3000


def measure_names() -> list[str]:
    """Measures of labels that are classes."""
    every = measures.MEASURES
    return [name for name, make in every.items() if not getattr(make, "of_numbers", False)]


async def list_files(request: Request, given: None) -> models.Files:
    """Files of the server's folder that may hold a pool."""
    return models.Files(uploads.pool_files(_study_folder(request).settings.folder))


async def upload(request: Request, given: models.UploadQuery) -> models.Uploaded:
    """Take a CSV or Parquet file; the body is the file."""
    settings = _study_folder(request).settings
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > settings.upload_limit:
        raise HTTPException(413, f"the file is larger than {settings.upload_limit / 1e6:.0f} MB")
    parts = request.stream()
    return models.Uploaded(
        await uploads.receive(settings.folder, given.name, parts, settings.upload_limit)
    )


async def preview(request: Request, given: models.FileQuery) -> dict[str, Any]:
    """Columns of a file, with their first values."""
    path = uploads.checked_file(_study_folder(request).settings.folder, given.file)
    return await asyncio.to_thread(uploads.preview, path)


async def create(request: Request, given: NewStudy) -> models.Made:
    """Make a study and open it."""
    study_folder = _study_folder(request)
    name = given.name.strip()
    with suitable():
        path = study_folder.path_of(name)
    file = uploads.checked_file(study_folder.settings.folder, given.file)
    folder = study_folder.settings.folder
    known = uploads.checked_file(folder, given.known) if given.known else None
    async with study_folder.reading:
        study = await asyncio.to_thread(_create, path, file, given, known)
    study_folder.add(name, study)
    return models.Made(name, study.pool.size)


def _create(path: Path, file: Path, wish: NewStudy, known: Path | None) -> Study:
    source, options = _source(file, wish), page_options(wish)
    if known is not None:
        check_table(known, {*ITEM, *LABEL, *INCLUSION, *KIND})
    with suitable():
        labels = None if known is None else read_known(known, wish.known_as or None, wish.inclusion)
        return Study.create(
            path,
            source,
            _measure(wish),
            wish.design or None,
            random_state=source.options["seed"],
            known=labels,
            notes=[as_note(options)],
        )


async def plan(request: Request, given: Wish) -> dict[str, Any]:
    """How many labels a precision will take, before there is one."""
    study_folder = _study_folder(request)
    file = uploads.checked_file(study_folder.settings.folder, given.file)
    async with study_folder.planning:
        async with study_folder.reading:
            pool = await asyncio.to_thread(_pool, file, given)
        return await asyncio.to_thread(_planned, pool, given, study_folder.settings.wanted)


def _pool(file: Path, wish: Wish) -> AnyPool:
    source = _source(file, wish)
    with suitable():
        return source.read()[0]


def _planned(pool: AnyPool, wish: Wish, wanted: float) -> dict[str, Any]:
    chosen: dict[str, Any] = {"design": wish.design} if wish.design else {}
    with suitable():
        width = wish.wanted or wanted
        found = make_plan(pool, _measure(wish), width, worlds=WORLDS, cap=CAP, **chosen)
    names = ("labels", "low", "high", "passive", "cap", "width", "design")
    return {name: getattr(found, name) for name in names}


def _source(file: Path, wish: Wish) -> PoolFile:
    """Where the pool lies, once it is known that the server can read it."""
    score = (wish.score, *(system.score for system in wish.systems))
    predicted = (wish.prediction, *(system.prediction for system in wish.systems))
    prediction, id_ = tuple(name for name in predicted if name), wish.id or None
    further = [name for name in (id_, wish.weight) if name]
    check_table(file, {*score, *prediction, *wish.show, *wish.signals, *further})
    if told := [name for name in wish.show if name in wish.signals]:
        raise Unsuitable(f"{told} are signals, which people who label do not see; show others")
    options: dict[str, Any] = {"classes": _values(wish.classes), "seed": seed_from(wish.seed)}
    options |= {} if wish.threshold is None else {"threshold": wish.threshold}
    shown, weight = tuple(wish.show), wish.weight or None
    with suitable():
        return PoolFile(
            str(file),
            score,
            id_,
            prediction,
            (),
            shown,
            options,
            weight=weight,
            signals=tuple(wish.signals),
            multi_label=wish.multi_label,
        )


def _measure(wish: Wish) -> measures.Measure:
    """The measure, of each label or system where there are several."""
    measure = measures.resolve(wish.measure)
    if wish.multi_label:
        return measures.PerLabel(measure, [wish.score, *(one.score for one in wish.systems)])
    return measures.ForSystems(measure) if wish.systems else measure


def page_options(wish: Wish) -> PageOptions:
    """How the page of a study asks."""
    return PageOptions(
        prompt=wish.prompt or (ONE_OF_SEVERAL if wish.multi_label else ""),
        names=tuple(wish.names),
        images=tuple(wish.images),
        wanted=wish.wanted,
        reveal=wish.reveal,
        second=wish.second,
        blind=wish.blind,
        guidelines=wish.guidelines,
        keys=tuple(wish.keys),
    )


def _values(classes: list[str]) -> list[Any]:
    """Label values: numbers where all of them are, else texts."""
    try:
        return [int(part) for part in classes or ("0", "1")]
    except ValueError:
        return list(classes)


def _study_folder(request: Request) -> StudyFolder:
    study_folder: StudyFolder = request.app.state.study_folder
    return study_folder
