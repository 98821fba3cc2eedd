"""Losses seen from the cells, against sums over items."""

from __future__ import annotations

import numpy as np
import pytest

from haystat import Pool, measures
from haystat.errors import BadOption
from haystat.measures import Measure
from haystat.pool.losses import EqualLosses, MeanLosses


class Own(Measure):
    """A measure without facts whose loss is a vector that differs from item to item."""

    name = "own"
    n_risk = 3
    components = ("low", "high")

    def loss(self, outputs, label):
        score = outputs.scores[:, 0]
        wrong = label != outputs.predictions[:, 0]
        return np.stack([label * score, score**2 * wrong, 0.5 * wrong], axis=1)

    def value(self, risk):
        return np.stack([risk[0] / (0.1 + risk[1]), risk[2] * risk[0]])


CASES = {
    "f1": (measures.F1, EqualLosses),
    "accuracy": (measures.Accuracy, EqualLosses),
    "mcc": (measures.MCC, EqualLosses),
    "pr_curve": (lambda: measures.PRCurve(n_thresholds=7), EqualLosses),
    "brier": (measures.Brier, MeanLosses),
    "own": (Own, MeanLosses),
}


@pytest.fixture(params=CASES)
def case(request):
    make, kind = CASES[request.param]
    scores = np.round(np.random.default_rng(0).beta(0.5, 2, 400), 2)
    pool = Pool(scores, strata=9, threshold=0.3)
    measure = make().bind(pool.schema)
    cells = pool.cells(measure)
    losses = pool.losses(measure, cells)
    assert isinstance(losses, kind)
    return pool, measure, cells, losses


def test_risk_is_the_sum_over_items(case):
    pool, measure, cells, losses = case
    mass = np.random.default_rng(1).dirichlet(np.ones(2 * len(cells))).reshape(-1, 2)
    everything = pool.outputs(np.arange(len(pool)))
    expected = np.zeros(measure.n_risk)
    for label in (0, 1):
        loss = measure.loss(everything, np.full(len(pool), label))
        expected += (mass[:, label] / cells.size)[cells.of_item] @ loss
    np.testing.assert_allclose(losses.risk(mass), expected, rtol=1e-12, atol=1e-15)


def test_sensitivity_is_the_mean_squared_influence_of_the_items(case):
    pool, measure, cells, losses = case
    risk = losses.risk(cells.prior * (cells.size / len(pool))[:, None])
    everything = pool.outputs(np.arange(len(pool)))
    for label in (0, 1):
        loss = measure.loss(everything, np.full(len(pool), label))
        squared = np.sum((loss @ measure.jacobian(risk).T) ** 2, axis=1)
        expected = [squared[cells.of_item == cell].mean() for cell in range(len(cells))]
        np.testing.assert_allclose(losses.sensitivity(risk)[:, label], expected, atol=1e-12)


def test_support_is_where_some_item_has_a_loss(case):
    pool, measure, cells, losses = case
    everything = pool.outputs(np.arange(len(pool)))
    for label in (0, 1):
        positive = np.any(measure.loss(everything, np.full(len(pool), label)) != 0, axis=1)
        expected = [positive[cells.of_item == cell].any() for cell in range(len(cells))]
        np.testing.assert_array_equal(losses.support[:, label], expected)


def test_moments_do_not_depend_on_the_size_of_the_blocks(monkeypatch):
    pool = Pool(np.linspace(0, 1, 100), strata=5)
    measure = Own().bind(pool.schema)
    cells = pool.cells(measure)
    whole = pool.losses(measure, cells)
    monkeypatch.setattr("haystat.pool.memory.BLOCK", 7)
    parts = pool.losses(measure, cells)
    np.testing.assert_allclose(parts.first, whole.first)
    np.testing.assert_allclose(parts.second, whole.second)


def test_losses_see_wide_predictions():
    class Coded(Own):
        def loss(self, outputs, label):
            return super().loss(outputs, label) + 1e5 * outputs.predictions[:, :1] * 40_000

    pool = Pool([0.2, 0.9], strata=1)
    measure = Coded()
    assert pool.losses(measure, pool.cells(measure)).first.max() >= 1e5 * 40_000 / 2


def test_moments_beyond_memory_are_refused():
    class Huge(Own):
        n_risk = 10_000_000

    pool = Pool(np.linspace(0, 1, 50))
    with pytest.raises(BadOption, match=r"10000000 losses an item.*cut fewer strata"):
        pool.losses(Huge(), pool.cells(Huge()))


def test_products_of_losses_that_are_too_many_are_missed_by_those_alone_who_need_them(monkeypatch):
    pool = Pool(np.linspace(0, 1, 100), strata=5)
    measure = Own().bind(pool.schema)
    cells = pool.cells(measure)
    whole = pool.losses(measure, cells)
    monkeypatch.setattr("haystat.pool.losses.MOST_MOMENTS", whole.first.size)
    few = pool.losses(measure, cells)
    np.testing.assert_array_equal(few.first, whole.first)
    np.testing.assert_array_equal(few.support, whole.support)
    risk = whole.risk(cells.prior * (cells.size / len(pool))[:, None])
    np.testing.assert_array_equal(few.influence(risk), whole.influence(risk))
    with pytest.raises(BadOption, match="use the default design"):
        few.sensitivity(risk)
