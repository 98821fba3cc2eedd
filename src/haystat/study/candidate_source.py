"""The pool itself, for the day when the study file runs out of candidates."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from haystat.core.arrays import IntArray
from haystat.errors import StudyError
from haystat.loop.shared_state import Draft
from haystat.measures.base import Measure
from haystat.pool.base import AnyPool, checked_pool
from haystat.pool.known import Known
from haystat.study.pool_source import Source
from haystat.study.sketch_codec import CHUNK, Records, chunk_digest, write_chunks
from haystat.study.sketch_pool import CellDry, SketchPool
from haystat.study.sqlite_journal import SqliteJournal


class CandidateSource:
    """Further items of a cell, from the pool or the file that the study was made from."""

    def __init__(
        self,
        path: Path,
        sketch: SketchPool,
        source: Source | None,
        known: Sequence[Known] = (),
    ) -> None:
        self._path = path
        self._sketch = sketch
        self._source = source
        self._known = known
        self._whole: tuple[AnyPool, Records] | None = None
        if source is not None and source.at_hand:
            self._read("")

    def refill(self, draft: Draft, measure: Measure, dry: CellDry) -> None:
        """Fetch as many candidates of a cell as there are already, and at least a chunk."""
        why = f"has no further items of cell {dry.cell} ({dry.n_kept} were kept)"
        pool, records = self._read(why)
        cells = pool.cells(measure)
        order = pool.candidates(cells)
        stop = min(int(cells.size[dry.cell]), dry.n_kept + max(CHUNK, dry.n_kept))
        item, u = order.first(dry.cell, stop)
        self._check_same(pool, dry, item[: dry.n_kept])
        run = item[dry.n_kept :], u[dry.n_kept :]
        connection = cast(SqliteJournal, draft.journal).connection
        write_chunks(connection, pool, records, {dry.cell: dry.n_kept}, [run])
        firsts = range(dry.n_kept, stop, CHUNK)
        chunks = [[first, chunk_digest(connection, dry.cell, first)] for first in firsts]
        # Should the transaction fail, what was read of its candidates is not in the file.
        draft.if_lost.append(lambda: self._sketch.items.forget(dry.cell, dry.n_kept))
        draft.add("candidates", {"cell": dry.cell, "chunks": chunks})

    def _check_same(self, pool: AnyPool, dry: CellDry, item: IntArray) -> None:
        """Raise unless the cell begins with the items that the file has.

        The fingerprint of a table behind an engine does not know its ids.
        """
        kept, _ = self._sketch.items.first(dry.cell, dry.n_kept)
        if [*map(self._sketch.id_of, kept.tolist())] != [*map(pool.id_of, item.tolist())]:
            raise StudyError(_other_pool(self._path))

    def pool(self, what: str) -> AnyPool:
        """The pool itself, to do something that the sketch of it cannot."""
        return self.pool_and_records(what)[0]

    def pool_and_records(self, what: str) -> tuple[AnyPool, Records]:
        """The same with the columns to show."""
        return self._read(f"cannot {what} by itself")

    def _read(self, why: str) -> tuple[AnyPool, Records]:
        if self._whole is not None:
            return self._whole
        if self._source is None:
            raise StudyError(
                f"{self._path} {why}; open it with the pool: Study.open(path, pool=pool)"
            )
        try:
            pool, records = self._source.read()
        except FileNotFoundError as error:
            raise StudyError(
                f"{self._path} {why} and needs its pool, but there is {error}; put the file back, "
                "or beside the study"
            ) from None
        self._whole = self._checked(pool), records
        return self._whole

    def _checked(self, pool: AnyPool) -> AnyPool:
        """Raise unless this is the pool that the study was made from."""
        pool = checked_pool(pool).ordered(self._sketch.seed)
        same = pool.fingerprint == self._sketch.fingerprint and pool.seed == self._sketch.seed
        if not same:
            raise StudyError(_other_pool(self._path))
        return pool.with_known(self._known)


def _other_pool(path: Path) -> str:
    return (
        f"the pool is not the one that {path} was made from: its items, scores, strata or seed "
        "differ; find the pool as it was, or start a new study"
    )
