"""Weighted measures: as scikit-learn weighs them, and estimated from few labels."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

import haystat as hs
from haystat.errors import BadOption, NoSupport, UnknownName
from haystat.measures import F1, MCC, ROCAUC, Accuracy, Brier, LogLoss, Precision, Recall, Weighted

SCORES = {
    "f1": (F1(), metrics.f1_score),
    "precision": (Precision(), metrics.precision_score),
    "recall": (Recall(), metrics.recall_score),
    "accuracy": (Accuracy(), metrics.accuracy_score),
    "mcc": (MCC(), metrics.matthews_corrcoef),
}
OF_SCORES = {
    "brier": (Brier(), metrics.brier_score_loss),
    "log_loss": (LogLoss(), metrics.log_loss),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", SCORES)
def test_of_predictions(pool_of, name, seed):
    pool = pool_of(2, seed=seed)
    measure, score = SCORES[name]
    weight = pool.outputs.columns["amount"]
    expected = score(pool.label, pool.outputs.predictions[:, 0], sample_weight=weight)
    np.testing.assert_allclose(pool.value(Weighted(measure, "amount")), [expected])


@pytest.mark.parametrize("name", OF_SCORES)
def test_of_scores(pool_of, name):
    pool = pool_of(2)
    measure, score = OF_SCORES[name]
    weight = pool.outputs.columns["amount"]
    expected = score(pool.label, pool.outputs.scores[:, 0], sample_weight=weight)
    np.testing.assert_allclose(pool.value(Weighted(measure, "amount")), [expected])


def test_roc_auc(pool_of):
    pool = pool_of(2)
    score, weight = pool.outputs.scores[:, 0], pool.outputs.columns["amount"]
    expected = metrics.roc_auc_score(pool.label, score, sample_weight=weight)
    measure = Weighted(ROCAUC(thresholds=np.unique(score)), "amount")
    np.testing.assert_allclose(pool.value(measure), [expected])


@pytest.fixture(scope="module")
def money():
    rng = np.random.default_rng(2)
    size = 6000
    scores = rng.normal(-2.5, 2, size)
    amount = rng.lognormal(3, 1.5, size)
    labels = (rng.random(size) < 1 / (1 + np.exp(-2 * scores))).astype(int)
    pool = hs.Pool(scores, threshold=0.0, strata=32, columns={"amount": amount})
    return pool, labels, amount


def test_the_share_of_the_money_found_is_within_its_interval(money):
    pool, labels, amount = money
    predicted = pool.scores[:, 0] >= 0
    truth = metrics.recall_score(labels, predicted, sample_weight=amount)
    covered = 0
    for seed in range(6):
        evaluation = hs.Evaluation(pool, Weighted(Recall(), "amount"), random_state=seed)
        estimate = evaluation.run(lambda items: labels[items], budget=300)
        low, high = estimate.interval
        covered += low <= truth <= high
        assert high - low < 0.6
    assert covered >= 4  # six runs at 95%: fewer hits have a chance of one in five hundred


def test_draws_follow_the_weight(money):
    """Labels go to items that weigh more, other things being equal."""
    pool, labels, amount = money
    mean = []
    for measure in (Weighted(F1(), "amount"), F1()):
        evaluation = hs.Evaluation(pool, measure, random_state=0)
        evaluation.run(lambda items: labels[items], budget=300)
        mean.append(np.log(amount[list(evaluation.state.ledger.label_of)]).mean())
    assert mean[0] > mean[1] + 0.5


def test_everything_labelled_is_exact(money):
    pool, labels, amount = money
    small = hs.Pool(pool.scores[:200, 0], threshold=0.0, strata=8, columns={"amount": amount[:200]})
    evaluation = hs.Evaluation(small, Weighted(F1(), "amount"), random_state=0)
    estimate = evaluation.run(lambda items: labels[items], budget=200)
    predicted = small.scores[:, 0] >= 0
    expected = metrics.f1_score(labels[:200], predicted, sample_weight=amount[:200])
    assert estimate.value == pytest.approx(expected)


def test_other_designs_and_studies_take_them(money, tmp_path):
    pool, labels, amount = money
    predicted = pool.scores[:, 0] >= 0
    truth = metrics.f1_score(labels, predicted, sample_weight=amount)
    measure = Weighted(F1(), "amount")
    other = hs.Evaluation(pool, measure, "adaptive", random_state=0)
    low, high = other.run(lambda items: labels[items], budget=600).interval
    assert low < truth < high
    with hs.Study.create(tmp_path / "m.haystat", pool, measure, random_state=0) as study:
        for _ in range(4):
            study.tell({q.item: int(labels[q.item]) for q in study.ask(150)})
        low, high = study.estimate().interval
    assert low < truth < high


def test_there_is_no_guarantee_for_what_differs_inside_a_cell(money):
    pool, labels, _ = money
    evaluation = hs.Evaluation(pool, Weighted(F1(), "amount"), random_state=0)
    estimate = evaluation.run(lambda items: labels[items], budget=100)
    with pytest.raises(NoSupport):
        _ = estimate.guaranteed_interval


@pytest.mark.parametrize(
    ("weight", "why"),
    [([1.0, -1.0], "below 0"), ([1.0, np.nan], "below 0 or missing"), (["a", "b"], "no numbers")],
)
def test_wrong_weights_are_refused(weight, why):
    pool = hs.Pool([0.1, 0.9], strata=1, columns={"amount": weight})
    with pytest.raises(BadOption, match=why):
        hs.Evaluation(pool, Weighted(F1(), "amount"), random_state=0)


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(UnknownName, match=r"no column 'amount' to weigh by.*columns="):
        hs.Evaluation(hs.Pool([0.1, 0.9], strata=1), Weighted(F1(), "amount"), random_state=0)
    with pytest.raises(BadOption, match="takes a measure"):
        Weighted("f1", "amount")


def test_which_way_is_better_does_not_depend_on_the_weights():
    assert Weighted(Brier(), "views").lower_is_better
    assert not Weighted(F1(), "views").lower_is_better
