"""Stratified sampling in proportion to stratum sizes, online, without replacement.

The i-th item comes from the stratum in which the point frac(x0 + i * golden ratio) falls on the
line of all items, strata side by side. Each point is uniform, so every item is equally likely to
be among the first n, and the plain mean of the losses is unbiased (up to the strata that run out
near exhaustion); the points are spread as evenly as can be, so after any n each stratum has its
proportional share to within about one item, however the labels were batched.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from haystat.core.arrays import FloatArray, IntArray
from haystat.designs.base import Batch, Choice, Design, Sheet
from haystat.inference.estimate import Estimate
from haystat.inference.sample import Sample
from haystat.inference.weighted_draws import stratified
from haystat.measures.base import Measure
from haystat.pool.base import View
from haystat.pool.problem import Problem

GOLDEN_RATIO = (5**0.5 - 1) / 2


@dataclass(frozen=True)
class StratifiedState:
    """The random start x0, the cumulative shares of the strata and the cells of each."""

    start: float
    edges: FloatArray
    members: list[list[int]]


@dataclass(frozen=True)
class Stratified(Design):
    """Proportional allocation (Druck and McCallum 2011), one item at a time."""

    name = "stratified"
    adds_up = False  # its estimator counts on one sample without repeats

    def start(self, problem: Problem, rng: np.random.Generator) -> StratifiedState:
        edges = np.cumsum(problem.stratum_size) / problem.size
        members: list[list[int]] = [[] for _ in edges]
        for cell, stratum in enumerate(problem.cells.stratum.tolist()):
            members[stratum].append(cell)
        return StratifiedState(rng.random(), edges, members)

    def observe(self, problem: Problem, state: StratifiedState, batch: Batch) -> StratifiedState:
        return state

    def choose(
        self,
        problem: Problem,
        state: StratifiedState,
        sheet: Sheet,
        n: int,
        rng: np.random.Generator,
    ) -> Choice:
        unasked = sheet.unasked.tolist()
        n_unasked = int(sheet.unasked.sum())
        chosen: list[int] = []
        point = problem.size - n_unasked
        while len(chosen) < min(n, n_unasked):
            points = point + np.arange(n)
            point += n
            position = (state.start + points * GOLDEN_RATIO) % 1.0
            strata = np.searchsorted(state.edges, position, side="right")
            strata = np.minimum(strata, len(state.edges) - 1)
            for stratum, uniform in zip(strata.tolist(), rng.random(n).tolist(), strict=True):
                cell = _pick(state.members[stratum], unasked, uniform)
                if cell is not None and len(chosen) < n:
                    unasked[cell] -= 1
                    chosen.append(cell)
        return once_each(np.array(chosen, dtype=np.int64), sheet)

    def estimate(
        self, pool: View, sample: Sample, measure: Measure, level: float, **options: str
    ) -> Estimate:
        return stratified(pool, sample, measure, level)

    def covers(self, problem: Problem) -> NDArray[np.bool_]:
        return np.ones((len(problem.cells), problem.n_classes), dtype=bool)


def once_each(cell: IntArray, sheet: Sheet) -> Choice:
    """Every chosen item drawn once with weight one; nothing drawn again."""
    pending, known = len(sheet.pending_cell), len(sheet.known_cell)
    return Choice(
        cell,
        np.ones(len(cell), dtype=np.int64),
        np.ones(len(cell)),
        np.zeros(pending, dtype=np.int64),
        np.ones(pending),
        np.zeros(known, dtype=np.int64),
        np.ones(known),
    )


def _pick(members: list[int], unasked: list[int], uniform: float) -> int | None:
    """A cell of the stratum with probability proportional to its items never asked about."""
    target = uniform * sum(unasked[cell] for cell in members)
    for cell in members:
        target -= unasked[cell]
        if target < 0:
            return cell
    return None
