"""How the cells of two classes lie: from the top down, on either side of the decision."""

from __future__ import annotations

import numpy as np

from haystat.core.arrays import BoolArray, FloatArray
from haystat.models.curve import mid_ranks
from haystat.pool.problem import Problem


def predicted_low(problem: Problem) -> BoolArray:
    """Cells that every system predicts negative, (K,)."""
    return np.asarray(problem.cells.example.predictions.max(axis=1) == 0)


def ranks(problem: Problem) -> tuple[FloatArray, float]:
    """Mid-rank of each cell from the top (K,), and the rank of the decision threshold."""
    cells = problem.cells
    predicted, threshold = cells.example.predictions.mean(axis=1), n_predicted(problem)
    if cells.signals is None and cells.before is None:
        order = np.lexsort((predicted, cells.stratum, cells.prior[:, 1]))[::-1]
        return mid_ranks(order, cells.size), threshold / problem.size
    # Cells that only signals or an earlier version tell apart have the rank of all together.
    key = np.column_stack([predicted, cells.stratum])
    kind, whole = np.unique(key, axis=0, return_inverse=True)
    whole = whole.reshape(-1)
    size = np.bincount(whole, cells.size)
    prior = np.bincount(whole, cells.size * cells.prior[:, 1]) / size
    order = np.lexsort((kind[:, 0], kind[:, 1], prior))[::-1]
    return mid_ranks(order, size.astype(np.int64))[whole], threshold / problem.size


def n_predicted(problem: Problem) -> float:
    """Items that are predicted positive, on average over the systems; never none or all."""
    predicted = float(problem.cells.size @ problem.cells.example.predictions.mean(axis=1))
    return float(np.clip(predicted, 0.5, problem.size - 0.5))


def uncut_size(problem: Problem) -> FloatArray:
    """Items of each cell, (K,); with those that only an earlier version tells from them."""
    cells = problem.cells
    if cells.before is None:
        return cells.size.astype(np.float64)
    key = np.column_stack([cells.example.predictions, cells.stratum])
    whole = np.unique(key, axis=0, return_inverse=True)[1].reshape(-1)
    return np.asarray(np.bincount(whole, cells.size)[whole])
