"""Thresholds that run between the cells of a pool whose items are not all at hand.

A study file keeps some items of every cell. Where strata follow the score, a threshold at the
lowest score of a cell leaves each cell on one side, and counts of cells are counts of items.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from haystat.designs.base import Problem
from haystat.estimation.blocks import Blocks
from haystat.measures.base import Measure
from haystat.measures.facts import ScoreBin, encode
from haystat.measures.outputs import FloatArray, IntArray, Outputs
from haystat.pool.base import AnyPool
from haystat.pool.losses import equal_losses

STRADDLING = 0.01  # share of the items that may lie on the other side of a threshold


def kept_outputs(pool: AnyPool, problem: Problem) -> tuple[Outputs, IntArray]:
    """What the systems say about the items that are here, and the cell of each."""
    holder: Any = pool
    item = holder.kept_items(problem.cells)
    return pool.outputs(item), np.asarray(problem.cells.of_item[item], dtype=np.int64)


def lowest_scores(pool: AnyPool, problem: Problem) -> FloatArray:
    """Lowest score of each cell by each system among the items that are here, (K, S)."""
    outputs, cell = kept_outputs(pool, problem)
    lowest = problem.cells.example.scores.copy()
    np.minimum.at(lowest, cell, outputs.scores)
    return np.asarray(lowest)


def blocks_between(pool: AnyPool, problem: Problem, measure: Measure) -> Blocks | None:
    """The cells as blocks of a measure whose thresholds run between them; None if they do not."""
    facts = measure.facts()
    if not facts or not all(isinstance(fact, ScoreBin) for fact in facts):
        return None
    if not hasattr(pool, "kept_items"):
        return None
    cells = problem.cells
    outputs, cell = kept_outputs(pool, problem)
    example = replace(cells.example, scores=lowest_scores(pool, problem))
    code, of_cell = encode(facts, outputs), encode(facts, example)
    if code is None or of_cell is None:
        return None
    stands_for = (cells.size / np.maximum(np.bincount(cell, minlength=len(cells)), 1))[cell]
    if float(stands_for @ (code != of_cell[cell])) > STRADDLING * problem.size:
        return None
    own = np.arange(len(cells))
    return Blocks(own, own, cells.size, equal_losses(measure, example, problem.n_classes))
