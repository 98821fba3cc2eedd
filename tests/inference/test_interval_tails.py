"""Intervals that know on which side the error lies, and in how many draws."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

import haystat as hs
from haystat.inference.drawn_items import DrawnItems
from haystat.inference.importance import estimate_importance
from haystat.inference.tails import Tails
from haystat.measures import F1, Accuracy, Difference, MeanSquaredError, Recall, Several, Within

LEVEL = 0.95
MULTIPLIER = stats.norm.ppf((1 + LEVEL) / 2)


def tails_of(below, above, possible=(0.0, 0.0), bounds=(-np.inf, np.inf), ratio=False):
    """Tails of one component from the steps of each side."""
    sums = [np.array([[np.sum(np.abs(side) ** k)] for side in (below, above)]) for k in (2, 3)]
    possible = np.array(possible, dtype=float)[:, None]
    return Tails(*sums, possible, np.array([bounds]), np.array([ratio]))


def ends(tails, value, multiplier=MULTIPLIER):
    return tails.intervals(np.array([value]), multiplier)[0]


def poisson_upper(count):
    """The mean under which so small a count has a chance of 2.5%, found by bisection."""
    excess = lambda mean: stats.poisson.cdf(count, mean) - (1 - LEVEL) / 2  # noqa: E731
    return optimize.brentq(excess, count, count + 50)


@pytest.mark.parametrize("count", [1, 3, 10, 40])
def test_equal_finds_have_the_exact_limit_of_a_poisson_count(count):
    size = 0.02
    low, high = ends(tails_of([size] * count, []), 0.5)
    assert 0.5 - low == pytest.approx(size * (poisson_upper(count) - count))
    assert high - 0.5 == pytest.approx(MULTIPLIER * size * np.sqrt(count))


def test_a_side_without_a_find_has_the_limit_of_a_count_of_zero():
    low, high = ends(tails_of([], [], possible=(0.01, 0.03)), 0.5)
    assert 0.5 - low == pytest.approx(0.01 * poisson_upper(0))
    assert high - 0.5 == pytest.approx(0.03 * poisson_upper(0))


def test_many_small_steps_give_the_interval_of_the_central_limit_theorem():
    rng = np.random.default_rng(0)
    for n, tolerance in ((400, 0.12), (40_000, 0.012)):
        steps = rng.normal(size=n) / n
        tails = tails_of(steps[steps < 0], steps[steps > 0], possible=(3 / n, 3 / n))
        low, high = ends(tails, 0.0)
        plain = MULTIPLIER * np.sqrt(np.sum(steps**2))
        assert plain < -low < plain * (1 + tolerance)
        assert plain < high < plain * (1 + tolerance)


@pytest.mark.parametrize("x", [0.5, 2.0, 30.0])
def test_finds_of_a_share_add_to_its_denominator(x):
    """Exactly so for t / (d + x) and (t + x) / (d + x), of which a reach is the linear part."""
    t, d = 8.0, 10.0
    value = t / d
    # One possible find on each side that reaches as far as x finds do to first order.
    reach = np.array([value * x / d, (1 - value) * x / d]) / poisson_upper(0)
    tails = tails_of([], [], possible=reach, bounds=(0.0, 1.0), ratio=True)
    np.testing.assert_allclose(ends(tails, value), [t / (d + x), (t + x) / (d + x)])


SIDE = st.lists(st.floats(1e-6, 10), max_size=6)


@given(SIDE, SIDE, st.floats(0, 5), st.floats(0, 1), st.booleans(), st.floats(0.3, 5))
def test_intervals_hold_the_value_and_the_plain_interval_inside_the_bounds(
    below, above, possible, value, ratio, multiplier
):
    tails = tails_of(below, above, (possible, possible), (0.0, 1.0), ratio)
    low, high = ends(tails, value, multiplier)
    assert 0 <= low <= value <= high <= 1
    wider = ends(tails, value, 1.5 * multiplier)
    assert wider[0] <= low
    assert high <= wider[1]
    if not ratio:
        plain = multiplier * np.sqrt(np.sum(np.square(below)) + np.sum(np.square(above)))
        assert low <= max(value - plain, 0) + 1e-12
        assert high >= min(value + plain, 1) - 1e-12


def test_coverage_of_weighted_counts():
    """Few heavy finds and many light ones: a weighted sum of Poisson counts."""
    rng = np.random.default_rng(1)
    weight = np.array([1.0, 0.2, 0.05])
    mean = np.array([2.0, 10.0, 100.0])
    truth = mean @ weight
    hits, plain, wider = [], [], []
    for _ in range(4000):
        count = rng.poisson(mean)
        sums = [np.array([[0.0], [count @ weight**k]]) for k in (2, 3)]
        possible = np.array([[0.0], [weight.max()]])
        tails = Tails(*sums, possible, np.array([[0.0, np.inf]]), np.array([False]))
        low, high = ends(tails, count @ weight)
        hits.append(low <= truth <= high)
        half = MULTIPLIER * np.sqrt(sums[0].sum())
        plain.append(abs(count @ weight - truth) <= half)
        wider.append((high - low) / (2 * half))
    assert np.mean(plain) < 0.93
    assert np.mean(hits) >= 0.95
    assert np.median(wider) < 2


def rows_of(rng, n_items=40, n_rows=60, n_classes=2):
    """Draws of two stages with weights, counts and repeats."""
    label_of = rng.integers(n_classes, size=n_items)
    stage = np.sort(rng.integers(2, size=n_rows))
    item = np.concatenate([rng.permutation(n_items)[: np.sum(stage == k)] for k in (0, 1)])
    stage = stage[: len(item)]
    count = rng.integers(1, 4, size=len(item))
    weight = rng.exponential(size=len(item)) + 0.1
    ones = np.ones(len(item))
    return DrawnItems(item, stage, label_of[item], count, weight, np.zeros_like(item), ones)


def by_hand(rows, measure, outputs, n_classes):
    """Sums over every single draw, and the steps that other labels would have made."""
    n = rows.n_draws
    repeat = np.repeat(np.arange(len(rows.item)), rows.count)
    outputs_of, label, weight = outputs.take(repeat), rows.label[repeat], rows.weight[repeat]
    loss = measure.loss(outputs_of, label)
    risk = weight @ loss / n
    jacobian = measure.jacobian(risk)
    term = weight[:, None] * (loss @ jacobian.T)
    step = (term - term.mean(axis=0)) / n * np.sqrt(n / (n - 1))
    sums = [
        np.stack([np.sum(np.maximum(sign * step, 0) ** k, axis=0) for sign in (-1, 1)])
        for k in (2, 3)
    ]
    first = [np.flatnonzero(rows.item == i)[0] for i in np.unique(rows.item)]
    possible = np.zeros((2, step.shape[1]))
    for j in range(step.shape[1]):
        for side, sign in enumerate((-1, 1)):
            found = []
            for r in first:
                others = [
                    rows.weight[r]
                    * (measure.loss(outputs.take(np.array([r])), np.array([y])) @ jacobian.T)[0, j]
                    for y in range(n_classes)
                ]
                d = [(other - term[:, j].mean()) / n for other in others]
                found.append(max(0.0, *(sign * x for x in d)))
            found = np.array(found) * np.sqrt(n / (n - 1))
            possible[side, j] = np.sum(found**2) / np.sum(found) if found.any() else 0.0
    return sums, possible


MEASURES = {
    "f1": F1(),
    "accuracy": Accuracy(),
    "vector": Several([F1(system="a"), Accuracy(system="b"), Recall(system="b")]),
    "difference": Difference(F1(), "a", "b"),
    "brier": "brier",
}


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("seed", [0, 1])
def test_sums_of_grouped_draws_are_those_of_single_draws(name, seed):
    rng = np.random.default_rng(seed)
    scores = {"a": rng.random(40), "b": rng.random(40)}
    pool = hs.Pool(scores, strata=4)
    measure = hs.measures.resolve(MEASURES[name]).bind(pool.schema)
    rows = rows_of(rng)
    outputs = pool.outputs(rows.item)
    estimate = estimate_importance(rows, measure, outputs, LEVEL)
    (square, cube), possible = by_hand(rows, measure, outputs, 2)
    np.testing.assert_allclose(estimate.tails.square, square, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(estimate.tails.cube, cube, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(estimate.tails.possible, possible, rtol=1e-9, atol=1e-15)
    # Both sides together carry the variance.
    np.testing.assert_allclose(square.sum(axis=0), estimate.std_errors**2)


def test_classes_that_were_never_seen_are_possible_too():
    rng = np.random.default_rng(2)
    logits = rng.normal(size=(40, 3))
    pool = hs.Pool(np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True), classes=(0, 1, 2))
    measure = hs.measures.resolve("f1_macro").bind(pool.schema)
    rows = rows_of(rng)  # labels 0 and 1 only
    outputs = pool.outputs(rows.item)
    tails = estimate_importance(rows, measure, outputs, LEVEL).tails
    _, with_all = by_hand(rows, measure, outputs, 3)
    _, with_two = by_hand(rows, measure, outputs, 2)
    np.testing.assert_allclose(tails.possible, with_all)
    assert np.any(with_all > 1.01 * with_two)


def test_the_possible_step_of_a_number_is_the_largest_one():
    rng = np.random.default_rng(3)
    pool = hs.Pool(rng.normal(size=40), classes=None, strata=4)
    measure = MeanSquaredError().bind(pool.schema)
    rows = rows_of(rng)
    rows = replace(rows, label=rng.normal(size=40)[rows.item])
    outputs = pool.outputs(rows.item)
    tails = estimate_importance(rows, measure, outputs, LEVEL).tails
    n = rows.n_draws
    term = rows.weight * (rows.label - outputs.scores[:, 0]) ** 2
    step = (term - rows.count @ term / n) / n * np.sqrt(n / (n - 1))
    np.testing.assert_allclose(tails.possible[:, 0], [-step.min(), step.max()])


def test_components_of_a_vector_have_their_own_bounds_and_intervals():
    rng = np.random.default_rng(4)
    scores = {"a": rng.normal(-1, 1, 300), "b": rng.normal(-1, 1, 300)}
    label = (rng.random(300) < 0.2).astype(int)
    group = rng.random(300) < 0.5
    parts = [Difference(F1(), "a", "b"), Within(Recall(system="b"), group), Accuracy(system="a")]
    pool = hs.Pool(scores, strata=8)
    ev = hs.Evaluation(pool, Several(parts), "passive", random_state=0)
    ev.run(lambda items: label[items], budget=40)
    together = ev.estimate()
    np.testing.assert_array_equal(together.tails.bounds, [[-1, 1], [0, 1], [0, 1]])
    for part, interval in zip(parts, together.intervals, strict=True):
        np.testing.assert_allclose(ev.estimate(part).intervals[0], interval)
    assert together.intervals[1, 0] >= 0


def test_the_papers_interval_is_as_it_stands():
    rng = np.random.default_rng(5)
    scores = rng.normal(-1, 1, 500)
    label = (rng.random(500) < 1 / (1 + np.exp(-2 * scores))).astype(int)
    ev = hs.Evaluation(hs.Pool(scores, strata=8), "f1", "adaptive", random_state=0)
    ev.run(lambda items: label[items], budget=100)
    paper, ours = ev.estimate(covariance="paper"), ev.estimate()
    half = stats.t.ppf(0.975, paper.n_draws - 1) * paper.std_error
    expected = np.clip([paper.value - half, paper.value + half], 0, 1)
    np.testing.assert_allclose(paper.interval, expected)
    plain = replace(ours, tails=None)
    assert ours.interval[0] < plain.interval[0]
    np.testing.assert_allclose(ours.covariance, plain.covariance)
    assert ours.region() == plain.region() or np.isclose(
        ours.region().radius, plain.region().radius
    )


@pytest.mark.parametrize("design", ["passive", "stratified"])
def test_what_no_draw_could_find_is_not_ruled_out(design):
    """One item is predicted positive, and it was not drawn: F1 is 0 as far as the draws tell."""
    scores = np.append(np.linspace(-3, -1, 2000), 1.0)
    label = (np.arange(2001) % 10 == 0).astype(int)
    ev = hs.Evaluation(hs.Pool(scores, strata=2), "f1", design, random_state=0)
    estimate = ev.run(lambda items: label[items], budget=30)
    assert 2000 not in ev.state.ledger.known()[0]
    assert estimate.value == 0.0
    assert estimate.interval == (0.0, 1.0)


@pytest.mark.parametrize("design", ["passive", "stratified", "importance", "adaptive"])
def test_draws_that_agree_still_leave_room_for_what_was_not_seen(design):
    """Every label is as predicted, and the pool is not exhausted: the truth may be lower."""
    scores = np.linspace(-4, 2, 400)
    ev = hs.Evaluation(hs.Pool(scores, strata=8), "f1", design, random_state=0)
    estimate = ev.run(lambda items: (scores[items] >= 0).astype(int), budget=60)
    assert estimate.value == 1.0
    low, high = estimate.interval
    assert 0 < low < 0.97
    assert high == 1.0
    assert "what other labels would have changed" in estimate.warnings[0]


def test_anytime_intervals_and_bands_know_of_tails_too():
    rng = np.random.default_rng(6)
    scores = rng.normal(-2, 1.5, 2000)
    label = (rng.random(2000) < 1 / (1 + np.exp(-2 * scores))).astype(int)
    ev = hs.Evaluation(hs.Pool(scores, strata=16), "f1", "adaptive", random_state=0)
    ev.run(lambda items: label[items], budget=150)
    estimate = ev.estimate()
    plain = replace(estimate, tails=None)
    assert estimate.anytime_interval[0] < estimate.interval[0] < plain.interval[0]
    assert estimate.band()[0, 0] < plain.band()[0, 0]


@pytest.mark.parametrize("design", ["assisted", "adaptive", "importance", "stratified", "passive"])
def test_intervals_do_not_depend_on_the_order_of_the_rows_of_a_pool(design):
    rng = np.random.default_rng(1)
    scores, ids = rng.normal(-2, 1.5, 3000), np.arange(3000) + 7
    label = dict(zip(ids.tolist(), (rng.random(3000) < 1 / (1 + np.exp(-scores))), strict=True))
    found = []
    for order in (np.arange(3000), rng.permutation(3000)):
        pool = hs.Pool(scores[order], ids=ids[order], strata=32)
        ev = hs.Evaluation(pool, "f1", design, random_state=2)
        estimate = ev.run(lambda items: [int(label[item]) for item in items], 300)
        found.append((estimate.value, estimate.interval, estimate.std_error))
    assert found[0] == found[1]
