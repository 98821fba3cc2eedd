"""Sample reuse: whether draws made for one measure can speak about another, or a new system."""

from __future__ import annotations

import numpy as np

from haystat.core.arrays import BoolArray
from haystat.designs.base import Design
from haystat.errors import NoSupport
from haystat.measures.base import Measure
from haystat.pool.base import View
from haystat.pool.problem import Problem


def check_reuse(view: View, problem: Problem, design: Design, measure: Measure) -> None:
    """Raise NoSupport where a loss of `measure` lies beyond the reach of the draws.

    The paper, Section "Sample reuse": the proposals must be positive wherever the loss of either
    measure can be non-zero. Of a pool that is not in memory the check sees a random part of each
    cell: what it can miss is a kind of item that is rare in its cell.
    """
    covered = design.covers(problem)
    if covered.all():
        return
    missed = np.zeros_like(covered)
    for outputs in view.specimens(problem.cells):
        cell = problem.cells.of_item[outputs.index]
        for label in range(problem.n_classes):
            support = measure.support(outputs, np.full(len(outputs), label))
            missed[cell[support & ~covered[cell, label]], label] = True
    refuse_missed(problem, design, measure, missed)


def refuse_missed(problem: Problem, design: Design, measure: Measure, missed: BoolArray) -> None:
    """Raise NoSupport if items of some cell are missed under some label, (K, C)."""
    if missed.any():
        share = problem.cells.size[missed.any(axis=1)].sum() / problem.size
        mixing = ", or mix in uniform draws with delta=0.1" if hasattr(design, "delta") else ""
        raise NoSupport(
            f"labels collected for {problem.measure.name} by design {design} cannot estimate "
            f"{measure.name}: items that it needs, in cells with {share:.1%} of the pool, are "
            f"not drawn. Evaluate both together{mixing}"
        )
