"""On full labels every measure is what scikit-learn says it is."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

from haystat.measures import (
    F1,
    MCC,
    Accuracy,
    AveragePrecision,
    BalancedAccuracy,
    Brier,
    FBeta,
    FowlkesMallows,
    Kappa,
    Macro,
    Micro,
    PerClass,
    PRCurve,
    Precision,
    Recall,
)

SEEDS = range(5)
SINGLE = {"precision": Precision(), "recall": Recall(), "f1": F1(), "f0.5": FBeta(0.5)}


def sklearn_scores(name, true, predicted, **options):
    beta = float(name[1:]) if name.startswith("f") else 1.0
    precision, recall, f, _ = metrics.precision_recall_fscore_support(
        true, predicted, beta=beta, zero_division=np.nan, **options
    )
    return {"precision": precision, "recall": recall}.get(name, f)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("system", ["a", "b"])
@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_accuracy_balanced_accuracy_mcc_and_kappa(pool_of, seed, system, n_classes):
    pool = pool_of(n_classes, seed=seed)
    predicted = pool.outputs.predictions[:, "ab".index(system)]
    for measure, score in (
        (Accuracy, metrics.accuracy_score),
        (BalancedAccuracy, metrics.balanced_accuracy_score),
        (MCC, metrics.matthews_corrcoef),
        (Kappa, metrics.cohen_kappa_score),
    ):
        expected = score(pool.label, predicted)
        np.testing.assert_allclose(pool.value(measure(system=system)), [expected], rtol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("positive", [None, 0, 1])
@pytest.mark.parametrize("name", SINGLE)
def test_precision_recall_and_f_of_two_classes(pool_of, seed, positive, name):
    pool = pool_of(2, seed=seed)
    kind = type(SINGLE[name])
    options = {"beta": 0.5} if name == "f0.5" else {}
    expected = sklearn_scores(
        name,
        pool.label,
        pool.outputs.predictions[:, 0],
        average="binary",
        pos_label=1 if positive is None else positive,
    )
    value = pool.value(kind(positive=positive, **options))
    np.testing.assert_allclose(value, [expected], rtol=1e-12)


@pytest.mark.parametrize("labels", [None, [1], [0, 2]])
@pytest.mark.parametrize("average", ["macro", "micro", None])
@pytest.mark.parametrize("name", SINGLE)
def test_averages_over_many_classes(pool_of, name, average, labels):
    pool = pool_of(4, seed=3)
    kind = {"macro": Macro, "micro": Micro, None: PerClass}[average]
    expected = sklearn_scores(
        name, pool.label, pool.outputs.predictions[:, 0], average=average, labels=labels
    )
    np.testing.assert_allclose(pool.value(kind(SINGLE[name], labels)), np.atleast_1d(expected))


def test_one_class_against_the_rest_of_many(four_classes):
    predicted = four_classes.outputs.predictions[:, 0]
    expected = metrics.matthews_corrcoef(four_classes.label == 2, predicted == 2)
    np.testing.assert_allclose(four_classes.value(MCC(positive=2)), [expected])
    expected = metrics.balanced_accuracy_score(four_classes.label == 2, predicted == 2)
    np.testing.assert_allclose(four_classes.value(BalancedAccuracy(positive=2)), [expected])


def test_fowlkes_mallows_is_the_geometric_mean_of_precision_and_recall(two_classes):
    true, predicted = two_classes.label, two_classes.outputs.predictions[:, 0]
    expected = np.sqrt(
        metrics.precision_score(true, predicted) * metrics.recall_score(true, predicted)
    )
    np.testing.assert_allclose(two_classes.value(FowlkesMallows()), [expected])


def test_brier_and_the_papers_twice_as_large(two_classes):
    expected = metrics.brier_score_loss(two_classes.label, two_classes.outputs.scores[:, 0])
    np.testing.assert_allclose(two_classes.value(Brier()), [expected])
    np.testing.assert_allclose(two_classes.value(Brier(scale=2.0)), [2 * expected])


@pytest.mark.parametrize("seed", SEEDS)
def test_curve_at_every_score(pool_of, seed):
    pool = pool_of(2, seed=seed)
    score = pool.outputs.scores[:, 1]
    precision, recall, thresholds = metrics.precision_recall_curve(pool.label, score)
    expected = np.concatenate([precision[:-1], recall[:-1]])
    value = pool.value(PRCurve(thresholds=thresholds, system="b"))
    np.testing.assert_allclose(value, expected, rtol=1e-12)


def test_curve_at_given_thresholds_is_precision_and_recall_of_the_cut_score(two_classes):
    thresholds = [0.05, 0.5, 0.77]
    score = two_classes.outputs.scores[:, 0]
    cut = [score >= threshold for threshold in thresholds]
    expected = [metrics.precision_score(two_classes.label, predicted) for predicted in cut]
    expected += [metrics.recall_score(two_classes.label, predicted) for predicted in cut]
    np.testing.assert_allclose(two_classes.value(PRCurve(thresholds=thresholds)), expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_average_precision_with_every_score_as_threshold(pool_of, seed):
    pool = pool_of(2, seed=seed)
    score = pool.outputs.scores[:, 0]
    expected = metrics.average_precision_score(pool.label, score)
    value = pool.value(AveragePrecision(thresholds=np.unique(score)))
    np.testing.assert_allclose(value, [expected], rtol=1e-12)


def test_average_precision_on_the_default_grid_is_close(two_classes):
    score = two_classes.outputs.scores[:, 0]
    expected = metrics.average_precision_score(two_classes.label, score)
    assert abs(two_classes.value(AveragePrecision())[0] - expected) < 1e-3


def test_losses_are_zero_outside_the_support_of_table_1(two_classes):
    """The sampler never needs to look where the loss is zero, whatever the label."""
    predicted = two_classes.outputs.predictions[:, 0] == 1
    actual = two_classes.label == 1
    outputs, label = two_classes.outputs, two_classes.label
    either = predicted | actual
    for measure, expected in (
        (Accuracy(), predicted != actual),
        (Precision(), predicted),
        (Recall(), actual),
        (F1(), either),
        (BalancedAccuracy(), either),
        (MCC(), either),
        (FowlkesMallows(), either),
    ):
        bound = measure.bind(two_classes.schema)
        np.testing.assert_array_equal(bound.support(outputs, label), expected)
