"""Intervals that hold at all times, and when to stop."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from haystat.estimation.assisted_result import Agreement, AssistedEstimate, Shape, StrayEffect
from haystat.estimation.strays import Strays
from scipy.stats import t

import haystat as hs
from haystat.errors import BadOption
from haystat.estimation.result import Estimate
from haystat.estimation.sequences import TUNED_FOR, sequence_multiplier

Z = 1.959964  # two-sided 95%


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


def make_assisted(value, error, bounds=(0.0, 1.0), **parts):
    terms = np.array([[error]])
    return AssistedEstimate(
        "loss", ("loss",), np.array([value]), terms, 0.95, 50, 50, bounds, **parts
    )


def test_strays_widen_the_interval_on_their_side_by_squares():
    """One stray moves the measure down by 0.01, one is counted in."""
    items = np.array([2.0]), np.zeros(1), np.array([100.0]), np.zeros(1)
    hidden = Strays(*items, 0.5, 10.0, np.array([True]))
    effect = StrayEffect(hs.measures.Brier(), np.array([0.5]), np.array([-0.01]), 1.0)
    estimate = make_assisted(0.5, 0.02, strays=hidden, effect=effect)
    fewest, most = hidden.posterior(0.95)
    half = Z * 0.02
    low, high = estimate.interval
    assert 0.5 - low == pytest.approx(np.hypot(half, 0.01 * (most - 1)), rel=1e-5)
    assert high - 0.5 == pytest.approx(half + 0.01 * max(1 - fewest, 0), rel=1e-5)
    alone = estimate.interval_if_falling
    np.testing.assert_allclose(alone, (0.5 - half, 0.5 + half + 0.01), rtol=1e-6)
    widths = [end - start for start, end in (alone, estimate.interval, estimate.anytime_interval)]
    assert widths == sorted(widths)


@pytest.mark.parametrize("count", [1, 4, 30])
def test_an_error_like_that_of_a_count_has_the_score_interval_of_a_count(count):
    """A Poisson count of weight w: the ends are the means m with (k - m)^2 = z^2 m."""
    weight = 0.01
    shape = Shape(np.array([weight]), np.array([np.inf]))
    estimate = make_assisted(weight * count, weight * np.sqrt(count), shape=shape)
    means = np.array(estimate.interval) / weight
    np.testing.assert_allclose((count - means) ** 2, Z**2 * means, rtol=1e-4)
    assert means[0] < count < means[1]


@pytest.mark.parametrize("level", [0.9, 0.95, 0.999])
def test_an_interval_for_all_times_is_no_narrower_than_one_for_once(level):
    shape = Shape(np.array([-0.01]), np.array([8.0]))
    estimate = replace(make_assisted(0.5, 0.02, shape=shape), n_labels=500, level=level)
    (low, high), (first, last) = estimate.interval, estimate.anytime_interval
    assert first <= low < high <= last


def test_a_component_without_a_value_has_no_interval():
    agreement = Agreement(np.array([0.4, np.nan]), 0.0)
    ends = agreement.extend(np.array([[np.nan, np.nan], [0.2, 0.3]]), 0.95)
    np.testing.assert_array_equal(ends, [[np.nan, np.nan], [0.2, 0.3]])


@pytest.mark.parametrize("lean", [-0.01, 0.0, 0.01])
def test_few_large_parts_reach_further_on_the_side_they_lean_to(lean):
    """Student's quantile there, the normal one on the other side, both where they do not lean."""
    few, many = t.ppf(0.975, 8), Z
    shape = Shape(np.array([lean]), np.array([8.0]))
    low, high = make_assisted(0.5, 0.02, shape=shape).interval

    def distance(multiplier, sign):
        shift = sign * multiplier**2 / 2 * lean
        return np.hypot(multiplier * 0.02, shift) + shift

    assert 0.5 - low == pytest.approx(distance(many if lean > 0 else few, -1), rel=1e-4)
    assert high - 0.5 == pytest.approx(distance(many if lean < 0 else few, 1), rel=1e-4)


def test_the_moments_of_equal_parts_tell_their_size_and_number():
    """n parts, each +s with variance s^2 as a Poisson count has it: third n s^3, fourth n s^4."""
    n, size = 12, 0.03
    moments = (np.array([n * size**power]) for power in (2, 3, 4))
    shape = Shape.of(*moments)
    np.testing.assert_allclose([shape.lean[0], shape.freedom[0]], [size, n])
    assert shape.quantile(0.9)[0] == pytest.approx(t.ppf(0.95, n))
    few = Shape.of(*(np.array([2 * size**power]) for power in (2, 3, 4)))
    assert few.freedom[0] == 8  # as many are taken to be there at least
    nothing = Shape.of(np.zeros(1), np.zeros(1), np.zeros(1))
    assert nothing.quantile(0.95)[0] == pytest.approx(Z, rel=1e-5)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_a_value_at_the_end_of_its_range_lies_in_its_interval(value):
    low, high = make_assisted(value, 0.01).interval
    assert 0 <= low <= value <= high <= 1
    assert high - low == pytest.approx(Z * 0.01, rel=1e-5)


def test_one_label_says_nothing_for_all_times():
    estimate = replace(make_assisted(0.4, 0.01), n_labels=1)
    assert estimate.anytime_interval == (0, 1)
