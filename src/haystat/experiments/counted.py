"""Repeats on a pool behind an engine, from the number of items of each cell under each label.

The items of a cell that have equal losses differ in nothing but their labels, and are asked about
in random order. So a fresh order for every repeat needs no pass over the rows: items are numbers,
those of a cell in the order of their labels, and each repeat shuffles them as far as it looks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.errors import BadOption
from haystat.experiments.repeat import Experiment
from haystat.measures.base import Measure
from haystat.measures.outputs import Outputs
from haystat.planning.rehearsal import StandIn, stand_in
from haystat.pool.base import AnyPool
from haystat.pool.cells import Cells
from haystat.pool.memory import Pool
from haystat.pool.problem import Problem, pose


class CountedLabels:
    """The label of each item, as an array of the whole pool would give it.

    counts (K, C) are the items of each cell under each label.
    """

    def __init__(self, counts: IntArray) -> None:
        self.counts = counts
        self._end = np.cumsum(counts.ravel())

    def __getitem__(self, item: IntArray) -> IntArray:
        part = np.searchsorted(self._end, item, side="right")
        return np.asarray(part % self.counts.shape[1], dtype=np.int64)

    def tobytes(self) -> bytes:
        """What tells these labels from others."""
        return self.counts.tobytes()


class CountedPool:
    """The items of a pool as numbers."""

    complete = foreign = False  # as of a pool that is not at hand

    def __init__(self, pool: AnyPool, items: StandIn) -> None:
        self.size = pool.size
        self.fingerprint = pool.fingerprint
        self._items = items

    def outputs(self, item: IntArray) -> Outputs:
        """What the systems say about the example of each item's cell."""
        return self._items.outputs(item)

    def candidates(self, cells: Cells, seed: int) -> ShuffledOrder:
        """The items of each cell in random order."""
        return ShuffledOrder(self._items, cells.size, seed)


class ShuffledOrder:
    """The items of each cell in an order that a seed decides, made as far as it is needed."""

    def __init__(self, items: StandIn, size: IntArray, seed: int) -> None:
        self._items = items
        self._size = size
        self._seed = seed
        self._shuffles: dict[int, Shuffle] = {}

    def take(self, cell: int, rank: int) -> int:
        """The item of `cell` that is asked about after `rank` others."""
        if cell not in self._shuffles:
            rng = np.random.default_rng([self._seed, cell])
            self._shuffles[cell] = Shuffle(int(self._size[cell]), rng)
        return self._items.take(cell, self._shuffles[cell].take(rank))


class Shuffle:
    """The numbers below `size` in random order, by the shuffle of Fisher and Yates."""

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self._size = size
        self._rng = rng
        self._order: list[int] = []
        self._moved: dict[int, int] = {}  # place -> the number that was swapped into it

    def take(self, rank: int) -> int:
        """The number that comes after `rank` others."""
        for place in range(len(self._order), rank + 1):
            other = int(self._rng.integers(place, self._size))
            self._order.append(self._moved.get(other, other))
            self._moved[other] = self._moved.get(place, place)
        return self._order[rank]


@dataclass(frozen=True)
class CountedExperiment(Experiment):
    """An experiment whose label is a CountedLabels: the truth follows from the counts."""

    @cached_property
    def truth_counts(self) -> IntArray:
        return cast(CountedLabels, self.label).counts

    @cached_property
    def truth(self) -> FloatArray:
        risk = self.problem.losses.risk(self.truth_counts / self.problem.size)
        with np.errstate(all="ignore"):
            return np.atleast_1d(self.problem.measure.value(risk))


def counted_facts(pool: AnyPool, labels: Any, measure: Measure, oracle: str) -> dict[str, Any]:
    """Pool, problem and label of an experiment; `labels` names the column that holds them."""
    count = getattr(pool, "label_counts", None)
    if count is None:
        raise BadOption(f"{type(pool).__name__} cannot be simulated; give an hs.Pool")
    if not isinstance(labels, str):
        raise BadOption(
            "labels of a pool behind an engine are named by their column: hs.simulate(pool, "
            "'label', …)"
        )
    problem = pose(pool, measure, oracle)
    if oracle != "deterministic" or problem.losses.kept():  # equal losses need nothing kept
        raise BadOption(_why_not(problem))
    counts = count(measure, problem.cells, labels)
    problem, items = stand_in(problem)
    known = cast(Any, CountedLabels(counts))
    return {"pool": cast(Pool, CountedPool(pool, items)), "problem": problem, "label": known}


def _why_not(problem: Problem) -> str:
    what = f"{problem.measure.name} looks at every item's own score"
    if problem.numeric:
        what = "labels that are numbers differ from item to item"
    elif problem.oracle != "deterministic":
        what = "chances of answers differ from item to item"
    return (
        f"{what}, and a pool behind an engine is simulated from the labels of its cells; read its "
        "columns into memory: hs.Pool, or haystat bench on one file"
    )
