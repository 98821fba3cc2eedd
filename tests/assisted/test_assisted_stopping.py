"""Intervals that hold at all times, and when to stop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

import haystat as hs
from haystat.errors import BadOption
from haystat.inference.confidence_sequences import TUNED_FOR, sequence_multiplier
from haystat.inference.estimate import Estimate


def make_estimate(value=0.8, error=0.01, n=400, **changes):
    terms = np.full((1, 1), error)
    estimate = Estimate("f1", ("f1",), np.array([value]), terms, 0.95, n, n, (0.0, 1.0))
    return replace(estimate, **changes)


def test_the_sequence_covers_although_one_looks_after_every_label():
    """The mean of n normal labels has the standard error 1 / sqrt(n)."""
    rng, repeats, n_labels = np.random.default_rng(0), 1000, 3000
    n = np.arange(10, n_labels)
    limit = np.array([sequence_multiplier(0.95, int(k)) for k in n]) * np.sqrt(n)
    walks = np.cumsum(rng.normal(size=(repeats, n_labels)), axis=1)[:, n - 1]
    missed = np.any(np.abs(walks) > limit, axis=1).mean()
    assert missed < 0.05 + 3 * np.sqrt(0.05 * 0.95 / repeats)
    assert missed > 0.005  # not far wider than it has to be
    plain = np.any(np.abs(walks) > 1.96 * np.sqrt(n), axis=1).mean()
    assert plain > 0.3  # so that the walks do put it to the test


def test_the_sequence_is_narrowest_where_it_was_tuned():
    n = np.arange(2, 5000)
    multiplier = np.array([sequence_multiplier(0.95, int(k)) for k in n])
    assert n[multiplier.argmin()] == pytest.approx(TUNED_FOR, rel=0.1)
    assert multiplier.min() > 1.96
    assert sequence_multiplier(0.95, 1) == np.inf
    assert sequence_multiplier(0.99, 500) > sequence_multiplier(0.9, 500)


def test_width_looks_at_the_interval_that_holds_at_all_times():
    estimate = make_estimate()
    low, high = estimate.anytime_interval
    assert low < estimate.interval[0] < estimate.interval[1] < high
    now = hs.Width(0.05).now(estimate)
    assert now == pytest.approx(high - low)
    assert hs.Width(now * 1.001).reached(estimate)
    assert not hs.Width(now * 0.999).reached(estimate)


def test_four_times_the_labels_halve_the_width():
    estimate = make_estimate()
    now = hs.Width(1).now(estimate)
    assert hs.Width(now / 2).labels_left(estimate) == 3 * estimate.n_labels
    assert hs.Width(now * 2).labels_left(estimate) == 0


def test_without_a_number_there_is_nothing_to_go_by():
    nothing = make_estimate(np.nan, np.nan, 0)
    assert not hs.Width(0.1).reached(nothing)
    assert hs.Width(0.1).labels_left(nothing) is None


def test_the_widest_component_counts():
    both = make_estimate(
        values=np.array([0.5, 0.5]), terms=np.array([[0.01, 0.03]]), components=("a", "b")
    )
    assert hs.Width(1).now(both) == pytest.approx(hs.Width(1).now(make_estimate(0.5, 0.03)))


@pytest.mark.parametrize("width", [0, -0.1, np.inf, np.nan, "a", None])
def test_a_width_must_be_positive(width):
    with pytest.raises(BadOption, match="width"):
        hs.Width(width)


@pytest.mark.parametrize("design", ["assisted", "adaptive", "passive"])
def test_run_stops_once_the_interval_is_narrow_enough(pool_of, oracle, design):
    pool, label = pool_of(3000, centre=0.0)
    ev = hs.Evaluation(pool, "accuracy", design, random_state=0)
    rule = hs.Width(0.25)
    estimate = ev.run(oracle(label), 2000, 50, until=rule)
    assert estimate.n_labels < 1000
    assert rule.reached(estimate)
    low, high = estimate.anytime_interval
    assert high - low <= 0.25


def test_width_goes_by_the_interval_that_is_named(pool_of, oracle):
    pool, label = pool_of(600, centre=0.0)
    ev = hs.Evaluation(pool, "accuracy", "assisted", random_state=0)
    estimate = ev.run(oracle(label), 100, 50)
    low, high = estimate.interval
    assert hs.Width(0.1).now(estimate) == pytest.approx(high - low)
    low, high = estimate.guaranteed_interval
    assert hs.Width(0.1, "guaranteed").now(estimate) == pytest.approx(high - low)
    with pytest.raises(BadOption, match="interval is 'narrow'"):
        hs.Width(0.1, "narrow")


@pytest.mark.slow
def test_stopping_by_width_keeps_the_coverage(pool_of, oracle, truth):
    """Looks after every 25 labels, until the interval is narrow enough."""
    pool, label = pool_of(2000, centre=-2.0)
    exact = truth("f1", pool, label)[0]
    covered, repeats = 0, 40
    for seed in range(repeats):
        ev = hs.Evaluation(pool, "f1", "assisted", random_state=seed)
        low, high = ev.run(oracle(label), 800, 25, until=hs.Width(0.15)).interval
        covered += low <= exact <= high
    assert covered >= binom.ppf(0.001, repeats, 0.95)
