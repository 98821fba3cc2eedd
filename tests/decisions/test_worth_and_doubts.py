"""What labels were worth, which threshold is in use, and pools that look wrong."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner

import haystat as hs
from haystat.cli import app
from haystat.decisions.doubts import PoolWarning
from haystat.inference.estimate import worth_sentence
from haystat.report import words

SIZE = 8000


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(6)
    scores = rng.normal(-3, 2, SIZE)
    labels = (rng.random(SIZE) < 1 / (1 + np.exp(-2 * scores))).astype(int)
    pool = hs.Pool(scores, threshold=0.0, strata=64)
    evaluation = hs.Evaluation(pool, "f1", random_state=1)
    evaluation.run(lambda items: labels[items], budget=300)
    return pool, labels, evaluation


@pytest.mark.parametrize("measure", ["f1", "recall", "precision", "accuracy"])
def test_the_variance_of_one_item_is_that_of_all_items(case, measure):
    """Against the influence of every item of the pool under its true label."""
    pool, labels, evaluation = case
    bound = hs.measures.resolve(measure).bind(pool.schema)
    outputs = pool.outputs(np.arange(SIZE))
    risk = bound.risk(outputs, labels, np.full(SIZE, 1 / SIZE))
    expected = bound.influence(outputs, labels, risk).var()
    found = evaluation.estimate(measure).details["item_variance"]
    assert found[0] == pytest.approx(expected, rel=0.35)  # the shares are estimates


def test_worth_is_the_random_sample_with_the_same_error(case):
    """A random sample of that size has an error as large as the estimate's, by simulation."""
    pool, labels, evaluation = case
    estimate = evaluation.estimate()
    n = int(estimate.worth[0])
    assert 300 < n < SIZE
    rng = np.random.default_rng(0)
    predicted = pool.scores[:, 0] >= 0
    values = []
    for _ in range(400):
        drawn = rng.permutation(SIZE)[:n]
        hit = labels[drawn] @ predicted[drawn]
        values.append(2 * hit / (labels[drawn].sum() + predicted[drawn].sum()))
    low, high = estimate.interval
    assert np.std(values) == pytest.approx((high - low) / 2 / 1.96, rel=0.35)


def test_worth_ends_at_the_whole_pool_and_is_unknown_for_other_designs(case):
    pool, labels, _ = case
    whole = hs.Evaluation(hs.Pool(pool.scores[:60, 0], strata=4), "accuracy", random_state=0)
    whole.run(lambda items: labels[items], budget=55)
    assert whole.estimate().worth[0] <= 60
    passive = hs.Evaluation(pool, "f1", "passive", random_state=0)
    passive.run(lambda items: labels[items], budget=50)
    assert np.isnan(passive.estimate().worth[0])


def test_the_sentence_rounds_and_is_silent_where_there_is_nothing_to_say():
    assert worth_sentence(500, 12_345.6) == (
        "These 500 labels say as much as about 12,000 drawn at random."
    )
    assert worth_sentence(500, 400.0) == worth_sentence(500, np.nan) == ""
    component = {"name": "f1", "low": 0.4, "high": 0.6, "worth": 9000.0}
    assert "as much as about 9,000 drawn at random" in words.effort(component, 300)


WRONG = {
    "reversed": (lambda score: 1 - score, {}, r"predicts 9\d.*% of the items positive.*turn the"),
    "no positive": (lambda score: score / 3, {}, r"no item positive.*from .* to .*threshold"),
    "threshold above": (lambda score: score, {"threshold": 5.0}, r"no item positive"),
    "threshold below": (lambda score: score, {"threshold": -1.0}, r"100% of the items positive"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_pools_that_look_wrong_are_questioned(kind):
    turn, options, said = WRONG[kind]
    score = np.random.default_rng(0).beta(0.3, 6, 500)
    score[:3] = 0.9
    pool = hs.Pool(turn(score), strata=8, **options)
    with pytest.warns(PoolWarning, match=said):
        hs.Evaluation(pool, random_state=0)


@pytest.mark.parametrize(
    "given",
    [
        lambda score: {"scores": -score, "predictions": (score >= 0).astype(int)},  # a distance
        lambda score: {"scores": score, "threshold": 0.0, "probabilities": expit(-score)},
        lambda score: {
            "scores": {"a": -score, "b": -score},
            "predictions": {"a": (score >= 0).astype(int), "b": (score >= 1).astype(int)},
        },
    ],
)
def test_scores_that_fall_where_predictions_rise_are_questioned(given):
    score = np.random.default_rng(0).normal(-3, 1.5, 500)
    with pytest.warns(PoolWarning, match=r"in \d+% of the pairs.*Turn the scores round"):
        hs.Evaluation(hs.Pool(**given(score), strata=16), random_state=0)


@pytest.mark.parametrize("seed", range(3))
def test_scores_that_say_nothing_about_the_predictions_are_not_questioned(seed):
    rng = np.random.default_rng(seed)
    pool = hs.Pool(rng.normal(size=2000), (rng.random(2000) < 0.05).astype(int), strata=32)
    assert hs.Evaluation(pool, random_state=0).doubts == []


def test_the_share_of_pairs_is_that_of_all_pairs():
    """Against the ROC curve's area of scikit-learn, with every item in a stratum of its own."""
    rng = np.random.default_rng(3)
    score = np.round(rng.normal(size=40), 1)
    said = (score + rng.normal(0, 0.5, 40) < -0.8).astype(int)
    strata = np.unique(score, return_inverse=True)[1]
    with pytest.warns(PoolWarning, match=f"in {1 - roc_auc_score(said, score):.0%} of the pairs"):
        hs.Evaluation(hs.Pool(score, said, strata=strata), random_state=0)


def test_one_score_for_all_has_no_threshold_to_choose():
    with pytest.warns(PoolWarning, match=r"no item positive.*Give it `predictions`") as told:
        hs.Evaluation(hs.Pool([0.1] * 9, strata=1), random_state=0)
    assert "threshold" not in str(told[0].message)


def test_a_pool_that_looks_right_is_not(case):
    with warnings.catch_warnings():
        warnings.simplefilter("error", PoolWarning)
        hs.Evaluation(case[0], random_state=0)


@pytest.fixture
def pool_file(tmp_path):
    score = np.random.default_rng(0).beta(0.3, 6, 200)
    pd.DataFrame({"id": np.arange(200), "score": 1 - score, "name": "x"}).to_csv(
        tmp_path / "pool.csv", index=False
    )
    return tmp_path / "pool.csv"


def run(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)))


def test_haystat_new_questions_the_pool_and_an_empty_record(pool_file):
    study = pool_file.parent / "s.haystat"
    made = run("new", study, pool_file, "--id", "id", "--score", "score", "--seed", 1)
    assert made.exit_code == 0, made.output
    assert "note: score predicts" in made.stdout
    assert "The labeller will see name." in " ".join(made.stdout.split())
    assert "items predicted positive" in made.stdout
    shown = run(
        "new",
        study.with_name("t.haystat"),
        pool_file,
        "--score",
        "score",
        "--show",
        "name",
        "--json",
    )
    found = json.loads(shown.stdout)
    assert len(found["notes"]) == 1
    assert found["in_use"][0]["n_predicted"] > 180


def test_status_and_estimate_say_which_threshold_is_in_use(pool_file):
    study = pool_file.parent / "s.haystat"
    run("new", study, pool_file, "--id", "id", "--score", "score", "--threshold", 0.99, "--seed", 1)
    scores = pd.read_csv(pool_file)["score"]
    lowest, n = scores[scores >= 0.99].min(), int((scores >= 0.99).sum())
    for command in ("status", "estimate"):
        assert f"in use: score: cut at {lowest:.6g}, {n} items" in run(command, study).stdout
        [in_use] = json.loads(run(command, study, "--json").stdout)["in_use"]
        assert (in_use["threshold"], in_use["n_predicted"]) == (pytest.approx(lowest), n)
    with hs.Study.open(study) as opened:
        del opened.settings["in_use"]  # as in studies of earlier versions
        assert opened.in_use[0].n_predicted == n
