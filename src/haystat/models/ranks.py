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
    predicted = cells.example.predictions.mean(axis=1)
    order = np.lexsort((predicted, cells.stratum, cells.prior[:, 1]))[::-1]
    return mid_ranks(order, cells.size), n_predicted(problem) / problem.size


def n_predicted(problem: Problem) -> float:
    """Items that are predicted positive, on average over the systems; never none or all."""
    predicted = float(problem.cells.size @ problem.cells.example.predictions.mean(axis=1))
    return float(np.clip(predicted, 0.5, problem.size - 0.5))
