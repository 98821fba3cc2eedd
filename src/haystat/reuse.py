"""Sample reuse: whether draws made for one measure can speak about another, or a new system."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from haystat.arguments import brief
from haystat.designs.base import Design, Problem
from haystat.errors import NoSupport, PoolError, UnknownItem
from haystat.measures.base import Measure
from haystat.measures.outputs import BoolArray, IntArray, Outputs
from haystat.pool.memory import Pool


@dataclass(frozen=True)
class SameItems:
    """A pool of the same items as another one: place (M,) is where each of its items is here."""

    pool: Pool
    place: IntArray

    @property
    def size(self) -> int:
        """Number of items."""
        return self.pool.size

    def outputs(self, index: IntArray) -> Outputs:
        """What the systems of this pool say about the items at these positions of the other."""
        return self.pool.outputs(self.place[index])


def same_items(old: Pool, new: Pool) -> SameItems:
    """The new pool seen from the positions of the old; raises where their items differ."""
    if not isinstance(new, Pool):
        raise PoolError(f"the pool is {brief(new)}; give an hs.Pool of the same items")
    if old.classes != new.classes:
        raise PoolError(
            f"the pool has the classes {list(new.classes)}, and labels were taken in terms of "
            f"{list(old.classes)}; make it with the same classes"
        )
    if new is old or (old.size == new.size and np.array_equal(old.ids, new.ids)):
        return SameItems(new, np.arange(old.size))
    try:
        place = np.array([new.index_of(item) for item in old.ids.tolist()], dtype=np.int64)
    except UnknownItem as missing:
        raise PoolError(f"the pool lacks an item that could be drawn: {missing}") from None
    if new.size != old.size:
        raise PoolError(
            f"the pool has {new.size} items, {new.size - old.size} of which could not be drawn; "
            f"give it the {old.size} items of the evaluation"
        )
    return SameItems(new, place)


def check_reuse(
    pool: Pool, problem: Problem, design: Design, measure: Measure, place: IntArray | None = None
) -> None:
    """Raise NoSupport where a loss of `measure` lies beyond the reach of the draws.

    place (M,) is where the items of the problem are in `pool`, if that is another one. The paper,
    Section "Sample reuse": the proposals must be positive wherever the loss of either measure can
    be non-zero.
    """
    covered = design.covers(problem)
    if covered.all():
        return
    cells = pool.cells(measure)
    losses = pool.losses(measure, cells)
    # An item of each pair of old and new cell that occurs in the pool.
    new_cell = cells.of_item if place is None else cells.of_item[place]
    pair = problem.cells.of_item.astype(np.int64) * len(cells) + new_cell
    pairs = np.unique(pair)
    old_cell = pairs // len(cells)
    missed = losses.support[pairs % len(cells)] & ~covered[old_cell]
    refuse_missed(problem, design, measure, old_cell, missed)


def check_candidates(pool: Any, problem: Problem, design: Design, measure: Measure) -> None:
    """The same for a pool behind an engine, by its candidates: a random part of every cell."""
    covered = design.covers(problem)
    if covered.all():
        return
    index = pool.kept_items(problem.cells)
    cell, outputs = problem.cells.of_item[index], pool.outputs(index)
    labels = [np.full(len(index), label) for label in range(problem.n_classes)]
    support = np.stack([measure.support(outputs, label) for label in labels], axis=1)
    refuse_missed(problem, design, measure, cell, support & ~covered[cell])


def refuse_missed(
    problem: Problem, design: Design, measure: Measure, cell: IntArray, missed: BoolArray
) -> None:
    """Raise NoSupport if some items, of these cells (n,), are missed under some label, (n, C)."""
    if missed.any():
        of_missed = np.unique(cell[missed.any(axis=1)])
        share = problem.cells.size[of_missed].sum() / problem.size
        mixing = ", or mix in uniform draws with delta=0.1" if hasattr(design, "delta") else ""
        raise NoSupport(
            f"labels collected for {problem.measure.name} by design {design} cannot estimate "
            f"{measure.name}: items that it needs, in cells with {share:.1%} of the pool, are "
            f"not drawn. Evaluate both together{mixing}"
        )
