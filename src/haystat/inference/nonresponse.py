"""Answered draws that stand for those whose answer has not come yet, or never will."""

from __future__ import annotations

import numpy as np

from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.pool.cells import Cells


def raised_weights(
    stage: IntArray,
    cell: IntArray,
    count: IntArray,
    weight: FloatArray,
    answered: BoolArray,
    cells: Cells,
) -> tuple[FloatArray, int]:
    """Weights of the answered rows, (n answered,), and how many rows others had to stand in for.

    An unanswered draw is taken as missing at random within its cell. Draws of a cell with one
    weight in one stage are alike: the answered ones carry the others, at drawn / answered times
    their weight. Where none of them is answered, their mass goes to the answers about the same
    cell in other stages, and where there are none either, to those about the nearest cell. A stage
    counts as much as it has answered draws: its mean is unbiased whatever its share in the whole.
    """
    if answered.all():
        return weight, 0
    alike = np.unique(np.stack([stage, cell, weight.view(np.int64)]), axis=1, return_inverse=True)
    group = alike[1].ravel()
    told_share = np.bincount(stage, count * answered) / np.maximum(np.bincount(stage, count), 1)
    drawn, told = np.bincount(group, count), np.bincount(group, count * answered)
    own = weight * told_share[stage]
    raised = (own * (drawn / np.maximum(told, 1))[group])[answered]
    alone = (told == 0)[group]
    if not alone.any():
        return raised, 0
    held = np.bincount(cell[answered], count[answered] * raised, minlength=len(cells))
    lost = np.bincount(cell[alone], (count * own)[alone], minlength=len(cells))
    extra = np.bincount(_carriers(cells, held > 0), lost, minlength=len(cells))
    factor = 1.0 + extra / np.where(held > 0, held, 1.0)
    return raised * factor[cell[answered]], int(alone.sum())


def _carriers(cells: Cells, told: BoolArray) -> IntArray:
    """The nearest cell that has an answer, (K,): of the same predictions, if there is one."""
    candidates = np.flatnonzero(told)
    found = np.arange(len(cells))
    said = cells.example.predictions
    for cell in np.flatnonzero(~told):
        other = np.any(said[candidates] != said[cell], axis=1)
        away = np.abs(cells.stratum[candidates] - cells.stratum[cell])
        found[cell] = candidates[np.lexsort((away, other))[0]]
    return found


def answered_factor(count: IntArray, weight: FloatArray, answered: BoolArray) -> float:
    """Factor for the weights of answered draws, so that they stand for answered items alone.

    With N draws, n of them answered, the items without an answer are estimated to hold the share
    s of the pool, the mean of w over the N draws that fall on them. The mean of w loss over the n
    draws, times n / N / (1 - s), is then the mean loss of the items that have an answer.
    """
    n_draws, n_answered = int(count.sum()), int(count[answered].sum())
    share = float(count[~answered] @ weight[~answered]) / n_draws
    return n_answered / n_draws / max(1.0 - share, 1.0 / n_draws)
