"""The kinds of the rows of a next version, counted in the pass that counts its groups.

Each row has a code of its kind and of the step of the score before that. Its level and its earlier
score follow from the code, and so the groups of the version follow from groups of codes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from haystat.core.arrays import BoolArray, IntArray
from haystat.engines.columns import prediction_name, score_name
from haystat.engines.grid import Grid
from haystat.engines.layout import LEVEL, Layout
from haystat.engines.passes import MOST_GROUPS, Groups, as_groups, checked_few, read_sums
from haystat.engines.past import BEFORE_THAT, EARLIER, KIND, Past, needed
from haystat.engines.signals import EngineSignal, band_name, placed_name
from haystat.engines.source import Source

CODES = 512  # of a kind: steps of an earlier score, 0 being none


@dataclass(frozen=True)
class Kinds:
    """Rows by kind (c,), -1 of new ones, and the step before that: their number, and votes.

    chosen are those that most systems predict positive. table has the groups of codes, or None
    where there were too many.
    """

    kind: IntArray
    before: IntArray
    n: IntArray
    votes: IntArray
    chosen: IntArray
    table: pa.Table | None

    @property
    def is_new(self) -> BoolArray:
        """Which of them were not in the pool before."""
        return self.kind < 0

    def value(self, of_kind: NDArray[Any], of_new: float) -> NDArray[Any]:
        """What each kind (k,) has, or new rows have, (c,)."""
        return np.append(of_kind, of_kind.dtype.type(of_new))[self.kind]


def read_kinds(past: Past, source: Source, layout: Layout) -> tuple[Kinds, bool]:
    """One pass; and whether the scores are others than before."""
    anew = _scores_differ(past, source, layout)
    rows = past.with_kinds(source, layout, needed(layout))
    code = (rows[KIND].fill_null(-1) + 1) * CODES
    if not anew:
        code = code + rows[BEFORE_THAT].fill_null(0.0).cast("int64")
    coded = replace(source, table=rows.mutate(**{LEVEL: code}), before=past.sources())
    table = read_sums(coded, replace(layout, levels=True))
    if table.num_rows <= MOST_GROUPS:
        return _kinds_of(table, layout, table), anew
    everywhere = ((score_name(0), Grid(np.zeros(0))),)
    columns = replace(layout.columns, facts=())
    coarse = replace(layout, columns=columns, ladders=everywhere, bins=(), signals=(), levels=True)
    return _kinds_of(checked_few(read_sums(coded, coarse), coarse), layout, None), anew


def _scores_differ(past: Past, source: Source, layout: Layout) -> bool:
    """Whether some row has another score than before."""
    if len(layout.systems) != len(past.layout.systems):
        return True
    rows, was_there = source.table, ibis.literal(True)
    if past.source.same_rows(source):
        old = [past.layout.columns.score(rows, i) for i in layout.systems]
    else:
        rows = past.with_kinds(source, layout, needed(layout))
        was_there = rows[KIND].notnull()
        old = [rows[name] for name in past.old_scores]
    unlike = ibis.literal(False)
    for i, score in enumerate(old):
        unlike = unlike | (layout.columns.score(rows, i) != score)
    with source.reading():
        found = rows.filter(unlike & was_there).select(hs_any=ibis.literal(1)).limit(1)
        return bool(found.to_pyarrow().num_rows)


def _kinds_of(table: pa.Table, layout: Layout, kept: pa.Table | None) -> Kinds:
    """The kinds of groups of codes."""
    code, group = np.unique(table[LEVEL].to_numpy(), return_inverse=True)
    size = table["hs_size"].to_numpy().astype(np.int64)
    votes = np.zeros(len(size), dtype=np.int64)
    for system in layout.systems if layout.classes else ():
        votes += table[prediction_name(system)].to_numpy().astype(np.int64)
    chosen = 2 * votes > len(layout.systems)
    n, n_votes, n_chosen = (
        np.bincount(group, part, len(code)).astype(np.int64)
        for part in (size, votes * size, chosen * size)
    )
    return Kinds(code // CODES - 1, code % CODES, n, n_votes, n_chosen, kept)


def groups_of(kinds: Kinds, layout: Layout, told: Any) -> Groups:
    """The groups of the version, from those of codes; `told` is what follows from a kind."""
    table = kinds.table
    assert table is not None
    code = table[LEVEL].to_numpy().astype(np.int64)
    kind, value = code // CODES - 1, code % CODES
    if told.step is not None:
        value = np.append(told.step, 0)[kind]
    columns: dict[str, Any] = {name: table[name] for name in table.column_names}
    columns[LEVEL] = np.append(told.level, told.new_level)[kind]
    last = len(layout.signals) - 1
    if layout.signals and layout.signals[last].column == EARLIER:
        columns |= _earlier_columns(layout.signals[last], last, value, columns["hs_size"])
    merged = pa.table(columns)
    sums = [name for name in columns if name not in layout.keys]
    found = merged.group_by(layout.keys).aggregate([(name, "sum") for name in sums])
    found = found.rename_columns([*layout.keys, *sums])
    return as_groups(found.sort_by([(name, "ascending") for name in layout.keys]), layout)


def _earlier_columns(
    signal: EngineSignal, position: int, value: IntArray, size: pa.ChunkedArray
) -> Mapping[str, Any]:
    """Band and sum of places of an earlier score, 0 being none."""
    rung = np.searchsorted(np.array(signal.cuts), value, side="right")
    place, band = (np.where(value > 0, np.array(of)[rung], 0) for of in (signal.place, signal.band))
    total = pc.multiply(pc.cast(size, pa.int64()), pa.array(place))
    return {band_name(position): band, placed_name(position): pc.cast(total, pa.float64())}
