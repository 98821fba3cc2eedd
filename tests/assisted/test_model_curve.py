"""The curve of the label model: its basis, its mode, its evidence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import betaln, expit, gammaln
from scipy.stats import betabinom, norm

from haystat.errors import BadOption
from haystat.models.curve import Assumed, Curve, Told, fit, mid_ranks, minus_logit, walk_basis
from haystat.models.settings import ModelSettings

SETTINGS = ModelSettings()
SCATTER = (0.7, 60.0)  # shape and concentration of shares about the curve


def assume(rate, wrong):
    rate = np.atleast_1d(np.asarray(rate, float))
    parts = (np.broadcast_to(value, rate.shape) for value in (wrong, *SCATTER))
    return Assumed(rate, *parts)


def make_curve(n_cells=12, n_high=4, groups=False):
    """Cells of equal size, the first n_high above the threshold."""
    rank = (np.arange(n_cells) + 0.5) / n_cells
    high = np.arange(n_cells) < n_high
    group = np.arange(n_cells) % 2 if groups else np.zeros(n_cells, dtype=int)
    place = minus_logit(rank) - minus_logit(np.array([n_high / n_cells]))
    return Curve.along(place, group[:, None], ~high, high, SETTINGS)


def make_labels(curve, seed, most=30):
    rng = np.random.default_rng(seed)
    n = rng.integers(0, most, len(curve.basis)).astype(float)
    n[0] = 5.0
    share = expit(curve.basis @ rng.normal(curve.mean, 0.5))
    return n, rng.binomial(n.astype(int), share).astype(float)


def log_posterior(theta, curve, n, x, rate, wrong, precision):
    """Of the coefficients: labels are beta-binomial but for the ways to choose them."""
    share = rate * curve.low + (1 - rate * curve.low - wrong * curve.high) * expit(
        curve.basis @ theta
    )
    share = np.clip(share, 1e-10, 1 - 1e-10)
    shape, concentration = SCATTER
    items = shape / (share * (1 - share)) + concentration
    told = n > 0
    prior = norm.logpdf(theta, curve.mean, precision**-0.5).sum()
    yes, no = items * share, items * (1 - share)
    return np.sum((betaln(yes + x, no + n - x) - betaln(yes, no))[told]) + prior


def fitted(curve, n, x, rate, wrong, bend_sd=0.5):
    assumed = assume(rate, wrong)
    n_rates = len(assumed.rate)
    if curve.is_bend.any():
        precision = curve.precision(np.full(n_rates, bend_sd), np.ones(n_rates), SETTINGS)
    else:
        precision = np.full((n_rates, len(curve.mean)), 0.2)
    told = Told.of(curve, n, x, np.ones(len(n), bool))
    start = np.tile(curve.mean, (n_rates, 1))
    return fit(curve, told, assumed, precision, start, 30), precision


@pytest.mark.parametrize("groups", [False, True])
@pytest.mark.parametrize(("rate", "wrong"), [(0.0, 0.0), (1e-3, 0.005), (0.05, 0.1)])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_mode_is_where_an_optimiser_finds_it(seed, rate, wrong, groups):
    curve = make_curve(groups=groups)
    n, x = make_labels(curve, seed)
    fits, precision = fitted(curve, n, x, rate, wrong)
    arguments = (curve, n, x, rate, wrong, precision[0])
    best = minimize(lambda theta: -log_posterior(theta, *arguments), curve.mean, tol=1e-9)
    height = log_posterior(fits.mode[0], *arguments)
    assert height == pytest.approx(-best.fun, abs=5e-3)
    # In units of the posterior's standard deviations
    miss = fits.mode[0] - best.x
    assert np.sqrt(miss @ fits.curvature[0] @ miss) < 0.1


def test_a_start_at_the_mode_of_other_labels_leads_to_the_same_mode():
    curve = make_curve()
    n, x = make_labels(curve, 3)
    fits, precision = fitted(curve, n, x, 1e-3, 0.005)
    told = Told.of(curve, n, x, np.ones(len(n), bool))
    far = fits.mode + 4 * np.random.default_rng(0).normal(size=fits.mode.shape)
    again = fit(curve, told, assume(1e-3, 0.005), precision, far, 30)
    miss = (again.mode - fits.mode)[0]
    assert np.sqrt(miss @ fits.curvature[0] @ miss) < 0.1
    assert again.evidence[0] == pytest.approx(fits.evidence[0], abs=0.02)


def test_without_labels_the_fit_is_the_prior():
    curve = make_curve()
    nothing = np.zeros(len(curve.basis))
    fits, precision = fitted(curve, nothing, nothing, [1e-4, 0.1], 0.005)
    np.testing.assert_allclose(fits.mode, np.tile(curve.mean, (2, 1)))
    np.testing.assert_allclose(fits.curvature[0], np.diag(precision[0]))
    np.testing.assert_allclose(fits.evidence, 0, atol=1e-12)


def tiny_curve(n_coefficients):
    """Three cells by hand: an intercept and perhaps a slope, low, low and high."""
    basis = np.column_stack([np.ones(3), [-1.0, 0.0, 1.0]])[:, :n_coefficients]
    low = np.array([True, True, False])
    none = np.zeros(n_coefficients, dtype=bool)
    return Curve(basis, np.array([0.0, 1.0])[:n_coefficients], low, ~low, none, np.zeros(0))


@pytest.mark.parametrize(("rate", "wrong"), [(0.0, 0.0), (0.02, 0.01)])
@pytest.mark.parametrize("n_coefficients", [1, 2])
def test_evidence_is_the_integral_over_the_coefficients(n_coefficients, rate, wrong):
    curve = tiny_curve(n_coefficients)
    n, x = np.array([60.0, 50.0, 40.0]), np.array([12.0, 24.0, 33.0])
    fits, precision = fitted(curve, n, x, rate, wrong)
    deviation = np.linalg.inv(fits.curvature[0]).diagonal() ** 0.5
    ends = [(m - 8 * s, m + 8 * s) for m, s in zip(fits.mode[0], deviation, strict=True)]
    peak = log_posterior(fits.mode[0], curve, n, x, rate, wrong, precision[0])

    axes = [np.linspace(low, high, 81) for low, high in ends]
    points = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, n_coefficients)
    heights = [log_posterior(at, curve, n, x, rate, wrong, precision[0]) for at in points]
    total = np.exp(np.array(heights) - peak).sum() * np.prod([axis[1] - axis[0] for axis in axes])
    assert fits.evidence[0] == pytest.approx(np.log(total) + peak, abs=0.1)


@pytest.mark.parametrize("n_found", [0, 3])
def test_evidence_tells_rates_apart_as_the_exact_one_does(n_found):
    """3 or no positives among 300 items in whose place the curve is almost 0.

    The posterior is skewed, so Laplace is off by some tenths; resampling makes up for it.
    """
    line = tiny_curve(1)
    curve = Curve(
        np.array([[-6.0], [1.0], [2.0]]),
        np.full(1, 1.5),
        line.low,
        line.high,
        *(
            line.is_bend,
            line.length,
        ),
    )
    n, x = np.array([300.0, 40.0, 40.0]), np.array([float(n_found), 30.0, 38.0])
    rates = np.array([1e-4, 1e-3, 1e-2, 1e-1])
    fits, precision = fitted(curve, n, x, rates, 0.005)
    exact = []
    for rate, own in zip(rates, precision, strict=True):
        grid = np.linspace(-3, 6, 1001)
        height = [log_posterior(np.array([at]), curve, n, x, rate, 0.005, own) for at in grid]
        exact.append(np.log(np.exp(np.array(height) + 400).sum()))
    np.testing.assert_allclose(np.diff(fits.evidence), np.diff(exact), atol=0.4)


def test_several_rates_at_once_are_those_one_at_a_time():
    curve = make_curve(groups=True)
    n, x = make_labels(curve, 5)
    rates = np.array([1e-5, 1e-3, 0.02, 0.3])
    together, _ = fitted(curve, n, x, rates, 0.005)
    for g, rate in enumerate(rates):
        alone, _ = fitted(curve, n, x, rate, 0.005)
        miss = together.mode[g] - alone.mode[0]
        assert np.sqrt(miss @ alone.curvature[0] @ miss) < 0.05
        assert together.evidence[g] == pytest.approx(alone.evidence[0], abs=0.01)


def test_floors_lie_below_the_curve_and_above_it():
    """share = rate + (1 - rate - wrong) expit(logit), and its derivative."""
    logit = np.array([[-80.0, -1.0, 0.0, 2.0, 80.0]])
    both = np.ones(5, bool)
    share, slope = assume(0.1, 0.2).shares(logit, both, both)
    np.testing.assert_allclose(share, 0.1 + 0.7 * expit(logit))
    np.testing.assert_allclose(share[0, [0, -1]], [0.1, 0.8])
    above, below = (assume(0.1, 0.2).shares(logit + h, both, both)[0] for h in (1e-5, -1e-5))
    np.testing.assert_allclose(slope, (above - below) / 2e-5, atol=1e-9)
    share, _ = assume(0.0, 0.0).shares(np.array([[-800.0, 800.0]]), both[:2], both[:2])
    assert np.all((share > 0) & (share < 1))


def test_the_likelihood_is_beta_binomial_and_its_derivative_is_right():
    curve = make_curve(6, 2)
    n, x = np.array([9.0, 40, 3, 200, 1, 7]), np.array([9.0, 22, 0, 3, 1, 2])
    told = Told.of(curve, n, x, np.ones(6, bool))
    share = np.array([[0.9, 0.4, 1e-3, 0.02, 1e-4, 0.5], [0.999, 0.6, 1e-6, 0.01, 0.3, 0.1]])
    assumed = assume([0.1, 0.2], 0.1)
    items = SCATTER[0] / (share * (1 - share)) + SCATTER[1]
    exact = betabinom.logpmf(x, n, items * share, items * (1 - share))
    ways = gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1)
    np.testing.assert_allclose(told.height(assumed, share), (exact - ways).sum(axis=1), atol=1e-6)
    for k in range(6):
        step = np.zeros(6)
        step[k] = 1e-4
        up, down = (told.height(assumed, share * (1 + sign * step)) for sign in (1, -1))
        slope = (up - down) / (2e-4 * share[:, k])
        found = told.gradient(assumed, share)[:, k]
        np.testing.assert_allclose(found * share[:, k], slope * share[:, k], rtol=1e-3, atol=1e-4)


def test_information_is_that_of_a_count_with_the_variance_of_a_beta_binomial():
    curve = make_curve(3, 1)
    n = np.array([1.0, 30.0, 500.0])
    told = Told.of(curve, n, n * 0, np.ones(3, bool))
    share = np.array([[0.3, 0.01, 0.6]])
    items = SCATTER[0] / (share * (1 - share)) + SCATTER[1]
    variance = betabinom.var(n, items * share, items * (1 - share))
    np.testing.assert_allclose(told.information(assume(0, 0), share), n**2 / variance)


def test_cells_without_labels_or_not_used_are_not_told():
    curve = make_curve(4, 1)
    n, x = np.array([3.0, 0.0, 5.0, 7.0]), np.array([3.0, 0.0, 1.0, 0.0])
    told = Told.of(curve, n, x, np.array([True, True, True, False]))
    np.testing.assert_array_equal(told.n, [3, 5])
    np.testing.assert_array_equal(told.n_positive, [3, 1])
    np.testing.assert_array_equal(told.low, [False, True])
    np.testing.assert_array_equal(told.high, [True, False])


def test_the_walk_is_a_random_walk_with_a_deviation_of_its_own_near_the_threshold():
    """cov(w(s), w(t)) = min of the variances reached, 0 across the threshold."""
    place = np.array([-5.3, -2.6, -2.0, -0.1, 0.0, 0.3, 0.5, 1.0, 1.7, 2.5, 4.0, 4.4, 6.0, 7.0])
    walk, length = walk_basis(place)
    nowhere = np.zeros(14, bool)
    curve = Curve.along(place, np.zeros((14, 1), int), nowhere, nowhere, SETTINGS)
    np.testing.assert_allclose(curve.basis[:, 2:], walk, atol=1e-12)
    for bend_sd in (0.3, 0.8):
        precision = curve.precision(np.array([bend_sd]), np.ones(1), SETTINGS)[0, 2:]
        covariance = walk @ np.diag(1 / precision) @ walk.T
        assert len(precision) == len(length)

        def variance(t, bend_sd=bend_sd):
            """Whole segments grow like time; inside a segment the walk is a straight line."""
            t, total = abs(t), 0.0
            for low, high in ((0, 0.25), (0.25, 0.5), (0.5, 0.75), (0.75, 1), (1, 1.5), (1.5, 2)):
                part = np.clip((t - low) / (high - low), 0, 1)
                total += part**2 * (high - low) * bend_sd**2
            for low, high in ((2, 3), (3, 4), (4, 6), (6, 8)):
                part = np.clip((t - low) / (high - low), 0, 1)
                total += part**2 * (high - low) * SETTINGS.far_sd**2
            return total

        np.testing.assert_allclose(covariance.diagonal(), [variance(t) for t in place], atol=1e-9)
        np.testing.assert_allclose(covariance[place < 0][:, place > 0], 0, atol=1e-12)
        # Increments from a knot on are independent of the way there.
        for knot, further in ((0.5, 2.5), (1.0, 1.7), (4.0, 4.4), (6.0, 7.0), (-2.0, -5.3)):
            pair = np.searchsorted(place, [knot, further])
            assert covariance[tuple(pair)] == pytest.approx(variance(knot))


def test_the_prior_of_the_line_and_of_groups_is_that_of_the_settings():
    curve = make_curve(6, 2, groups=True)
    assert curve.basis.shape[1] == 2 + len(curve.length) + 1
    precision = curve.precision(np.array([0.3]), np.ones(1), SETTINGS)[0]
    np.testing.assert_allclose(precision[[0, 1, -1]] ** -0.5, [5.0, 1.5, 4.0])
    np.testing.assert_allclose(curve.mean, np.eye(len(curve.mean))[1] * SETTINGS.slope)
    np.testing.assert_array_equal(curve.basis[:, -1], [0, 1] * 3)
    # The line is 0 at the threshold, and the curve is a line there without a walk.
    t = minus_logit((np.arange(6) + 0.5) / 6)
    np.testing.assert_allclose(curve.basis[:, 1], t - minus_logit(np.array([1 / 3])))


def test_mid_ranks_are_shares_of_the_pool_above_the_middle_of_a_cell():
    np.testing.assert_allclose(
        mid_ranks(np.array([2, 0, 1]), np.array([20, 70, 10])), [0.2, 0.65, 0.05]
    )
    np.testing.assert_allclose(expit(-minus_logit(np.array([0.2, 1e-7]))), [0.2, 1e-7])


@pytest.mark.parametrize(
    "options",
    [
        {"slope": 0},
        {"slope_sd": -1},
        {"hidden": float("nan")},
        {"mass": float("inf")},
        {"bend_sds": ()},
        {"concentrations": (100.0,)},
        {"group_slope_sds": ()},
        {"group_slope_sds": 0.5},
        {"bend_sds": (0.3, 0)},
        {"far_sd": "3"},
        {"n_draws": 0},
    ],
)
def test_settings_out_of_range_are_refused_by_name(options):
    with pytest.raises(BadOption, match=next(iter(options))):
        ModelSettings(**options)


def test_whole_numbers_are_settings_too():
    curve = make_curve(groups=True)
    whole, real = ModelSettings(group_sd=2), ModelSettings(group_sd=2.0)
    sds = np.array([0.5]), np.ones(1)
    np.testing.assert_array_equal(curve.precision(*sds, whole), curve.precision(*sds, real))


def test_groups_have_a_slope_of_their_own_where_they_have_regions_enough():
    place = np.linspace(-3, 3, 24)
    nowhere = np.zeros(24, dtype=bool)
    predicted, country = (place > 0).astype(int), np.arange(24) % 3

    def along(group):
        return Curve.along(place, group, nowhere, nowhere, SETTINGS)

    curve = along(np.column_stack([predicted, country]))
    assert curve.n_group_slopes == 2
    np.testing.assert_array_equal(
        curve.basis[:, -2:], place[:, None] * (country[:, None] == [1, 2])
    )
    deviation = curve.precision(np.ones(2), np.array([0.25, 3.0]), SETTINGS) ** -0.5
    np.testing.assert_allclose(deviation[:, -5:], [[4, 4, 4, 0.25, 0.25], [4, 4, 4, 3, 3]])
    assert along(predicted[:, None]).n_group_slopes == 0
    assert along(np.column_stack([predicted, np.arange(24) % 12])).n_group_slopes == 0
