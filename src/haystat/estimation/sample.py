"""From the state of the assisted design to what its estimator needs."""

from __future__ import annotations

import numpy as np

from haystat.designs.assisted import Assisted, AssistedState, contradicted
from haystat.designs.base import Problem
from haystat.estimation.strays import Strays
from haystat.estimation.weights import SMALLEST, Sample
from haystat.measures.outputs import FloatArray, IntArray
from haystat.response.shares import SplineShares

DENSER = 3.0  # times the typical inclusion, from which strays found say little about the rest


def sample_of(
    problem: Problem,
    design: Assisted,
    state: AssistedState,
    inclusion: FloatArray,
    unlabelled: IntArray,
) -> Sample:
    """The labels of the finished stages, seen from the cells.

    unlabelled (K,) counts drawn items that nobody can label; as large a part of the items of the
    cell that were not drawn is left out with them.
    """
    share = state.shares.share
    against = contradicted(problem, share)
    size = problem.cells.size.astype(np.float64)
    if unlabelled.any():
        n_labelled = state.labelled.sum(axis=1)
        drawn = n_labelled + unlabelled
        weight = 1 / np.maximum(inclusion, SMALLEST)  # a cell out of reach has no draws
        overall = float(unlabelled @ weight / (drawn @ weight))
        lost = (unlabelled + overall) / (drawn + 1)  # a cell without draws is like the others
        size = n_labelled + (size - drawn) * (1 - lost)
    return Sample(size, state.labelled, inclusion, share, against, state.shares.error, design.cap)


def strays_of(sample: Sample, state: AssistedState) -> Strays | None:
    """Strays, where the model knows of them and items are predicted negative."""
    if not isinstance(state.shares, SplineShares):
        return None
    low = state.shares.model.low & sample.in_reach
    hidden = np.where(low, sample.size - sample.labelled.sum(axis=1), 0)
    if not hidden.any():
        return None
    fitted = state.shares.state
    negative = np.where(low, sample.labelled[:, 0], 0)
    n_positives = float(sample.expected[:, 1].sum())
    typical = weighted_median(sample.inclusion[low], sample.size[low])
    sparse = low & (sample.inclusion <= DENSER * typical)
    return Strays(fitted.stray, negative, hidden, fitted.stray_rate, typical, n_positives, sparse)


def weighted_median(values: FloatArray, weights: FloatArray) -> float:
    """The value that half of the weight lies below."""
    order = np.argsort(values)
    below = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(below, below[-1] / 2)])
