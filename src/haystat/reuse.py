"""Sample reuse: whether draws made for one measure can speak about another."""

from __future__ import annotations

import numpy as np

from haystat.designs.base import Design, Problem
from haystat.errors import NoSupport
from haystat.measures.base import Measure
from haystat.pool.memory import Pool


def check_reuse(pool: Pool, problem: Problem, design: Design, measure: Measure) -> None:
    """Raise NoSupport where a loss of `measure` lies beyond the reach of the draws.

    The paper, Section "Sample reuse": the proposals must be positive wherever the loss of either
    measure can be non-zero.
    """
    covered = design.covers(problem)
    if covered.all():
        return
    cells = pool.cells(measure)
    losses = pool.losses(measure, cells)
    # An item of each pair of old and new cell that occurs in the pool.
    pair = problem.cells.of_item.astype(np.int64) * len(cells) + cells.of_item
    pairs = np.unique(pair)
    missed = losses.support[pairs % len(cells)] & ~covered[pairs // len(cells)]
    if missed.any():
        old_cell = pairs[np.flatnonzero(missed.any(axis=1))] // len(cells)
        share = problem.cells.size[np.unique(old_cell)].sum() / problem.size
        raise NoSupport(
            f"labels collected for {problem.measure.name} by design {design} cannot estimate "
            f"{measure.name}: items that it needs, in cells with {share:.1%} of the pool, are "
            "not drawn. Evaluate both together, or mix in uniform draws with delta=0.1"
        )
