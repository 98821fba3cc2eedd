"""How the cells of two classes lie: from the top down, on either side of the decision."""

from __future__ import annotations

import numpy as np

from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.measures.facts import encode, groups
from haystat.models.curve import mid_ranks
from haystat.pool.problem import Problem
from haystat.pool.scales import joint_steps

ORDERED = 0.9  # rank correlation of strata and a score from which strata follow it


def predicted_low(problem: Problem) -> BoolArray:
    """Cells that every system predicts negative, (K,)."""
    return np.asarray(problem.cells.example.predictions.max(axis=1) == 0)


def ranks(problem: Problem) -> tuple[FloatArray, float]:
    """Mid-rank of each cell from the top (K,), and the rank of the decision threshold."""
    cells = problem.cells
    predicted, threshold = cells.example.predictions.mean(axis=1), n_predicted(problem)
    joint = follow_joint_score(problem)
    if cells.signals is None and cells.before is None and sub_populations(problem) is None:
        order = _ascending(predicted, cells.stratum, cells.prior[:, 1], joint)[::-1]
        return mid_ranks(order, cells.size), threshold / problem.size
    # Cells that only signals, groups or an earlier version tell apart have the rank of all.
    key = np.column_stack([predicted, cells.stratum])
    kind, whole = np.unique(key, axis=0, return_inverse=True)
    whole = whole.reshape(-1)
    size = np.bincount(whole, cells.size)
    prior = np.bincount(whole, cells.size * cells.prior[:, 1]) / size
    order = _ascending(kind[:, 0], kind[:, 1], prior, joint)[::-1]
    return mid_ranks(order, size.astype(np.int64))[whole], threshold / problem.size


def _ascending(
    predicted: FloatArray, stratum: FloatArray | IntArray, prior: FloatArray, joint: bool
) -> IntArray:
    """Cells from the bottom up: by what their scores claim, or by their stratum."""
    return np.lexsort((predicted, prior, stratum) if joint else (predicted, stratum, prior))


def follow_joint_score(problem: Problem) -> bool:
    """Whether strata are cut on the mean of several systems, each on its natural scale.

    What such scores claim, on average, is another order where one of them is no probability.
    """
    scores = problem.cells.example.scores
    if scores.shape[1] < 2:
        return False
    return rank_correlation(problem.cells.stratum, joint_steps(scores)) >= ORDERED


def rank_correlation(ranks: IntArray, values: FloatArray) -> float:
    """Spearman's correlation; importing scipy's is slow. None, 0, where all values are alike."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    if len(count) == 1 or np.ptp(ranks) == 0:
        return 0.0
    middle = (np.cumsum(count) - (count - 1) / 2)[place]  # ties at their mean
    return float(np.corrcoef(ranks, middle)[0, 1])


def n_predicted(problem: Problem) -> float:
    """Items that are predicted positive, on average over the systems; never none or all."""
    predicted = float(problem.cells.size @ problem.cells.example.predictions.mean(axis=1))
    return float(np.clip(predicted, 0.5, problem.size - 0.5))


def uncut_size(problem: Problem) -> FloatArray:
    """Items of each cell, (K,); with those that only groups or an earlier version tell apart."""
    cells = problem.cells
    if cells.before is None and sub_populations(problem) is None:
        return cells.size.astype(np.float64)
    key = np.column_stack([cells.example.predictions, cells.stratum])
    whole = np.unique(key, axis=0, return_inverse=True)[1].reshape(-1)
    return np.asarray(np.bincount(whole, cells.size)[whole])


def sub_populations(problem: Problem) -> IntArray | None:
    """The sub-population of each cell (K,), where the measure or the pool tells some apart."""
    cells, facts = problem.cells, groups(problem.measure.facts() or ())
    if not facts:
        return cells.apart
    code = np.asarray(encode(facts, cells.example))
    return code if cells.apart is None else code * (int(cells.apart.max()) + 1) + cells.apart
