"""The next version of a study, in a file of its own that holds the studies before it.

A version begins with the labels that it carries over, so it needs no other file to go on. The
study that they come from is kept whole inside, so that an audit can go through all versions.
"""

from __future__ import annotations

import sqlite3
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from haystat import measures
from haystat.core.arguments import checked_integer, checked_path
from haystat.core.arrays import IntArray
from haystat.core.disk import writable
from haystat.designs.continued import continued
from haystat.errors import BadOption, StudyError
from haystat.loop.settings import decode_rules, encode_settings
from haystat.loop.versions import (
    extended_pool,
    is_behind_engine,
    next_version,
    version_pool,
)
from haystat.pool.base import AnyPool
from haystat.pool.extended import extended
from haystat.pool.problem import pose
from haystat.study.added_files import with_rows_of
from haystat.study.new_file import PREVIOUS, NewFile
from haystat.study.page_remarks import page_remarks
from haystat.study.pool_source import PoolFile, Source
from haystat.study.sketch_codec import Records
from haystat.study.store import Store


@dataclass(frozen=True)
class VersionSource:
    """Where the pool of a study lies, with what was drawn of it in earlier versions."""

    source: Source
    settings: Mapping[str, Any]

    @property
    def at_hand(self) -> bool:
        """Whether it takes no reading."""
        return self.source.at_hand

    def read(self) -> tuple[AnyPool, Records]:
        """The pool, and the columns to show."""
        given, records = self.source.read()
        pool = version_pool(self.settings, given)
        return pool, _own_records(pool, records)

    def as_dict(self) -> dict[str, Any] | None:
        """The same as JSON; None where only its maker can make it again."""
        return self.source.as_dict()


@dataclass(frozen=True)
class ExtendedSource:
    """The pool of a study with further items, and the columns to show of both.

    hidden: columns of the further items that hold scores or predictions.
    """

    pool: AnyPool
    records: Records
    hidden: tuple[str, ...] = ()
    at_hand = True

    @classmethod
    def of(cls, study: Any, rows: Source, window: Any, options: Mapping[str, Any]) -> Self:
        """The items of a study, as far as they are in the window, and the rows."""
        old, old_records = study.whole_source("add items to those it has")
        read: tuple[Any, Records] = rows.read()
        new, new_records = read
        said = tuple(said_by_systems(rows.as_dict()))
        if is_behind_engine(old):
            found = extended_pool(old, new, window, options)
            return cls(found, found.records, said)
        pool, index = extended(old, new, window, **options)

        def records(wanted: IntArray) -> dict[str, Any]:
            place = index[wanted]
            parts = (
                old_records(place[place < old.size]),
                new_records(place[place >= old.size] - old.size),
            )
            order = np.argsort(np.argsort(place >= old.size, kind="stable"))
            names = [name for name in parts[0] if name in parts[1]]
            joined = {name: [*parts[0][name], *parts[1][name]] for name in names}
            return {name: [joined[name][row] for row in order] for name in names}

        return cls(pool, records, said)

    def read(self) -> tuple[AnyPool, Records]:
        """The pool, and the columns to show."""
        return self.pool, self.records

    def as_dict(self) -> None:
        """It is in no file."""


def extended_source(study: Any, rows: Source, window: Any, options: Mapping[str, Any]) -> Source:
    """The items of a study and further ones: files behind an engine, or else a pool of both."""
    known = PoolFile.recorded(study.settings["source"], study.path)
    if known is None or not isinstance(rows, PoolFile) or None in (known.engine, rows.engine):
        return ExtendedSource.of(study, rows, window, options)
    return with_rows_of(known, rows, window, options)


def create_next(
    study: Any,
    source: Source,
    name: str | None,
    path: str | Path | None,
    measure: Any,
    max_age: Any,
    ask_again: float,
    candidates: int,
) -> tuple[Path, Any]:
    """Make the file of a study's next version; its path, and its measure as it is given."""
    candidates = checked_integer("candidates", candidates, smallest=1)
    new, records = source.read()
    old, now, settings = study.whole_pool("carry its labels over"), study.now(), study.settings
    with study.reading() as state:
        given = (state, old, settings, new, name, max_age, now)
        version = next_version(*given, ask_again=ask_again)
        previous, notes = study.content(), page_remarks(study.entries)
    beside = path_beside(study.path, settings, version.name) if path is None else path
    target = checked_path("the path of a study", beside)
    spec = settings["measure"]
    own = spec if isinstance(spec, str) else study.given_measure
    wanted = own if measure is None else measure
    oracle, rules, seed = settings["oracle"], decode_rules(settings), version.seed
    problem = pose(version.pool, measures.bound(wanted, version.pool.schema), oracle)
    own_settings = encode_settings(wanted, study.design, oracle, seed, rules) | version.settings()
    own_settings |= {"after": settings["after"]} if "after" in settings else {}
    said = [*hidden_columns(settings), *getattr(source, "hidden", ())]
    hidden = set(said) - set(said_by_systems(source.as_dict()))
    own_settings |= {"hidden": sorted(hidden)} if hidden else {}
    file = NewFile(
        version.pool,
        source,
        _own_records(version.pool, records),
        problem,
        continued(study.design),
        seed,
        own_settings,
        previous,
        version.entry(problem.cells),
        notes,
    )
    file.write(target, candidates, now)
    return target, wanted


def hidden_columns(settings: Mapping[str, Any]) -> list[str]:
    """Columns of scores and predictions, of earlier versions too: the page shows them to nobody."""
    return [*settings.get("hidden", ()), *said_by_systems(settings.get("source"))]


def said_by_systems(source: Mapping[str, Any] | None) -> list[str]:
    """The columns of a PoolFile, as its `as_dict` has it, that hold scores and predictions."""
    return [*source["score"], *source["prediction"]] if source else []


def _own_records(pool: Any, given: Records) -> Records:
    """The columns to show of a version: behind an engine its items have numbers of their own."""
    records: Records = getattr(pool, "records", given)
    return records


def path_beside(path: Path, settings: Mapping[str, Any], name: str) -> Path:
    """The path of the next version: that of the first study, with the version's name added."""
    beside = f"{stem_beside(path.stem, settings, name)}{path.suffix}"
    if Path(beside).name != beside or "\0" in beside:
        raise BadOption(f"{name!r} cannot be part of a file's name; say which file to make: --out")
    return path.with_name(beside)


def stem_beside(stem: str, settings: Mapping[str, Any], name: str) -> str:
    """What the next version is called, a study being called `stem`."""
    own = settings.get("version", {}).get("name")
    return f"{stem if own is None else stem.removesuffix(f'-{own}')}-{name}"


def previous_file(connection: sqlite3.Connection) -> bytes | None:
    """The file of the study that this one goes on from; None if it is the first version."""
    query = "SELECT content FROM sketch WHERE name = ?"
    try:
        row = connection.execute(query, (PREVIOUS,)).fetchone()
        return None if row is None else zlib.decompress(row[0])
    except (sqlite3.DatabaseError, zlib.error, TypeError) as error:
        if not str(getattr(error, "sqlite_errorname", "SQLITE_CORRUPT")).startswith("SQLITE_CORR"):
            raise
        raise StudyError("the study before this one, which the file holds, is damaged") from None


@contextmanager
def unpacked(content: bytes) -> Iterator[Path]:
    """A study file that was kept inside another, for as long as the block lasts."""
    with _temporary_folder() as folder:
        yield _written(Path(folder) / "previous.haystat", content)


def version_name(settings: Mapping[str, Any]) -> str:
    """What the version of a study with these settings is called."""
    return str(settings.get("version", {}).get("name", "v1"))


def earlier_versions(study: Any, kind: Any) -> Iterator[Any]:
    """The studies that a study goes on from, the first one first; kind: the class of studies.

    Each is open until the next one is asked for: of a daily stream there are hundreds.
    """
    content = previous_file(study.connection())
    with _temporary_folder() as folder:
        paths: list[Path] = []
        while content is not None:
            paths.append(_written(Path(folder) / f"{len(paths)}.haystat", content))
            with closing(Store(paths[-1], read_only=True)) as store:
                content = previous_file(store.connection())
        for path in reversed(paths):
            with kind.open(path, read_only=True) as before:
                yield before


def _temporary_folder() -> tempfile.TemporaryDirectory[str]:
    with writable(Path(tempfile.gettempdir())):
        return tempfile.TemporaryDirectory(prefix="haystat-")


def _written(path: Path, content: bytes) -> Path:
    with writable(path):
        path.write_bytes(content)
    return path
