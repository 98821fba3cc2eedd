"""How good could it get: the best variance of a design that knows the share of every cell.

Symbols: N_c items and the share p_c of positives in cell c, j_c the derivative of the measure by
the cell's total of positives. The best Poisson design with n labels on average labels an item of
cell c with probability P_c = min(1, k sqrt(p_c (1 - p_c)) |j_c|), and has variance
sum N_c (1 / P_c - 1) p_c (1 - p_c) |j_c|^2. An unbiased design that sees the same cells cannot
go below it.
"""

from __future__ import annotations

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.pool.problem import Problem

BISECTIONS = 200


def best_variance(problem: Problem, truth: IntArray, n_labels: int) -> float:
    """The limit for n_labels, summed over the components of the measure.

    truth (K, C) counts the items of each cell under each label. NaN unless there are two classes
    and the items of a cell have equal losses.
    """
    if problem.n_classes != 2 or problem.losses.kept():  # equal losses need nothing kept
        return float("nan")
    size = problem.cells.size.astype(np.float64)
    share = truth[:, 1] / size
    # Standard deviation of what one unlabelled item of the cell adds to the measure.
    spread = np.sqrt(share * (1 - share)) * _slope(problem, truth)
    uncertain = spread > 0
    size, spread = size[uncertain], spread[uncertain]
    probability = inclusion_probabilities(size, spread, n_labels)
    return float(np.sum(size * (1 / probability - 1) * spread**2))


def inclusion_probabilities(size: FloatArray, spread: FloatArray, n_labels: int) -> FloatArray:
    """min(1, k spread), with k such that the probabilities of all items add up to n_labels."""
    if size.sum() <= n_labels:
        return np.ones_like(spread)
    low, high = 0.0, 1.0 / float(spread.min())
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if size @ np.minimum(1.0, middle * spread) < n_labels:
            low = middle
        else:
            high = middle
    return np.minimum(1.0, high * spread)


def _slope(problem: Problem, truth: IntArray) -> FloatArray:
    """|j_c|: how far the measure moves when one item of the cell turns positive, (K,)."""
    by_label = problem.losses.influence(problem.losses.risk(truth / problem.size))
    step = (by_label[:, 1] - by_label[:, 0]) / problem.size
    return np.asarray(np.sqrt(np.einsum("km,km->k", step, step)))
