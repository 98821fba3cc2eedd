"""The next version of a study, in a file of its own that holds the studies before it.

A version begins with the labels that it carries over, so it needs no other file to go on. The
study that they come from is kept whole inside, so that an audit can go through all versions.
"""

from __future__ import annotations

import sqlite3
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from haystat import measures
from haystat.decisions.places import thresholds_in_use
from haystat.designs.base import Design
from haystat.designs.continued import continued
from haystat.disk import writable
from haystat.pool.base import AnyPool
from haystat.pool.problem import pose
from haystat.settings import decode_rules, encode_settings
from haystat.study.journal import next_entry, write
from haystat.study.sketch import Records, first_shares, write_sketch
from haystat.study.source import Source, circumstances
from haystat.study.store import Store
from haystat.versions import Version, version_pool

PREVIOUS = "previous"  # the part of a study file that holds the study before it


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
        pool, records = self.source.read()
        return version_pool(self.settings, pool), records

    def as_dict(self) -> dict[str, Any] | None:
        """The same as JSON; None where only its maker can make it again."""
        return self.source.as_dict()


@dataclass(frozen=True)
class Sequel:
    """What the file of a next version is made from.

    measure and design as they are given; settings are those of the study before, `previous` its
    file.
    """

    version: Version
    source: Source
    records: Records
    measure: Any
    design: Design
    settings: Mapping[str, Any]
    previous: bytes

    def write(self, path: Path, candidates: int, when: datetime) -> None:
        """Make the file; it appears whole or not at all, whatever ends the process."""
        pool, oracle = self.version.pool, self.settings["oracle"]
        problem = pose(pool, measures.resolve(self.measure).bind(pool.schema), oracle)
        share = first_shares(problem, continued(self.design), self.version.seed)
        rules = decode_rules(self.settings)
        settings = encode_settings(self.measure, self.design, oracle, self.version.seed, rules)
        settings |= circumstances(pool, self.source)
        settings |= self.version.settings()
        settings["in_use"] = [asdict(one) for one in thresholds_in_use(pool, problem)]
        carried = self.version.entry(problem.cells)
        with writable(path), Store.create(path) as connection:
            part = (PREVIOUS, zlib.compress(self.previous, 6))
            connection.execute("INSERT INTO sketch VALUES (?, ?)", part)
            digest = write_sketch(connection, pool, problem, share, candidates, self.records)
            settings["sketch"] = digest
            created = next_entry(None, "created", settings, None, when)
            write(connection, created)
            write(connection, next_entry(created, "carried", carried, None, when))


def path_beside(path: Path, settings: Mapping[str, Any], name: str) -> Path:
    """The path of the next version: that of the first study, with the version's name added."""
    own = settings.get("version", {}).get("name")
    stem = path.stem if own is None else path.stem.removesuffix(f"-{own}")
    return path.with_name(f"{stem}-{name}{path.suffix}")


def previous_file(connection: sqlite3.Connection) -> bytes | None:
    """The file of the study that this one goes on from; None if it is the first version."""
    query = "SELECT content FROM sketch WHERE name = ?"
    row = connection.execute(query, (PREVIOUS,)).fetchone()
    return None if row is None else zlib.decompress(row[0])


def packed(store: Store) -> bytes:
    """The file of a study as it is now, whole."""
    with tempfile.TemporaryDirectory(prefix="haystat-") as folder:
        path = Path(folder) / "study.haystat"
        store.copy_to(path)
        return path.read_bytes()


@contextmanager
def unpacked(content: bytes) -> Iterator[Path]:
    """A study file that was kept inside another, for as long as the block lasts."""
    with tempfile.TemporaryDirectory(prefix="haystat-") as folder:
        path = Path(folder) / "previous.haystat"
        path.write_bytes(content)
        yield path
