"""Draws of the label model's posterior against integration on a grid, its priors by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit, logit
from scipy.stats import beta, betabinom, kstest, norm

from haystat.models.curve import Curve
from haystat.models.posterior import (
    THOROUGH,
    LabelModel,
    Sight,
    draw_shares,
    mass_grid,
    mean_root,
    resampled,
)
from haystat.models.settings import ModelSettings

SETTINGS = ModelSettings(
    n_draws=20_000,
    hidden=0.02,
    hidden_sd=2.0,
    mass=0.11,
    mass_sd=2.5,
    bend_sds=(0.3,),
    shapes=(0.5,),
    concentrations=(40.0,),
    flawless=1e-9,
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
    return model.fitted(n, x, None, THOROUGH)


def draws_of(model, n, x, seed=0):
    return draw_shares(model, mixture_of(model, n, x), n, x, np.random.default_rng(seed))


def relative(model, mixture):
    """What the hidden positives are relative to, at every point of the grid."""
    return mixture.sight.median(1.0, model.settings.hidden_power)


def scattered(share, n, x):
    """Log likelihood of shares (N, K), and the beta distributions of the regions after it."""
    items = SETTINGS.shapes[0] / (share * (1 - share)) + SETTINGS.concentrations[0]
    yes, no = items * share, items * (1 - share)
    return betabinom.logpmf(x, n, yes, no).sum(axis=1), (yes + x, no + n - x)


def hidden_prior(model, median):
    """Prior of the grid's bins from the normal distribution, (R,)."""
    n_low = model.size[model.curve.low & ~model.mass].sum()
    settings, rates = model.settings, model.rates
    edges = np.log(rates) + np.log(rates[1] / rates[0]) / 2
    prior = norm(np.log(settings.hidden * median / n_low), settings.hidden_sd)
    return np.diff([0, *prior.cdf(edges[:-1]), 1])


def brute_force(model, n, x, n_points=150_000):
    """The exact posterior by plain Monte Carlo from the prior: shares (N, K), weights (N,).

    Curve, hidden positives, wrong predictions and the scatter of the regions are all drawn.
    """
    settings, mixture, rng = model.settings, mixture_of(model, n, x), np.random.default_rng(5)
    sds = [settings.intercept_sd, settings.slope_sd]
    theta = rng.normal(model.curve.mean, sds, (n_points, 2))
    chance = np.array([hidden_prior(model, m)[g] for g, m in enumerate(relative(model, mixture))])
    bins = rng.choice(len(chance), n_points, p=chance / chance.sum())
    rate = model.rates[bins] * np.exp((rng.random(n_points) - 0.5) * model.rate_step)
    wrong = settings.wrong * np.exp(settings.wrong_sd * rng.standard_normal(n_points))
    below = rate[:, None] * model.curve.low
    above = np.minimum(wrong, 0.9)[:, None] * model.curve.high
    share = below + (1 - below - above) * expit(theta @ model.curve.basis.T)
    height, after = scattered(np.clip(share, 1e-10, 1 - 1e-10), n, x)
    weight = np.exp(height - height.max())
    return rng.beta(*after), weight / weight.sum()


#: labels, and positives among them, of the cells
CASES = {
    "few labels": ([4, 3, 2], [4, 1, 0]),
    "an empty tail": ([10, 40, 200], [9, 8, 0]),
    "a hidden positive": ([10, 40, 200], [9, 8, 1]),
    "nothing but hidden ones": ([20, 60, 100], [20, 0, 3]),
}


@pytest.mark.parametrize("case", CASES)
def test_draws_follow_the_exact_posterior(case):
    """Errors of a system are explained by the curve, by the floors or by scatter, once."""
    n, x = (np.array(counts, dtype=float) for counts in CASES[case])
    model = make_model()
    drawn, (share, weight) = draws_of(model, n, x), brute_force(model, n, x)
    # Weights that differ cost draws: a quarter of them is left, at least.
    n_drawn, n_exact = SETTINGS.n_draws / 4, 1 / np.sum(weight**2)
    assert n_exact > 300
    error = np.sqrt(LEVELS * (1 - LEVELS) * (1 / n_drawn + 1 / n_exact))
    for region in range(3):
        order = np.argsort(share[:, region])
        at = np.quantile(drawn[:, region], LEVELS)
        reached = np.interp(at, share[order, region], np.cumsum(weight[order]))
        assert np.all(np.abs(reached - LEVELS) < 4 * error + 0.006)


def test_without_labels_draws_follow_the_prior():
    nothing = np.zeros(3)
    share, (expected, _) = (way(make_model(), nothing, nothing) for way in (draws_of, brute_force))
    for region in range(3):
        statistic = kstest(share[:, region], expected[:, region]).statistic
        assert statistic < 1.95 * np.sqrt(1 / 10_000 + 1 / len(expected))


@pytest.mark.parametrize(
    ("n_positive", "flawless"),
    [([10, 0, 0], (1, 0, 0)), ([9, 0, 0], (None, 0, 0)), ([10, 0, 1], (1, None, None))],
)
def test_a_side_without_an_error_found_has_none_left_in_a_few_draws(n_positive, flawless):
    n, x = np.array([10.0, 40.0, 200.0]), np.array(n_positive, dtype=float)
    plain, some = (draws_of(make_model(n_draws=1000, flawless=f), n, x) for f in (1e-9, 0.03))
    for region, share in enumerate(flawless):
        expected = plain[:, region].copy()
        if share is not None:
            expected[:30] = share
        np.testing.assert_array_equal(some[:, region], expected)


def test_prior_of_the_hidden_positives_sums_to_one_over_the_grid():
    model = make_model()
    for median in (1.0, 30.0, 1e6):
        sight = Sight(np.full(len(model.rates), median), np.ones(len(model.rates)))
        log_prior = model._prior(model.rates, sight)
        assert np.exp(log_prior).sum() == pytest.approx(1)
        np.testing.assert_allclose(np.exp(log_prior), hidden_prior(model, median), atol=1e-12)
    assert model.rates[-1] == pytest.approx(0.3)
    assert model.rates[0] * 1200 == pytest.approx(0.05)
    assert make_model(low=~LOW & LOW).rates.tolist() == [0]


def test_hidden_positives_are_relative_to_those_in_sight_and_to_errors():
    """50 predicted positives, 10 labelled with 8 right; the curve has 0.75, 0.1 and 0 for the rest.

    8 + 40 * 0.75 = 38 of them are right, 12 wrong; 2 + 20 = 22 more positives below.
    """
    model = make_model((1.0, 0.0, 0.0), (50.0, 202.0, 1000.0))
    basis = np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]])
    model = replace(model, curve=replace(model.curve, basis=basis))
    n, x = np.array([10.0, 2.0, 5.0]), np.array([8.0, 2.0, 0.0])
    logits = logit([[0.75, 0.1, 1e-9], [1 - 1e-9, 1e-9, 1e-9]])
    sight = model.sight(n, x, logits)
    np.testing.assert_allclose(sight.positives, [60, 50], rtol=1e-6)
    np.testing.assert_allclose(sight.errors, [12.5 / 38.5 + 0.01, 2.5 / 48.5 + 0.01], rtol=1e-6)
    np.testing.assert_allclose(sight.median(0.3, 0.5), 0.3 * sight.positives * sight.errors**0.5)
    # No predicted positive at all is no better than an error for each hit; ten are the most.
    nobody = replace(model, curve=replace(model.curve, high=np.zeros(3, bool)))
    assert nobody.sight(n, x, logits).errors[0] == pytest.approx(1.01)
    bad = model.sight(np.array([50.0, 0, 0]), np.zeros(3), np.full((1, 3), -50.0))
    assert bad.errors[0] == pytest.approx(10.01)


def test_errors_among_predicted_positives_make_more_hidden_ones_likely():
    n = np.array([40.0, 40.0, 40.0])
    good, bad = (
        relative(make_model(), mixture_of(make_model(), n, np.array([found, 4.0, 0.0]))).max()
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
    calm = make_model(size=(1e4, 1e5, 1e6), shapes=(2.0,), concentrations=(1000.0,))
    share = draws_of(calm, n, x)
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
    centre = np.log(SETTINGS.mass * (errors + 0.01) * in_sight / 5000)
    log_weight = norm.logpdf(np.log(grid), centre, SETTINGS.mass_sd)
    log_weight += x_mass * np.log(grid) + (n_mass - x_mass) * np.log1p(-grid)
    weight = np.exp(log_weight - log_weight.max())
    reached = np.interp(np.quantile(share[:, 2], LEVELS), grid, np.cumsum(weight) / weight.sum())
    np.testing.assert_allclose(reached, LEVELS, atol=0.03)


def test_labels_of_a_mass_do_not_bend_the_curve():
    model = mass_model()
    n, x = np.array([40.0, 100.0, 0.0]), np.array([36.0, 20.0, 0.0])
    without = model.fitted(n, x, None, THOROUGH)
    n, x = np.array([40.0, 100.0, 300.0]), np.array([36.0, 20.0, 30.0])
    told = model.fitted(n, x, None, THOROUGH)
    np.testing.assert_array_equal(without.fits.mode, told.fits.mode)
    plain = replace(model, mass=np.zeros(3, bool))
    bent = plain.fitted(n, x, None, THOROUGH)
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


def test_ten_right_of_ten_do_not_prove_the_other_twenty():
    model, n, x = wrong_case(10, 0)
    share = draws_of(model, n, x)[:, 0]
    n_wrong = np.random.default_rng(1).binomial(20, 1 - share)
    assert np.quantile(n_wrong, 0.975) >= 1
    assert np.median(n_wrong) == 0


def test_mean_roots_are_those_of_the_mixture():
    """Of beta distributions at the modes, by integration; a mass has its posterior."""
    model = mass_model()
    n, x = np.array([40.0, 100.0, 50.0]), np.array([36.0, 20.0, 0.0])
    mixture = mixture_of(model, n, x)
    root = np.zeros(3)
    for g, weight in enumerate(mixture.weight):
        rate = mixture.assumed.rate[g]
        trend = expit(model.curve.basis @ mixture.fits.mode[g])
        share = np.where(LOW, rate + (1 - rate) * trend, 0.995 * trend)
        _, (yes, no) = scattered(share[None], n, x)
        for region in (0, 1):
            density = beta(yes[0, region], no[0, region]).pdf
            root[region] += weight * quad(lambda p, of=density: np.sqrt(p) * of(p), 0, 1)[0]
        grid, sight = mass_grid(5000.0), mixture.sight
        centre = np.log(0.11 * sight.positives[g] * sight.errors[g] / 5000)
        log_weight = norm.logpdf(np.log(grid), centre, 2.5)
        chance = np.exp(log_weight + 50 * np.log1p(-grid))
        root[2] += weight * (np.sqrt(grid) @ chance / chance.sum())
    np.testing.assert_allclose(mean_root(model, mixture, n, x), root**2, rtol=1e-5)
    assert mixture.weight.sum() == pytest.approx(1)


def test_draws_are_those_of_their_seed():
    n, x = (np.array(counts, dtype=float) for counts in CASES["an empty tail"])
    one, same, other = (draws_of(make_model(n_draws=50), n, x, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert np.any(one != other)
    assert one.shape == (50, 3)
