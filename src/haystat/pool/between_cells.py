"""Thresholds that run between the cells of a pool whose items are not all at hand.

A study file keeps some items of every cell. Where strata follow the score, a threshold at the
lowest score of a cell leaves each cell on one side, and counts of cells are counts of items.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.measures.base import Measure
from haystat.measures.facts import encode
from haystat.measures.outputs import Outputs
from haystat.pool.base import View
from haystat.pool.blocks import Blocks
from haystat.pool.cells import Cells
from haystat.pool.losses import equal_losses

STRADDLING = 0.01  # share of the items that may lie on the other side of a threshold


def kept_outputs(pool: View, cells: Cells) -> tuple[Outputs, IntArray]:
    """What the systems say about the items that are here, and the cell of each."""
    (outputs,) = pool.specimens(cells)
    return outputs, np.asarray(cells.of_item[outputs.index], dtype=np.int64)


def lowest_scores(pool: View, cells: Cells) -> FloatArray:
    """Lowest score of each cell by each system among the items that are here, (K, S)."""
    outputs, cell = kept_outputs(pool, cells)
    lowest = cells.example.scores.copy()
    np.minimum.at(lowest, cell, outputs.scores)
    return np.asarray(lowest)


def blocks_between(pool: View, cells: Cells, measure: Measure, n_classes: int) -> Blocks | None:
    """The cells as blocks of a measure whose thresholds run between them; None if they do not."""
    facts = measure.facts()
    if not facts or not all(fact.of_score for fact in facts):
        return None
    outputs, cell = kept_outputs(pool, cells)
    example = replace(cells.example, scores=lowest_scores(pool, cells))
    code, of_cell = encode(facts, outputs), encode(facts, example)
    if code is None or of_cell is None:
        return None
    stands_for = (cells.size / np.maximum(np.bincount(cell, minlength=len(cells)), 1))[cell]
    if float(stands_for @ (code != of_cell[cell])) > STRADDLING * cells.size.sum():
        return None
    own = np.arange(len(cells))
    losses = equal_losses(measure, example, n_classes)
    return Blocks(own, np.zeros_like(own), cells.size, losses)
