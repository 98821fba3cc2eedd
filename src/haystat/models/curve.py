"""How the share of positives falls with the rank of the score: a curve, floors, and scatter.

The coordinate of a region is t = -logit(rank), rank its place from the top as a share of the pool:
whatever the scale of the scores, a share of positives that falls like a power of the rank is a
straight line in the logit. The logit of the curve is a line plus a random walk in t, with knots
counted from the decision threshold, plus an offset for regions that are predicted otherwise.
Beneath the curve lies a floor: where one predicts negative a share `rate` of positives that the
scores know nothing of, where all predict positive a share `wrong` of negatives:

    p = rate + (1 - rate - wrong) expit(basis @ coefficients).

The share of a region scatters about p by a beta distribution, so that its labels are beta-binomial.
`fit` finds the posterior mode of the coefficients and Laplace's evidence for several rates and
states of the curve at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, gammaln, psi

from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.models.rising import Rising
from haystat.models.settings import ModelSettings

# Knots of the walk, in units of t from the threshold: close where the curve falls.
NEAR = np.array([0.25, 0.5, 0.75, 1.0, 1.5, 2.0])
FAR = np.array([3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 60.0])
REGIONS = 4  # of a group on average, from which it has a slope of its own
HALVINGS = 10
SMALL_GAIN = 1e-3  # of the log posterior, at which Newton's steps end
ROUNDING = 1e-6  # of the log posterior
MOST_HIDDEN = 0.9  # share of hidden positives where signals point at them
TINY = 1e-10  # nearest that a share comes to 0 or 1
EDGE = 1e-12  # nearest that a rank comes to 0 or 1


@dataclass(frozen=True)
class Hints:
    """Terms (R, h) of the logit with prior mean and deviation (h,); tilts (Q, R) with chance (Q,).

    A tilt says how the share of hidden positives differs between regions; its mean over the items
    that all systems predict negative is 1. The first is flat. chance is their prior probability.
    """

    terms: FloatArray
    mean: FloatArray
    deviation: FloatArray
    tilts: FloatArray
    chance: FloatArray


@dataclass(frozen=True)
class Curve:
    """basis (R, p) of the curve's logit, the prior mean (p,), and where floors lie.

    low and high (R,) mark regions that all systems predict negative or positive; is_bend (p,) marks
    the coefficients of the walk, slopes of segments that are length (r,) long. Last in the basis
    are the slopes of groups, and then the terms of signals, whose hints these are.
    """

    basis: FloatArray
    mean: FloatArray
    low: BoolArray
    high: BoolArray
    is_bend: BoolArray
    length: FloatArray
    hints: Hints | None = None
    n_group_slopes: int = 0

    @property
    def n_tilts(self) -> int:
        """In how many ways hidden positives may lie."""
        return 1 if self.hints is None else len(self.hints.tilts)

    @property
    def floor(self) -> BoolArray | FloatArray:
        """Where hidden positives lie: wherever a system predicts negative, (R,).

        With signals (Q, R), by their tilts.
        """
        return ~self.high if self.hints is None else self.hints.tilts * ~self.high

    @classmethod
    def along(
        cls,
        place: FloatArray,
        group: IntArray,
        low: BoolArray,
        high: BoolArray,
        settings: ModelSettings,
        hints: Hints | None = None,
    ) -> Curve:
        """place (R,) is t of each region less that of the threshold.

        group (R, m) numbers how it is predicted and then to which groups it belongs: these have a
        slope of their own as well, where they have regions enough to show one.
        """
        line = np.column_stack([np.ones_like(place), place])
        walk, length = walk_basis(place)
        groups = [kind[:, None] == np.unique(kind)[1:] for kind in group.T]
        slopes = [
            kind * place[:, None] for kind in groups[1:] if REGIONS * kind.shape[1] < len(place)
        ]
        basis = np.hstack([line, walk, *groups, *slopes])
        mean = np.zeros(basis.shape[1])
        mean[1] = settings.slope
        is_bend = np.zeros(len(mean), dtype=bool)
        is_bend[2 : 2 + walk.shape[1]] = True
        if hints is not None:
            basis, mean = np.hstack([basis, hints.terms]), np.concatenate([mean, hints.mean])
            is_bend = np.pad(is_bend, (0, len(hints.mean)))
        n_slopes = sum(part.shape[1] for part in slopes)
        return cls(basis, mean, low, high, is_bend, length, hints, n_slopes)

    def precision(
        self, bend_sd: FloatArray, group_slope_sd: FloatArray, settings: ModelSettings
    ) -> FloatArray:
        """Prior precision of the coefficients, (G, p), for deviations of walk and slopes (G,)."""
        deviation = np.full((len(bend_sd), len(self.mean)), float(settings.group_sd))
        deviation[:, 0], deviation[:, 1] = settings.intercept_sd, settings.slope_sd
        near = self.length < 1
        deviation[:, self.is_bend] = np.where(near, bend_sd[:, None], settings.far_sd)
        deviation[:, self.is_bend] /= np.sqrt(self.length)
        n_terms = len(self.mean) - (0 if self.hints is None else len(self.hints.mean))
        deviation[:, n_terms - self.n_group_slopes : n_terms] = group_slope_sd[:, None]
        if self.hints is not None:
            deviation[:, n_terms:] = self.hints.deviation
        return np.asarray(deviation**-2)


@dataclass(frozen=True)
class Fits:
    """Posterior modes (G, p) with their height (G,), curvature (G, p, p) and log evidence (G,)."""

    mode: FloatArray
    height: FloatArray
    curvature: FloatArray
    evidence: FloatArray


@dataclass(frozen=True)
class Assumed:
    """What is taken as given for each of G curves: floors rate and wrong (G,), and the scatter.

    tilt (G,) numbers how hidden positives lie, where signals are known.
    """

    rate: FloatArray
    wrong: FloatArray
    shape: FloatArray
    concentration: FloatArray
    tilt: IntArray | None = None

    def picked(self, which: IntArray) -> Assumed:
        """Those of some of the curves."""
        floors = self.rate[which], self.wrong[which]
        tilt = None if self.tilt is None else self.tilt[which]
        return Assumed(*floors, self.shape[which], self.concentration[which], tilt)

    def shares(
        self, logit: FloatArray, floor: BoolArray | FloatArray, high: BoolArray
    ) -> tuple[FloatArray, FloatArray]:
        """Shares (G, R) of curves with floors, never quite 0 or 1, and their slope in the logit."""
        below, above = self._below(floor), self.wrong[:, None] * high
        curve, room = expit(logit), 1 - below - above
        share = np.clip(below + room * curve, TINY, 1 - TINY)
        return share, np.asarray(room * curve * (1 - curve))

    def _below(self, floor: BoolArray | FloatArray) -> FloatArray:
        """Share of hidden positives, (G, R); floor is that of a curve."""
        if self.tilt is None:
            return np.asarray(self.rate[:, None] * floor)
        return np.asarray(np.minimum(self.rate[:, None] * floor[self.tilt], MOST_HIDDEN))

    def pseudo_counts(self, share: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Parameters of the beta distributions about shares (G, R)."""
        a, b = self.shape[:, None], self.concentration[:, None]
        return a / (1 - share) + b * share, a / share + b * (1 - share)


@dataclass(frozen=True)
class Told:
    """What is known of the regions that have labels: basis (A, p), n, n_positive (A,), floors.

    rising is for n_positive, the other labels and n, where signals cut regions small.
    """

    basis: FloatArray
    n: FloatArray
    n_positive: FloatArray
    low: BoolArray | FloatArray
    high: BoolArray
    rising: tuple[Rising, Rising, Rising] | None = None

    @classmethod
    def of(cls, curve: Curve, n: FloatArray, n_positive: FloatArray, used: BoolArray) -> Told:
        """The regions that have labels and are used."""
        told = np.flatnonzero((n > 0) & used)
        n, n_positive = n[told], n_positive[told]
        rows = curve.basis[told], n, n_positive, curve.floor[..., told], curve.high[told]
        if curve.hints is None or not len(curve.hints.mean):
            return cls(*rows)
        return cls(*rows, (Rising.of(n_positive), Rising.of(n - n_positive), Rising.of(n)))

    def height(self, assumed: Assumed, share: FloatArray) -> FloatArray:
        """Log likelihood of shares (G, A), beta-binomial but for a constant, (G,)."""
        yes, no = assumed.pseudo_counts(share)
        if self.rising is not None:
            of_yes, of_no, of_both = self.rising
            return np.asarray(np.sum(of_yes.log(yes) + of_no.log(no) - of_both.log(yes + no), 1))
        found = gammaln(yes + self.n_positive) - gammaln(yes)
        found += gammaln(no + self.n - self.n_positive) - gammaln(no)
        return np.asarray(np.sum(found - gammaln(yes + no + self.n) + gammaln(yes + no), axis=1))

    def gradient(self, assumed: Assumed, share: FloatArray) -> FloatArray:
        """Derivative of the log likelihood by the shares, (G, A)."""
        yes, no = assumed.pseudo_counts(share)
        a, b = assumed.shape[:, None], assumed.concentration[:, None]
        if self.rising is not None:
            values = zip(self.rising, (yes, no, yes + no), strict=True)
            by_yes, by_no, both = (counts.slope(value) for counts, value in values)
        else:
            both = psi(yes + no + self.n) - psi(yes + no)
            by_yes = psi(yes + self.n_positive) - psi(yes)
            by_no = psi(no + self.n - self.n_positive) - psi(no)
        by_yes, by_no = by_yes - both, by_no - both
        return np.asarray(by_yes * (a / (1 - share) ** 2 + b) - by_no * (a / share**2 + b))

    def information(self, assumed: Assumed, share: FloatArray) -> FloatArray:
        """n^2 over the variance of a beta-binomial count, (G, A)."""
        total = np.add(*assumed.pseudo_counts(share))
        return np.asarray(self.n / (share * (1 - share) * (1 + (self.n - 1) / (total + 1))))


def fit(
    curve: Curve,
    told: Told,
    assumed: Assumed,
    precision: FloatArray,
    start: FloatArray,
    most_steps: int,
) -> Fits:
    """Newton's steps from start (G, p) for G assumptions and prior precisions (G, p) at once."""
    pairs = np.triu_indices(len(curve.mean))
    products = told.basis[:, pairs[0]] * told.basis[:, pairs[1]]

    every = np.arange(len(start))

    def look(at: FloatArray, of: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Height of some log posteriors (g,), with the shares and slopes (g, A) of which it is."""
        at, given = at[of], assumed.picked(of)
        share, slope = given.shares(at @ told.basis.T, told.low, told.high)
        penalty = np.sum(precision[of] * (at - curve.mean) ** 2, axis=1) / 2
        return told.height(given, share) - penalty, share, slope

    at, (best, share, slope) = start, look(start, every)
    for _ in range(most_steps):
        gradient = (told.gradient(assumed, share) * slope) @ told.basis
        gradient -= precision * (at - curve.mean)
        information = (told.information(assumed, share) * slope**2) @ products
        curvature = _symmetric(information, pairs) + _diagonal(precision)
        step = np.linalg.solve(curvature, gradient[:, :, None])[:, :, 0]
        found, share, slope = look(at + step, every)
        for _ in range(HALVINGS):
            worse = found < best - ROUNDING
            if not worse.any():
                break
            step[worse] /= 2
            # The last bits of a product of matrices depend on how many rows they have.
            of = every if told.rising is None else np.flatnonzero(worse)
            found[of], share[of], slope[of] = look(at + step, of)
        at, gain, best = at + step, float(np.max(found - best)), found
        if gain < SMALL_GAIN:
            break
    _, log_determinant = np.linalg.slogdet(curvature)
    evidence = best + np.sum(np.log(precision), axis=1) / 2 - log_determinant / 2
    return Fits(at, best, curvature, evidence)


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
    knots = np.concatenate([-FAR[::-1], -NEAR[::-1], [0.0], NEAR, FAR])
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
