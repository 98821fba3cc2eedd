"""The posterior of the labels that are missing: a curve, hidden positives, a mass of equal scores.

A grid over the rate of hidden positives and the state of the curve, with Laplace's approximation
for the curve at each point, gives a mixture. Draws from it are reweighted by the exact posterior
(importance sampling), so that what the labels exclude is excluded although the approximation would
allow it. Everything that is said about the pool comes from these draws.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import expit, gammaln, log_ndtr, logsumexp, ndtr

from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.models.curve import Assumed, Curve, Fits, Told, fit
from haystat.models.settings import ModelSettings

N_RATES = 10  # of the grid of hidden positives
LARGEST_RATE = 0.3
FEWEST = 0.05  # hidden positives, at the lower end of the grid
PER_DRAW = 2  # draws of the mixture for each that is kept
HALF = 0.5  # item that stands in for a class without any, in a ratio
NO_ERRORS = 0.01  # added to the errors per hit, so that a perfect record is no proof
MOST_ERRORS = 10.0  # per hit: beyond, a system is simply bad
MOST_WRONG = 0.9  # largest share of wrong predictions
N_GRID = 64  # of the rates in a mass


@dataclass(frozen=True)
class Effort:
    """How thoroughly the model is fitted: states of the curve, most Newton steps."""

    states: slice
    most_steps: int


THOROUGH = Effort(slice(None), 12)
#: the restless state alone, never sure of itself; the next stage goes on from where this one ends
QUICK = Effort(slice(-1, None), 3)
#: all states, where their evidence is held against that of another model
QUICK_MIXTURE = Effort(slice(None), 3)


@dataclass(frozen=True)
class Sight:
    """What hidden positives are relative to: positives in sight, and errors per hit, (G,) each."""

    positives: FloatArray
    errors: FloatArray

    def median(self, factor: float, power: float) -> FloatArray:
        """Likely number of hidden ones, (G,)."""
        return np.asarray(factor * self.positives * self.errors**power)


@dataclass(frozen=True)
class LabelModel:
    """The regions of a pool: their curve and size (R,), and which are a mass (R,).

    far (R,), where given, marks what a key tells to be far from positive: a mass of such items has
    as many positives as are hidden elsewhere, not as many as a mass of which nothing is known.
    """

    curve: Curve
    size: FloatArray
    mass: BoolArray
    settings: ModelSettings
    far: BoolArray | None = None

    @cached_property
    def rates(self) -> FloatArray:
        """The grid of hidden positives, as shares of the items predicted negative."""
        n_low = self.size[self.curve.low & ~self.mass].sum()
        if n_low == 0:
            return np.zeros(1)
        lowest = min(FEWEST / n_low, LARGEST_RATE / 2)
        return np.exp(np.linspace(np.log(lowest), np.log(LARGEST_RATE), N_RATES))

    @property
    def rate_step(self) -> float:
        """Distance of the grid's points on the log scale; 0 for a single one."""
        return float(np.log(self.rates[1] / self.rates[0])) if len(self.rates) > 1 else 0.0

    def fitted(
        self, n: FloatArray, n_positive: FloatArray, start: FloatArray | None, effort: Effort
    ) -> Mixture:
        """The mixture after n_positive of n labels (R,); the fit begins at start (G, p), if any."""
        chosen = self.settings
        of_states = chosen.bend_sds, chosen.shapes, chosen.concentrations
        n_tilts, n_points = self.curve.n_tilts, self.curve.n_tilts * len(self.rates)
        slopes = chosen.group_slope_sds[effort.states] if self.curve.n_group_slopes else (1.0,)
        bend, shape, concentration = (
            np.tile(np.repeat(values[effort.states], n_points), len(slopes)) for values in of_states
        )
        group_slope = np.repeat(slopes, len(bend) // len(slopes))
        rate = np.resize(self.rates, len(bend))
        tilt = np.resize(np.repeat(np.arange(n_tilts), len(self.rates)), len(bend))
        precision = self.curve.precision(bend, group_slope, chosen)
        start = np.resize(self.curve.mean if start is None else start, precision.shape)
        wrong = np.full(len(rate), chosen.wrong)
        assumed = Assumed(rate, wrong, shape, concentration, tilt if n_tilts > 1 else None)
        told = self.told(n, n_positive)
        fits = fit(self.curve, told, assumed, precision, start, effort.most_steps)
        sight = self.sight(n, n_positive, fits.mode)
        n_states = len(bend) // n_points
        log_weight = fits.evidence + self._prior(rate, sight, assumed.tilt) - np.log(n_states)
        if self.curve.hints is not None:
            log_weight += np.log(self.curve.hints.chance[tilt])
        return Mixture(fits, assumed, precision, sight, log_weight)

    def told(self, n: FloatArray, n_positive: FloatArray) -> Told:
        """What the labels (R,) say about the curve."""
        return Told.of(self.curve, n, n_positive, ~self.mass)

    def sight(self, n: FloatArray, n_positive: FloatArray, coefficients: FloatArray) -> Sight:
        """Positives by the curve alone; with errors on one side come errors on the other."""
        trend = np.where(self.mass, 0.0, expit(coefficients @ self.curve.basis.T))
        positives = n_positive + (self.size - n) * trend
        true = positives[:, self.curve.high].sum(axis=1) + HALF
        false = (self.size - positives)[:, self.curve.high].sum(axis=1) + HALF
        errors = np.minimum(false / true, MOST_ERRORS) + NO_ERRORS
        return Sight(np.maximum(positives.sum(axis=1), 1.0), errors)

    def _prior(self, rate: FloatArray, sight: Sight, tilt: IntArray | None = None) -> FloatArray:
        """Log prior probability of the grid's bins (G,), lognormal around what is in sight."""
        step, chosen = self.rate_step, self.settings
        if step == 0:
            return np.zeros_like(rate)
        n_low = self.size[self.curve.low & ~self.mass].sum()
        place = np.log(rate * n_low / sight.median(chosen.hidden, chosen.hidden_power))
        if tilt is not None:
            place -= np.log(chosen.signal_hidden) * (tilt > 0)
        upper, lower = ((place + side * step / 2) / chosen.hidden_sd for side in (1, -1))
        first, last = rate == self.rates[0], rate == self.rates[-1]
        inside = np.log(np.maximum(ndtr(upper) - ndtr(lower), 1e-300))
        tails = np.where(last, log_ndtr(-lower), inside)
        return np.asarray(np.where(first, log_ndtr(upper), tails))

    def mass_posterior(
        self, region: int, n: FloatArray, n_positive: FloatArray, sight: Sight
    ) -> FloatArray:
        """Log posterior of the share of positives in a mass on `mass_grid`, (S, N_GRID)."""
        chosen, size = self.settings, self.size[region]
        grid, n_there, found = mass_grid(size), n[region], n_positive[region]
        likelihood = found * np.log(grid) + (n_there - found) * np.log1p(-grid)
        factor, power, deviation = chosen.mass, chosen.mass_power, chosen.mass_sd
        if self.far is not None and self.far[region]:
            factor, power, deviation = chosen.hidden, chosen.hidden_power, chosen.hidden_sd
        place = np.log(grid * size / sight.median(factor, power)[:, None])
        return np.asarray(likelihood - (place / deviation) ** 2 / 2)


@dataclass(frozen=True)
class Mixture:
    """Laplace's approximation at every point of the grid, with its log weight (G,)."""

    fits: Fits
    assumed: Assumed
    precision: FloatArray
    sight: Sight
    log_weight: FloatArray

    @property
    def weight(self) -> FloatArray:
        """Posterior probability of the points, (G,)."""
        weight = np.exp(self.log_weight - self.log_weight.max())
        return np.asarray(weight / weight.sum())

    @property
    def evidence(self) -> float:
        """Log probability of the labels."""
        return float(logsumexp(self.log_weight))


def share_posterior(
    model: LabelModel,
    assumed: Assumed,
    coefficients: FloatArray,
    n: FloatArray,
    n_positive: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Parameters of the beta distributions of regions' shares, (G, R) each; of a mass, the prior's.

    The shares scatter about the curve, and the labels of a region pull its own share.
    """
    curve = model.curve
    share, _ = assumed.shares(coefficients @ curve.basis.T, curve.floor, curve.high)
    yes, no = assumed.pseudo_counts(share)
    return yes + n_positive * ~model.mass, no + (n - n_positive) * ~model.mass


def mean_root(model: LabelModel, mixture: Mixture, n: FloatArray, x: FloatArray) -> FloatArray:
    """The square of the mean root of each region's share over the mixture, (R,).

    Labels are spread in proportion to roots of shares (Neyman), so the mean root is what counts.
    """
    yes, no = share_posterior(model, mixture.assumed, mixture.fits.mode, n, x)
    log_root = gammaln(yes + 0.5) - gammaln(yes) + gammaln(yes + no) - gammaln(yes + no + 0.5)
    root = mixture.weight @ np.exp(log_root)
    for region in np.flatnonzero(model.mass).tolist():
        size = model.size[region]
        log_posterior = model.mass_posterior(region, n, x, mixture.sight)
        chance = np.exp(log_posterior - log_posterior.max(axis=1, keepdims=True))
        chance /= chance.sum(axis=1, keepdims=True)
        root[region] = mixture.weight @ (chance @ np.sqrt(mass_grid(size)))
    return np.asarray(np.minimum(root, 1.0) ** 2)


def draw_shares(
    model: LabelModel,
    mixture: Mixture,
    n: FloatArray,
    n_positive: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Joint draws of the share of positives among the unlabelled items of each region, (S, R)."""
    point = np.sort(
        rng.choice(len(mixture.weight), PER_DRAW * model.settings.n_draws, p=mixture.weight)
    )
    noise = rng.standard_normal((len(point), len(model.curve.mean)))
    coefficients = mixture.fits.mode[point] + _correlated(mixture.fits.curvature, point, noise)
    assumed = _jittered(model, mixture.assumed.picked(point), rng)
    log_weight = _log_weight(model, mixture, (n, n_positive), point, coefficients, assumed)
    log_weight += np.sum(noise**2, axis=1) / 2
    kept = resampled(log_weight, model.settings.n_draws, rng)
    coefficients = coefficients[kept]
    share = rng.beta(*share_posterior(model, assumed.picked(kept), coefficients, n, n_positive))
    _fill_mass(model, n, n_positive, share, coefficients, rng)
    _leave_no_error(model, n, n_positive, share)
    return np.asarray(share)


def _correlated(curvature: FloatArray, point: IntArray, noise: FloatArray) -> FloatArray:
    """Noise (n, p) with the covariance that Laplace finds at points (n,) of the grid."""
    root = np.linalg.cholesky(curvature)
    step = np.empty_like(noise)
    for g in np.unique(point):
        step[point == g] = np.linalg.solve(root[g].T, noise[point == g].T).T
    return step


def _jittered(model: LabelModel, assumed: Assumed, rng: np.random.Generator) -> Assumed:
    """Rates anywhere in their bins of the grid, shares of wrong predictions by their prior."""
    chosen, n = model.settings, len(assumed.rate)
    rate = assumed.rate * np.exp((rng.random(n) - 0.5) * model.rate_step)
    wrong = chosen.wrong * np.exp(chosen.wrong_sd * rng.standard_normal(n))
    return replace(assumed, rate=rate, wrong=np.minimum(wrong, MOST_WRONG))


def _log_weight(
    model: LabelModel,
    mixture: Mixture,
    labels: tuple[FloatArray, FloatArray],
    point: IntArray,
    coefficients: FloatArray,
    assumed: Assumed,
) -> FloatArray:
    """Log of exact posterior over mixture weight, but for the normal's own density, (n,).

    Laplace's evidence is the height at the mode, plus terms that the normal's density shares.
    """
    told = model.told(*labels)
    share, _ = assumed.shares(coefficients @ told.basis.T, told.low, told.high)
    deviation = (coefficients - model.curve.mean) ** 2
    penalty = np.einsum("np,np->n", mixture.precision[point], deviation) / 2
    return np.asarray(told.height(assumed, share) - penalty - mixture.fits.height[point])


def resampled(log_weight: FloatArray, n: int, rng: np.random.Generator) -> IntArray:
    """Positions of n draws in proportion to truncated weights (Ionides 2008), in random order."""
    weight = np.exp(log_weight - log_weight.max())
    weight = np.minimum(weight, weight.mean() * np.sqrt(len(weight)))
    steps = (np.arange(n) + rng.random()) / n
    position = np.searchsorted(np.cumsum(weight) / weight.sum(), steps)
    return rng.permutation(np.minimum(position, len(weight) - 1))


def _fill_mass(
    model: LabelModel,
    n: FloatArray,
    n_positive: FloatArray,
    share: FloatArray,
    coefficients: FloatArray,
    rng: np.random.Generator,
) -> None:
    """Shares (S, R) of the regions that are a mass, given the curves of the others."""
    if not model.mass.any():
        return
    sight = model.sight(n, n_positive, coefficients)
    for region in np.flatnonzero(model.mass).tolist():
        size = model.size[region]
        grid = mass_grid(size)
        picked = _picked(model.mass_posterior(region, n, n_positive, sight), rng)
        jitter = np.exp((rng.random(len(share)) - 0.5) * np.log(grid[1] / grid[0]))
        share[:, region] = np.minimum(grid[picked] * jitter, 1.0)


def _leave_no_error(
    model: LabelModel, n: FloatArray, n_positive: FloatArray, share: FloatArray
) -> None:
    """In a few draws (S, R) no error is left on a side of the threshold where none was found.

    Their probability is the prior one, although labels without an error make it larger: so the
    interval reaches the perfect system, which a curve never does.
    """
    few = slice(round(model.settings.flawless * len(share)))
    sides = (model.curve.low, n_positive, 0.0), (model.curve.high, n - n_positive, 1.0)
    for side, wrong, right in sides:
        if not wrong[side].any():
            share[few, side] = right


def mass_grid(size: float) -> FloatArray:
    """Shares of positives in a mass, (N_GRID,)."""
    return np.exp(np.linspace(np.log(min(FEWEST / 10 / size, 0.1)), np.log(0.9), N_GRID))


def _picked(log_posterior: FloatArray, rng: np.random.Generator) -> IntArray:
    """A position drawn from each row (S, n) of log probabilities, (S,)."""
    chance = np.exp(log_posterior - log_posterior.max(axis=1, keepdims=True))
    total = np.cumsum(chance, axis=1)
    position = np.sum(total < rng.random(len(total))[:, None] * total[:, -1:], axis=1)
    return np.asarray(np.minimum(position, chance.shape[1] - 1))
