"""Draws of the label model's posterior against integration on a grid, its priors by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import beta, kstest, norm

from haystat.response import posterior
from haystat.response.curve import Curve
from haystat.response.posterior import (
    LabelModel,
    draw_shares,
    mass_grid,
    mean_root,
    resampled,
    wrong_likelihood,
)
from haystat.response.settings import ModelSettings

SETTINGS = ModelSettings(
    n_draws=20_000, trust=1.0, hidden=0.02, hidden_sd=2.0, mass=0.11, mass_sd=2.5
)
LOW, HIGH = np.array([False, True, True]), np.array([True, False, False])
LEVELS = np.array([0.025, 0.1, 0.5, 0.9, 0.975])


def make_model(place=(1.0, -0.5, -2.0), size=(50.0, 200.0, 1000.0), low=LOW, high=HIGH, **options):
    """A line and no walk: two coefficients. The first cell is predicted positive."""
    basis = np.column_stack([np.ones(len(place)), place])
    none = np.zeros(2, dtype=bool)
    curve = Curve(basis, np.array([0.0, 2.0]), low, high, none, np.zeros(0))
    mass = options.pop("mass", np.zeros(len(place), dtype=bool))
    return LabelModel(curve, np.array(size), mass, replace(SETTINGS, **options))


def mixture_of(model, n, x):
    return model.fitted(n, x, None, np.array([0.3]))


def draws_of(model, n, x, seed=0):
    return draw_shares(model, mixture_of(model, n, x), n, x, np.random.default_rng(seed))


def hidden_prior(model, median):
    """Prior of the grid's bins from the normal distribution, (R,)."""
    n_low = model.size[model.curve.low & ~model.mass].sum()
    settings, rates = model.settings, model.rates
    edges = np.log(rates) + np.log(rates[1] / rates[0]) / 2
    prior = norm(np.log(settings.hidden * median / n_low), settings.hidden_sd)
    return np.diff([0, *prior.cdf(edges[:-1]), 1])


def brute_force(model, n, x, n_side=121, n_inside=12):
    """Shares (N, K) on a grid of the exact posterior, and their probabilities (N,)."""
    settings, mixture = model.settings, mixture_of(model, n, x)
    theta = np.stack(
        np.meshgrid(np.linspace(-12, 12, n_side), np.linspace(-5, 9, n_side), indexing="ij"), -1
    ).reshape(-1, 2)
    log_prior = norm.logpdf(theta, model.curve.mean, [settings.intercept_sd, settings.slope_sd])
    trend = expit(theta @ model.curve.basis.T)
    wrong = settings.wrong * model.curve.high
    shares, weights = [], []
    inside = (np.arange(n_inside) + 0.5) / n_inside - 0.5
    step = np.log(model.rates[1] / model.rates[0])
    for g, rate in enumerate(model.rates):
        chance = hidden_prior(model, mixture.median[g])[g]
        for part in inside:
            below = rate * np.exp(part * step) * model.curve.low
            share = below + (1 - below - wrong) * trend
            height = x @ np.log(share).T + (n - x) @ np.log1p(-np.minimum(share, 1 - 1e-16)).T
            shares.append(share)
            weights.append(height + log_prior.sum(axis=1) + np.log(chance))
    weight = np.concatenate(weights)
    weight = np.exp(weight - weight.max())
    return np.concatenate(shares), weight / weight.sum()


#: labels, and positives among them, of the cells
CASES = {
    "few labels": ([4, 3, 2], [4, 1, 0]),
    "an empty tail": ([10, 40, 200], [9, 8, 0]),
    "a hidden positive": ([10, 40, 200], [9, 8, 1]),
    "nothing but hidden ones": ([20, 60, 100], [20, 0, 3]),
}


@pytest.mark.parametrize("case", CASES)
def test_draws_follow_the_exact_posterior_below_the_threshold(case):
    n, x = (np.array(counts, dtype=float) for counts in CASES[case])
    model = make_model()
    drawn, (share, weight) = draws_of(model, n, x), brute_force(model, n, x)
    for cell in (1, 2):
        order = np.argsort(share[:, cell])
        total = np.cumsum(weight[order])
        at = np.quantile(drawn[:, cell], LEVELS)
        reached = np.interp(at, share[order, cell], total)
        # Weights that differ cost draws: a quarter of them is left, at least.
        error = np.sqrt(LEVELS * (1 - LEVELS) / (SETTINGS.n_draws / 4))
        assert np.all(np.abs(reached - LEVELS) < 4 * error + 0.006)


def brute_force_above(model, n, x, n_side=121, n_inside=4):
    """The exact posterior of curve, hidden positives and wrong predictions: shares of cell 0."""
    settings, mixture, low = model.settings, mixture_of(model, n, x), model.curve.low
    theta = np.stack(
        np.meshgrid(np.linspace(-12, 12, n_side), np.linspace(-5, 9, n_side), indexing="ij"), -1
    ).reshape(-1, 2)
    height = norm.logpdf(theta, model.curve.mean, [settings.intercept_sd, settings.slope_sd]).sum(1)
    trend = expit(theta @ model.curve.basis.T)
    inside = np.exp(((np.arange(n_inside) + 0.5) / n_inside - 0.5) * model.rate_step)
    below = []
    for g, rate in enumerate(model.rates):
        chance = np.log(hidden_prior(model, mixture.median[g])[g])
        for part in rate * inside:
            share = part + (1 - part) * trend[:, low]
            below.append(chance + log_likelihood(share, n[low], x[low]))
    height += np.logaddexp.reduce(below, axis=0)
    shares, weights = [], []
    for wrong in np.exp(np.linspace(np.log(1e-5), np.log(0.9), 80)):
        share = (1 - wrong) * trend[:, ~low]
        prior = norm.logpdf(np.log(wrong), np.log(settings.wrong), settings.wrong_sd)
        shares.append(share[:, 0])
        weights.append(prior + height + log_likelihood(share, n[~low], x[~low]))
    weight = np.concatenate(weights)
    weight = np.exp(weight - weight.max())
    return np.concatenate(shares), weight / weight.sum()


def log_likelihood(share, n, x):
    return np.log(share) @ x + np.log1p(-np.minimum(share, 1 - 1e-16)) @ (n - x)


@pytest.mark.parametrize("case", CASES)
def test_draws_follow_the_exact_posterior_above_the_threshold(case):
    """An error of the system is explained by the curve or by the floor, not by both."""
    n, x = (np.array(counts, dtype=float) for counts in CASES[case])
    model = make_model()
    drawn, (share, weight) = draws_of(model, n, x)[:, 0], brute_force_above(model, n, x)
    order = np.argsort(share)
    reached = np.interp(np.quantile(drawn, LEVELS), share[order], np.cumsum(weight[order]))
    error = np.sqrt(LEVELS * (1 - LEVELS) / (SETTINGS.n_draws / 4))
    assert np.all(np.abs(reached - LEVELS) < 3 * error + 0.003)


def test_without_labels_draws_follow_the_prior():
    nothing = np.zeros(3)
    model = make_model()
    share = draws_of(model, nothing, nothing)
    rng = np.random.default_rng(1)
    theta = rng.normal([0, 2], [SETTINGS.intercept_sd, SETTINGS.slope_sd], (100_000, 2))
    trend = expit(theta @ model.curve.basis.T)
    median = mixture_of(model, nothing, nothing).median[0]
    bins = rng.choice(len(model.rates), len(theta), p=hidden_prior(model, median))
    rate = model.rates[bins] * np.exp((rng.random(len(theta)) - 0.5) * model.rate_step)
    for cell in (1, 2):
        expected = rate + (1 - rate) * trend[:, cell]
        statistic = kstest(share[:, cell], expected).statistic
        assert statistic < 1.95 * np.sqrt(1 / 10_000 + 1 / len(theta))


def test_prior_of_the_hidden_positives_sums_to_one_over_the_grid():
    model = make_model()
    for median in (1.0, 30.0, 1e6):
        log_prior = model._log_prior(model.rates, np.full(len(model.rates), median))
        assert np.exp(log_prior).sum() == pytest.approx(1)
        np.testing.assert_allclose(np.exp(log_prior), hidden_prior(model, median), atol=1e-12)
    assert model.rates[-1] == pytest.approx(0.3)
    assert model.rates[0] * 1200 == pytest.approx(0.05)
    assert make_model(low=~LOW & LOW).rates.tolist() == [0]


def test_hidden_positives_are_relative_to_those_in_sight_times_the_root_of_errors():
    """50 predicted positives, 10 labelled with 8 right; the curve has 0.75, 0.1 and 0 for the rest.

    8 + 40 * 0.75 = 38 of them are right, 12 wrong; 2 + 20 = 22 more positives below.
    """
    model = make_model(size=(50.0, 202.0, 1000.0))
    n, x = np.array([10.0, 2.0, 5.0]), np.array([8.0, 2.0, 0.0])
    share = np.array([[0.75, 0.1, 0.0], [1.0, 0.0, 0.0]])
    first = np.sqrt(12.5 / 38.5 + 0.01) * 60
    second = np.sqrt(2.5 / 48.5 + 0.01) * 50
    np.testing.assert_allclose(model.hidden_median(n, x, share), [first, second])
    # No predicted positive at all is no better than ten errors for each hit.
    nobody = replace(model, curve=replace(model.curve, high=np.zeros(3, bool)))
    expected = np.sqrt(1 + 0.01) * 60
    assert nobody.hidden_median(n, x, share)[0] == pytest.approx(expected)
    bad = model.hidden_median(np.array([50.0, 0, 0]), np.zeros(3), np.zeros((1, 3)))
    assert bad[0] == pytest.approx(np.sqrt(10.01))


def test_errors_among_predicted_positives_make_more_hidden_ones_likely():
    n = np.array([40.0, 40.0, 40.0])
    good, bad = (
        mixture_of(make_model(), n, np.array([found, 4.0, 0.0])).median.max()
        for found in (40.0, 15.0)
    )
    assert bad > 1.5 * good


@pytest.mark.parametrize("n_labels", [60, 200])
def test_labels_exclude_what_a_binomial_bound_excludes(n_labels):
    """No positive among n labels: the upper quantile is no higher than from a uniform prior."""
    n, x = np.array([20.0, 40.0, float(n_labels)]), np.array([20.0, 20.0, 0.0])
    share = draws_of(make_model(), n, x)[:, 2]
    assert np.quantile(share, 0.975) < beta.ppf(0.975, 1, n_labels + 1)
    assert np.quantile(share, 0.9999) < beta.ppf(1 - 1e-6, 1, n_labels + 1)


def test_an_interval_of_many_labels_is_that_of_the_binomial():
    n, x = np.array([400.0, 2000.0, 9000.0]), np.array([350.0, 200.0, 90.0])
    share = draws_of(make_model(size=(1e4, 1e5, 1e6)), n, x)
    for cell in (0, 1, 2):
        ends = beta.ppf([0.025, 0.975], x[cell] + 0.5, n[cell] - x[cell] + 0.5)
        width = np.diff(np.quantile(share[:, cell], [0.025, 0.975]))
        assert width[0] < 1.2 * (ends[1] - ends[0])
        assert ends[0] * 0.9 < np.median(share[:, cell]) < ends[1] * 1.1


def test_resampling_is_in_proportion_to_the_weights():
    rng, log_weight = np.random.default_rng(0), np.log([1.0, 2.0, 3.0, 4.0])
    position = np.concatenate([resampled(log_weight + 500, 7, rng) for _ in range(3000)])
    share = np.bincount(position) / len(position)
    # Systematic draws: each count lies within one of its expectation, every time.
    np.testing.assert_allclose(share, [0.1, 0.2, 0.3, 0.4], atol=4 * 0.5 / np.sqrt(3000) / 7)
    for _ in range(20):
        counts = np.bincount(resampled(log_weight, 50, rng), minlength=4)
        assert np.all(np.abs(counts - [5, 10, 15, 20]) <= 1)
    order = np.array([resampled(log_weight, 50, rng) for _ in range(200)])
    first, last = (np.mean(order[:, side] == 3) for side in (0, -1))
    assert first == pytest.approx(0.4, abs=4 * np.sqrt(0.24 / 200))
    assert last == pytest.approx(0.4, abs=4 * np.sqrt(0.24 / 200))


def test_one_weight_that_outweighs_all_is_truncated():
    """At the mean weight times the root of their number."""
    log_weight = np.r_[np.zeros(99), np.log(1e6)]
    weight = np.r_[np.ones(99), (99 + 1e6) / 100 * 10]
    counts = np.bincount(resampled(log_weight, 100_000, np.random.default_rng(0)))
    assert counts[-1] / 100_000 == pytest.approx(weight[-1] / weight.sum(), abs=1e-4)


def mass_model(**options):
    """The lowest cell shares one score with most of the pool."""
    mass = np.array([False, False, True])
    return make_model(size=(50.0, 200.0, 5000.0), mass=mass, **options)


@pytest.mark.parametrize(("n_mass", "x_mass"), [(0, 0), (100, 0), (300, 4)])
def test_a_mass_has_its_own_prior_and_likelihood(n_mass, x_mass):
    """Lognormal around `mass` times the positives in sight, binomial labels: on a fine grid."""
    model = mass_model()
    n, x = np.array([40.0, 150.0, float(n_mass)]), np.array([36.0, 20.0, float(x_mass)])
    share = draws_of(model, n, x)
    grid = np.exp(np.linspace(np.log(1e-6), np.log(0.9), 4000))
    in_sight = np.median(40 * 0 + 36 + 10 * share[:, 0] + 20 + 50 * share[:, 1]) + x_mass
    right = 36 + 10 * np.median(share[:, 0])
    errors = (50 - right + 0.5) / (right + 0.5)
    centre = np.log(SETTINGS.mass * np.sqrt(errors + 0.01) * in_sight / 5000)
    log_weight = norm.logpdf(np.log(grid), centre, SETTINGS.mass_sd)
    log_weight += x_mass * np.log(grid) + (n_mass - x_mass) * np.log1p(-grid)
    weight = np.exp(log_weight - log_weight.max())
    reached = np.interp(np.quantile(share[:, 2], LEVELS), grid, np.cumsum(weight) / weight.sum())
    np.testing.assert_allclose(reached, LEVELS, atol=0.03)


def test_labels_of_a_mass_do_not_bend_the_curve():
    model = mass_model()
    n, x = np.array([40.0, 100.0, 0.0]), np.array([36.0, 20.0, 0.0])
    without = model.fitted(n, x, None, np.array([0.3, 0.8]))
    n, x = np.array([40.0, 100.0, 300.0]), np.array([36.0, 20.0, 30.0])
    told = model.fitted(n, x, None, np.array([0.3, 0.8]))
    np.testing.assert_array_equal(without.fits.mode, told.fits.mode)
    plain = replace(model, mass=np.zeros(3, bool))
    bent = plain.fitted(n, x, None, np.array([0.3, 0.8]))
    assert np.abs(bent.fits.mode - told.fits.mode).max() > 0.1


def test_the_grid_of_a_mass_reaches_from_less_than_an_item_to_nearly_all():
    for size in (3.0, 1e3, 1e8):
        grid = mass_grid(size)
        assert grid[0] * size < 1
        assert grid[-1] == pytest.approx(0.9)
        assert np.all(np.diff(grid) > 0)


def wrong_case(n_right, n_wrong):
    """Only predicted positives, a curve that is almost 1 for all of them."""
    high = np.ones(3, bool)
    model = make_model((5.0, 5.0, 5.0), (500.0,) * 3, ~high, high)
    n = np.array([n_right + n_wrong, 0.0, 0.0])
    return model, n, np.array([float(n_right), 0.0, 0.0])


@pytest.mark.parametrize(("n_right", "n_wrong"), [(0, 0), (10, 0), (200, 0), (200, 6)])
def test_predicted_positives_may_be_wrong_whatever_their_score(n_right, n_wrong):
    """The share of wrong ones against prior times likelihood, given a curve of nearly 1."""
    model, n, x = wrong_case(n_right, n_wrong)
    trend = np.full((20_000, 3), 1 - 1e-9)
    likelihood = wrong_likelihood(model, n, x, trend, posterior.WRONG)
    drawn = posterior._draw_wrong(model, likelihood, np.random.default_rng(0))
    grid = np.exp(np.linspace(np.log(1e-5), np.log(0.9), 4000))
    log_weight = norm.logpdf(np.log(grid), np.log(SETTINGS.wrong), SETTINGS.wrong_sd)
    log_weight += n_right * np.log1p(-grid) + n_wrong * np.log(grid)
    weight = np.exp(log_weight - log_weight.max())
    weight /= weight.sum()
    mean = weight @ np.log(grid)
    deviation = np.sqrt(weight @ (np.log(grid) - mean) ** 2)
    assert np.log(drawn).mean() == pytest.approx(mean, abs=4 * deviation / np.sqrt(20_000))
    assert np.log(drawn).std() == pytest.approx(deviation, rel=0.1)


def test_ten_right_of_ten_do_not_prove_the_other_twenty():
    model, n, x = wrong_case(10, 0)
    share = draws_of(model, n, x)[:, 0]
    n_wrong = np.random.default_rng(1).binomial(20, 1 - share)
    assert np.quantile(n_wrong, 0.975) >= 1
    assert np.median(n_wrong) == 0


def test_mean_roots_are_those_of_the_mixture():
    """Weights of the points times the root of each share at its mode; a mass has its posterior."""
    model = mass_model()
    n, x = np.array([40.0, 100.0, 50.0]), np.array([36.0, 20.0, 0.0])
    mixture = mixture_of(model, n, x)
    root = np.zeros(3)
    for weight, mode, rate, median in zip(
        mixture.weight, mixture.fits.mode, mixture.rate, mixture.median, strict=True
    ):
        trend = expit(model.curve.basis @ mode)
        root += weight * np.sqrt(np.where(LOW, rate + (1 - rate) * trend, 0.995 * trend))
        grid = mass_grid(5000.0)
        log_weight = norm.logpdf(np.log(grid), np.log(0.11 * median / 5000), 2.5)
        chance = np.exp(log_weight + 50 * np.log1p(-grid))
        root[2] += weight * (
            np.sqrt(grid) @ chance / chance.sum() - np.sqrt(rate + (1 - rate) * trend[2])
        )
    np.testing.assert_allclose(mean_root(model, mixture, n, x), root**2, rtol=1e-6)
    assert mixture.weight.sum() == pytest.approx(1)


def test_trust_counts_every_label_for_less():
    n, x = np.array([40.0, 100.0, 60.0]), np.array([36.0, 20.0, 2.0])
    whole, half = mass_model(), mass_model(trust=0.5)
    for one, other in ((whole.told(n, x), half.told(2 * n, 2 * x)),):
        np.testing.assert_array_equal(one.n, other.n)
        np.testing.assert_array_equal(one.n_positive, other.n_positive)
    median = np.array([30.0])
    args = [(60.0, 2.0), (120.0, 4.0)]
    posteriors = [
        model.mass_rate(*counts, 5000.0, median)
        for model, counts in zip((whole, half), args, strict=True)
    ]
    np.testing.assert_allclose(*posteriors)


def test_draws_are_those_of_their_seed():
    n, x = (np.array(counts, dtype=float) for counts in CASES["an empty tail"])
    one, same, other = (draws_of(make_model(n_draws=50), n, x, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert np.any(one != other)
    assert one.shape == (50, 3)
