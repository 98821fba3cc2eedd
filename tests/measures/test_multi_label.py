"""Items that may have several labels: one pool, an estimate per label and averages."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

import haystat as hs
from haystat.errors import BadOption, LengthMismatch
from haystat.measures import F1, Accuracy, PerLabel, Precision, Recall
from haystat.study import verify

NAMES = ("cat", "dog", "bird")
SIZE = 800


@pytest.fixture(scope="module")
def tagged():
    """Scores and truth of each label; scores of birds claim twice what is true."""
    rng = np.random.default_rng(1)
    scores = {name: rng.beta(0.4, 3, SIZE).round(6) for name in NAMES}
    right = {"cat": 1.0, "dog": 0.8, "bird": 0.4}
    truth = {name: (rng.random(SIZE) < right[name] * scores[name]).astype(int) for name in NAMES}
    return scores, truth


def oracle_of(truth):
    def oracle(items):
        pairs = [item.split("/") for item in items]
        return [int(truth[name][int(number)]) for number, name in pairs]

    return oracle


@pytest.mark.parametrize(
    ("measure", "score"),
    [
        (F1(), metrics.f1_score),
        (Precision(), metrics.precision_score),
        (Recall(), metrics.recall_score),
    ],
)
def test_with_all_labels_it_is_that_of_scikit_learn(tagged, measure, score):
    scores, truth = tagged
    pool = hs.Pool.multi_label(scores, strata=24)
    evaluation = hs.Evaluation(pool, PerLabel(measure, NAMES), random_state=0)
    found = evaluation.run(oracle_of(truth), 3 * SIZE, 800)
    wanted = np.stack([truth[name] for name in NAMES], axis=1)
    predicted = np.stack([scores[name] >= 0.5 for name in NAMES], axis=1).astype(int)
    averages = [score(wanted, predicted, average=how) for how in ("macro", "micro")]
    np.testing.assert_allclose(found.values, [*score(wanted, predicted, average=None), *averages])
    assert found.components == tuple(f"{measure.name} {e}" for e in (*NAMES, "macro", "micro"))


def test_every_label_is_within_its_interval_from_few_answers(tagged):
    """Birds are overrated by their score: the model must not judge them by the others."""
    scores, truth = tagged
    right = [metrics.recall_score(truth[name], scores[name] >= 0.5) for name in NAMES]
    right = [*right, np.mean(right)]
    pool = hs.Pool.multi_label(scores)
    covered = np.zeros(4)
    for seed in range(6):
        evaluation = hs.Evaluation(pool, PerLabel(Recall(), NAMES), random_state=seed)
        intervals = evaluation.run(oracle_of(truth), 400, 100).intervals[:4]
        covered += (intervals[:, 0] <= right) & (right <= intervals[:, 1])
    assert covered.sum() >= 20
    assert covered.min() >= 4


def test_strata_are_those_of_one_label_each(tagged):
    pool = hs.Pool.multi_label(tagged[0], strata=30)
    for stratum in range(pool.n_strata):
        assert len(set(pool.columns["label"][pool.stratum == stratum])) == 1
    assert 24 <= pool.n_strata <= 30


def test_thresholds_and_predictions_are_per_label(tagged):
    scores, _ = tagged
    pool = hs.Pool.multi_label(scores, threshold={"cat": 0.1})
    predicted = pool.outputs(np.arange(pool.size)).predictions[:, 0]
    assert predicted[:SIZE].sum() == np.sum(scores["cat"] >= 0.1)
    assert predicted[SIZE:].sum() == np.sum([scores["dog"] >= 0.5, scores["bird"] >= 0.5])
    own = {"dog": np.ones(SIZE, dtype=int)}
    pool = hs.Pool.multi_label(scores, own, ids=[f"p{i}" for i in range(SIZE)])
    assert pool.outputs(np.arange(SIZE, 2 * SIZE)).predictions.all()
    assert pool.id_of(SIZE) == "p0/dog"


def test_classes_may_have_names_and_the_first_is_the_negative(tagged):
    plain, index = hs.Pool.multi_label(tagged[0]), np.arange(3 * SIZE)
    for classes in (("no", "yes"), (1, 0)):
        pool = hs.Pool.multi_label(tagged[0], classes=classes)
        expected = plain.outputs(index).predictions
        np.testing.assert_array_equal(pool.outputs(index).predictions, expected)
    with pytest.raises(BadOption, match="has a label or not"):
        hs.Pool.multi_label(tagged[0], classes=(0, 1, 2))


def test_a_study_takes_it_and_is_audited(tagged, tmp_path):
    scores, truth = tagged
    pool = hs.Pool.multi_label(scores, strata=24, seed=3)
    measure = PerLabel(F1(), NAMES)
    evaluation = hs.Evaluation(pool, measure, random_state=1)
    expected = evaluation.run(oracle_of(truth), 120, 60)
    path = tmp_path / "tags.haystat"
    with hs.Study.create(path, pool, measure, random_state=1, show=pool.columns) as study:
        found = study.run(oracle_of(truth), 120, 60)
    np.testing.assert_array_equal(found.values, expected.values)
    with hs.Study.open(path) as study:
        assert study.measure.components[-1] == "f1 micro"
        assert set(study.ask(1)[0].record) == {"item", "label"}
    assert verify(path).ok


def test_many_labels_are_one_fact():
    rng = np.random.default_rng(0)
    names = tuple(f"tag {k}" for k in range(40))
    pool = hs.Pool.multi_label({name: rng.random(30) for name in names}, strata=40)
    measure = hs.measures.bound(PerLabel(Accuracy(), names), pool.schema)
    assert len(pool.cells(measure)) <= 2 * 40


def test_what_makes_no_sense_is_refused(tagged):
    scores, _ = tagged
    with pytest.raises(BadOption, match="give a dict"):
        hs.Pool.multi_label(np.zeros((3, 2)))
    with pytest.raises(BadOption, match="strata"):
        hs.Pool.multi_label(scores, strata=10**200)
    with pytest.raises(LengthMismatch, match="every label one score an item"):
        hs.Pool.multi_label({"cat": [0.1, 0.2], "dog": [0.1]})
    with pytest.raises(LengthMismatch, match="ids have shape"):
        hs.Pool.multi_label(scores, ids=[1, 2])
    with pytest.raises(BadOption, match="each once"):
        PerLabel(F1(), ("cat", "cat"))
    with pytest.raises(BadOption, match="a measure of one value"):
        hs.Evaluation(hs.Pool.multi_label(scores), PerLabel(hs.measures.PRCurve(), NAMES))
    with pytest.raises(BadOption, match="a measure such as"):
        PerLabel("f1", NAMES)
