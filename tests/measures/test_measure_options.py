"""Names, options, undefined values and the cost of curves."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest

import haystat as hs
from haystat.errors import BadOption, UnknownName
from haystat.measures import (
    F1,
    MCC,
    MEASURES,
    Accuracy,
    AveragePrecision,
    BalancedAccuracy,
    Brier,
    FBeta,
    FowlkesMallows,
    Macro,
    Micro,
    Outputs,
    PerClass,
    PRCurve,
    Precision,
    Recall,
    Schema,
    Several,
    resolve,
)


def schema_of(n_classes=2, score_range=(0.0, 1.0), class_names=()):
    ranges = np.array([score_range])
    return Schema(100, ("a",), n_classes, ranges, class_names=class_names)


@pytest.mark.parametrize("name", MEASURES)
def test_every_name_resolves_to_a_measure_of_that_name(name):
    assert resolve(name).name == ("f1" if name == "fbeta" else name)


def test_names_promised_by_the_design_are_there():
    promised = "accuracy balanced_accuracy precision recall f1 fbeta mcc fowlkes_mallows brier"
    assert set(promised.split()) | {"pr_curve", "average_precision"} <= set(MEASURES)


def test_resolve_takes_names_measures_and_lists_of_either():
    assert resolve(F1()) == F1()
    assert resolve("fbeta", beta=2.0) == FBeta(2.0)
    assert resolve("f1_macro", labels=[1, 2], system="a") == Macro(F1(system="a"), (1, 2))
    assert resolve(["f1", Recall()]) == Several([F1(), Recall()])


def test_an_unknown_name_is_refused_with_a_hint():
    with pytest.raises(UnknownName, match=r"did you mean 'recall'\?.*balanced_accuracy"):
        resolve("Recal")
    with pytest.raises(UnknownName, match="known are accuracy"):
        resolve("xyz")


@pytest.mark.parametrize(("measure", "options"), [(3, {}), (F1(), {"beta": 2}), ([], {})])
def test_what_is_no_measure_is_refused(measure, options):
    with pytest.raises(BadOption):
        resolve(measure, **options)


def test_an_option_the_measure_does_not_have_is_refused():
    with pytest.raises(BadOption, match="'f1' does not take"):
        resolve("f1", beta=2)


def test_measures_are_equal_by_value_and_frozen():
    assert FBeta(2.0, system="a") == FBeta(2.0, system="a") != FBeta(2.0)
    assert len({F1(), F1(), Recall()}) == 2
    assert repr(FBeta(2.0)) == "FBeta(system=None, positive=None, beta=2.0)"
    with pytest.raises(AttributeError):
        F1().system = "b"


@pytest.mark.parametrize(
    "make",
    [
        lambda: FBeta(0.0),
        lambda: FBeta(np.nan),
        lambda: Brier(-1.0),
        lambda: PRCurve(0),
        lambda: PRCurve(thresholds=[]),
        lambda: PRCurve(thresholds=[0.5, 0.5]),
        lambda: PRCurve(thresholds=[0.5, np.nan]),
        lambda: Macro(Accuracy()),
        lambda: Micro(MCC()),
        lambda: PerClass(F1(), labels=[]),
        lambda: PerClass(F1(), labels=[1, 1]),
    ],
)
def test_bad_options_are_refused_when_the_measure_is_made(make):
    with pytest.raises(BadOption):
        make()


@pytest.mark.parametrize("measure", [F1(positive=2), Macro(F1(), [0, 2]), Micro(F1(), [0, -1])])
def test_a_class_the_pool_does_not_have_is_refused(measure):
    with pytest.raises(BadOption, match="not a class index from 0 to 1"):
        measure.bind(schema_of(2))


@pytest.mark.parametrize("measure", [PRCurve(), AveragePrecision(), Brier()])
def test_measures_of_scores_refuse_many_classes(measure):
    with pytest.raises(BadOption, match="scores of two classes and the pool has 3"):
        measure.bind(schema_of(3))


@pytest.mark.parametrize("measure", [F1(), Precision(), FowlkesMallows()])
def test_one_of_many_classes_must_be_named(measure):
    with pytest.raises(BadOption, match="give `positive`"):
        measure.bind(schema_of(3))


def test_brier_refuses_scores_that_are_no_probabilities():
    with pytest.raises(BadOption, match="from -3 to 4"):
        Brier().bind(schema_of(score_range=(-3.0, 4.0)))


def test_a_system_is_looked_up_before_use():
    with pytest.raises(BadOption, match="bind it"):
        _ = F1(system="b").system_index


def test_components_carry_class_names_where_the_pool_has_them():
    schema = schema_of(3, class_names=("no", "maybe", "yes"))
    assert PerClass(Recall(), [2, 0]).bind(schema).components == ("recall[yes]", "recall[no]")
    assert PerClass(Recall()).bind(schema_of(3)).components[2] == "recall[2]"


@pytest.mark.parametrize(
    ("measure", "risk", "words"),
    [
        (Precision(), [0, 0], "precision is undefined: no predicted positive has been drawn"),
        (Recall(), [0, 0], "recall is undefined: no positive has been drawn"),
        (F1(), [0, 0], "f1 is undefined: no positive or predicted positive has been drawn"),
        (FowlkesMallows(), [0, 0.1, 0], "no predicted positive"),
        (FowlkesMallows(), [0, 0, 0], "no positive and no predicted positive"),
        (BalancedAccuracy(), [0, 0, 0.1], "no positive"),
        (BalancedAccuracy(), [0.5, 1 - 1e-16, 0.5], "no negative"),
        (MCC(), [0, 0.5, 0], "alike"),
        (AveragePrecision(thresholds=[0.5]), [0.1, 0, 0], "no positive"),
        (PRCurve(thresholds=[0.5]), [0.1, 0, 0], "recall is undefined: no positive"),
        (PRCurve(thresholds=[0.5]), [0, 0, 0.1], "from threshold 0.5 on"),
        (Micro(F1(), [1]), [0, 0], "f1_micro is undefined"),
        (Macro(F1()), [0.1, 0.2, 0, 0], r"f1\[1\] is undefined"),
    ],
)
def test_undefined_is_nan_with_a_reason(measure, risk, words):
    bound = measure.bind(schema_of())
    risk = np.array(risk, dtype=float)
    assert np.any(np.isnan(bound.value(risk)))
    assert np.all(np.isfinite(bound.jacobian(risk)))
    assert re.search(words, bound.undefined(risk))


def test_a_threshold_above_all_that_was_drawn_does_not_poison_the_sampler():
    bound = PRCurve(thresholds=[0.1, 0.5, 0.9]).bind(schema_of())
    scores = np.array([[0.2], [0.6], [0.05]])
    outputs = Outputs(np.arange(3), scores, np.zeros((3, 1), dtype=int))
    label = np.array([1, 0, 1])
    risk = bound.risk(outputs, label, np.full(3, 1 / 3))
    assert np.isnan(bound.value(risk)).tolist() == [False, False, True, False, False, False]
    top = Outputs(np.arange(1), np.array([[0.95]]), np.zeros((1, 1), dtype=int))
    assert np.all(np.isfinite(bound.sensitivity(top, np.array([1]), risk)))
    assert bound.influence(top, np.array([1]), risk)[0, 2] == 0


def test_default_thresholds_span_the_scores():
    bound = PRCurve().bind(schema_of(score_range=(-2.0, 3.0)))
    assert (len(bound.grid), bound.grid[0], bound.grid[-1]) == (1024, -2.0, 3.0)
    assert bound.n_risk == 2049
    assert len(bound.components) == 2048


def test_equal_scores_leave_one_threshold():
    bound = PRCurve().bind(schema_of(score_range=(0.3, 0.3)))
    assert bound.grid.tolist() == [0.3]
    assert bound.components == ("precision@0.3", "recall@0.3")


@pytest.mark.parametrize("kind", [PRCurve, AveragePrecision])
def test_curves_cost_no_more_than_cells_plus_thresholds(kind):
    """1,300 cells, 2 labels, 1,024 thresholds: well under 1 ms, for at most 2 ms on a busy day."""
    rng = np.random.default_rng(0)
    scores = np.repeat(rng.random((1300, 1)), 2, axis=0)
    outputs = Outputs(np.arange(2600), scores, np.zeros((2600, 1), dtype=int))
    label = np.tile([0, 1], 1300)
    bound = kind().bind(schema_of())
    weight = rng.random(2600)

    def seconds():
        start = time.perf_counter()
        risk = bound.risk(outputs, label, weight)
        bound.sensitivity(outputs, label, risk)
        return time.perf_counter() - start

    assert min(seconds() for _ in range(20)) < 2e-3


@pytest.mark.parametrize(
    ("spelt", "same"),
    [
        ("fbeta:beta=0.5", FBeta(beta=0.5)),
        ("precision_at_k:k=50", hs.measures.PrecisionAtK(k=50)),
        ("recall_at_fpr:rate=0.02", hs.measures.RecallAtFPR(rate=0.02)),
        ("threshold:recall=0.9", hs.measures.Threshold(recall=0.9)),
        ("threshold:f1=best", hs.measures.Threshold(f1="best")),
    ],
)
def test_options_may_follow_a_name(spelt, same):
    assert resolve(spelt) == same
    assert resolve([spelt, "f1"]).measures[0] == same


@pytest.mark.parametrize(
    ("spelt", "error", "says"),
    [
        ("fbeta:beta", BadOption, "cannot be read; write such as fbeta:beta=2"),
        ("fbeta:=2", BadOption, "cannot be read"),
        ("fbeta:gamma=2", BadOption, "does not take"),
        ("fbeta:beta=much", BadOption, "beta"),
        ("threshold", BadOption, "give one of precision=0.95"),
        ("threshold:recall=2", BadOption, "recall"),
        ("fbet:beta=2", UnknownName, "did you mean 'fbeta'"),
    ],
)
def test_options_that_cannot_be_read_are_refused(spelt, error, says):
    with pytest.raises(error, match=says):
        resolve(spelt)
