"""The file of a new study: settings, the pool's sketch and what the journal begins with."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from haystat.core.disk import writable
from haystat.decisions.candidate_thresholds import thresholds_in_use
from haystat.designs.base import Design
from haystat.pool.base import AnyPool
from haystat.pool.problem import Problem
from haystat.study.pool_source import Source, circumstances
from haystat.study.sketch_codec import Records, first_shares, write_sketch
from haystat.study.sqlite_journal import next_entry, write
from haystat.study.store import Store

PREVIOUS = "previous"  # the part of a study file that holds the study before it


@dataclass(frozen=True)
class NewFile:
    """What a study file is made from.

    problem: what the measure makes of the pool; design as it will draw; settings: what the study
    was asked for. Of a next version, previous is the file of the study before it, and carried the
    entry with what it brings along. notes: remarks that belong to the study from its beginning.
    """

    pool: AnyPool
    source: Source
    records: Records
    problem: Problem
    design: Design
    seed: int
    settings: dict[str, Any]
    previous: bytes | None = None
    carried: dict[str, Any] | None = None
    notes: Sequence[str] = ()

    def write(self, path: Path, candidates: int, when: datetime) -> None:
        """Make the file with about so many items; it appears whole or not at all."""
        share = first_shares(self.problem, self.design, self.seed)
        in_use = [asdict(one) for one in thresholds_in_use(self.pool, self.problem)]
        settings = {**circumstances(self.pool, self.source), **self.settings, "in_use": in_use}
        with writable(path), Store.create(path) as connection:
            if self.previous is not None:
                part = (PREVIOUS, zlib.compress(self.previous, 6))
                connection.execute("INSERT INTO sketch VALUES (?, ?)", part)
            settings["sketch"] = write_sketch(
                connection, self.pool, self.problem, share, candidates, self.records
            )
            begins = [("created", settings)]
            begins += [] if self.carried is None else [("carried", self.carried)]
            begins += [("note", {"text": text}) for text in self.notes]
            last = None
            for kind, data in begins:
                last = next_entry(last, kind, data, None, when)
                write(connection, last)
