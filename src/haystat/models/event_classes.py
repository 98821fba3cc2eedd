"""Which class an event has, where there are more than two classes.

In every way of being predicted the class of an event has a distribution of its own, about a base:
half what the scores claim, half even. What scores claim is often wrong for a class as a whole: they
come from training data with other shares of the classes, or a class is never predicted. So events
of all groups together say how many times as frequent a class is as its base, and correct it.
"""

from __future__ import annotations

import numpy as np

from haystat.core.arrays import BoolArray, FloatArray

CONCENTRATION = 2.0  # events that the base of a group counts for
SHAPE = (
    1.0  # of the gamma distribution of the ratio by which a class is more frequent; its mean is 1
)
STEPS = 20


def base_of(claimed: FloatArray, possible: BoolArray) -> FloatArray:
    """Pseudo-counts (G, C) of the classes of events, from what scores claim of them (G, C).

    possible (G, C) are the classes that an event of the group may have.
    """
    even = possible / possible.sum(axis=1, keepdims=True)
    found = claimed * possible
    total = found.sum(axis=1, keepdims=True)
    share = np.where(total > 0, found / np.where(total > 0, total, 1.0), even)
    return np.asarray(CONCENTRATION * (even + share) / 2)


def corrected(base: FloatArray, events: FloatArray) -> FloatArray:
    """The base (G, C) by the ratios of the classes, each row with the total that it had.

    events (G, C). Those of class c are Poisson with r_c times the mean that the base expects, and
    r_c is gamma with mean 1: its posterior mean. What the base expects depends on the ratios of the
    other classes, so this is repeated until they agree.
    """
    total = base.sum(axis=1, keepdims=True)
    share = base / np.maximum(total, np.finfo(float).tiny)
    n, found = events.sum(axis=1), events.sum(axis=0)
    ratio = np.ones(base.shape[1])
    for _ in range(STEPS):
        expected = n @ (share / np.maximum(share @ ratio, np.finfo(float).tiny)[:, None])
        ratio = (found + SHAPE) / (expected + SHAPE)
    own = share * ratio
    return np.asarray(
        total * own / np.maximum(own.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    )
