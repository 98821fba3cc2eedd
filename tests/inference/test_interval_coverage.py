"""How often 95% intervals hold the truth, with fixed seeds.

More designs, budgets and repeats: bench/interval_coverage.py, with its tables in docs/intervals.md.
"""

from __future__ import annotations

import numpy as np
import pytest

import haystat as hs
from haystat.experiments.repeat import advance, oracle, seeds
from haystat.experiments.simulate import plan
from haystat.loop.estimates import estimate_from
from haystat.loop.ledger import Ledger
from haystat.measures import F1, Accuracy, Difference, Recall, Several

REPEATS = 200
#: three standard errors below 95%
FLOOR = 0.95 - 3 * np.sqrt(0.95 * 0.05 / REPEATS)


def check(frame, widest=2.0):
    """Coverage as stated, and intervals not much wider than the errors justify."""
    for row in frame.itertuples():
        assert row.undefined == 0
        assert row.coverage >= FLOOR, row
        if row.components == 1:
            assert row.median_width <= widest * 2 * 1.96 * np.sqrt(row.mse), row


@pytest.fixture(scope="module")
def two_classes():
    """6% positive answers, spread over many items: a pool, and the chance of each answer."""
    rng = np.random.default_rng(3)
    scores = rng.normal(-3.0, 1.5, 3000)
    positive = 1 / (1 + np.exp(0.3 - 1.2 * scores))
    return hs.Pool(scores, (scores > -0.5).astype(int), strata=32), positive


@pytest.fixture(scope="module")
def four_classes():
    """The last of four classes is rare."""
    rng = np.random.default_rng(4)
    logits = rng.normal(0, 1.5, (2000, 4)) + np.array([0.5, 0.5, 0.0, -2.5])
    share = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    blurred = np.exp(0.6 * logits)
    scores = blurred / blurred.sum(axis=1, keepdims=True)
    return hs.Pool(scores, classes=(0, 1, 2, 3), strata=24), share


@pytest.fixture(scope="module")
def heavy_tails():
    """Student errors with 5 degrees of freedom, one in twenty of them ten times as large."""
    rng = np.random.default_rng(0)
    size = 4000
    predicted = rng.normal(100, 4, size)
    scale = np.exp(rng.normal(-0.5, 0.4, size)) * np.where(rng.random(size) < 0.05, 10, 1)
    deviation = 2 * scale * np.exp(rng.normal(0, 0.3, size))
    label = predicted + scale * rng.standard_t(5, size)
    return hs.Pool(predicted, classes=None, strata=32, deviations=deviation), label


@pytest.fixture(scope="module")
def two_systems():
    """10% positive; the second system is the worse one."""
    rng = np.random.default_rng(0)
    signal = rng.normal(-2.5, 1.6, 3000)
    label = (rng.random(3000) < 1 / (1 + np.exp(-1.5 * signal))).astype(int)
    scores = {"a": signal + rng.normal(0, 0.7, 3000), "b": signal + rng.normal(0, 1.2, 3000)}
    return scores, label


@pytest.mark.parametrize("measure", ["f1", ["precision", "recall"]], ids=str)
def test_stochastic_oracle_of_two_classes(two_classes, measure):
    pool, positive = two_classes
    check(hs.simulate(pool, positive, measure, ["adaptive"], [300], REPEATS, oracle="stochastic"))


@pytest.mark.parametrize("measure", ["accuracy", "f1_per_class"])
def test_stochastic_oracle_of_four_classes(four_classes, measure):
    pool, share = four_classes
    check(hs.simulate(pool, share, measure, ["adaptive"], [300], REPEATS, oracle="stochastic"))


@pytest.mark.parametrize("measure", ["mae", "mse", "rmse", "r2"])
def test_regression_with_heavy_tails(heavy_tails, measure):
    pool, label = heavy_tails
    check(hs.simulate(pool, label, measure, ["adaptive"], [300], REPEATS))


@pytest.mark.parametrize(
    ("measure", "budget"),
    [
        (Difference(F1(), "a", "b"), 200),
        (Several([F1(system="a"), Recall(system="b"), Accuracy(system="b")], [1, 1, 20]), 300),
    ],
    ids=["difference", "vector"],
)
def test_differences_and_vectors(two_systems, measure, budget):
    scores, label = two_systems
    pool = hs.Pool(scores, strata=32)
    check(hs.simulate(pool, label, measure, ["adaptive"], [budget], REPEATS))


def test_labels_that_serve_a_later_system(two_systems):
    """Recall of b from labels drawn for F1 of a."""
    scores, label = two_systems
    pool = hs.Pool(scores, strata=32)
    (experiment,) = plan(pool, label, F1(system="a"), ["adaptive"], [500])
    problem, design = experiment.problem, experiment.design
    truth = np.mean((scores["b"] >= 0) & (label == 1)) / np.mean(label)
    target = Recall(system="b").bind(pool.schema)
    hits = []
    for repeat in range(REPEATS):
        order_seed, draw_seed = seeds(0, repeat)
        candidates = pool.candidates(problem.cells, seed=order_seed)
        ledger = Ledger(problem, design, candidates, draw_seed)
        advance(ledger, oracle(experiment, repeat), 500, 50)
        low, high = estimate_from(pool, ledger, target, 0.95).interval
        hits.append(low <= truth <= high)
    assert np.mean(hits) >= FLOOR


@pytest.mark.parametrize("design", ["passive", "stratified", "importance", "oasis"])
def test_designs_that_do_not_adapt_cover_too(two_systems, design):
    scores, label = two_systems
    pool = hs.Pool({"a": scores["a"]}, strata=32)
    check(hs.simulate(pool, label, "f1", [design], [300], REPEATS))
