"""Several measures, several systems, differences and sub-populations."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

from haystat.errors import BadOption, LengthMismatch, PoolError, UnknownName
from haystat.measures import (
    F1,
    MCC,
    Accuracy,
    BalancedAccuracy,
    Brier,
    Difference,
    ForSystems,
    Macro,
    Measure,
    PRCurve,
    Precision,
    Recall,
    Several,
    Within,
    resolve,
)
from haystat.measures.facts import PredictedClass


def test_several_gives_the_values_side_by_side(two_classes):
    measures = [F1(), Recall(), Accuracy(system="b")]
    several = Several(measures)
    expected = np.concatenate([two_classes.value(measure) for measure in measures])
    np.testing.assert_array_equal(two_classes.value(several), expected)
    assert several.bind(two_classes.schema).components == ("f1", "recall", "b:accuracy")


def test_measures_of_one_system_share_one_signature(two_classes):
    several = Several([F1(), Recall(), MCC(), Accuracy()]).bind(two_classes.schema)
    assert several.facts() == (PredictedClass(0, 2),)
    np.testing.assert_array_equal(
        several.signature(two_classes.outputs), two_classes.outputs.predictions[:, 0]
    )


def test_two_systems_make_a_signature_of_both_predictions(two_classes):
    bound = ForSystems(F1()).bind(two_classes.schema)
    pairs = np.unique(two_classes.outputs.predictions, axis=0)
    assert len(np.unique(bound.signature(two_classes.outputs))) == len(pairs)


def test_too_many_combinations_of_facts_are_no_signature(two_classes):
    curves = [PRCurve(thresholds=np.linspace(0, 1, n)) for n in range(1000, 1005)]
    assert Several(curves).bind(two_classes.schema).signature(two_classes.outputs) is None


def test_all_systems_of_the_pool_are_the_default(two_classes):
    bound = ForSystems(Macro(F1())).bind(two_classes.schema)
    assert bound.components == ("a:f1_macro", "b:f1_macro")
    for column, value in enumerate(two_classes.value(bound)):
        predicted = two_classes.outputs.predictions[:, column]
        expected = metrics.f1_score(two_classes.label, predicted, average="macro")
        np.testing.assert_allclose(value, expected)


@pytest.mark.parametrize("kind", [F1, Accuracy, MCC, Brier, BalancedAccuracy])
def test_difference_is_one_value_minus_the_other(two_classes, kind):
    one, other = two_classes.value(kind(system="a")), two_classes.value(kind(system="b"))
    np.testing.assert_allclose(two_classes.value(Difference(kind(), "a", "b")), one - other)
    np.testing.assert_allclose(two_classes.value(Difference(kind, "b", "a")), other - one)


def test_difference_of_several_measures_names_both_systems(two_classes):
    bound = Difference(Several([F1(), Accuracy()]), "a", "b").bind(two_classes.schema)
    assert bound.components == ("a:f1 - b:f1", "a:accuracy - b:accuracy")


def test_items_that_both_systems_treat_alike_do_not_move_a_difference_of_accuracies(two_classes):
    bound = Difference(Accuracy(), "a", "b").bind(two_classes.schema)
    influence = bound.influence(two_classes.outputs, two_classes.label, np.array([0.2, 0.3]))
    alike = np.diff(two_classes.outputs.predictions, axis=1)[:, 0] == 0
    assert np.all(influence[alike] == 0)
    assert np.any(influence[~alike] != 0)


SCORES = {
    Accuracy: metrics.accuracy_score,
    BalancedAccuracy: metrics.balanced_accuracy_score,
    MCC: metrics.matthews_corrcoef,
    F1: metrics.f1_score,
    Precision: metrics.precision_score,
    Recall: metrics.recall_score,
}


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("by", ["mask", "column"])
def test_within_a_group_is_the_measure_of_the_subset(two_classes, kind, by):
    inside = two_classes.outputs.columns["country"] == "de"
    group = {"mask": inside} if by == "mask" else {"column": "country", "equals": "de"}
    expected = SCORES[kind](two_classes.label[inside], two_classes.outputs.predictions[inside, 0])
    np.testing.assert_allclose(two_classes.value(Within(kind(), **group)), [expected])


def test_within_a_group_for_brier_and_curves(two_classes):
    inside = np.arange(300) % 3 == 0
    label, score = two_classes.label[inside], two_classes.outputs.scores[inside, 0]
    expected = metrics.brier_score_loss(label, score)
    np.testing.assert_allclose(two_classes.value(Within(Brier(), inside)), [expected])
    precision, recall, thresholds = metrics.precision_recall_curve(label, score)
    value = two_classes.value(Within(PRCurve(thresholds=thresholds), inside))
    np.testing.assert_allclose(value, np.concatenate([precision[:-1], recall[:-1]]))


def test_a_ratio_within_a_group_keeps_its_small_support(two_classes):
    inside = np.arange(300) < 100
    bound = Within(Recall(), inside).bind(two_classes.schema)
    expected = inside & (two_classes.label == 1)
    np.testing.assert_array_equal(bound.support(two_classes.outputs, two_classes.label), expected)


def test_a_mask_is_looked_up_by_position_in_the_pool(two_classes):
    inside = np.arange(300) < 100
    bound = Within(Accuracy(), inside).bind(two_classes.schema)
    rows = np.array([250, 3, 99, 100])
    support = bound.support(two_classes.outputs.take(rows), two_classes.label[rows])
    assert support.tolist() == [False, True, True, False]


def test_a_column_of_numbers_is_compared_by_value(two_classes):
    bound = Within(Accuracy(), column="country", equals=3).bind(two_classes.schema)
    assert not np.any(bound.support(two_classes.outputs, two_classes.label))


def test_a_mask_given_by_the_caller_is_copied(two_classes):
    mask = np.arange(300) < 100
    measure = Within(Accuracy(), mask)
    mask[:] = False
    assert measure == Within(Accuracy(), np.arange(300) < 100)
    assert measure != Within(Accuracy(), np.arange(300) < 101)


def test_moving_a_combination_to_another_system(two_classes):
    inside = np.arange(300) < 100
    moved = Within(Several([F1(), Macro(Recall())]), inside).for_system("b")
    expected = Within(Several([F1(system="b"), Macro(Recall(system="b"))]), inside)
    assert moved == expected
    np.testing.assert_array_equal(two_classes.value(moved), two_classes.value(expected))


def test_a_mask_of_the_wrong_length_is_refused(two_classes):
    with pytest.raises(LengthMismatch, match="299 entries and the pool 300"):
        Within(F1(), np.ones(299, dtype=bool)).bind(two_classes.schema)


def test_an_unknown_column_is_refused(two_classes):
    with pytest.raises(UnknownName, match=r"'land'.*country"):
        Within(F1(), column="land", equals="de").bind(two_classes.schema)


def test_a_mask_that_selects_nothing_is_refused(two_classes):
    with pytest.raises(PoolError, match="selects no item"):
        Within(F1(), np.zeros(300, dtype=bool)).bind(two_classes.schema)


def test_a_group_never_drawn_is_undefined_with_a_reason(two_classes):
    for measure in (Accuracy(), F1()):
        bound = Within(measure, column="country", equals="fr").bind(two_classes.schema)
        risk = bound.risk(two_classes.outputs, two_classes.label, two_classes.weight)
        assert np.all(np.isnan(bound.value(risk)))
        assert "country='fr'" in bound.undefined(risk)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mask": np.ones(3, dtype=bool), "column": "country"},
        {"mask": np.array([0, 2, 5])},
        {"mask": np.ones((3, 2), dtype=bool)},
    ],
)
def test_a_group_is_one_mask_or_one_column(options):
    with pytest.raises(BadOption):
        Within(F1(), **options)


@pytest.mark.parametrize("measures", [[], ["f1"], [F1(), None]])
def test_several_takes_measures_only(measures):
    with pytest.raises(BadOption, match="list of measures"):
        Several(measures)


def test_no_systems_are_refused():
    with pytest.raises(BadOption, match="empty"):
        ForSystems(F1(), [])


def test_an_unknown_system_is_refused(two_classes):
    for measure in (F1(system="z"), ForSystems(F1(), ["a", "z"]), Difference(F1(), "a", "z")):
        with pytest.raises(UnknownName, match="'z'"):
            measure.bind(two_classes.schema)


def test_a_measure_without_systems_cannot_be_moved():
    class Constant(Measure):
        def loss(self, outputs, label):
            return np.ones(len(outputs))

        def value(self, risk):
            return risk

    with pytest.raises(BadOption, match="no `system` option"):
        Difference(Constant(), "a", "b").bind(None)


def test_undefined_parts_are_named(two_classes):
    bound = resolve(["precision", "recall", "accuracy"]).bind(two_classes.schema)
    reason = bound.undefined(np.array([0, 0.1, 0, 0, 0.1]))
    assert reason == "recall is undefined: no positive has been drawn"
