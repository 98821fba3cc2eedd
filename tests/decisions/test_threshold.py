"""A certified cut meets its requirement, and says what it costs."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
from typer.testing import CliRunner

import haystat as hs
from haystat.cli import app
from haystat.decisions.candidate_thresholds import own_cut, places_of, ranked_cuts
from haystat.decisions.certify import (
    Need,
    best_cut,
    best_f1,
    certified,
    labels_to_settle,
    lower_band,
)
from haystat.decisions.threshold_draws import CutCounts, CutDraws, draws_of
from haystat.errors import BadOption, HaystatError
from haystat.inference.assisted import assisted_from

SIZE = 4000


def draws_at(hits, predicted, positive):
    """Draws from whole numbers of items of 1,000."""
    n = len(predicted)
    return CutDraws(
        np.arange(n, dtype=float),
        np.array(predicted) / 1000,
        np.array(hits) / 1000,
        np.array(positive) / 1000,
    )


@pytest.fixture(scope="module")
def case():
    """Labels follow the score, so that every cut's precision is known."""
    rng = np.random.default_rng(3)
    scores = rng.normal(-2, 2, SIZE)
    labels = (rng.random(SIZE) < 1 / (1 + np.exp(-2 * scores))).astype(int)
    return scores, labels


@pytest.fixture(scope="module")
def evaluation(case):
    scores, labels = case
    pool = hs.Pool(scores, threshold=0.5, strata=64)
    aimed = hs.Evaluation(pool, hs.measures.Threshold(precision=0.9), random_state=1)
    aimed.run(lambda items: labels[items], budget=300)
    return aimed


def precision_and_recall(case, cut):
    scores, labels = case
    taken = scores >= cut
    return labels[taken].mean(), labels[taken].sum() / labels.sum()


def test_the_counts_at_every_cut_are_those_of_the_pool(case):
    scores, labels = case
    pool = hs.Pool(scores, strata=16)
    cuts = [-3.0, 0.0, 1.5]
    bound = CutCounts(thresholds=cuts).bind(pool.schema)
    risk = bound.risk(pool.outputs(np.arange(SIZE)), labels, np.full(SIZE, 1 / SIZE))
    expected = [np.mean(scores >= c) for c in cuts]
    expected += [np.mean(labels * (scores >= c)) for c in cuts] + [labels.mean()]
    np.testing.assert_allclose(bound.value(risk), expected)


@pytest.mark.parametrize(
    ("requirement", "met"),
    [
        ({"precision": 0.9}, lambda precision, recall: precision >= 0.9),
        ({"recall": 0.8}, lambda precision, recall: recall >= 0.8),
    ],
)
def test_the_cut_meets_its_requirement_and_its_intervals_hold_the_rest(
    case, evaluation, requirement, met
):
    choice = evaluation.threshold(**requirement)
    precision, recall = precision_and_recall(case, choice.threshold)
    assert met(precision, recall)
    point = choice.certified
    assert point.n_predicted == np.sum(case[0] >= choice.threshold)
    assert point.precision[1] <= precision <= point.precision[2]
    assert point.recall[1] <= recall <= point.recall[2]
    assert f"{point.n_predicted:,} positive" in choice.sentence


def test_a_false_positive_rate_is_kept(case, evaluation):
    scores, labels = case
    choice = evaluation.threshold(false_positive_rate=0.02)
    assert np.mean(scores[labels == 0] >= choice.threshold) <= 0.02


def test_the_best_f1_falls_short_by_no_more_than_it_says(case, evaluation):
    scores, labels = case
    choice = evaluation.threshold(f1="best")

    def f1(cut):
        taken = scores >= cut
        return 2 * labels[taken].sum() / (taken.sum() + labels.sum())

    best = max(map(f1, scores))
    assert best - f1(choice.threshold) <= choice.shortfall


def test_the_cut_in_use_is_told_with_what_it_does(case, evaluation):
    scores, _ = case
    choice = evaluation.threshold(recall=0.8)
    assert choice.own.threshold == scores[scores >= 0.5].min()
    [in_use] = evaluation.in_use
    assert in_use.n_predicted == choice.own.n_predicted == np.sum(scores >= 0.5)
    assert "items predicted positive" in str(in_use)


def test_none_with_how_many_labels_would_settle_it(case):
    scores, labels = case
    pool = hs.Pool(scores, threshold=0.5, strata=64)
    early = hs.Evaluation(pool, "f1", random_state=1)
    early.run(lambda items: labels[items], budget=30)
    choice = early.threshold(precision=0.93)
    assert choice.threshold is None
    assert 30 < choice.labels_needed <= SIZE
    assert f"about {choice.labels_needed:,} would settle it" in choice.sentence
    impossible = early.threshold(precision=0.99999)
    assert impossible.labels_needed is None
    assert "more labels will hardly help" in impossible.sentence


def test_without_labels_there_is_no_cut(case):
    choice = hs.Evaluation(hs.Pool(case[0], strata=8), random_state=0).threshold(precision=0.9)
    assert choice.threshold is None
    assert "no labels yet" in choice.sentence


def test_labels_go_where_the_cut_is_decided(case, evaluation):
    """More of them lie above the cut than those of a design that looks at recall."""
    scores, labels = case
    pool = hs.Pool(scores, threshold=0.5, strata=64)
    other = hs.Evaluation(pool, hs.measures.Threshold(recall=0.95), random_state=1)
    other.run(lambda items: labels[items], budget=300)
    above = [
        np.sum(scores[[q for q in one.state.ledger.label_of]] >= 0.5) for one in (evaluation, other)
    ]
    assert above[0] > 1.5 * above[1]


def test_another_design_certifies_by_its_covariance(case):
    scores, labels = case
    pool = hs.Pool(scores, threshold=0.5, strata=16)
    other = hs.Evaluation(pool, "pr_curve", "passive", random_state=2)
    other.run(lambda items: labels[items], budget=1500)
    choice = other.threshold(recall=0.8)
    assert precision_and_recall(case, choice.threshold)[1] >= 0.8


@pytest.mark.parametrize("seed", range(5))
def test_the_certified_set_is_the_largest_of_its_kind(seed):
    """By enumeration: no set of cuts at least as probable one by one is larger and holds."""
    rng = np.random.default_rng(seed)
    hit = np.cumsum(rng.integers(0, 9, (40, 5))[:, ::-1], axis=1)[:, ::-1]
    predicted = np.array([40, 32, 24, 16, 8])
    draws = draws_at(np.minimum(hit, predicted), predicted, hit[:, 0] + 5)
    need, level = Need("precision", 0.5), 0.6
    met = need.values(draws) >= need.bound
    order = np.argsort(-met.mean(axis=0), kind="stable")
    nested = [order[:k] for k in range(6)]
    holding = [chosen for chosen in nested if met[:, chosen].all(axis=1).mean() >= 0.8]
    expected = np.zeros(5, dtype=bool)
    expected[max(holding, key=len)] = True
    np.testing.assert_array_equal(certified(draws, need, level), expected)


def test_the_lower_band_stays_below_enough_draws_at_all_cuts_at_once():
    rng = np.random.default_rng(0)
    values = np.cumsum(rng.normal(size=(500, 20)), axis=1)
    band = lower_band(values, 0.9)
    inside = np.mean(np.all(values >= band, axis=1))
    assert 0.9 <= inside < 0.94
    assert np.all(np.mean(values >= band, axis=0) > inside)


def test_of_certified_cuts_the_one_that_keeps_most_is_taken():
    draws = draws_at([[30, 20, 10]] * 4, [60, 22, 10], [40] * 4)
    need = Need("precision", 0.9)
    met = certified(draws, need, 0.9)
    assert met.tolist() == [False, True, True]
    assert best_cut(draws, need, met) == 1
    assert best_cut(draws, Need("recall", 0.2), np.array([True, True, True])) == 2


@pytest.mark.parametrize(("tail_share", "wrong"), [(1.0, 10), (0.2, 4)])
def test_draws_fail_as_seldom_as_intervals_leave_them_out(tail_share, wrong):
    """Of 400 draws 5% allow 20; half of them at most, a fifth where intervals leave out that."""
    for n_failing in (wrong, wrong + 1):
        hit = np.where(np.arange(400) < n_failing, 5, 10)[:, None]
        draws = replace(draws_at(hit, [10], hit[:, 0] + 5), tail_share=tail_share)
        taken = certified(draws, Need("precision", 0.9), 0.95)
        assert taken.tolist() == [n_failing == wrong]


def test_the_cut_in_use_has_the_intervals_of_an_estimate(case):
    """Those of the measure itself, from the same labels: they leave out the same draws."""
    scores, labels = case
    pool = hs.Pool(scores, threshold=0.5, strata=64)
    one = hs.Evaluation(pool, hs.measures.F1(), random_state=4)
    one.run(lambda items: labels[items], budget=200)
    own = one.threshold(recall=0.5).own
    for name in ("precision", "recall", "f1"):
        np.testing.assert_allclose(
            getattr(own, name)[1:], one.estimate(name).interval, atol=0.02, err_msg=name
        )


def test_best_f1_by_enumeration():
    rng = np.random.default_rng(1)
    hit = np.sort(rng.integers(1, 40, (30, 6)), axis=1)[:, ::-1]
    predicted = np.array([200, 120, 80, 60, 45, 41])
    draws = draws_at(hit, predicted, hit[:, 0] + rng.integers(0, 9, 30))
    regret = [
        [
            max(2 * h / (q + n) for h, q in zip(row, predicted, strict=True))
            - 2 * row[j] / (predicted[j] + n)
            for row, n in zip(hit, draws.positive * 1000, strict=True)
        ]
        for j in range(6)
    ]
    at, shortfall = best_f1(draws, 0.9)
    assert at == int(np.argmin(np.mean(regret, axis=1)))
    assert shortfall == pytest.approx(np.quantile(regret[at], 0.9))


def test_labels_to_settle_follow_the_root_of_the_labels():
    """Precision 0.8 with a standard deviation of 0.05: 0.7 is two of them away."""
    rng = np.random.default_rng(0)
    hit = np.rint(rng.normal(80, 5, (4000, 1)))
    draws = draws_at(hit, [100], hit[:, 0] + 20)
    expected = 1.5 * max(1, (1.96 * 0.05 / 0.1) ** 2) * 200
    assert labels_to_settle(draws, Need("precision", 0.7), 0.95, 200) == pytest.approx(
        expected, rel=0.2
    )
    assert labels_to_settle(draws, Need("precision", 0.75), 0.95, 200) == pytest.approx(
        1.5 * (1.96 * 0.05 / 0.05) ** 2 * 200, rel=0.2
    )
    assert labels_to_settle(draws, Need("precision", 0.9), 0.95, 200) is None


def test_candidate_cuts_are_finest_at_the_top():
    score = np.random.default_rng(0).permutation(100_000) / 7.0
    cuts = ranked_cuts(score)
    n_above = np.sum(score >= cuts[:, None], axis=1)
    assert n_above.min() == 1
    assert n_above.max() == 100_000
    assert np.all(np.diff(np.log(np.unique(n_above)[10:][:100])) < 0.25)


def test_own_cut_only_where_predictions_are_one():
    score = np.array([0.1, 0.4, 0.6, 0.9])
    assert own_cut(score, np.array([0, 0, 1, 1])) == 0.6
    assert own_cut(score, np.array([0, 1, 0, 1])) is None
    assert own_cut(score, np.zeros(4, dtype=int)) is None


@pytest.mark.parametrize(
    "wrong", [{}, {"precision": 2}, {"precision": 0.5, "recall": 0.5}, {"f1": "good"}, {"f2": 1}]
)
def test_wrong_requirements_are_refused(evaluation, wrong):
    with pytest.raises((BadOption, TypeError)):
        evaluation.threshold(**wrong)


def test_pools_without_a_score_or_with_more_classes_are_refused():
    alone = hs.Evaluation(hs.Pool(predictions=[0, 1, 1, 0], strata=[0, 1, 1, 0]), random_state=0)
    with pytest.raises(HaystatError, match="no scores"):
        alone.threshold(precision=0.9)
    three = hs.Pool(np.eye(3), classes=("a", "b", "c"), strata=2)
    with pytest.raises(HaystatError, match="3 classes"):
        hs.Evaluation(three, "accuracy", random_state=0).threshold(precision=0.9)


@pytest.fixture(scope="module")
def path(case, tmp_path_factory):
    scores, labels = case
    path = tmp_path_factory.mktemp("study") / "cut.haystat"
    pool = hs.Pool(scores, threshold=0.5, strata=64)
    with hs.Study.create(path, pool, "f1", random_state=1, candidates=2000) as study:
        for _ in range(3):
            study.tell({q.item: int(labels[q.item]) for q in study.ask(100)})
    return path


def test_a_study_finds_a_cut_between_its_cells(case, path):
    with hs.Study.open(path) as study:
        choice = study.threshold(precision=0.75)
    precision, _ = precision_and_recall(case, choice.threshold)
    assert precision >= 0.75
    taken = int(np.sum(case[0] >= choice.threshold))
    assert abs(choice.certified.n_predicted - taken) <= 0.01 * SIZE


def test_the_model_speaks_and_not_the_weights(path, case):
    with hs.Study.open(path) as study, study.reading() as fold:
        cuts = places_of(fold.pool, fold.ledger.problem, None).cuts
        measure = CutCounts(thresholds=tuple(cuts.tolist())).bind(fold.pool.schema)
        estimate = assisted_from(fold.pool, fold.ledger, measure, 0.95)
    found = draws_of(estimate, cuts)
    assert len(found.hit) == 400
    taken = np.array([np.mean(case[0] >= cut) for cut in cuts])
    np.testing.assert_allclose(found.predicted, taken, atol=0.01)


def test_the_command_prints_the_cut_and_what_is_in_use(path, case):
    shown = CliRunner().invoke(app, ["threshold", str(path), "--precision", "0.75"])
    assert shown.exit_code == 0
    assert "Cut at" in shown.stdout
    assert "In use: 0.5" in shown.stdout
    given = ["threshold", str(path), "--recall", "0.5", "--json"]
    found = json.loads(CliRunner().invoke(app, given).stdout)
    assert found["requirement"] == "recall of at least 0.5"
    assert found["certified"]["n_predicted"] > 0
    assert found["in_use"][0]["n_predicted"] == int(np.sum(case[0] >= 0.5))


def test_the_command_draws_a_picture(path, tmp_path):
    out = tmp_path / "cut.svg"
    given = ["threshold", str(path), "--precision", "0.75", "--picture", str(out)]
    assert CliRunner().invoke(app, given).exit_code == 0
    picture = ElementTree.parse(out).getroot()
    texts = {node.text for node in picture.iter("{http://www.w3.org/2000/svg}text")}
    assert any(text.startswith("certified: ") for text in texts)
    assert any(text.startswith("in use: 0.5") for text in texts)
    bands = list(picture.iter("{http://www.w3.org/2000/svg}polygon"))
    assert len(bands) == 2


def test_the_command_needs_a_requirement(path):
    result = CliRunner().invoke(app, ["threshold", str(path)])
    assert isinstance(result.exception, BadOption)


def test_the_command_makes_a_study_for_a_threshold(case, tmp_path):
    table, study = tmp_path / "pool.csv", str(tmp_path / "aimed.haystat")
    rows = "".join(f"{number},{score:.6f}\n" for number, score in enumerate(case[0][:500]))
    table.write_text("id,score\n" + rows)
    new = ["new", study, str(table), "--id", "id", "--score", "score", "--measure"]
    made = CliRunner().invoke(app, [*new, "threshold:recall=0.8"])
    assert made.exit_code == 0
    assert "precision at recall 0.8" in made.stdout
    for wrong in ("threshold", "threshold:recal=0.8", "threshold:recall=x", "threshold:recall=80"):
        assert isinstance(CliRunner().invoke(app, [*new, wrong]).exception, BadOption)


def test_a_cut_is_rarely_wrong_over_many_evaluations(case):
    scores, labels = case
    pool = hs.Pool(scores, threshold=0.5, strata=32)
    wrong = 0
    for seed, need in itertools.product(range(4), ({"precision": 0.85}, {"recall": 0.7})):
        one = hs.Evaluation(pool, hs.measures.Threshold(**need), random_state=seed)
        one.run(lambda items: labels[items], budget=150)
        choice = one.threshold(**need)
        if choice.threshold is not None:
            precision, recall = precision_and_recall(case, choice.threshold)
            wrong += precision < need.get("precision", 0) or recall < need.get("recall", 0)
    assert wrong <= 2  # eight runs at 95%: more than two have a chance of one in two hundred


def test_the_cut_in_use_has_the_numbers_of_the_estimates(evaluation):
    choice = evaluation.threshold(precision=0.9)
    for name in ("precision", "recall", "f1"):
        estimate = evaluation.estimate(name)
        expected = (estimate.value, *estimate.interval)
        assert getattr(choice.own, name) == pytest.approx(expected, abs=1e-9)
    [row] = [row for row in choice.curve if row["threshold"] == choice.own.threshold]
    assert row["recall"] == choice.own.recall[0]
