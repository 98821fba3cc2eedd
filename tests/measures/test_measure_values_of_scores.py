"""On full labels the measures of scores are what scikit-learn says they are."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from sklearn import metrics
from sklearn.calibration import calibration_curve

import haystat as hs
from haystat.errors import BadOption
from haystat.measures import (
    ROCAUC,
    CalibrationError,
    Lift,
    LiftAtK,
    LogLoss,
    PrecisionAtK,
    Prevalence,
    RecallAtFPR,
    RecallAtK,
    ROCCurve,
    Schema,
    Threshold,
)

SEEDS = range(5)


@pytest.fixture(params=SEEDS)
def pool(request, pool_of):
    return pool_of(2, seed=request.param)


def every_score(pool):
    return np.unique(pool.outputs.scores[:, 0])


def test_prevalence_and_lift(pool):
    predicted = pool.outputs.predictions[:, 0]
    share = np.mean(pool.label)
    np.testing.assert_allclose(pool.value(Prevalence()), [share])
    expected = metrics.precision_score(pool.label, predicted) / share
    np.testing.assert_allclose(pool.value(Lift()), [expected])


def test_roc_curve_at_every_score(pool):
    score = pool.outputs.scores[:, 0]
    rate, recall, _ = metrics.roc_curve(pool.label, score, drop_intermediate=False)
    expected = np.concatenate([rate[1:][::-1], recall[1:][::-1]])
    np.testing.assert_allclose(pool.value(ROCCurve(thresholds=every_score(pool))), expected)


def test_roc_auc(pool):
    expected = metrics.roc_auc_score(pool.label, pool.outputs.scores[:, 0])
    exact = pool.value(ROCAUC(thresholds=every_score(pool)))
    np.testing.assert_allclose(exact, [expected], rtol=1e-12)
    assert abs(pool.value(ROCAUC())[0] - expected) < 1e-3


def test_the_default_grid_tells_small_probabilities_apart():
    """Equal steps of the score would put nearly all of such a pool into one bin."""
    rng = np.random.default_rng(0)
    label = np.arange(20_000) < 200
    score = 1 / (1 + np.exp(-(rng.normal(-12, 3, 20_000) + 4 * label)))
    schema = Schema(20_000, ("system",), 2, np.array([[score.min(), score.max()]]))
    grid = ROCAUC().bind(schema).grid
    binned = np.searchsorted(grid, score, side="right")
    expected = metrics.roc_auc_score(label, score)
    assert abs(metrics.roc_auc_score(label, binned) - expected) < 1e-3
    even = np.searchsorted(np.linspace(score.min(), score.max(), 1024), score, side="right")
    assert abs(metrics.roc_auc_score(label, even) - expected) > 1e-3


@pytest.mark.parametrize("rate", [0.013, 0.21, 0.77])
def test_recall_at_a_false_positive_rate(pool, rate):
    rates, recalls, _ = metrics.roc_curve(
        pool.label, pool.outputs.scores[:, 0], drop_intermediate=False
    )
    expected = np.interp(rate, rates, recalls)
    scores = every_score(pool)
    np.testing.assert_allclose(pool.value(RecallAtFPR(thresholds=scores, rate=rate)), [expected])
    same = Threshold(thresholds=scores, false_positive_rate=rate)
    np.testing.assert_allclose(pool.value(same), [expected])


@pytest.mark.parametrize("k", [1, 37, 150, 300])
def test_of_the_top_k(pool, k):
    """Over random orders of equal scores, precision of the first k is right on average."""
    score, rng = pool.outputs.scores[:, 0], np.random.default_rng(k)
    orders = [np.lexsort((rng.random(300), -score))[:k] for _ in range(4000)]
    hits = np.array([pool.label[order].sum() for order in orders])
    slack = 4 * hits.std() / np.sqrt(len(hits)) + 1e-9
    thresholds, positives = every_score(pool), pool.label.sum()
    precision = pool.value(PrecisionAtK(thresholds=thresholds, k=k))[0]
    assert abs(precision * k - hits.mean()) <= slack
    recall = pool.value(RecallAtK(thresholds=thresholds, k=k))[0]
    assert recall == pytest.approx(precision * k / positives)
    lift = pool.value(LiftAtK(thresholds=thresholds, k=k))[0]
    assert lift == pytest.approx(precision / (positives / 300))


def test_top_k_without_ties_is_a_plain_count(pool_of):
    pool = pool_of(2, seed=9)
    score = np.random.default_rng(9).permutation(300) / 300
    pool.outputs.scores[:, 0] = score
    top = np.argsort(-score)[:40]
    value = pool.value(PrecisionAtK(thresholds=np.sort(score), k=40))
    np.testing.assert_allclose(value, [pool.label[top].mean()])


def test_log_loss(pool):
    expected = metrics.log_loss(pool.label, pool.outputs.scores[:, 0])
    np.testing.assert_allclose(pool.value(LogLoss()), [expected])


@pytest.mark.parametrize("n_bins", [1, 5, 10])
def test_calibration_error(pool, n_bins):
    score = pool.outputs.scores[:, 0]
    true, mean = calibration_curve(pool.label, score, n_bins=n_bins)
    edges = np.linspace(0, 1, n_bins + 1)
    share = np.bincount(np.searchsorted(edges[1:-1], score), minlength=n_bins) / len(score)
    expected = np.sum(share[share > 0] * np.abs(true - mean))
    np.testing.assert_allclose(pool.value(CalibrationError(n_bins)), [expected])


@pytest.mark.parametrize("precision", [0.55, 0.7, 0.9])
def test_recall_at_a_precision_lies_between_the_cuts_around_it(pool, precision):
    score = pool.outputs.scores[:, 0]
    precisions, recalls, _ = metrics.precision_recall_curve(pool.label, score)
    met = np.flatnonzero(precisions >= precision)[0]  # the lowest cut
    value = pool.value(Threshold(thresholds=every_score(pool), precision=precision))[0]
    upper = recalls[met - 1] if met else 1.0
    assert recalls[met] - 1e-12 <= value <= upper + 1e-12


def hits_where(pool, cuts, met):
    """True positives as a share of the pool where `met` first fails from the top, by brute force.

    Between two cuts items come in random order: hits and predictions grow on a straight line.
    """
    score, n = pool.outputs.scores[:, 0], len(pool.label)
    ends = [(0.0, 0.0)]
    for cut in [*sorted(cuts, reverse=True), -np.inf]:
        taken = score >= cut
        ends.append((taken.sum() / n, pool.label[taken].sum() / n))
    steps = [np.linspace(before, after, 2001) for before, after in itertools.pairwise(ends)]
    points = np.concatenate(steps)
    return max(hit for predicted, hit in points if met(hit, predicted))


@pytest.mark.parametrize("share", [0.55, 0.7])
def test_labels_for_a_precision_aim_at_the_true_positives_at_its_cut(pool, share):
    cuts = np.quantile(pool.outputs.scores[:, 0], [0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
    expected = hits_where(pool, cuts, lambda hit, predicted: hit >= share * predicted)
    aim = Threshold(thresholds=cuts, precision=share).bind(pool.schema).aim
    assert pool.value(aim)[0] == pytest.approx(expected, abs=1e-3)


def test_labels_for_a_false_positive_rate_aim_at_the_true_positives_at_its_cut(pool):
    cuts = np.quantile(pool.outputs.scores[:, 0], [0.3, 0.5, 0.7, 0.8, 0.9])
    negative = 1 - pool.label.mean()
    expected = hits_where(pool, cuts, lambda hit, predicted: predicted - hit <= 0.2 * negative)
    aim = Threshold(thresholds=cuts, false_positive_rate=0.2).bind(pool.schema).aim
    assert pool.value(aim)[0] == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("recall", [0.3, 0.8, 0.95])
def test_precision_at_a_recall_lies_between_the_cuts_around_it(pool, recall):
    score = pool.outputs.scores[:, 0]
    precisions, recalls, _ = metrics.precision_recall_curve(pool.label, score)
    met = np.flatnonzero(recalls >= recall)[-1]  # the highest cut
    value = pool.value(Threshold(thresholds=every_score(pool), recall=recall))[0]
    around = precisions[met : met + 2]
    assert around.min() - 1e-12 <= value <= around.max() + 1e-12


def test_best_f1_is_the_largest_of_all_cuts(pool):
    score = pool.outputs.scores[:, 0]
    expected = max(metrics.f1_score(pool.label, score >= cut) for cut in every_score(pool))
    value = pool.value(Threshold(thresholds=every_score(pool), f1="best"))
    np.testing.assert_allclose(value, [expected])


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: Threshold(), "one requirement, not 0"),
        (lambda: Threshold(precision=0.9, recall=0.9), "one requirement, not 2"),
        (lambda: Threshold(precision=1.5), "precision is 1.5; give a number between 0 and 1"),
        (lambda: Threshold(f1="good"), "'best'"),
        (lambda: PrecisionAtK(k=0), "k is 0"),
        (lambda: RecallAtFPR(rate=0), "rate is 0"),
        (lambda: LogLoss(0.7), "least is 0.7"),
        (lambda: CalibrationError(0), "n_bins is 0"),
    ],
)
def test_impossible_options_are_refused(make, why):
    with pytest.raises(BadOption, match=why):
        make()


def test_more_than_all_items_are_refused(pool_of):
    with pytest.raises(BadOption, match="k is 301 and the pool has 300"):
        pool_of(2).value(PrecisionAtK(k=301))


@pytest.mark.parametrize("far", [False, True], ids=["probabilities", "far scores"])
def test_areas_on_the_default_grid_are_those_of_scikit_learn(far):
    """Probabilities crowd near 0, and log odds of naive Bayes reach -1e10: one step of the raw
    score held nearly all items."""
    rng = np.random.default_rng(3)
    label = (rng.random(4000) < 0.03).astype(int)
    logit = rng.normal(3 * label - 9, 2)
    score = -np.exp(2.5 * np.abs(logit)) if far else 1 / (1 + np.exp(-logit))
    pool = hs.Pool(score, threshold=float(np.quantile(score, 0.97)))
    for name, expected in (
        ("average_precision", metrics.average_precision_score(label, score)),
        ("roc_auc", metrics.roc_auc_score(label, score)),
    ):
        measure = hs.measures.bound(name, pool.schema)
        outputs = pool.outputs(np.arange(pool.size))
        value = measure.value(measure.risk(outputs, label, np.full(pool.size, 1 / pool.size)))
        assert value[0] == pytest.approx(expected, abs=0.01)


def test_what_is_asked_for_comes_first():
    """PrecisionAtK(200) was the precision of 100 items, on 200 thresholds."""
    assert PrecisionAtK(200).k == 200
    assert RecallAtFPR(0.05).rate == 0.05
