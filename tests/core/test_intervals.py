"""Intervals, regions and bands: quantiles by another route, and coverage in simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import haystat as hs
from haystat.errors import BadOption
from haystat.inference.estimate import Estimate
from haystat.inference.intervals import Region, t_quantile

COVARIANCE = np.array([[2.0, 0.6, 0.1], [0.6, 1.0, -0.2], [0.1, -0.2, 0.5]])


def estimate_of(terms, values, n_draws, level=0.95, bounds=(-np.inf, np.inf)):
    names = tuple("abc"[: len(values)])
    return Estimate("made up", names, values, terms, level, n_draws, n_draws, bounds)


def within_four_errors(hits, level):
    """Whether a share of hits is the level, to four standard errors."""
    error = np.sqrt(level * (1 - level) / len(hits))
    return abs(np.mean(hits) - level) < 4 * error


@pytest.mark.parametrize("n_draws", [2, 10, 1000])
def test_quantile_is_students(n_draws):
    assert t_quantile(0.9, n_draws) == pytest.approx(stats.t.ppf(0.95, n_draws - 1))


def test_region_is_the_ellipsoid_of_the_paper():
    n, k, level = 25, 3, 0.9
    region = Region(np.zeros(k), COVARIANCE / n, n, level)
    border = (n - 1) * k / (n * (n - k)) * stats.f.ppf(level, k, n - k)
    rng = np.random.default_rng(0)
    inside = []
    for _ in range(200):
        point = rng.normal(0, 0.5, size=k)
        inside.append(region.contains(point))
        assert inside[-1] == (point @ np.linalg.inv(COVARIANCE) @ point <= border)
    assert 0 < sum(inside) < 200


def test_region_holds_the_truth_as_often_as_it_says():
    """Means of n Gaussian vectors with their sample covariance: Hotelling's law is exact."""
    n, level, rng = 12, 0.8, np.random.default_rng(1)
    root = np.linalg.cholesky(COVARIANCE)
    hits = []
    for _ in range(2000):
        sample = rng.normal(size=(n, 3)) @ root.T
        region = Region(sample.mean(axis=0), np.cov(sample.T) / n, n, level)
        hits.append(region.contains(np.zeros(3)))
    assert within_four_errors(hits, level)


def test_region_of_a_singular_covariance_has_no_room_off_its_range():
    region = Region(np.zeros(2), np.array([[1.0, 1.0], [1.0, 1.0]]), 100, 0.95)
    assert region.contains(np.array([0.5, 0.5]))
    assert not region.contains(np.array([0.5, 0.4]))


def test_region_without_enough_draws_holds_everything():
    assert Region(np.zeros(3), COVARIANCE, 3, 0.95).contains(np.full(3, 1e6))


def test_band_holds_all_components_as_often_as_it_says():
    level, rng = 0.8, np.random.default_rng(2)
    n = 80
    root = np.linalg.cholesky(COVARIANCE)
    band_hits, interval_hits = [], []
    for repeat in range(600):
        sample = rng.normal(size=(n, 3)) @ root.T
        mean = sample.mean(axis=0)
        terms = (sample - mean) / np.sqrt(n * (n - 1))
        estimate = estimate_of(terms, mean, n, level)
        for hits, ends in ((band_hits, estimate.band(repeat)), (interval_hits, estimate.intervals)):
            hits.append(np.all((ends[:, 0] <= 0) & (ends[:, 1] >= 0)))
    assert within_four_errors(band_hits, level)
    assert np.mean(interval_hits) < level - 0.1


def test_interval_and_band_of_one_component_are_about_alike():
    terms = np.random.default_rng(3).normal(size=(500, 1)) / 500
    estimate = estimate_of(terms, np.array([0.5]), 500)
    low, high = estimate.band()[0]
    assert high - low == pytest.approx(estimate.interval[1] - estimate.interval[0], rel=0.1)


def test_intervals_stay_inside_the_bounds_and_move_with_the_level():
    estimate = estimate_of(np.full((1, 1), 0.2), np.array([0.9]), 50, bounds=(0.0, 1.0))
    assert estimate.interval[1] == 1.0
    wide, narrow = estimate.at(0.99).interval, estimate.at(0.5).interval
    assert wide[0] < estimate.interval[0] < narrow[0] < 0.9


@pytest.mark.parametrize("level", [0, 1, 95, -0.5, float("nan")])
def test_levels_outside_zero_and_one_are_refused(level):
    with pytest.raises(BadOption, match=r"between 0 and 1"):
        estimate_of(np.ones((1, 1)), np.ones(1), 5).at(level)


@pytest.mark.parametrize("design", ["passive", "importance"])
def test_interval_covers_the_truth_on_an_easy_pool(pool_of, oracle_of, design):
    pool, label = pool_of(2000, seed=8)
    truth = np.mean((pool.scores[:, 0] >= 0) == label)
    hits = []
    for repeat in range(150):
        pool.seed = repeat
        ev = hs.Evaluation(pool, "accuracy", design, random_state=repeat)
        low, high = ev.run(oracle_of(label), budget=150, batch_size=50).interval
        hits.append(low <= truth <= high)
    assert within_four_errors(hits, 0.95)


@pytest.mark.parametrize("batch_size", [1, 40])
def test_recall_is_estimated_alike_however_labels_are_batched(pool_of, oracle_of, batch_size):
    pool, label = pool_of(400, seed=9)
    predicted = pool.scores[:, 0] >= 0
    truth = np.sum(predicted * label) / label.sum()
    errors = []
    for repeat in range(100):
        pool.seed = repeat
        ev = hs.Evaluation(pool, "recall", "importance", random_state=repeat)
        errors.append(ev.run(oracle_of(label), budget=60, batch_size=batch_size).value - truth)
    # Recall is a ratio: its own bias is about its variance.
    assert abs(np.mean(errors)) < 4 * np.std(errors) / np.sqrt(100) + np.var(errors)
