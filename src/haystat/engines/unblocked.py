"""Pairs that blocking never produced: a stratum of their own, so that recall counts them.

Nobody lists them. Their number is that of all pairs less the blocked ones; all pairs are numbered,
a keyed permutation of the numbers puts them into random order, and those that were blocked are
passed over. u of a pair is its place in that order, as a share.
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
from haystat.engines.passes import PLACE, Found, Groups, Layout, id_array
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

    def __init__(self, *parts: Any, space: PairSpace, missed: float) -> None:
        self.space = space
        self._missed = missed
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
        return UnblockedPool(*parts, space=self.space, missed=self._missed)

    def _sketched(self, layout: Layout) -> Sketch:
        sketch = super()._sketched(layout)
        n = self.space.size - self.summary.size
        if n < 0:
            raise PoolError(
                f"{self.summary.size} blocked pairs of tables that have {self.space.size}; are "
                "the tables whole, and is each pair there once?"
            )
        if n == 0:
            return sketch
        return self._grown(self._with_last(layout, sketch, n), self.settings.candidates)

    def _fetched(
        self, layout: Layout, sketch: Sketch, limit: IntArray, n_wanted: IntArray, seed: int
    ) -> Sketch:
        if sketch.groups.column(PLACE)[-1] >= 0:  # the unblocked are not there yet
            return super()._fetched(layout, sketch, limit, n_wanted, seed)
        last, items = len(sketch.atoms) - 1, sketch.items
        own = take(items, np.flatnonzero(items.atom == last))
        if np.any(limit[:-1] > sketch.atoms.limit[:-1]):
            rest = super()._fetched(layout, _without_last(sketch), limit[:-1], n_wanted[:-1], seed)
            limits = np.append(rest.atoms.limit, sketch.atoms.limit[-1])
            atoms = replace(sketch.atoms, limit=limits)
            sketch = replace(sketch, atoms=atoms, items=merged(rest.items, own))
        if limit[-1] > sketch.atoms.limit[-1]:
            sketch = self._grown(sketch, 2 * len(own) + 1)
        return sketch

    def _with_last(self, layout: Layout, sketch: Sketch, n: int) -> Sketch:
        """The sketch with the unblocked pairs as its first stratum and last atom, no item yet."""
        groups, atoms = sketch.groups, sketch.atoms
        n_systems = len(layout.systems)
        names = groups.key.schema
        row = {f.name: pa.array([-1 if f.name == PLACE else 0], type=f.type) for f in names}
        total = self._missed * groups.prior_sum.sum(axis=0)
        groups = Groups(
            pa.concat_tables([groups.key, pa.table(row, schema=names)]),
            np.append(groups.size, n),
            np.vstack([groups.score_sum, n * self._score()]),
            np.vstack([groups.prior_sum, np.minimum(total, n)]),
            np.append(groups.square_sum, 0.0),
        )
        nothing = np.zeros((1, n_systems), dtype=np.int64)
        atoms = replace(
            atoms,
            stratum=np.append(atoms.stratum + 1, 0),
            size=np.append(atoms.size, n),
            predictions=np.vstack([atoms.predictions, nothing]),
            bins=np.vstack([atoms.bins, np.zeros((1, atoms.bins.shape[1]), dtype=np.int64)]),
            limit=np.append(atoms.limit, -1),
        )
        return Sketch(atoms, groups, np.append(sketch.atom_of, len(atoms) - 1), sketch.items)

    def _grown(self, sketch: Sketch, n_wanted: int) -> Sketch:
        """The sketch with at least n_wanted unblocked pairs, or all of them."""
        last = len(sketch.atoms) - 1
        size, n_unblocked = self.space.size, int(sketch.atoms.size[last])
        wanted = min(n_wanted, n_unblocked)
        n_ranks = min(size, int(wanted * size / n_unblocked * 1.1) + 100)
        while True:
            rank = np.arange(n_ranks)
            pairs = self.space.pairs(shuffled(rank, size, self.settings.seed))
            free = self._not_blocked(pairs)
            if free.sum() >= wanted or n_ranks == size:
                break
            n_ranks = min(size, 2 * n_ranks)
        chosen = np.flatnonzero(free)
        ids = [pair_id(pairs[row]) for row in chosen]
        self._ids_of.update(zip(ids, (pairs[row] for row in chosen), strict=True))
        u = places(rank[chosen], size)
        found = Found(
            np.full(len(chosen), last, dtype=np.int32),
            u,
            np.array(ids, dtype=object),
            np.repeat(self._score()[None], len(chosen), axis=0),
        )
        whole = n_ranks == size
        limit = np.iinfo(np.int64).max if whole else int(places(rank[-1:], size)[0])
        limits = np.append(sketch.atoms.limit[:-1], limit)
        kept = take(sketch.items, np.flatnonzero(sketch.items.atom != last))
        atoms = replace(sketch.atoms, limit=limits)
        return replace(sketch, atoms=atoms, items=merged(kept, found))

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


def _without_last(sketch: Sketch) -> Sketch:
    """The blocked pairs alone."""
    groups, atoms = sketch.groups, sketch.atoms
    last = len(atoms) - 1
    groups = Groups(
        groups.key.slice(0, groups.key.num_rows - 1),
        groups.size[:-1],
        groups.score_sum[:-1],
        groups.prior_sum[:-1],
        groups.square_sum[:-1],
    )
    atoms = replace(
        atoms,
        stratum=atoms.stratum[:-1] - 1,
        size=atoms.size[:-1],
        predictions=atoms.predictions[:-1],
        bins=atoms.bins[:-1],
        limit=atoms.limit[:-1],
    )
    items = take(sketch.items, np.flatnonzero(sketch.items.atom != last))
    return Sketch(atoms, groups, sketch.atom_of[:-1], items)
