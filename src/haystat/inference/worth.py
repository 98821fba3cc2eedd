"""What labels are worth: the variance V of what one item adds to a measure (delta method).

From n items drawn at random of M, without replacement, the measure has the variance
V (1 / n - 1 / M). `Estimate.worth` turns it round.
"""

from __future__ import annotations

import numpy as np

from haystat.core.arrays import FloatArray
from haystat.inference.posterior import PoolsInBlocks
from haystat.measures.base import Measure

MOST_COMPONENTS = 64  # of curves with more nobody asks it


def variance_in_pools(inside: PoolsInBlocks, measure: Measure, risk: FloatArray) -> FloatArray:
    """V of each component if the missing labels are as they are on average in draws, (m,)."""
    if len(measure.components) > MOST_COMPONENTS:
        return np.full(len(measure.components), np.nan)
    pools, cell = inside.pools, inside.blocks.cell
    others = pools.view.classes_of_events(pools.labels.counts)
    share = others / others.sum(axis=1, keepdims=True)
    group, reference = pools.view.group[cell], pools.view.reference[cell]
    events = inside.events.mean(axis=0)
    mass = share[group] * events[:, None]
    mass[np.arange(len(mass)), reference] += inside.left - events
    np.add.at(mass, (inside.block, inside.label), 1.0)
    influence = inside.blocks.losses.influence(risk)
    return _variance(mass.ravel(), influence.reshape(-1, influence.shape[-1]))


def _variance(mass: FloatArray, influence: FloatArray) -> FloatArray:
    """Variance of influence (n, m) under mass (n,), (m,)."""
    share = mass / mass.sum()
    mean = share @ influence
    return np.asarray(share @ (influence - mean) ** 2)
