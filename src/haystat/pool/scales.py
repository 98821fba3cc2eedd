"""Where strata are cut, as edges on the raw score.

Every engine compares two doubles in the same way, but no two compute the same logarithm. So what
is cut on the logit scale is described by the smallest raw score at or above each edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from haystat.core.arrays import FloatArray
from haystat.pool.prior import logit
from haystat.pool.strata import locate

STEPS = 1 << 14  # into which the widest of several scores is cut before they are added up
ONE = int(np.float64(1.0).view(np.int64))


@dataclass(frozen=True)
class Scale:
    """The range of a score, on the logit scale if it is a probability."""

    low: float
    high: float
    is_probability: bool

    def raw(self, edges: FloatArray) -> FloatArray:
        """The smallest raw score at or above each edge, (n,)."""
        return raw_edges(edges) if self.is_probability else edges


def scale_of(low: float, high: float, numeric: bool = False) -> Scale:
    """The scale of raw scores that go from `low` to `high`; predicted numbers are never logits."""
    if numeric or low < 0 or high > 1:
        return Scale(float(low), float(high), False)
    ends = logit(np.array([low, high]))
    return Scale(float(ends[0]), float(ends[1]), True)


def raw_edges(edges: FloatArray) -> FloatArray:
    """The smallest probability whose logit reaches each edge, (n,); infinity where none does.

    Doubles from 0 up are ordered like the integers that share their bits.
    """
    low = np.zeros(len(edges), dtype=np.int64)
    high = np.full(len(edges), ONE + 1)
    while np.any(low < high):
        middle = (low + high) // 2
        reached = logit(np.minimum(middle, ONE).view(np.float64)) >= edges
        reached |= middle > ONE
        open_ = low < high
        high = np.where(open_ & reached, middle, high)
        low = np.where(open_ & ~reached, middle + 1, low)
    return np.where(low > ONE, np.inf, np.minimum(low, ONE).view(np.float64))


def step_edges(scales: Sequence[Scale]) -> list[FloatArray]:
    """Raw edges of steps that are of one width on the scales of several scores."""
    step = max(scale.high - scale.low for scale in scales) / STEPS
    if step == 0:
        return [np.zeros(0) for _ in scales]
    counts = [int((scale.high - scale.low) / step) for scale in scales]
    return [
        scale.raw(scale.low + step * np.arange(1.0, n + 1))
        for scale, n in zip(scales, counts, strict=True)
    ]


def joint_steps(scores: FloatArray) -> FloatArray:
    """The sum over systems of the step on which each score (M, S) stands: their mean, cut finely.

    Whole numbers, so that every engine adds up the same.
    """
    scales = [scale_of(column.min(), column.max()) for column in scores.T]
    total = np.zeros(len(scores))
    for column, edges in zip(scores.T, step_edges(scales), strict=True):
        total += locate(column, edges)
    return total
