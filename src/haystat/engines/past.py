"""What the rows of a pool were in the pool before it: their kind, and so their level.

A row of the next version is looked up in the table before by its id; where both pools are columns
of one table it is the same row, and nothing is joined. There it was in a group. Groups whose items
were equally likely to be drawn, and lay in one stratum, are of one kind. From its kind a row has
the level of its inclusion probability, and the step of its earlier score (pool/version.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

import ibis
import numpy as np
import pyarrow as pa

from haystat.core.arrays import IntArray
from haystat.engines.columns import ID, score_name
from haystat.engines.joined import Joined, common, holds, others, stacked
from haystat.engines.layout import LEVEL, Layout
from haystat.engines.passes import of_groups, sought_alike
from haystat.engines.small_tables import small_table
from haystat.engines.source import Source
from haystat.engines.views import as_view

KIND, EARLIER = "hs_kind", "hs_earlier"
STEP, NEXT = "hs_step", "hs_next_level"
BEFORE_THAT = "hs_before_that"
DEEPEST = 3  # versions that are one query


@dataclass(frozen=True)
class Told:
    """What follows from the kind of a row: level (k,), and step (k,) of the earlier score.

    Rows that are new have new_level and no step. step is 0 where there is none; without any the
    earlier score is that of the pool before.
    """

    level: tuple[int, ...]
    new_level: int
    step: tuple[int, ...] | None


@dataclass(frozen=True)
class Past:
    """The pool before: its source, how its rows are put into groups, and the kind of each.

    key is an Arrow table with the keys of the groups, kind (G,). past is what that pool knows of
    the one before it.
    """

    source: Source
    layout: Layout
    key: pa.Table
    kind: IntArray
    told: Told | None = None
    past: Past | None = None
    _kept: dict[tuple[str, ...], Any] = field(default_factory=dict, compare=False, repr=False)

    @property
    def has_earlier(self) -> bool:
        """Whether rows of the pool before have an earlier score."""
        return any(one.column == EARLIER for one in self.layout.signals)

    def sources(self) -> Source:
        """The source of the pool before, with those before that."""
        earlier = None if self.past is None else self.past.sources()
        return replace(self.source, before=earlier)

    def with_levels(self, source: Source, layout: Layout, names: Sequence[str]) -> Any:
        """Columns of the rows of a pool, with LEVEL, and EARLIER, which is null where missing."""
        assert self.told is not None  # what is told is worked out before it is asked for
        step = self.told.step or (0,) * len(self.told.level)
        # Its own name: the rows of the pool before may have a level, too.
        known = {NEXT: np.array(self.told.level), STEP: np.array(step)}
        if self.source.same_rows(source):
            rows = self._same_rows(source, names, {n: v[self.kind] for n, v in known.items()})
        else:
            known["hs_kind_of"] = np.arange(len(step))
            rows = self.with_kinds(source, layout, names)
            small = small_table(rows, pa.table({n: pa.array(v) for n, v in known.items()}))
            joined = rows.left_join(small, [(KIND, "hs_kind_of")])
            rows = joined.select(*names, BEFORE_THAT, NEXT, STEP)
        earlier = rows[BEFORE_THAT]
        if self.told.step is not None:
            earlier = rows[STEP].nullif(0).cast("float64")
        level = rows[NEXT].fill_null(self.told.new_level)
        return rows.select(*names, **{LEVEL: level, EARLIER: earlier})

    def with_kinds(self, source: Source, layout: Layout, names: Sequence[str]) -> Any:
        """Columns of the rows of a pool with KIND, null where they are new, and their past.

        BEFORE_THAT is the earlier score that they had. Scores of the pool before come along.
        """
        names = list(dict.fromkeys(names))
        kept = [KIND, BEFORE_THAT, *self.old_scores]
        if self.source.same_rows(source):
            return self._same_rows(source, names, {KIND: self.kind})
        if isinstance(source, Joined) and holds(source, self.source):
            return self._with_further(source, names)
        wanted = tuple([*names, str(id(source.table))])
        if wanted not in self._kept:  # a join takes longer than all else: it is done once
            old = self._rows(self.source.moved_to(source))
            old = self._placed(old, {}, {KIND: self.kind})
            new_id, old_id = sought_alike(layout.columns.id_of(source.table), old[ID])
            old = old.select(*kept, hs_old_id=old_id)
            new = source.table.select(*names, hs_new_id=new_id)
            joined = new.left_join(old, [("hs_new_id", "hs_old_id")]).select(*names, *kept)
            self._keep(wanted, source, _stored(joined))
        return self._kept[wanted][0]

    def _with_further(self, source: Joined, names: Sequence[str]) -> Any:
        """The same of a source that holds the rows of the pool before: all others are new."""
        wanted = tuple([*names, str(id(source.table))])
        if wanted in self._kept:
            return self._kept[wanted][0]
        nothing = {name: ibis.null("float64") for name in (BEFORE_THAT, *self.old_scores)}
        nothing = {KIND: ibis.null("int64"), **nothing}
        tables = [one.select(*names, **nothing) for one in others(source, self.source)]
        known = common(source, self.source)
        if known.parts:
            tables.insert(0, self._same_rows(known, names, {KIND: self.kind}))
        rows = stacked(tables)
        if source.stored:
            rows = _stored(rows)
            self._keep(wanted, source, rows)
        return rows

    def _keep(self, wanted: tuple[str, ...], source: Source, rows: Any) -> None:
        """Keep rows of a table, and the table: without it another could get its id."""
        self._kept[wanted] = rows, source.table

    @property
    def old_scores(self) -> list[str]:
        """Our names of the scores that rows had."""
        return [f"hs_old_{score_name(i)}" for i in self.layout.systems]

    def _rows(self, source: Source, names: Sequence[str] | None = None) -> Any:
        """The rows of the pool before, from its source or one that has the same rows."""
        if self.past is None:
            return source.table
        names = list(dict.fromkeys(names or needed(self.layout)))
        rows = self.past.with_levels(source, self.layout, names)
        if self.past._depth % DEEPEST:
            return rows
        view = as_view(rows)
        self._kept[(view.get_name(),)] = rows
        return view

    @property
    def _depth(self) -> int:
        """How many versions there were before."""
        return 1 if self.past is None else 1 + self.past._depth

    def _same_rows(
        self, source: Source, names: Sequence[str], of_group: Mapping[str, IntArray]
    ) -> Any:
        """Columns of the rows of a pool, which are those of the pool before, as `_placed`."""
        table = self._rows(source, [*needed(self.layout), *names])
        mine = {f"hs_kept{i}": name for i, name in enumerate(names)}
        rows = self._placed(table, {our: table[name] for our, name in mine.items()}, of_group)
        named = {name: rows[our] for our, name in mine.items()}
        kept = [*of_group, BEFORE_THAT, *self.old_scores]
        return rows.select(**named, **{name: rows[name] for name in kept})

    def _placed(
        self, table: Any, further: Mapping[str, Any], of_group: Mapping[str, IntArray]
    ) -> Any:
        """Rows of the pool before with what is known of their groups (G,), and further columns."""
        earlier = table[EARLIER] if self.has_earlier else ibis.null("float64")
        rows = self.layout.placed(table, **{BEFORE_THAT: earlier}, **further)
        joined = of_groups(rows, self.layout, self.key, of_group)
        scores = [score_name(i) for i in self.layout.systems]
        rows = joined.select(ID, BEFORE_THAT, *further, *of_group, *scores)
        return rows.rename(dict(zip(self.old_scores, scores, strict=True)))


def _stored(rows: Any) -> Any:
    """The rows in a table of DuckDB's own, which goes with the connection; Spark joins again."""
    backend = rows.get_backend()
    if backend.name != "duckdb":
        return rows
    # cache() of Ibis drops its table when the process ends, and fails at it.
    return backend.create_table(f"haystat_{uuid4().hex}", rows, temp=True)


def needed(layout: Layout) -> list[str]:
    """The columns of a table that a layout reads."""
    signals = [one.column for one in layout.signals if one.column != EARLIER]
    return list(dict.fromkeys([*layout.columns.used, *signals]))
