"""What signals add to the model of the labels: terms of the logit, and where hidden ones may lie.

A term is the place of a signal less its mean among items of about the same score, so that the curve
along the score keeps its meaning and a signal speaks about what the score does not say. Its slope
is small beforehand, and the slope may change once. Hidden positives lie anywhere, or else where
signals point: a share of 1 / J of them by each, equally likely at every power of its rank.
"""

from __future__ import annotations

import numpy as np

from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.models.curve import Hints
from haystat.models.regions import Regions, stretches
from haystat.models.settings import ModelSettings
from haystat.pool.signals import CellSignals

BEND = -0.75  # where the slope of a signal changes, in t from the place of the decision threshold
EVERYWHERE = 0.2  # of the hidden positives that signals point at, which lie anywhere after all


def hints_of(
    signals: CellSignals,
    regions: Regions,
    threshold: float,
    low: BoolArray,
    size: FloatArray,
    settings: ModelSettings,
    widen: float,
) -> Hints:
    """Of regions, `widen` times as wide as usual, that do not mix patterns; size (K,) is of cells.

    low (R,) marks where hidden positives may lie, threshold is t of the decision threshold.
    """
    total, stretch = regions.size, stretches(regions.place / widen)
    stretch -= stretch.min()
    place = np.stack([regions.total(size * column) / total for column in signals.place.T], axis=1)
    terms, mean, deviation = [], [], []
    for column in place.T:
        known = ~np.isnan(column)
        bent = np.maximum(column - threshold - BEND, 0.0)
        terms += [_beyond(part, known, stretch, total) for part in (column, bent)]
        mean += [settings.signal_slope, 0.0]
        deviation += [settings.signal_slope_sd, settings.signal_bend_sd]
        if not known.all():
            terms.append((~known).astype(np.float64))
            mean.append(0.0)
            deviation.append(settings.signal_slope_sd)
    tilts = _tilts(place, low, total)
    return Hints(np.stack(terms, axis=1), np.array(mean), np.array(deviation), tilts)


def _beyond(
    column: FloatArray, known: BoolArray, stretch: IntArray, total: FloatArray
) -> FloatArray:
    """A place less its mean over the items of the same stretch of the score; 0 where missing."""
    weight, value = total * known, np.where(known, column, 0.0)
    n = int(stretch.max()) + 1
    mean = np.bincount(stretch, weight * value, minlength=n)
    mean /= np.maximum(np.bincount(stretch, weight, minlength=n), 1e-300)
    return np.asarray(np.where(known, value - mean[stretch], 0.0))


def _tilts(place: FloatArray, low: BoolArray, total: FloatArray) -> FloatArray:
    """A flat one, and one that follows the signals, (2, R)."""
    flat = np.ones(len(total))
    n_low = total[low].sum()
    if n_low == 0:
        return np.stack([flat, flat])
    density = np.exp(np.nan_to_num(place))  # one over the rank
    density *= n_low / (total * low @ density)
    return np.stack([flat, EVERYWHERE + (1 - EVERYWHERE) * density.mean(axis=1)])
