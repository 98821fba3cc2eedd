"""The trend of positives along the rank: its posterior mode, its curvature, its strays."""

from __future__ import annotations

import numpy as np
import pytest
from haystat.response.rank_spline import RankSpline, mid_ranks, spline_basis
from haystat.response.shares import SplineShares
from scipy.optimize import minimize
from scipy.special import expit

import haystat as hs
from haystat.designs.assisted import Assisted
from haystat.response import rank_spline

RNG = np.random.default_rng(0)


def make_spline(n_cells=40, low=None):
    rank = (np.arange(n_cells) + 0.5) / n_cells
    low = np.zeros(n_cells, dtype=bool) if low is None else low
    return RankSpline.make(rank, low, 0.2, 1.5, 0.4, 0.4)


def counts(spline, n=8, seed=1):
    """Labels drawn from a trend that is not straight, (K, 2)."""
    rng = np.random.default_rng(seed)
    t = np.linspace(3, -5, len(spline.low))
    positive = rng.binomial(n, expit(t + np.sin(2 * t)))
    return np.stack([n - positive, positive], axis=1)


def minus_log_posterior(spline, labelled):
    """From the definition: binomial labels, independent normal coefficients."""
    deviation = spline.precision**-0.5

    def height(coefficients):
        share = expit(spline.basis @ coefficients)
        likelihood = labelled[:, 1] @ np.log(share) + labelled[:, 0] @ np.log1p(-share)
        return 0.5 * np.sum(((coefficients - spline.mean) / deviation) ** 2) - likelihood

    return height


def test_the_fit_is_the_posterior_mode():
    spline = make_spline()
    labelled = counts(spline)
    fitted = spline.fit(spline.start(), labelled)
    height = minus_log_posterior(spline, labelled)
    found = minimize(height, spline.mean, method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(fitted.coefficients, found.x, atol=2e-4)
    assert height(fitted.coefficients) <= found.fun + 1e-8


def test_the_curvature_is_minus_the_second_derivative_of_the_log_posterior():
    spline = make_spline()
    labelled = counts(spline)
    fitted = spline.fit(spline.start(), labelled)
    height, at, step = minus_log_posterior(spline, labelled), fitted.coefficients, 1e-3
    unit = np.eye(len(at)) * step
    second = [
        [
            height(at + a + b) - height(at + a - b) - height(at - a + b) + height(at - a - b)
            for a in unit
        ]
        for b in unit
    ]
    np.testing.assert_allclose(fitted.curvature, np.array(second) / (4 * step**2), atol=1e-3)


def test_one_standard_error_of_the_model_is_that_of_the_delta_method():
    spline = make_spline()
    shares = SplineShares(spline, spline.fit(spline.start(), counts(spline)))
    slope = spline.basis * (shares.state.trend * (1 - shares.state.trend))[:, None]
    covariance = slope @ np.linalg.inv(shares.state.curvature) @ slope.T
    error = shares.error[:, :, 1]
    np.testing.assert_allclose(error.T @ error, covariance, atol=1e-12)
    np.testing.assert_allclose(shares.error.sum(axis=2), 0, atol=1e-15)


def test_the_division_between_trend_and_strays_by_hand(monkeypatch):
    """One round, before the trend has moved: 10 labels, so that strays have the rate 1/10."""
    monkeypatch.setattr(rank_spline, "ROUNDS", 1)
    spline = make_spline(4, np.array([False, False, True, True]))
    labelled = np.array([[0, 1], [1, 1], [2, 3], [1, 1]])
    prior = spline.start().trend
    fitted = spline.fit(spline.start(), labelled)
    expected = [0, 0, 3 * 0.1 / (0.1 + prior[2]), 1 * 0.1 / (0.1 + prior[3])]
    np.testing.assert_allclose(fitted.stray, expected)
    # One stray is put down to chance; seven labels are among the predicted negatives, and the two
    # cells of these lie in zones of their own, with five and two labels.
    common = max(sum(expected) - 1, 0) / 7
    rate = [(expected[2] + 300 * common) / 305, (expected[3] + 300 * common) / 302]
    assert list(spline.zone) == [0, 0, 1, 3]
    np.testing.assert_allclose(fitted.stray_rate, [0, 0, *rate])
    np.testing.assert_allclose(
        spline.share(fitted), 1 - (1 - fitted.stray_rate) * (1 - fitted.trend)
    )
    without = labelled - np.stack([np.zeros(4), expected], axis=1)
    found = minimize(minus_log_posterior(spline, without), spline.mean, options={"gtol": 1e-8})
    np.testing.assert_allclose(fitted.coefficients, found.x, atol=1e-4)


def test_positives_deep_among_predicted_negatives_are_strays_and_leave_the_trend_alone():
    low = np.arange(40) >= 8
    spline = make_spline(40, low)
    labelled = np.stack([np.full(40, 50), np.zeros(40, dtype=int)], axis=1)
    labelled[:8] = [5, 45]
    plain = spline.fit(spline.start(), labelled)
    labelled[[30, 33, 36, 39], 1] = 1
    fitted = spline.fit(spline.start(), labelled)
    assert fitted.stray.sum() == pytest.approx(4, abs=0.5)
    assert not plain.stray_rate.any()
    assert not fitted.stray_rate[~low].any()
    common = (fitted.stray.sum() - 1) / (32 * 50 + 4)  # one is put down to chance
    for zone in np.unique(spline.zone[low]):
        cells = low & (spline.zone == zone)
        found, tried = fitted.stray[cells].sum(), labelled[cells].sum()
        expected = (found + 300 * common) / (tried + 300) if zone else common
        np.testing.assert_allclose(fitted.stray_rate[cells], expected)
    np.testing.assert_allclose(fitted.trend[low], plain.trend[low], atol=2e-3)


def test_a_zone_full_of_strays_has_a_rate_of_its_own():
    low = np.arange(400) >= 20
    spline = make_spline(400, low)
    labelled = np.stack([np.full(400, 50), np.zeros(400, dtype=int)], axis=1)
    labelled[:20] = [5, 45]
    deepest = spline.zone >= 5
    labelled[deepest, 1] = 10
    fitted = spline.fit(spline.start(), labelled)
    elsewhere = fitted.stray_rate[low & (spline.zone == 2)].max()
    assert fitted.stray_rate[spline.zone == 5].min() > 3 * elsewhere > 0


@pytest.mark.parametrize("turn", [np.exp, lambda s: 1 / (1 + np.exp(-3 * s)), lambda s: s**3])
def test_any_increasing_scale_of_the_scores_gives_the_same_draws_and_estimate(turn):
    rng = np.random.default_rng(4)
    scores = rng.normal(-1.5, 1.2, 400)
    label = (rng.random(400) < 1 / (1 + np.exp(-scores))).astype(int)
    strata = np.digitize(scores, np.quantile(scores, np.arange(1, 16) / 16))
    results = []
    for seen in (scores, turn(scores)):
        pool = hs.Pool(seen, (scores > 0).astype(int), strata=strata)
        ev = hs.Evaluation(pool, "f1", "assisted", random_state=3)
        estimate = ev.run(lambda items: [int(label[i]) for i in items], 90, 30)
        results.append((estimate.value, *estimate.interval, sorted(ev._ledger.label_of)))
    assert results[0] == results[1]


def test_mid_ranks_count_the_items_above_the_middle_of_a_cell():
    rank = mid_ranks(np.array([2, 0, 1]), np.array([4, 2, 10]))
    np.testing.assert_allclose(rank, [12 / 16, 15 / 16, 5 / 16])


def test_a_segment_has_the_common_slope_and_its_own():
    t, anchor = np.linspace(-4.3, 5.1, 941), 0.7
    basis = spline_basis(t, anchor)
    n_segments = basis.shape[1] - 2
    assert n_segments == 5 + 5  # from 0.7 down to -4.3 and up to 5.1, the last not whole
    coefficients = np.r_[0.3, 1.5, np.arange(n_segments) / 10]
    logit = basis @ coefficients
    assert logit[np.argmin(np.abs(t - anchor))] == pytest.approx(0.3)
    middle = (t[1:] + t[:-1]) / 2
    segment = np.floor(middle - anchor).astype(int) + 5
    np.testing.assert_allclose(np.diff(logit) / np.diff(t), 1.5 + segment / 10)


def test_below_the_last_label_the_slope_returns_to_the_common_one():
    """A cliff at the threshold, steep in two segments, moves the common slope by a third of it.

    At the mode each departs by its prior variance times the pull of the labels: 0.8^2 in a segment,
    and 0.4^2 times the pull of both segments for the common slope.
    """
    rank, design = (np.arange(400) + 0.5) / 400, Assisted()
    prior = design.slope, design.slope_sd, design.bend_sd
    spline = RankSpline.make(rank, rank > 0.5, 0.5, *prior)
    t = spline.basis[:, 1]
    labelled = np.zeros((400, 2), dtype=int)
    labelled[(t > 0) & (t < 1), 1] = labelled[(t < 0) & (t > -1), 0] = 1
    coefficients = spline.fit(spline.start(), labelled).coefficients
    slope = np.diff(spline.basis @ coefficients) / np.diff(t)
    inside, outside = slope[np.abs(t[:-1]) < 0.9], slope[np.abs(t[:-1]) > 1.1]
    assert inside.min() > 3
    np.testing.assert_allclose(outside, coefficients[1], rtol=1e-4)
    np.testing.assert_allclose(coefficients[1] - 1.5, (inside.mean() - 1.5) / 3, rtol=1e-2)
