"""How the share of positives falls with the rank of the score, and how many lie astray.

The coordinate of a cell is t = -logit(rank), rank its place from the top as a share of the pool:
whatever the scale of the scores, a share of positives that falls like a power of the rank is a
straight line in the logit. The trend is a logistic curve in t whose slope may differ from one
segment to the next, a unit long each and counted from the decision threshold, but is drawn towards
their common slope: a cliff at the threshold says little about what lies far below. Positives that
the trend cannot explain, deep among predicted negatives, are stray: they lie there at a rate that
may differ from one zone of t to another, but is drawn towards their common rate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from haystat.measures.outputs import FloatArray, IntArray

SEGMENT = 1.0  # length of a segment
INTERCEPT_SD = 5.0
ROUNDS = 3  # of dividing the positives between trend and strays
NEWTON_STEPS = 8
SMALL_GAIN = 1e-7  # of the log posterior, at which Newton's steps end
DISCOUNT = 1.0  # strays that are put down to chance
ZONES = 16  # of width 1 below the threshold, the last without an end
FIRST_OWN = 1  # zone from which strays may have a rate of their own; above, the trend explains
COMMON = 300.0  # labels for which the common rate of strays counts in each zone


@dataclass(frozen=True)
class SplineState:
    """coefficients (p,) of the trend, the trend itself (K,), the rate of strays (K,).

    curvature (p, p) is minus the second derivative of the log posterior; stray (K,) is the part of
    the labelled positives that is put down to strays.
    """

    coefficients: FloatArray
    curvature: FloatArray
    trend: FloatArray
    stray_rate: FloatArray
    stray: FloatArray


@dataclass(frozen=True)
class RankSpline:
    """basis (K, p) of the trend, its prior mean and precision (p,), and where strays may lie.

    low (K,) marks the cells predicted negative; zone (K,) numbers the zones downwards from the
    threshold.
    """

    basis: FloatArray
    mean: FloatArray
    precision: FloatArray
    low: NDArray[np.bool_]
    zone: IntArray

    @classmethod
    def make(
        cls,
        rank: FloatArray,
        low: NDArray[np.bool_],
        threshold_rank: float,
        slope: float,
        slope_sd: float,
        bend_sd: float,
    ) -> RankSpline:
        """rank (K,) is the mid-rank of each cell in (0, 1), the highest scores near 0."""
        basis = spline_basis(_minus_logit(rank), _minus_logit(np.array([threshold_rank]))[0])
        n_segments = basis.shape[1] - 2
        mean = np.zeros(n_segments + 2)
        mean[1] = slope
        deviation = np.r_[INTERCEPT_SD, slope_sd, np.full(n_segments, bend_sd)]
        zone = np.clip(np.floor(-basis[:, 1]), 0, ZONES - 1).astype(np.int64)
        return cls(basis, mean, deviation**-2, low, zone)

    def start(self) -> SplineState:
        """The prior."""
        trend = expit(self.basis @ self.mean)
        none = np.zeros_like(trend)
        return SplineState(self.mean, np.diag(self.precision), trend, none, none)

    def fit(self, state: SplineState, labelled: IntArray) -> SplineState:
        """The posterior mode after labelled (K, 2) items per cell and class, from `state` on.

        A positive of a low cell belongs to the trend with probability trend / (trend + rate).
        """
        positive = labelled[:, 1].astype(np.float64)
        n = labelled.sum(axis=1).astype(np.float64)
        coefficients, trend, rate = state.coefficients, state.trend, state.stray_rate
        for _ in range(ROUNDS):
            other = np.maximum(rate, 1.0 / max(n.sum(), 1.0))
            stray = np.where(self.low, positive * other / (other + trend), 0.0)
            coefficients = self._climb(coefficients, n - stray, positive - stray)
            trend = expit(self.basis @ coefficients)
            rate = self._rate(stray, n)
            if not stray.any():
                break
        curvature = self._curvature(trend, n - stray)
        return SplineState(coefficients, curvature, trend, rate, stray)

    def share(self, state: SplineState) -> FloatArray:
        """Share of positives among the unlabelled items of each cell, (K,)."""
        return np.asarray(state.stray_rate + (1 - state.stray_rate) * state.trend)

    def _rate(self, stray: FloatArray, n: FloatArray) -> FloatArray:
        """Share of strays in each cell, from those among n labels, (K,)."""
        asked = np.where(self.low, n, 0.0)
        common = max(float(stray.sum()) - DISCOUNT, 0.0) / max(float(asked.sum()), 1.0)
        found, tried = (np.bincount(self.zone, part, minlength=ZONES) for part in (stray, asked))
        of_zone = (found + COMMON * common) / (tried + COMMON)
        of_zone[:FIRST_OWN] = common
        return np.where(self.low, of_zone[self.zone], 0.0)

    def _climb(self, start: FloatArray, n: FloatArray, positive: FloatArray) -> FloatArray:
        """Newton's method on the log posterior, with halved steps where it would fall."""
        asked = n > 0
        basis, n, positive = self.basis[asked], n[asked], positive[asked]

        def height(coefficients: FloatArray) -> float:
            logit = basis @ coefficients
            fit = positive @ logit - n @ np.logaddexp(0, logit)
            return float(fit - self.precision @ (coefficients - self.mean) ** 2 / 2)

        at, best = start, height(start)
        for _ in range(NEWTON_STEPS):
            share = expit(basis @ at)
            gradient = basis.T @ (positive - n * share) - self.precision * (at - self.mean)
            curvature = (basis.T * (n * share * (1 - share))) @ basis + np.diag(self.precision)
            step = np.linalg.solve(curvature, gradient)
            found = height(at + step)
            while found < best and np.abs(step).max() > 1e-6:
                step = step / 2
                found = height(at + step)
            if found < best:
                break
            at, gain, best = at + step, found - best, found
            if gain < SMALL_GAIN:
                break
        return at

    def _curvature(self, trend: FloatArray, n: FloatArray) -> FloatArray:
        weighted = self.basis.T * (n * trend * (1 - trend))
        return np.asarray(weighted @ self.basis + np.diag(self.precision))


def spline_basis(t: FloatArray, anchor: float) -> FloatArray:
    """Intercept, common slope, and a ramp a segment: level outside it, zero at the anchor."""
    anchor = float(np.clip(anchor, t.min(), t.max()))
    place = (t - anchor) / SEGMENT
    starts = np.arange(np.floor(place.min()), np.ceil(place.max()))
    ramps = [np.clip(place - start, 0, 1) - (start < 0) for start in starts]
    return np.column_stack([np.ones_like(t), t - anchor, *(SEGMENT * ramp for ramp in ramps)])


def mid_ranks(order: IntArray, size: IntArray) -> FloatArray:
    """Share of the pool above the middle of each cell, (K,); `order` goes from the top down."""
    ordered = size[order]
    middle = (np.cumsum(ordered) - ordered / 2) / size.sum()
    result = np.empty(len(size))
    result[order] = middle
    return result


def _minus_logit(rank: FloatArray) -> FloatArray:
    return np.asarray(np.log1p(-rank) - np.log(rank))
