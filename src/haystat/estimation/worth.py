"""What labels are worth: the variance V of what one item adds to a measure (delta method).

From n items drawn at random of M, without replacement, the measure has the variance
V (1 / n - 1 / M). `Estimate.worth` turns it round.
"""

from __future__ import annotations

import numpy as np

from haystat.estimation.posterior import Pools
from haystat.measures.base import Measure
from haystat.measures.outputs import FloatArray

MOST_COMPONENTS = 64  # of curves with more nobody asks it


def variance_in_pools(pools: Pools, measure: Measure, risk: FloatArray) -> FloatArray:
    """V of each component if the missing labels are as they are on average in draws, (m,)."""
    if len(measure.components) > MOST_COMPONENTS:
        return np.full(len(measure.components), np.nan)
    others = pools.view.classes_of_events(pools.labels.counts)
    share = others / others.sum(axis=1, keepdims=True)
    cell = pools.blocks.cell
    group, reference = pools.view.group[cell], pools.view.reference[cell]
    events = pools.events.mean(axis=0)
    mass = share[group] * events[:, None]
    mass[np.arange(len(mass)), reference] += pools.left - events
    np.add.at(mass, (pools.labels.block, pools.labels.label), 1.0)
    influence = pools.blocks.losses.influence(risk)[pools.blocks.row]
    return _variance(mass.ravel(), influence.reshape(-1, influence.shape[-1]))


def _variance(mass: FloatArray, influence: FloatArray) -> FloatArray:
    """Variance of influence (n, m) under mass (n,), (m,)."""
    share = mass / mass.sum()
    mean = share @ influence
    return np.asarray(share @ (influence - mean) ** 2)
