"""The next version of a study on the page: a file that scores the items anew."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.requests import Request

from haystat.comparison.change import change as make_change
from haystat.errors import StudyError, StudyExists
from haystat.study.pool_source import PoolFile
from haystat.study.study import Study
from haystat.study.versions import previous_file, stem_beside, unpacked
from haystat.web import models, uploads
from haystat.web.body import Unsuitable, suitable
from haystat.web.routes.api import room_of
from haystat.web.study_folder import StudyFolder
from haystat.web.upload_limits import check_table


async def next_version(request: Request, given: models.Next) -> models.Made:
    """Go on with the next version of a study: every label whose item is still there counts."""
    study_folder: StudyFolder = request.app.state.study_folder
    room = await room_of(request)
    settings = room.study.settings
    name = stem_beside(room.name, settings, given.name.strip())
    with suitable():
        path = study_folder.path_of(name)
    file = uploads.checked_file(study_folder.settings.folder, given.file)
    async with study_folder.reading:
        made = await asyncio.to_thread(_made, room.study.path, path, file, given)
    study_folder.add(name, made)
    return models.Made(name, made.pool.size)


async def change(request: Request, given: models.ChangeQuery) -> dict[str, Any]:
    """What became of the measure since the version before: by the model, and by the data."""
    room = await room_of(request)
    async with request.app.state.study_folder.reading:
        return await asyncio.to_thread(_change, room.study.path, given.level)


def _change(path: Path, level: float) -> dict[str, Any]:
    with _taken(), Study.open(path, read_only=True) as study:
        content = previous_file(study.connection())
        if content is None:
            raise Unsuitable("the study is the first version; go on with the next one first")
        with unpacked(content) as old, Study.open(old, read_only=True) as before:
            found = make_change(before, study, level=level)
    return {**found.to_dict(), "sentence": str(found)}


@contextmanager
def _taken() -> Iterator[None]:
    """A pool that is gone is no damage."""
    try:
        with suitable():
            yield
    except StudyExists:
        raise
    except StudyError as error:
        raise Unsuitable(str(error)) from None


def _made(old: Path, path: Path, file: Path, given: models.Next) -> Study:
    with _taken(), Study.open(old, read_only=True) as study:
        known = PoolFile.recorded(study.settings["source"], old)
        if known is None:
            raise Unsuitable("the study was made from a pool in memory; use Study.next in Python")
        if known.engine is not None or known.is_sketch:
            raise Unsuitable("the pool of the study is behind an engine; use haystat next")
        source = known.anew(str(file))
        for table in (*filter(Path.exists, known.paths), file):
            check_table(table, {*known.names_of_pool, *known.show})
        return study.next(source, given.name.strip(), path=path, ask_again=given.ask_again)
