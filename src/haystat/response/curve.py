"""How the share of positives falls with the rank of the score: a curve, and floors beneath it.

The coordinate of a cell is t = -logit(rank), rank its place from the top as a share of the pool:
whatever the scale of the scores, a share of positives that falls like a power of the rank is a
straight line in the logit. The logit of the curve is a line plus a random walk in t, with knots one
unit apart, counted from the decision threshold, plus an offset for cells that are predicted
otherwise. Beneath the curve lies a floor: in cells predicted negative a share `rate` of positives
that the score knows nothing of, in cells predicted positive a share `wrong` of negatives:

    share = rate + (1 - rate - wrong) expit(basis @ coefficients).

`fit` finds the posterior mode of the coefficients and Laplace's evidence for several rates and
standard deviations of the walk at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from haystat.measures.outputs import BoolArray, FloatArray, IntArray
from haystat.response.settings import ModelSettings

# Knots of the walk, in units of t from the threshold: close where the curve falls, then 1 apart.
NEAR = np.array([0.25, 0.5, 0.75, 1.0, 1.5, 2.0])
NEWTON_STEPS = 12
HALVINGS = 10
SMALL_GAIN = 1e-3  # of the log posterior, at which Newton's steps end
ROUNDING = 1e-6  # of the log posterior
TINY = 1e-17
EDGE = 1e-12  # nearest that a rank comes to 0 or 1


@dataclass(frozen=True)
class Curve:
    """basis (K, p) of the curve's logit, the prior mean (p,), and where floors lie.

    low and high (K,) mark cells that all systems predict negative or positive; is_bend (p,) marks
    the coefficients of the walk, slopes of segments that are length (r,) long.
    """

    basis: FloatArray
    mean: FloatArray
    low: BoolArray
    high: BoolArray
    is_bend: BoolArray
    length: FloatArray

    @classmethod
    def along(
        cls,
        rank: FloatArray,
        threshold_rank: float,
        group: IntArray,
        low: BoolArray,
        high: BoolArray,
        settings: ModelSettings,
    ) -> Curve:
        """rank (K,) is the mid-rank of each cell from the top; group (K,) how it is predicted."""
        t = minus_logit(rank)
        anchor = float(np.clip(minus_logit(np.array([threshold_rank]))[0], t.min(), t.max()))
        line = np.column_stack([np.ones_like(t), t - anchor])
        walk, length = walk_basis(t - anchor)
        groups = np.unique(group)[1:]
        offsets = (group[:, None] == groups).astype(np.float64)
        basis = np.hstack([line, walk, offsets])
        mean = np.zeros(basis.shape[1])
        mean[1] = settings.slope
        kind = np.repeat(np.arange(3), [2, walk.shape[1], len(groups)])
        return cls(basis, mean, low, high, kind == 1, length)

    def precision(self, bend_sd: FloatArray, settings: ModelSettings) -> FloatArray:
        """Prior precision of the coefficients for each standard deviation of the walk, (G, p)."""
        deviation = np.full((len(bend_sd), len(self.mean)), settings.group_sd)
        deviation[:, 0], deviation[:, 1] = settings.intercept_sd, settings.slope_sd
        near = self.length < 1
        deviation[:, self.is_bend] = np.where(near, bend_sd[:, None], settings.far_sd)
        deviation[:, self.is_bend] /= np.sqrt(self.length)
        return np.asarray(deviation**-2)


@dataclass(frozen=True)
class Fits:
    """Posterior modes (G, p) with their curvature (G, p, p) and log evidence (G,)."""

    mode: FloatArray
    curvature: FloatArray
    evidence: FloatArray


@dataclass(frozen=True)
class Told:
    """What is known of the cells that have labels: basis (A, p), n and n_positive (A,), floors."""

    basis: FloatArray
    n: FloatArray
    n_positive: FloatArray
    low: BoolArray
    high: BoolArray

    @classmethod
    def of(cls, curve: Curve, n: FloatArray, n_positive: FloatArray, used: BoolArray) -> Told:
        """The cells that have labels and are used."""
        told = np.flatnonzero((n > 0) & used)
        rows = curve.basis[told], n[told], n_positive[told], curve.low[told], curve.high[told]
        return cls(*rows)

    def floors(self, rate: FloatArray, wrong: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Share of positives below the curve, of negatives above it, (A, G) for rates (G,)."""
        return self.low[:, None] * rate, self.high[:, None] * wrong

    def height(self, positive: FloatArray, negative: FloatArray) -> FloatArray:
        """Log likelihood of shares of positives and negatives (A, G), (G,)."""
        n_negative = self.n - self.n_positive
        some, others = np.flatnonzero(self.n_positive), np.flatnonzero(n_negative)
        found = self.n_positive[some] @ np.log(positive[some])
        return np.asarray(found + n_negative[others] @ np.log(negative[others]))


def shares(
    logit: FloatArray, below: FloatArray, above: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Share of positives and of negatives under a curve with floors; never quite zero."""
    curve = expit(logit)
    room = 1 - below - above
    positive = np.maximum(below + room * curve, TINY)
    return positive, np.maximum(above + room * (1 - curve), TINY)


def fit(
    curve: Curve,
    told: Told,
    rate: FloatArray,
    wrong: FloatArray,
    precision: FloatArray,
    start: FloatArray,
) -> Fits:
    """Fisher scoring from start (G, p), for rates (G,) and prior precisions (G, p) at once."""
    below, above = told.floors(rate, wrong)
    room = 1 - below - above
    pairs = np.triu_indices(len(curve.mean))
    products = told.basis[:, pairs[0]] * told.basis[:, pairs[1]]

    def look(at: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Height of the log posterior (G,), with the shares (A, G) that it is made of."""
        positive, negative = shares(told.basis @ at.T, below, above)
        penalty = np.sum(precision * (at - curve.mean) ** 2, axis=1) / 2
        return told.height(positive, negative) - penalty, positive, negative

    at, (best, positive, negative) = start, look(start)
    for _ in range(NEWTON_STEPS):
        slope = (positive - below) * (negative - above) / room
        residual = told.n_positive[:, None] / positive
        residual -= (told.n - told.n_positive)[:, None] / negative
        gradient = (slope * residual).T @ told.basis - precision * (at - curve.mean)
        information = (told.n[:, None] * slope**2 / (positive * negative)).T @ products
        curvature = _symmetric(information, pairs) + _diagonal(precision)
        step = np.linalg.solve(curvature, gradient[:, :, None])[:, :, 0]
        found, positive, negative = look(at + step)
        for _ in range(HALVINGS):
            worse = found < best - ROUNDING
            if not worse.any():
                break
            step[worse] /= 2
            found, positive, negative = look(at + step)
        at, gain, best = at + step, float(np.max(found - best)), found
        if gain < SMALL_GAIN:
            break
    _, log_determinant = np.linalg.slogdet(curvature)
    evidence = best + np.sum(np.log(precision), axis=1) / 2 - log_determinant / 2
    return Fits(at, curvature, evidence)


def _symmetric(upper: FloatArray, pairs: tuple[IntArray, ...]) -> FloatArray:
    """Matrices (G, p, p) from their upper triangles (G, p (p + 1) / 2)."""
    p = int(pairs[0].max()) + 1
    matrix = np.zeros((len(upper), p, p))
    matrix[:, pairs[0], pairs[1]] = upper
    matrix[:, pairs[1], pairs[0]] = upper
    return matrix


def _diagonal(values: FloatArray) -> FloatArray:
    return values[:, :, None] * np.eye(values.shape[1])


def walk_basis(place: FloatArray) -> tuple[FloatArray, FloatArray]:
    """A random walk by the slopes of its segments (K, r), zero at 0, and their lengths (r,)."""
    low, high = float(place.min()), float(place.max())
    far = np.arange(NEAR[-1], max(high, -low) + 1) + 1
    knots = np.concatenate([-far[::-1], -NEAR[::-1], [0.0], NEAR, far])
    starts, ends = knots[:-1], knots[1:]
    reached = (starts < high) & (ends > low)
    starts, ends = starts[reached], ends[reached]
    length = ends - starts
    ramps = np.clip(place[:, None] - starts, 0, length) - np.where(starts < 0, length, 0.0)
    return ramps, length


def mid_ranks(order: IntArray, size: IntArray) -> FloatArray:
    """Share of the pool above the middle of each cell, (K,); `order` goes from the top down."""
    ordered = size[order]
    middle = (np.cumsum(ordered) - ordered / 2) / size.sum()
    result = np.empty(len(size))
    result[order] = middle
    return result


def minus_logit(rank: FloatArray) -> FloatArray:
    """t = -logit(rank)."""
    rank = np.clip(rank, EDGE, 1 - EDGE)
    return np.asarray(np.log1p(-rank) - np.log(rank))
