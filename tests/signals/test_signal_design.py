"""Where labels go with signals: a defensive mixture with what the score alone would label."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import poch
from test_signal_model import SIZE, hidden_pool

import haystat as hs
from haystat.designs.assisted import Assisted
from haystat.designs.base import Batch
from haystat.models.label_view import label_view
from haystat.models.rising import Rising
from haystat.models.settings import ModelSettings
from haystat.pool.problem import pose


def problem_of(signals):
    score, _, _ = hidden_pool()
    pool = hs.Pool(score, threshold=0.0, signals=signals)
    return pose(pool, hs.measures.resolve("f1").bind(pool.schema))


def after(design, problem, told):
    """The state after the labels of some items."""
    return observed(design, problem, design.start(problem, np.random.default_rng(0)), told)


def observed(design, problem, state, told):
    """The state after the labels of some further items."""
    _, _, label = hidden_pool()
    cell = problem.cells.of_item[told].astype(np.int64)
    once = np.ones(len(told))
    batch = Batch(cell, label[told], once, once, once > 0)
    return design.observe(problem, state, batch)


@pytest.mark.parametrize("n_told", [0, 300])
def test_sizes_of_items_are_a_mixture_with_those_of_a_pool_without_signals(n_told):
    """Item by item against two evaluations: one that knows no signals, one that trusts them."""
    _, second, _ = hidden_pool()
    told = np.random.default_rng(5).choice(SIZE, n_told, replace=False)
    by_item = {}
    for name, design, signals in (
        ("mixed", Assisted(unaided=0.3), {"second": second}),
        ("trusting", Assisted(unaided=0.0), {"second": second}),
        ("alone", Assisted(), None),
    ):
        problem = problem_of(signals)
        sizes = design.sizes(problem, after(design, problem, told))
        by_item[name] = sizes[problem.cells.of_item]
        assert by_item[name].sum() == pytest.approx(1.0)
    expected = 0.7 * by_item["trusting"] + 0.3 * by_item["alone"]
    np.testing.assert_allclose(by_item["mixed"], expected, rtol=1e-6)
    assert np.abs(by_item["trusting"] / by_item["alone"] - 1).max() > 0.5


def test_labels_spread_evenly_go_to_items_regions_and_patterns_of_signals():
    """Item by item; with uniform = 1 nothing is left to the model, with unaided = 0 to the score.

    Of three labels one goes to any item, one to any region, one to any pattern of bands.
    """
    _, second, _ = hidden_pool()
    problem = problem_of({"second": second})
    design = Assisted(uniform=(1.0, 1.0), unaided=0.0)
    state = design.start(problem, np.random.default_rng(0))
    sizes = design.sizes(problem, state)[problem.cells.of_item]
    expected = np.full(SIZE, 1 / SIZE)
    for of_cell in (state.view.plain.regions.of_cell, problem.cells.signals.pattern):
        of_item = of_cell[problem.cells.of_item]
        _, number, count = np.unique(of_item, return_inverse=True, return_counts=True)
        assert len(count) > 3
        expected += 1 / len(count) / count[number]
    np.testing.assert_allclose(sizes, expected / 3)


def test_the_model_with_signals_gives_no_cell_more_labels_than_it_has_items():
    """Labels times sizes are how likely an item is to be labelled; nothing is spread evenly here.

    Without signals there is no such limit.
    """
    _, second, _ = hidden_pool()
    told = np.random.default_rng(5).choice(SIZE, 300, replace=False)
    design = Assisted(unaided=0.0, uniform=(1e-9, 1e-9))
    chance = {}
    for name, signals in (("with", {"second": second}), ("without", None)):
        problem = problem_of(signals)
        chance[name] = 300 * design.sizes(problem, after(design, problem, told))
        assert problem.cells.size @ chance[name] == pytest.approx(300)
    assert chance["with"].max() == pytest.approx(1.0)
    assert chance["without"].max() > 1.5


def test_a_small_zone_that_a_signal_points_at_is_searched_before_a_large_tail():
    """When all predicted positives have labels, the model's share goes to the zone, not the tail.

    A zone of 100 items among 40,000 hides 5 positives that the score ranks anywhere.
    """
    found = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        label = np.zeros(40_000, dtype=int)
        label[:15] = label[20:25] = 1
        score, second = rng.normal(-4, 1, 40_000), rng.normal(-4, 1, 40_000)
        score[:20], second[:120] = rng.normal(1.5, 0.3, 20), rng.normal(2, 0.5, 120)
        pool = hs.Pool(score, threshold=0.0, signals={"second": second})
        evaluation, asked = hs.Evaluation(pool, "f1", random_state=seed), []
        evaluation.run(lambda i: (asked.extend(i), label[i])[1], budget=300, batch_size=50)  # noqa: B023
        found.append(sum(20 <= item < 25 for item in asked))
    assert np.mean(found) > 2.2


def test_models_are_fitted_again_when_there_are_a_fifth_more_labels():
    _, second, label = hidden_pool()
    problem, design = problem_of({"second": second}), Assisted()
    items = np.random.default_rng(5).permutation(SIZE)
    state = after(design, problem, items[:300])
    later = observed(design, problem, state, items[300:359])
    for one, before in ((later, state), (later.plain, state.plain)):
        np.testing.assert_array_equal(one.share, before.share)
        np.testing.assert_array_equal(one.labelled.sum(axis=0), np.bincount(label[items[:359]]))
    again = observed(design, problem, later, items[359:360])
    at_once = observed(design, problem, state, items[300:360])
    for one, other, before in (
        (again, at_once, state),
        (again.plain, at_once.plain, state.plain),
    ):
        np.testing.assert_array_equal(one.share, other.share)
        assert not np.array_equal(one.share, before.share)


def test_predicted_positives_that_a_signal_speaks_against_are_looked_into():
    """A group of true positives of which the signal thinks nothing is not left for last."""
    rng = np.random.default_rng(2)
    label = np.zeros(30_000, dtype=int)
    label[:40] = 1
    score, second = rng.normal(-4, 1, 30_000), rng.normal(-4, 1, 30_000)
    score[:160] = rng.normal(1.5, 0.3, 160)
    second[:30] = rng.normal(4, 0.3, 30)
    second[30:40] = rng.normal(-6, 0.3, 10)
    missed = {}
    for unaided in (0.0, 0.5):
        pool = hs.Pool(score, threshold=0.0, signals={"second": second})
        design, asked = Assisted(unaided=unaided), []
        for seed in range(16):
            evaluation = hs.Evaluation(pool, "f1", design=design, random_state=seed)
            evaluation.run(lambda i: (asked.extend(i), label[i])[1], budget=250, batch_size=50)  # noqa: B023
        missed[unaided] = 160 - sum(30 <= item < 40 for item in asked)
    assert missed[0.5] < 0.8 * missed[0.0]


def test_rising_products_are_ratios_of_gamma_functions():
    """Against Pochhammer's symbol, and the slope against finite differences."""
    n = np.array([0.0, 1, 8, 9, 40, 2.5, 3, 0.5])
    a = np.exp(np.random.default_rng(0).uniform(-4, 6, (7, len(n))))
    rising = Rising.of(n)
    np.testing.assert_allclose(rising.log(a), np.log(poch(a, n)), rtol=1e-9, atol=1e-9)
    step = 1e-5 * a
    slope = (rising.log(a + step) - rising.log(a - step)) / (2 * step)
    np.testing.assert_allclose(rising.slope(a), slope, rtol=1e-5, atol=1e-9)


def test_views_with_and_without_signals_leave_the_same_items_out_of_the_evidence():
    """Labels of a mass of equal scores are no part of it, so both must mean the same items."""
    score, second, _ = hidden_pool()
    for n_equal in (SIZE * 55 // 100, SIZE * 95 // 100):  # in its largest band less than half, more
        tied = np.where(np.argsort(np.argsort(score)) < n_equal, -9.0, score)
        pool = hs.Pool(tied, threshold=0.0, signals={"second": second})
        problem = pose(pool, hs.measures.resolve("f1").bind(pool.schema))
        view = label_view(problem, ModelSettings())
        masses = [one.model.mass[one.regions.of_cell] for one in (view, view.plain)]
        np.testing.assert_array_equal(*masses)
    assert masses[0].any()
