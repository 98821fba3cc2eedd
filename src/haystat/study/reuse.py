"""Whether the labels of a study can speak about another measure, as far as its file can tell."""

from __future__ import annotations

import numpy as np

from haystat.designs.base import Design, Problem
from haystat.measures.base import Measure
from haystat.measures.outputs import Outputs
from haystat.reuse import refuse_missed
from haystat.study.sketch import SketchPool


def check_reuse(pool: SketchPool, problem: Problem, design: Design, measure: Measure) -> None:
    """Raise NoSupport where a loss of `measure` lies beyond the reach of the draws.

    The check looks at the candidates, which are a random part of each cell, and at the example
    of each cell. What it can miss is a kind of item that is rare in its cell.
    """
    covered = design.covers(problem)
    if covered.all():
        return
    index, cell = pool.items.load_all()
    for outputs, of_cell in (
        (pool.outputs(index), cell),
        (problem.cells.example, np.arange(len(problem.cells))),
    ):
        support = _support(measure, outputs, problem.n_classes)
        refuse_missed(problem, design, measure, of_cell, support & ~covered[of_cell])


def _support(measure: Measure, outputs: Outputs, n_classes: int) -> np.ndarray:
    """Whether each item has a loss under each label, (n, C)."""
    labels = [np.full(len(outputs), label) for label in range(n_classes)]
    return np.stack([measure.support(outputs, label) for label in labels], axis=1)
