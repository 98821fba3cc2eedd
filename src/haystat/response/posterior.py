"""The posterior of the labels that are missing: a curve, hidden positives, a mass of equal scores.

A grid over the rate of hidden positives and the restlessness of the curve, with Laplace's
approximation for the curve at each point, gives a mixture. Draws from it are reweighted by the
exact likelihood (importance sampling), so that what the labels exclude is excluded although the
approximation would allow it. Everything that is said about the pool comes from these draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit, log_ndtr, logsumexp, ndtr

from haystat.measures.outputs import BoolArray, FloatArray
from haystat.response.curve import Curve, Fits, Told, fit, shares
from haystat.response.settings import ModelSettings

N_RATES = 10  # of the grid of hidden positives
LARGEST_RATE = 0.3
FEWEST = 0.05  # hidden positives, at the lower end of the grid
PER_DRAW = 2  # draws of the mixture for each that is kept
HALF = 0.5  # item that stands in for a class without any, in a ratio
NO_ERRORS = 0.01  # added to the errors per hit, so that a perfect record is no proof
MOST_ERRORS = 10.0  # per hit: beyond, a system is simply bad
N_GRID = 64  # of the rates in a mass
WRONG = np.exp(np.linspace(np.log(1e-5), np.log(0.9), 24))  # grid of shares of wrong predictions


@dataclass(frozen=True)
class LabelModel:
    """The cells of a pool as the model sees them: size (K,), and which are a mass (K,)."""

    curve: Curve
    size: FloatArray
    mass: BoolArray
    settings: ModelSettings

    @cached_property
    def rates(self) -> FloatArray:
        """The grid of hidden positives, as shares of the items predicted negative, (R,)."""
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
        self, n: FloatArray, n_positive: FloatArray, start: FloatArray | None, bend_sds: FloatArray
    ) -> Mixture:
        """The mixture after n_positive of n labels (K,) in each cell; start (G, p) or None."""
        rate = np.tile(self.rates, len(bend_sds))
        precision = self.curve.precision(np.repeat(bend_sds, len(self.rates)), self.settings)
        start = np.resize(self.curve.mean if start is None else start, precision.shape)
        told = Told.of(self.curve, n, n_positive, ~self.mass)
        wrong = np.full(len(rate), self.settings.wrong)
        fits = fit(self.curve, told, rate, wrong, precision, start)
        trend = np.where(self.mass, 0.0, expit(fits.mode @ self.curve.basis.T))
        median = self.hidden_median(n, n_positive, trend)
        log_weight = fits.evidence + self._log_prior(rate, median)
        return Mixture(fits, rate, precision, median, log_weight)

    def hidden_median(self, n: FloatArray, n_positive: FloatArray, share: FloatArray) -> FloatArray:
        """Positives to which hidden ones are relative, (G,), for shares (G, K) without hidden ones.

        Errors on one side of the threshold tell of errors on the other: with FP false for TP true
        positives among the predicted ones, sqrt(FP / TP + 0.01) times the positives in sight.
        """
        positives = n_positive + (self.size - n) * share
        true = positives[:, self.curve.high].sum(axis=1) + HALF
        false = (self.size - positives)[:, self.curve.high].sum(axis=1) + HALF
        errors = np.minimum(false / true, MOST_ERRORS) + NO_ERRORS
        return np.asarray(np.sqrt(errors) * np.maximum(positives.sum(axis=1), 1.0))

    def _log_prior(self, rate: FloatArray, median: FloatArray) -> FloatArray:
        """Log prior probability of the grid's bins, (G,), lognormal around `median` (G,)."""
        step = self.rate_step
        if step == 0:
            return np.zeros_like(rate)
        n_low = self.size[self.curve.low & ~self.mass].sum()
        place = np.log(rate * n_low / (self.settings.hidden * median))
        upper, lower = ((place + side * step / 2) / self.settings.hidden_sd for side in (1, -1))
        first, last = rate == self.rates[0], rate == self.rates[-1]
        inside = np.log(np.maximum(ndtr(upper) - ndtr(lower), 1e-300))
        return np.where(first, log_ndtr(upper), np.where(last, log_ndtr(-lower), inside))

    def mass_rate(self, n: float, n_positive: float, size: float, median: FloatArray) -> FloatArray:
        """Log posterior of the share of positives in a mass on `mass_grid`, (S, N_GRID)."""
        grid = mass_grid(size)
        likelihood = n_positive * np.log(grid) + (n - n_positive) * np.log1p(-grid)
        place = np.log(grid * size / (self.settings.mass * median[:, None]))
        return np.asarray(likelihood - (place / self.settings.mass_sd) ** 2 / 2)


@dataclass(frozen=True)
class Mixture:
    """Laplace's approximation at every point of the grid, with its log weight (G,).

    median (G,) is what hidden_median says at the mode.
    """

    fits: Fits
    rate: FloatArray
    precision: FloatArray
    median: FloatArray
    log_weight: FloatArray

    @property
    def weight(self) -> FloatArray:
        """Posterior probability of the points, (G,)."""
        weight = np.exp(self.log_weight - self.log_weight.max())
        return np.asarray(weight / weight.sum())


def mean_root(model: LabelModel, mixture: Mixture, n: FloatArray, x: FloatArray) -> FloatArray:
    """The square of the mean root of each cell's share over the mixture, (K,).

    Labels are spread in proportion to roots of shares (Neyman), so the mean root is what counts.
    """
    logit = mixture.fits.mode @ model.curve.basis.T
    wrong = model.settings.wrong * model.curve.high
    positive, _ = shares(logit, mixture.rate[:, None] * model.curve.low, wrong)
    root = mixture.weight @ np.sqrt(positive)
    for cell in np.flatnonzero(model.mass):
        log_posterior = model.mass_rate(n[cell], x[cell], model.size[cell], mixture.median)
        chance = np.exp(log_posterior - log_posterior.max(axis=1, keepdims=True))
        chance /= chance.sum(axis=1, keepdims=True)
        root[cell] = mixture.weight @ (chance @ np.sqrt(mass_grid(model.size[cell])))
    return np.asarray(root**2)


def draw_shares(
    model: LabelModel,
    mixture: Mixture,
    n: FloatArray,
    n_positive: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Joint draws of the share of positives among the unlabelled items of each cell, (S, K)."""
    curve, n_kept = model.curve, model.settings.n_draws
    point = rng.choice(len(mixture.weight), PER_DRAW * n_kept, p=mixture.weight)
    point.sort()
    noise = rng.standard_normal((len(point), len(curve.mean)))
    root = np.linalg.cholesky(mixture.fits.curvature)
    step = np.empty_like(noise)
    for g in np.unique(point):
        step[point == g] = np.linalg.solve(root[g].T, noise[point == g].T).T
    coefficients = mixture.fits.mode[point] + step
    jitter = (rng.random(len(point)) - 0.5) * model.rate_step
    rate = mixture.rate[point] * np.exp(jitter)
    log_weight = _log_weight(model, mixture, (n, n_positive), point, coefficients, rate)
    log_weight += np.sum(noise**2, axis=1) / 2
    trend = expit(coefficients @ curve.basis.T)
    wrong_labels = wrong_likelihood(model, n, n_positive, trend, WRONG)
    fixed = wrong_likelihood(model, n, n_positive, trend, np.array([model.settings.wrong]))
    log_weight += logsumexp(wrong_labels + wrong_prior(model.settings), axis=1) - fixed[:, 0]
    kept = resampled(log_weight, n_kept, rng)
    trend = trend[kept]
    wrong = _draw_wrong(model, wrong_labels[kept], rng)
    below, above = rate[kept][:, None] * curve.low, wrong[:, None] * curve.high
    share = below + (1 - below - above) * trend
    _fill_mass(model, n, n_positive, share, np.where(model.mass, 0.0, trend), rng)
    return share


def _log_weight(
    model: LabelModel,
    mixture: Mixture,
    labels: tuple[FloatArray, FloatArray],
    point: FloatArray,
    coefficients: FloatArray,
    rate: FloatArray,
) -> FloatArray:
    """Log of exact posterior over mixture weight, but for the normal's own density, (n,)."""
    told = Told.of(model.curve, *labels, ~model.mass)
    wrong = np.full(len(rate), model.settings.wrong)
    exact = told.height(*shares(told.basis @ coefficients.T, *told.floors(rate, wrong)))
    deviation = (coefficients - model.curve.mean) ** 2
    exact -= np.einsum("np,np->n", mixture.precision[point], deviation) / 2
    # Laplace's evidence is the height at the mode, plus terms that the normal's density shares.
    mode = mixture.fits.mode
    wrong = np.full(len(mode), model.settings.wrong)
    peak = told.height(*shares(told.basis @ mode.T, *told.floors(mixture.rate, wrong)))
    peak -= np.sum(mixture.precision * (mode - model.curve.mean) ** 2, axis=1) / 2
    return np.asarray(exact - peak[point])


def resampled(log_weight: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Positions of n draws in proportion to truncated weights (Ionides 2008), in random order."""
    weight = np.exp(log_weight - log_weight.max())
    weight = np.minimum(weight, weight.mean() * np.sqrt(len(weight)))
    steps = (np.arange(n) + rng.random()) / n
    position = np.searchsorted(np.cumsum(weight) / weight.sum(), steps)
    return rng.permutation(np.minimum(position, len(weight) - 1))


def wrong_likelihood(
    model: LabelModel, n: FloatArray, n_positive: FloatArray, trend: FloatArray, wrong: FloatArray
) -> FloatArray:
    """Log likelihood of shares of wrong predictions (W,) under each curve (S, K), (S, W).

    Of the labels of predicted positives, but for a factor that depends on the curve alone.
    """
    high = model.curve.high
    negative = (n - n_positive) * high
    found = np.flatnonzero(negative)
    miss = 1 - trend[:, found, None] * (1 - wrong)  # (S, found, W)
    each = np.einsum("f,sfw->sw", negative[found], np.log(np.maximum(miss, 1e-300)))
    return np.asarray(each + np.log1p(-wrong) * n_positive[high].sum())


def wrong_prior(settings: ModelSettings) -> FloatArray:
    """Log prior of the points of WRONG, (W,)."""
    height = -((np.log(WRONG / settings.wrong) / settings.wrong_sd) ** 2) / 2
    return np.asarray(height - logsumexp(height))


def _draw_wrong(model: LabelModel, likelihood: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Share of predicted positives that are negative whatever their score, (S,)."""
    if not model.curve.high.any():
        return np.zeros(len(likelihood))
    picked = _picked(likelihood + wrong_prior(model.settings), rng)
    jitter = np.exp((rng.random(len(likelihood)) - 0.5) * np.log(WRONG[1] / WRONG[0]))
    return np.asarray(np.minimum(WRONG[picked] * jitter, 1.0))


def _fill_mass(
    model: LabelModel,
    n: FloatArray,
    n_positive: FloatArray,
    share: FloatArray,
    trend: FloatArray,
    rng: np.random.Generator,
) -> None:
    """Shares (S, K) of the cells that are a mass, given those of the others."""
    for cell in np.flatnonzero(model.mass):
        size = model.size[cell]
        median = model.hidden_median(n, n_positive, trend)
        grid = mass_grid(size)
        picked = _picked(model.mass_rate(n[cell], n_positive[cell], size, median), rng)
        jitter = np.exp((rng.random(len(share)) - 0.5) * np.log(grid[1] / grid[0]))
        share[:, cell] = np.minimum(grid[picked] * jitter, 1.0)


def mass_grid(size: float) -> FloatArray:
    """Shares of positives in a mass, (N_GRID,)."""
    return np.exp(np.linspace(np.log(min(FEWEST / 10 / size, 0.1)), np.log(0.9), N_GRID))


def _picked(log_posterior: FloatArray, rng: np.random.Generator) -> FloatArray:
    """A position drawn from each row (S, n) of log probabilities, (S,)."""
    chance = np.exp(log_posterior - log_posterior.max(axis=1, keepdims=True))
    total = np.cumsum(chance, axis=1)
    position = np.sum(total < rng.random(len(total))[:, None] * total[:, -1:], axis=1)
    return np.minimum(position, chance.shape[1] - 1)
