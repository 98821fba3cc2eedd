"""What signals add to the model of the labels: terms of the logit, and where hidden ones may lie.

A term is the place of a signal less its mean among items of about the same score, so that the curve
along the score keeps its meaning and a signal speaks about what the score does not say. Its slope
is small beforehand, and the slope may change once. Hidden positives lie anywhere, or else where
signals point: a share of 1 / J of them by each, equally likely at every power of its rank, or in
and near its top, which is as large as the number of predicted positives.
"""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.models.curve import Hints
from haystat.models.regions import Regions, stretches
from haystat.models.settings import ModelSettings
from haystat.pool.signals import CellSignals

BEND = -0.75  # where the slope of a signal changes, in t from the place of the decision threshold
EVERYWHERE = 0.2  # of the hidden positives that signals point at, which lie anywhere after all
RARELY = 0.01  # the same where they are in and near the top of a signal
CHANCE = np.array([0.5, 0.25, 0.25])  # of the tilts: anywhere, as the signals say, their top
FALL = 1.0  # power of the rank by which fewer are found beyond the top of a signal


def hints_of(
    signals: CellSignals,
    regions: Regions,
    threshold: float,
    low: BoolArray,
    size: FloatArray,
    settings: ModelSettings,
) -> Hints:
    """Of regions that do not mix patterns; size (K,) is that of cells.

    low (R,) marks where hidden positives may lie, threshold is t of the decision threshold.
    """
    total, stretch = regions.size, stretches(regions.place)
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
    tilts, chance = np.ones((1, len(total))), np.ones(1)
    if signals.given:  # a weight says what an item counts, not where positives may hide
        pointing = place[:, : len(signals.given)]
        tilts, chance = _tilts(pointing, threshold, low, total), CHANCE
    return Hints(np.stack(terms, axis=1), np.array(mean), np.array(deviation), tilts, chance)


def _beyond(
    column: FloatArray, known: BoolArray, stretch: IntArray, total: FloatArray
) -> FloatArray:
    """A place less its mean over the items of the same stretch of the score; 0 where missing."""
    weight, value = total * known, np.where(known, column, 0.0)
    n = int(stretch.max()) + 1
    known_total = np.maximum(np.bincount(stretch, weight, minlength=n), 1e-300)
    mean = np.bincount(stretch, weight * value, minlength=n) / known_total
    return np.asarray(np.where(known, value - mean[stretch], 0.0))


def _tilts(place: FloatArray, threshold: float, low: BoolArray, total: FloatArray) -> FloatArray:
    """A flat one, one that follows the signals, and one that falls off below their top, (3, R)."""
    flat = np.ones(len(total))
    n_low = total[low].sum()
    if n_low == 0:
        return flat[None].repeat(3, axis=0)
    place = np.nan_to_num(place)
    even = np.exp(place)  # one over the rank
    sharp = even * expit(FALL * (place - threshold))
    tilts = [flat]
    for density, anywhere in ((even, EVERYWHERE), (sharp, RARELY)):
        follows = (density * n_low / (total * low @ density)).mean(axis=1)
        tilts.append(anywhere + (1 - anywhere) * follows)
    return np.stack(tilts)
