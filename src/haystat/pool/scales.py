"""Where strata are cut, as edges on the raw score.

Every engine compares two doubles in the same way, but no two compute the same logarithm. So what
is cut on another scale is described by the smallest raw score at or above each edge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from haystat.core.arrays import FloatArray
from haystat.core.score_scales import SCALES, scale_name
from haystat.pool.prior import natural_scale
from haystat.pool.strata import locate

STEPS = 1 << 14  # into which the widest of several scores is cut before they are added up
ONE = int(np.float64(1.0).view(np.int64))
LARGEST = int(np.finfo(np.float64).max.view(np.int64))


@dataclass(frozen=True)
class Scale:
    """The range of a score on its scale, one of SCALES."""

    low: float
    high: float
    name: str

    def raw(self, edges: FloatArray) -> FloatArray:
        """The smallest raw score at or above each edge, (n,)."""
        return edges if self.name == "plain" else raw_edges(edges, self.name)


def natural_scores(scores: FloatArray, numeric: bool) -> FloatArray:
    """One score to cut strata on, (M,): the mean of (M, S) on the systems' natural scales."""
    if numeric:
        return np.asarray(scores.mean(axis=1))
    return natural_scale(scores[:, 0]) if scores.shape[1] == 1 else joint_steps(scores)


def scale_of(low: float, high: float, numeric: bool = False) -> Scale:
    """The scale of raw scores that go from `low` to `high`; predicted numbers are never logits."""
    name = "plain" if numeric else scale_name(float(low), float(high))
    ends = SCALES[name](np.array([low, high], dtype=np.float64))
    return Scale(float(ends[0]), float(ends[1]), name)


def raw_edges(edges: FloatArray, name: str) -> FloatArray:
    """The smallest raw score that reaches each edge on a scale, (n,); infinity where none does.

    Doubles are ordered like the integers that share their bits, those below 0 in reverse.
    """
    lowest, highest = (0, ONE) if name == "logit" else (-LARGEST, LARGEST)
    low, high = np.full(len(edges), lowest), np.full(len(edges), highest + 1)
    while np.any(low < high):
        middle = (low & high) + ((low ^ high) >> 1)  # their mean, rounded down, without overflow
        reached = SCALES[name](_double(np.minimum(middle, highest))) >= edges
        reached |= middle > highest
        open_ = low < high
        high = np.where(open_ & reached, middle, high)
        low = np.where(open_ & ~reached, middle + 1, low)
    return np.where(low > highest, np.inf, _double(np.minimum(low, highest)))


def _double(number: NDArray[np.int64]) -> FloatArray:
    """The double with this place (n,) in the order of all, counted from 0."""
    return np.asarray(np.copysign(np.abs(number).view(np.float64), number))


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
