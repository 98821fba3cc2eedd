"""What pools and evaluations of numbers refuse."""

from __future__ import annotations

import numpy as np
import pytest

import haystat as hs
from haystat.errors import AnswerError, BadOption, BadScore, LengthMismatch, PoolError

SCORES = np.arange(10.0)


@pytest.mark.parametrize(
    ("deviations", "error", "message"),
    [
        (np.full(10, -1.0), PoolError, r"-1\.0 at position 0; a standard deviation is finite"),
        ([1.0] * 9 + [float("nan")], PoolError, "nan at position 9"),
        ([1.0] * 9 + [float("inf")], PoolError, "inf at position 9"),
        (np.ones(9), LengthMismatch, "deviations has 9 entries"),
        (["a"] * 10, PoolError, "deviations must be numbers"),
    ],
)
def test_deviations_are_checked(deviations, error, message):
    with pytest.raises(error, match=message):
        hs.Pool(SCORES, classes=None, deviations=deviations)


@pytest.mark.parametrize(
    "given", [{"predictions": [0] * 10}, {"probabilities": [0.5] * 10}, {"threshold": 0.5}]
)
def test_what_belongs_to_classes_is_refused(given):
    with pytest.raises(BadOption, match="about classes, and classes=None"):
        hs.Pool(SCORES, classes=None, **given)
    with pytest.raises(BadOption, match=r"deviations.*classes=None"):
        hs.Pool(SCORES, deviations=np.ones(10))
    with pytest.raises(BadScore, match="one predicted number an item"):
        hs.Pool(np.ones((10, 2)), classes=None)


@pytest.mark.parametrize("name", ["f1", "accuracy", "brier", "pr_curve", "f1_macro", "mcc"])
def test_measures_of_classes_are_refused(name):
    with pytest.raises(BadOption, match="the labels of the pool are numbers"):
        hs.Evaluation(hs.Pool(SCORES, classes=None, strata=2), name)


@pytest.mark.parametrize("name", ["mae", "mse", "rmse", "r2"])
def test_measures_of_numbers_need_numbers(name):
    with pytest.raises(BadOption, match="make the pool with classes=None"):
        hs.Evaluation(hs.Pool(SCORES, strata=2), name)
    with pytest.raises(BadOption, match="definition is 'other'"):
        hs.measures.R2("other")


@pytest.mark.parametrize("answer", ["3", None, True, float("nan"), float("inf"), [1.0], (0.5, 0.5)])
def test_answers_must_be_finite_numbers(answer):
    ev = hs.Evaluation(hs.Pool(SCORES, classes=None, strata=2), "mae", random_state=0)
    one, two = ev.ask(2)
    with pytest.raises(AnswerError, match=r"no finite number.*nothing was recorded"):
        ev.tell({one: 1.0, two: answer})
    assert ev.n_labels == 0
    ev.tell({one: np.float32(1), two: 3})
    assert ev.n_labels == 2


@pytest.mark.parametrize("case", ["one item", "all alike", "no error", "certain system"])
@pytest.mark.parametrize("design", ["passive", "stratified", "importance", "adaptive"])
@pytest.mark.parametrize("measure", ["mae", "rmse", "r2"])
def test_odd_pools_end_at_the_exact_value_or_say_why_not(case, design, measure):
    scores = {"one item": np.ones(1), "all alike": np.ones(8)}.get(case, np.arange(8.0))
    label = scores.copy() if case == "no error" else np.linspace(0, 3, len(scores))
    deviations = np.zeros(8) if case == "certain system" else None
    pool = hs.Pool(scores, classes=None, deviations=deviations, strata=3)
    ev = hs.Evaluation(pool, measure, design, random_state=0)
    estimate = ev.run(lambda items: label[items], budget=len(scores), batch_size=3)
    error = label - scores
    if measure == "r2" and len(scores) == 1:
        assert np.isnan(estimate.value)
        assert "all labels drawn are alike" in estimate.warnings[0]
        return
    truth = {
        "mae": np.mean(np.abs(error)),
        "rmse": np.sqrt(np.mean(error**2)),
        "r2": 1 - np.mean(error**2) / max(label.var(), 1e-9),
    }[measure]
    assert estimate.value == pytest.approx(truth)
