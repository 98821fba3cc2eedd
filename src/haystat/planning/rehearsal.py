"""Run a design in a made-up world, to see how its interval narrows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.designs.base import Design
from haystat.inference.estimate import Estimate
from haystat.loop.estimates import estimate_from
from haystat.loop.ledger import Ledger
from haystat.measures.outputs import Outputs
from haystat.planning.worlds import World
from haystat.pool.problem import Problem

FIRST_BATCH = 50
GROWTH = 0.08  # of the labels so far: the batches of a long run

#: how wide the interval of each component is, (m,)
Widths = Callable[[Estimate], FloatArray]


@dataclass(frozen=True)
class Rehearsal:
    """One run: labels after each stage (S,) and the widths then, (S, m).

    last is the estimate at the end, inclusion (K,) how likely an item was labelled by then (None
    from designs that draw with replacement), labelled (K,) counts labels.
    """

    n_labels: IntArray
    widths: FloatArray
    last: Estimate
    inclusion: FloatArray | None
    labelled: IntArray

    def labels_for(self, width: float) -> float:
        """Labels at which all components were first that narrow; infinite if never."""
        widest = self.widths.max(axis=1)
        reached = np.flatnonzero(widest <= width)
        if not len(reached):
            return float("inf")
        stage = int(reached[0])
        here = float(self.n_labels[stage])
        if stage == 0 or not np.isfinite(widest[stage - 1]) or widest[stage] <= 0:
            return here
        # Between two stages a width falls like a power of the labels.
        before, wide = float(self.n_labels[stage - 1]), widest[stage - 1]
        part = np.log(wide / width) / np.log(wide / widest[stage])
        return float(before * (here / before) ** part)


class StandIn:
    """Items that exist by number alone: those of a cell are numbered from its start on."""

    complete = foreign = False  # as of a pool that is not at hand

    def __init__(self, problem: Problem) -> None:
        self.size = problem.size
        self._example = problem.cells.example
        self._start = np.r_[0, np.cumsum(problem.cells.size)]

    def __getitem__(self, item: IntArray) -> IntArray:
        """Cells of items."""
        return np.searchsorted(self._start, item, side="right") - 1

    def take(self, cell: int, rank: int) -> int:
        """The item of a cell with this rank."""
        return int(self._start[cell]) + rank

    def outputs(self, item: IntArray) -> Outputs:
        """What the systems say about the example of each item's cell."""
        return self._example.take(self[item])


def stand_in(problem: Problem) -> tuple[Problem, StandIn]:
    """The same problem over items that exist by number alone."""
    items = StandIn(problem)
    cells = replace(problem.cells, of_item=cast(Any, items))
    return replace(problem, cells=cells), items


def rehearse(
    problem: Problem,
    design: Design,
    world: World,
    seed: int,
    *,
    width: float,
    most: int,
    level: float,
    widths: Widths,
) -> Rehearsal:
    """Label items of the world until all components are `width` narrow, or `most` labels are in."""
    problem, items = stand_in(problem)
    ledger = Ledger(problem, design, cast(Any, items), seed)
    answer = _oracle(world, np.random.default_rng(seed))
    n_labels: list[int] = []
    found: list[FloatArray] = []
    while ledger.n_labels < most:
        batch = max(FIRST_BATCH, int(GROWTH * ledger.n_labels))
        stage = ledger.draw(min(batch, most - ledger.n_labels))
        if stage.n_new == 0:
            break
        new = stage.item[: stage.n_new]
        ledger.add_stage(stage)
        ledger.add_labels(dict(zip(new.tolist(), answer(items[new]), strict=True)))
        estimate = estimate_from(cast(Any, items), ledger, problem.measure, level)
        n_labels.append(ledger.n_labels)
        found.append(np.nan_to_num(widths(estimate), nan=np.inf, posinf=np.inf))
        if found[-1].max() <= width:
            break
    labelled = np.bincount(items[ledger.known()[0]], minlength=len(problem.cells))
    inclusion = ledger.stages[-1].inclusion
    return Rehearsal(np.array(n_labels), np.array(found), estimate, inclusion, labelled)


def _oracle(world: World, rng: np.random.Generator) -> Callable[[IntArray], list[int]]:
    """Answers about items of cells (n,): the world's positives in random order."""
    left = world.counts.tolist()

    def answer(cell: IntArray) -> list[int]:
        labels = []
        for k, drawn in zip(cell.tolist(), rng.random(len(cell)).tolist(), strict=True):
            label = int(drawn * sum(left[k]) < left[k][1])
            left[k][label] -= 1
            labels.append(label)
        return labels

    return answer
