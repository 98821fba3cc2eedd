"""The next version of a pool behind an engine, as pool/version.py has it for pools in memory.

Rows are told apart by the level of their inclusion probability, and items that were drawn before
come first in the order of their cell. Draws and estimates are those of hs.Pool.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import pyarrow as pa

from haystat.core.arguments import brief
from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.engines.joined import Joined
from haystat.engines.kinds import Kinds, groups_of, read_kinds
from haystat.engines.layout import Layout
from haystat.engines.narrowed import narrowed
from haystat.engines.passes import AGAIN, FRONT, KEPT, Groups, RowOrder, wanted_ids
from haystat.engines.past import EARLIER, Past, Told, needed
from haystat.engines.pool import EnginePool, of_atom
from haystat.engines.signal_cuts import read_signals
from haystat.engines.signals import EngineSignal, signal_of
from haystat.engines.sketch import plain_id
from haystat.engines.sketch_items import CellOf
from haystat.errors import BadOption, PoolChanged, PoolError
from haystat.measures.base import Measure
from haystat.pool.cells import Before, Cells, first_like_most
from haystat.pool.permanent_numbers import keys_of_each
from haystat.pool.signal_places import Counts, make_ladder
from haystat.pool.signals import MOST, starts_of, threshold_place
from haystat.pool.strata import renumber
from haystat.pool.version import EARLIER as EARLIER_SCORE
from haystat.pool.version import (
    is_asked_again,
    is_kept,
    levels_of,
    stratum_steps,
    tells_something,
)


@dataclass(frozen=True)
class EngineDrawn:
    """What was drawn before: the inclusion probability of each level (L,), and ids (n,).

    again (n,) marks those that are asked about anew, each with the probability `share`.
    """

    inclusion: FloatArray
    ids: tuple[Any, ...]
    again: BoolArray
    share: float = 0.0


class EngineVersion(EnginePool):
    """A pool behind an engine, some of whose items were drawn in earlier versions."""

    drawn: EngineDrawn
    past: Past
    given: EnginePool
    kinds: Kinds | None = None

    @classmethod
    def following(
        cls,
        pool: EnginePool,
        past: Past,
        drawn: EngineDrawn,
        earlier: EngineSignal | None,
        seed: int,
        kinds: Kinds | None = None,
    ) -> EngineVersion:
        """The pool with what was drawn before; seed is that of the order of its items.

        kinds: those of its rows, if they have been counted.
        """
        source = pool.source
        assert source is not None
        version = cls.__new__(cls)
        version.drawn, version.past, version.given = drawn, past, pool
        signals = pool.layout.signals
        if earlier is not None:
            signals = (*_beside_another(pool), earlier)
        layout = replace(pool.layout, signals=signals, levels=True)
        joined = past.with_levels(source, pool.layout, needed(pool.layout))
        source = replace(source, table=joined, before=past.sources())
        settings = replace(pool.settings, seed=seed)
        version.__init__(source, pool.summary, layout, pool.cut, settings, pool.lookup)  # type: ignore[misc]
        as_counted = signals[: len(pool.layout.signals)] == pool.layout.signals
        version.kinds = kinds if as_counted else None
        return version

    def _groups(self, layout: Layout) -> Groups:
        """The groups of rows, which were counted with their kinds."""
        if layout is not self.layout or self.kinds is None or self.kinds.table is None:
            return super()._groups(layout)
        return groups_of(self.kinds, layout, self.past.told)

    def cells(self, measure: Measure) -> Cells:
        """Group the items that `measure` cannot tell apart and that were equally likely before."""
        cells, held = super().cells(measure), self._held_for(measure)
        sketch, level = held.sketch, held.sketch.levels()
        parent = of_atom(cells)
        of_finer = renumber(parent * (int(level.max()) + 1) + level).astype(np.int64)
        first = first_like_most(of_finer, sketch.atoms.predictions, sketch.atoms.size)
        size = np.zeros(len(first), dtype=np.int64)
        np.add.at(size, of_finer, sketch.atoms.size)
        front = of_finer[sketch.items.atom[sketch.items.u < 0]]
        before = Before(
            np.bincount(front, minlength=len(first)), self.drawn.inclusion[level[first]]
        )
        above = parent[first]
        return replace(
            cells,
            stratum=cells.stratum[above],
            size=size,
            prior=cells.prior[above],
            example=held.outputs(held.index(first, np.zeros_like(first))),
            of_item=cast(Any, CellOf(of_finer)),
            signals=None if cells.signals is None else cells.signals.take(above),
            before=before,
        )

    def again_in(self, cells: Cells) -> IntArray:
        """Items of each cell that are asked about again, (K,)."""
        items = self._of(cells.example.index).sketch.items
        again = (items.u < 0) & (items.u >= AGAIN)
        return np.bincount(of_atom(cells)[items.atom[again]], minlength=len(cells))

    def still_there(self) -> set[Any]:
        """The ids of the items that were drawn before."""
        items = self.held.sketch.items
        return set(items.id[items.u < 0].tolist())

    def with_seed(self, seed: int) -> EnginePool:
        """Versions have the order that they were made with."""
        raise BadOption("a next version has an order of its own; give a seed to the first one")

    def save(self, path: Any) -> None:
        """A sketch does not hold what was drawn before."""
        raise BadOption(
            "a sketch has no labels of earlier versions; a study keeps them: Study.next, haystat "
            "next"
        )

    @cached_property
    def fingerprint(self) -> str:
        """Digest of all that draws depend on but the seed: also of what was drawn before."""
        digest = hashlib.sha256(super().fingerprint.encode())
        drawn = self.drawn
        digest.update(drawn.inclusion.tobytes())
        digest.update(repr(sorted(map(str, self.still_there()))).encode())
        digest.update(repr((drawn.share, self.past.told)).encode())
        return digest.hexdigest()[:16]

    def _order(self, seed: int) -> RowOrder:
        """First the items that were drawn before, the last of them those to ask about again."""
        id = self.layout.columns.id_of(self.given.source.table)  # type: ignore[union-attr]
        begins = np.where(self.drawn.again, AGAIN, KEPT).astype(np.int64)
        front = {"hs_wanted": wanted_ids(id, self.drawn.ids), FRONT: pa.array(begins)}
        return RowOrder(seed, pa.table(front))


def _beside_another(pool: EnginePool) -> tuple[EngineSignal, ...]:
    """The signals of a pool that gets one more: bands are coarser where there are many."""
    signals, source = pool.layout.signals, pool.source
    if len(signals) >= MOST:
        raise BadOption(
            f"the pool has {len(signals)} signals, and the score before is one more, of which an "
            f"engine takes {MOST}; leave one out, or use hs.Pool"
        )
    same = np.array_equal(starts_of(len(signals)), starts_of(len(signals) + 1))
    if not signals or same or source is None:
        return signals
    given = {one.name: one.column for one in signals}
    layout = pool.layout
    return read_signals(source, layout.columns, given, layout.classes, layout.thresholds, 1)


@dataclass(frozen=True)
class Levels:
    """The probability of each level (L,), ascending, and the levels of values (V,) that occur."""

    inclusion: FloatArray
    value: FloatArray
    level: IntArray

    @classmethod
    def of(cls, chance: FloatArray, kinds: Kinds, most: int) -> Levels:
        """From the inclusion probability of each kind (k,), and the rows of each."""
        value = np.unique(kinds.value(chance, 0.0))
        inclusion, level = levels_of(value, most)
        return cls(inclusion, value, level)

    def at(self, chance: FloatArray) -> IntArray:
        """The level of some probabilities; any where none of the rows has that."""
        return self.level[np.minimum(np.searchsorted(self.value, chance), len(self.value) - 1)]


def following(
    old: Any,
    pool: Any,
    measure: Measure,
    inclusion: FloatArray,
    told: Mapping[Any, int],
    seed: int,
    order: int,
    most: int,
    ask_again: float,
) -> EngineVersion:
    """The next version of a pool; told: the old position of each drawn item, by id.

    inclusion (K,) is that of the cells that the measure made of the old pool. seed is that of what
    is put back or asked again, order that of the items.
    """
    _check(old, pool)
    cells, chance, step, past = _kinds(old, measure, inclusion)
    past = narrowed(past, pool)
    kinds, anew = read_kinds(past, pool.source, pool.layout)
    _check_seen(kinds, old, pool)
    levels = Levels.of(chance, kinds, most)
    given, earlier = _earlier(kinds, step, anew, pool)
    level = tuple(levels.at(chance).tolist())
    past = replace(past, told=Told(level, int(levels.at(np.zeros(1))[0]), given))
    of_told = inclusion[cells.of_item[np.array(list(told.values()), dtype=np.int64)]]
    drawn = _drawn(levels, told, of_told, seed, ask_again)
    version = EngineVersion.following(pool, past, drawn, earlier, order, kinds)
    _check_places(version, old.source.name, dict(zip(told, levels.at(of_told), strict=True)))
    return version


def _kinds(
    old: EnginePool, measure: Measure, inclusion: FloatArray
) -> tuple[Cells, FloatArray, IntArray, Past]:
    """The cells of the old pool, and its groups by the inclusion (k,) and step (k,) of their kind.

    Groups of a kind are equally likely to be drawn and lie in strata that are alike.
    """
    cells, sketch = old.cells(measure), old.sketch_of(measure)
    stratum = sketch.atoms.stratum[sketch.atom_of]
    step = stratum_steps(*old.claimed())[stratum]
    pair = np.stack([inclusion[of_atom(cells)[sketch.atom_of]], step])
    kinds, kind = np.unique(pair, axis=1, return_inverse=True)
    source, before = old.source, None
    if isinstance(old, EngineVersion):
        source, before = old.given.source, old.past
    assert source is not None  # _check
    layout, key = old.layout_of(measure), sketch.groups.key
    past = Past(source, layout, key, kind.reshape(-1).astype(np.int64), past=before)
    return cells, kinds[0], kinds[1].astype(np.int64), past


def _earlier(
    kinds: Kinds, step: IntArray, anew: bool, pool: EnginePool
) -> tuple[tuple[int, ...] | None, EngineSignal | None]:
    """The step of each kind, or None for those of the pool before; the signal that steps make."""
    value = kinds.value(step, 0) if anew else kinds.before
    given = tuple(step.tolist()) if anew else None
    if len(pool.classes) != 2 or not tells_something(value):
        return (0,) * len(step), None
    known = value > 0
    steps, place = np.unique(value[known], return_inverse=True)
    size, of_chosen = (
        np.bincount(place, part[known]).astype(np.int64) for part in (kinds.n, kinds.chosen)
    )
    low = steps.astype(np.float64)
    missing = int(kinds.n[~known].sum()), int(kinds.chosen[~known].sum())
    n_systems, n_signals = len(pool.systems), len(pool.layout.signals) + 1
    threshold = threshold_place(int(kinds.votes.sum()), int(kinds.n.sum()) * n_systems)
    ladder = make_ladder(
        Counts(low, low, size, of_chosen, *missing), threshold, starts_of(n_signals)
    )
    further = {"cuts": tuple(ladder.cuts.tolist()), "missing": missing[0] > 0}
    return given, signal_of(EARLIER_SCORE, EARLIER, ladder, **further)


def _drawn(
    levels: Levels, told: Mapping[Any, int], chance: FloatArray, seed: int, ask_again: float
) -> EngineDrawn:
    """The items that stay drawn, of those that were with a chance (n,), and which to ask again."""
    ids = [plain_id(one) for one in told]
    keys = keys_of_each(ids)
    ratio = levels.inclusion[levels.at(chance)] / chance
    # Where no row has the chance of an item, the item is gone.
    kept = np.isin(chance, levels.value) & is_kept(ratio, keys, seed)
    again = is_asked_again(keys, seed, ask_again) & kept
    names = tuple(name for name, stays in zip(ids, kept.tolist(), strict=True) if stays)
    return EngineDrawn(levels.inclusion, names, again[kept], ask_again)


def _check_places(version: EngineVersion, name: str, level_of: Mapping[Any, int]) -> None:
    """Raise unless items that were drawn are of the level (by id) of the rows they were drawn as.

    Counts and scores of a table may be what they were while its ids are others.
    """
    sketch = version.held.sketch
    front = np.flatnonzero(sketch.items.u < 0)
    expected = {plain_id(one): level for one, level in level_of.items()}
    found = sketch.levels()[sketch.items.atom[front]].tolist()
    for id, level in zip(sketch.items.id[front].tolist(), found, strict=True):
        if expected[id] != level:
            raise PoolChanged(
                f"in {name}, item {id!r} has another score than when it was drawn, or is gone; "
                "versions need the tables as they were: put them back, or start a new study"
            )


def _check(old: Any, pool: Any) -> None:
    """Raise unless both pools have rows that can be looked up in one another."""
    for which, one in (("the next", pool), ("the old", old)):
        if type(one) not in (EnginePool, EngineVersion):
            raise BadOption(
                f"{which} pool is {brief(one)}; versions take two pools in memory (hs.Pool), or "
                "two behind an engine (hs.open_pool) with a row for every item"
            )
        if one.source is None or one.size != one.summary.size:
            raise BadOption(
                f"{which} pool is a sketch whose table is not here; versions look up its rows: "
                "open the table itself"
            )
    if isinstance(pool, EngineVersion):
        raise BadOption("the next pool has a past already; open its table with hs.open_pool")
    if old.classes != pool.classes:
        raise PoolError(
            f"the pool has the classes {list(pool.classes)}, and labels were taken in terms of "
            f"{list(old.classes)}; make it with the same classes"
        )
    ids = [one.layout.columns.id_of(one.source.table).type() for one in (old, pool)]
    if len({one.is_string() for one in ids}) > 1:
        raise PoolError(
            f"ids were of type {ids[0]} and are of type {ids[1]} in {pool.source.name}, so no item "
            "is found again; give them as they were"
        )


def _check_seen(kinds: Kinds, old: EnginePool, pool: EnginePool) -> None:
    """Raise unless each row was found once, and some of them in the pool before."""
    total = int(kinds.n.sum())
    if total != pool.size:
        raise PoolError(
            f"{pool.size} rows became {total} when they were looked up in the pool before: ids "
            "repeat in one of the tables; give every item an id of its own"
        )
    if kinds.is_new.all() and not isinstance(pool.source, Joined):
        raise PoolError(
            f"no id of {pool!r} is an id of the pool before, so that no label can be carried over; "
            "do both tables have the same column of ids?"
        )
