"""Pairs that blocking never produced: a stratum of their own, so that recall counts them.

Nobody lists them. Their number is that of all pairs less the blocked ones; all pairs are numbered,
a keyed permutation of the numbers puts them into random order, and those that were blocked are
passed over. u of a pair is its place in that order, as a share. Pairs that lie near (near.py) are
listed, and have strata of their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from haystat.core.arrays import FloatArray, IntArray
from haystat.engines.columns import PAIR_SIGN, Columns
from haystat.engines.layout import PLACE, Layout
from haystat.engines.near import NONE, Near
from haystat.engines.outside import FAR, near_stratum, with_outside, without_outside
from haystat.engines.passes import Found, id_array
from haystat.engines.pool import EnginePool
from haystat.engines.records import blocked_among
from haystat.engines.side_tables import Unblocked
from haystat.engines.sketch import Sketch, merged, take
from haystat.engines.source import Source, find_source
from haystat.errors import BadOption, PoolError
from haystat.pool.permanent_numbers import HALF, MULTIPLIERS, PRIME, round_keys


@dataclass(frozen=True)
class PairSpace:
    """All pairs of two lists of ids, or of one: pair (i, j) has a number from 0 to size - 1."""

    left: NDArray[Any]
    right: NDArray[Any] | None

    @property
    def size(self) -> int:
        """Number of pairs."""
        n = len(self.left)
        return n * (n - 1) // 2 if self.right is None else n * len(self.right)

    def pairs(self, number: IntArray) -> list[tuple[Any, Any]]:
        """The ids of pairs by their numbers."""
        if self.right is not None:
            i, j = np.divmod(number, len(self.right))
            return list(zip(self.left[i].tolist(), self.right[j].tolist(), strict=True))
        # Number j (j - 1) / 2 + i is the pair i < j.
        j = np.floor((1 + np.sqrt(8.0 * number + 1)) / 2).astype(np.int64)
        j -= j * (j - 1) // 2 > number  # the root may be rounded to the next whole number
        j += (j + 1) * j // 2 <= number
        i = number - j * (j - 1) // 2
        return list(zip(self.left[i].tolist(), self.left[j].tolist(), strict=True))

    def numbers(self, i: IntArray, j: IntArray) -> IntArray:
        """The numbers of pairs of rows, i < j if they are of one list."""
        return j * (j - 1) // 2 + i if self.right is None else i * len(self.right) + j


def shuffled(rank: IntArray, size: int, seed: int) -> IntArray:
    """A random permutation of 0 … size - 1 at some places: the same network as u, on fewer bits.

    Numbers beyond `size` are sent through it again until they are inside.
    """
    half = max(1, (int(size - 1).bit_length() + 1) // 2)
    mask = (1 << half) - 1
    rounds = tuple(zip(round_keys(seed), MULTIPLIERS, strict=True))
    result = np.asarray(rank, dtype=np.int64).copy()
    beyond = np.arange(len(result))
    while len(beyond):
        left, right = result[beyond] >> half, result[beyond] & mask
        for key, multiplier in rounds:
            mixed = ((right ^ (key & HALF)) * multiplier % PRIME) & mask
            left, right = right, mixed ^ left
        result[beyond] = (left << half) | right
        beyond = beyond[result[beyond] >= size]
    return result


def make_space(given: Unblocked, source: Source) -> PairSpace:
    """The ids of both tables, in an order of their own."""
    if not 0 < given.missed < np.inf:
        raise BadOption(f"missed is {given.missed}; give a positive number")
    backend = source.table.get_backend()
    left = _ids(given.left, given.key, backend)
    return PairSpace(left, None if given.right is None else _ids(given.right, given.key, backend))


def check_members(space: PairSpace, source: Source, columns: Columns) -> None:
    """Raise unless both records of every blocked pair are in the tables."""
    right = space.left if space.right is None else space.right
    for name, ids in zip(columns.id, (space.left, right), strict=True):
        known = pa.table({"hs_known": pa.array([str(id) for id in ids], type=pa.string())})
        with source.reading():
            given = source.table.select(hs_given=source.table[name].cast("string")).distinct()
            beside = given.anti_join(ibis.memtable(known), [("hs_given", "hs_known")])
            found = beside.limit(1).to_pyarrow()["hs_given"].to_pylist()
        if found:
            raise PoolError(
                f"{name} {found[0]!r} of a blocked pair is not in its table; are the tables "
                "whole, and in the order of the ids: left, right?"
            )


def _ids(given: Any, key: str, backend: Any) -> NDArray[Any]:
    if isinstance(given, list | tuple | np.ndarray):
        ids = np.asarray(given)
        ids = ids.astype(object) if ids.dtype.kind not in "iu" else ids
    else:
        rows = find_source(given, None, backend)
        if key not in rows.table.schema().names:
            raise BadOption(f"no column {key!r} in {rows.name}; name the ids: Unblocked(key=…)")
        with rows.reading():
            ids = id_array(rows.table.select(key).to_pyarrow()[key])
    ordered = np.sort(ids)
    if np.any(ordered[1:] == ordered[:-1]):
        raise PoolError("ids of a table repeat; every record has one of its own")
    return ordered


class UnblockedPool(EnginePool):
    """Blocked pairs, and those that blocking never produced."""

    space: PairSpace

    def __init__(self, *parts: Any, space: PairSpace, missed: float, near: Near = NONE) -> None:
        self.space = space
        self._missed = missed
        self._near = near
        self._ids_of: dict[str, tuple[Any, Any]] = {}  # of unblocked pairs, by their id
        super().__init__(*parts)

    def records(self, index: IntArray) -> Mapping[str, Sequence[Any]]:
        """The columns to show: of unblocked pairs only those of the side tables are known."""
        held = self._of(index)
        ids = held.sketch.items.id[held.rows(index)]
        outside = np.array([item in self._ids_of for item in ids], dtype=bool)
        inside = self.lookup.records(ids[~outside])
        beyond = self.lookup.of_pairs([self._ids_of[item] for item in ids[outside]])
        result = {}
        for name in self.lookup.names:
            values = np.empty(len(ids), dtype=object)
            values[~outside] = inside[name]
            values[outside] = beyond[name]
            result[name] = values.tolist()
        return result

    def with_seed(self, seed: int) -> EnginePool:
        """The same pool in another order."""
        settings = replace(self.settings, seed=seed)
        parts = self.source, self.summary, self.layout, self.cut, settings, self.lookup
        return UnblockedPool(*parts, space=self.space, missed=self._missed, near=self._near)

    def _counted(self) -> int:
        if self.space.size < self.summary.size:
            raise PoolError(
                f"{self.summary.size} blocked pairs of tables that have {self.space.size}; are "
                "the tables whole, and is each pair there once?"
            )
        return self.space.size

    def _sketched(self, layout: Layout) -> Sketch:
        sketch = super()._sketched(layout)
        n = self.space.size - self.summary.size
        if n == 0:
            return sketch
        whole = with_outside(sketch, n, self._near, self._missed, self._score())
        outside = np.arange(len(sketch.atoms), len(whole.atoms))
        return self._grown(whole, outside, self.settings.candidates)

    def _fetched(
        self, layout: Layout, sketch: Sketch, limit: IntArray, n_wanted: IntArray, seed: int
    ) -> Sketch:
        n_outside = self._n_outside(sketch)
        if not n_outside:  # they are not there yet
            return super()._fetched(layout, sketch, limit, n_wanted, seed)
        first, items = len(sketch.atoms) - n_outside, sketch.items
        own = take(items, np.flatnonzero(items.atom >= first))
        more = limit > sketch.atoms.limit
        if np.any(more[:first]):
            inside = without_outside(sketch, n_outside)
            rest = super()._fetched(layout, inside, limit[:first], n_wanted[:first], seed)
            limits = np.append(rest.atoms.limit, sketch.atoms.limit[first:])
            atoms = replace(sketch.atoms, limit=limits)
            sketch = replace(sketch, atoms=atoms, items=merged(rest.items, own))
        for atom in (first + np.flatnonzero(more[first:])).tolist():
            here = int(np.sum(own.atom == atom))
            sketch = self._grown(sketch, np.array([atom]), 2 * here + 1)
        return sketch

    def _n_outside(self, sketch: Sketch) -> int:
        """Atoms of pairs outside the blocks: the last ones."""
        return int(np.sum(sketch.groups.column(PLACE) < 0))

    def _grown(self, sketch: Sketch, atoms: IntArray, n_wanted: int) -> Sketch:
        """The sketch with at least n_wanted pairs of some atoms outside the blocks, or all."""
        parts = [take(sketch.items, np.flatnonzero(~np.isin(sketch.items.atom, atoms)))]
        place = sketch.groups.column(PLACE)
        limits = sketch.atoms.limit.copy()
        for atom in atoms.tolist():
            size, kind = int(sketch.atoms.size[atom]), int(place[atom - len(sketch.atoms)])
            first = self._first_far if kind == FAR else self._first_near
            number, rank = first(min(n_wanted, size), size, kind)
            last = places(rank[-1:], self.space.size)[0]
            limits[atom] = np.iinfo(np.int64).max if len(number) == size else last
            parts.append(self._found(atom, number, rank))
        return replace(sketch, atoms=replace(sketch.atoms, limit=limits), items=merged(*parts))

    def _first_near(self, wanted: int, size: int, place: int) -> tuple[IntArray, IntArray]:
        """Numbers and ranks of the first near pairs of a stratum."""
        number = self._near.number[self._near.stratum == near_stratum(place)]
        rank = shuffled(number, self.space.size, self.settings.seed)
        order = np.argsort(rank)[:wanted]
        return number[order], rank[order]

    def _first_far(self, wanted: int, n_far: int, place: int) -> tuple[IntArray, IntArray]:
        """The same of the pairs that are neither blocked nor near, at least `wanted` of n_far."""
        size = self.space.size
        n_ranks = min(size, int(wanted * size / n_far * 1.1) + 100)
        while True:
            rank = np.arange(n_ranks)
            number = shuffled(rank, size, self.settings.seed)
            free = self._not_blocked(self.space.pairs(number)) & ~self._near.among(number)
            if free.sum() >= wanted or n_ranks == size:
                return number[free], rank[free]
            n_ranks = min(size, 2 * n_ranks)

    def _found(self, atom: int, number: IntArray, rank: IntArray) -> Found:
        """Pairs as the first items of an atom."""
        pairs = self.space.pairs(number)
        ids = [pair_id(pair) for pair in pairs]
        self._ids_of.update(zip(ids, pairs, strict=True))
        return Found(
            np.full(len(ids), atom, dtype=np.int32),
            places(rank, self.space.size),
            np.array(ids, dtype=object),
            np.repeat(self._score()[None], len(ids), axis=0),
        )

    def _not_blocked(self, pairs: list[tuple[Any, Any]]) -> NDArray[np.bool_]:
        source = self._source("further pairs that were not blocked")
        turned = [(b, a) for a, b in pairs] if self.space.right is None else []
        blocked = blocked_among(source, self.layout.columns, [pair_id(p) for p in pairs + turned])
        return np.array(
            [
                pair_id((a, b)) not in blocked
                and (self.space.right is not None or pair_id((b, a)) not in blocked)
                for a, b in pairs
            ]
        )

    def _score(self) -> FloatArray:
        """Below the lowest score of each system, (S,)."""
        return np.nextafter(self.summary.score_range[:, 0], -np.inf)


def pair_id(pair: tuple[Any, Any]) -> str:
    """Both ids as one text."""
    return f"{pair[0]}{PAIR_SIGN}{pair[1]}"


def places(rank: IntArray, size: int) -> NDArray[np.int64]:
    """u of the places in an order of `size` pairs: whole numbers below 2**63."""
    return np.array([((2 * r + 1) << 62) // size for r in rank.tolist()], dtype=np.int64)


def check_unblocked(columns: Columns, classes: Sequence[Any]) -> None:
    """Raise unless the pool is one of pairs."""
    if len(columns.id) != 2:
        raise BadOption("unblocked pairs need the two ids of a pair: id=(left, right)")
    if columns.facts or not classes:
        raise BadOption("unblocked pairs have no sub-populations and no numbers as labels")
    if columns.probabilities or not columns.scores:
        raise BadOption("what unblocked pairs may be is told from scores: give `score` alone")
