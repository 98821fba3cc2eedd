"""Pools whose items count by a weight: every measure is that of scikit-learn with sample_weight."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics
from typer.testing import CliRunner

import haystat as hs
from haystat.cli import app
from haystat.errors import BadOption, LengthMismatch, NoSupport, PoolError, UnknownName
from haystat.measures.weighted import NEGLIGIBLE, lightest
from haystat.study import verify

SIZE = 900
WEIGHTED = {
    "f1": metrics.f1_score,
    "precision": metrics.precision_score,
    "recall": metrics.recall_score,
    "accuracy": metrics.accuracy_score,
    "balanced_accuracy": metrics.balanced_accuracy_score,
    "mcc": metrics.matthews_corrcoef,
}


@pytest.fixture(scope="module")
def money():
    rng = np.random.default_rng(2)
    scores = rng.beta(0.5, 3, SIZE).round(6)
    amount = rng.lognormal(3, 1.5, SIZE).round(2)
    return scores, amount, (rng.random(SIZE) < scores).astype(int)


def labelled(pool, truth, measure, budget, design=None, seed=0):
    evaluation = hs.Evaluation(pool, measure, design, random_state=seed)
    return evaluation, evaluation.run(lambda items: truth[np.asarray(items)], budget, 100)


@pytest.mark.parametrize("design", ["assisted", "adaptive"])
@pytest.mark.parametrize("name", WEIGHTED)
def test_with_all_labels_a_measure_is_that_of_scikit_learn(money, name, design):
    scores, amount, truth = money
    _, estimate = labelled(hs.Pool(scores, weight=amount), truth, name, SIZE, design)
    expected = WEIGHTED[name](truth, scores >= 0.5, sample_weight=amount)
    assert estimate.value == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("measure", ["f1", ["f1", "precision"]], ids=str)
def test_items_without_a_label_count_with_the_mean_of_their_cell(money, measure):
    """Not with the weight of the item that stands for the cell, of several measures neither."""
    scores, amount, _ = money
    problem = hs.Evaluation(hs.Pool(scores, weight=amount), measure).state.ledger.problem
    cells, bound = problem.cells, problem.measure
    pool = hs.Pool(scores, weight=amount)
    outputs = pool.outputs(np.arange(SIZE))
    for label in (0, 1):
        loss = bound.loss(outputs, np.full(SIZE, label))
        total = np.zeros((len(cells), loss.shape[1]))
        np.add.at(total, cells.of_item, loss)
        expected = total / cells.size[:, None]
        np.testing.assert_allclose(problem.losses.mean[:, label], expected, atol=1e-12)


def test_other_measures_of_the_same_labels_are_weighted_too(money):
    scores, amount, truth = money
    evaluation, _ = labelled(hs.Pool(scores, weight=amount), truth, "accuracy", SIZE)
    found = evaluation.estimate(["precision", "recall", "prevalence", "brier"])
    predicted, weigh = scores >= 0.5, {"sample_weight": amount}
    expected = [
        metrics.precision_score(truth, predicted, **weigh),
        metrics.recall_score(truth, predicted, **weigh),
        np.average(truth, weights=amount),
        metrics.brier_score_loss(truth, scores, **weigh),
    ]
    np.testing.assert_allclose(found.values, expected)
    assert found.components[0] == "precision by weight"


def test_intervals_hold_the_share_of_the_money_and_labels_follow_it(money):
    scores, amount, truth = money
    pool = hs.Pool(scores, weight=amount, strata=32)
    right = metrics.recall_score(truth, scores >= 0.5, sample_weight=amount)
    covered, asked = 0, []
    for seed in range(8):
        evaluation, estimate = labelled(pool, truth, "recall", 200, seed=seed)
        low, high = estimate.interval
        covered += low <= right <= high
        asked += [answer.item for answer in evaluation.answers]
    assert covered >= 6
    assert amount[asked].mean() > 1.5 * amount.mean()


def test_a_weight_of_one_for_all_changes_nothing(money):
    scores, _, truth = money
    plain = labelled(hs.Pool(scores), truth, "f1", 150)[1]
    ones = labelled(hs.Pool(scores, weight=np.ones(SIZE)), truth, "f1", 150)[1]
    assert ones.value == pytest.approx(plain.value, abs=1e-9)
    np.testing.assert_allclose(ones.interval, plain.interval, atol=1e-9)


def test_items_without_weight_do_not_count(money):
    scores, amount, truth = money
    some = np.where(np.arange(SIZE) % 3 == 0, 0.0, amount)
    _, estimate = labelled(hs.Pool(scores, weight=some), truth, "precision", SIZE)
    expected = metrics.precision_score(truth, scores >= 0.5, sample_weight=some)
    assert estimate.value == pytest.approx(expected, abs=1e-12)


def test_what_is_left_of_a_cell_counts_by_what_labels_have_not_taken():
    """With one item open a measure has two possible values: by the item's own weight."""
    rng = np.random.default_rng(0)
    scores, weight = rng.random(40), rng.choice([2.0, 3.0, 3.9], 40)
    truth = (rng.random(40) < scores).astype(int)
    pool = hs.Pool(scores, weight=weight, strata=1)
    for seed in range(3):
        evaluation, estimate = labelled(pool, truth, "prevalence", 39, seed=seed)
        [left] = np.setdiff1d(np.arange(40), [one.item for one in evaluation.answers])
        known = weight @ truth - weight[left] * truth[left]
        possible = np.array([known, known + weight[left]]) / weight.sum()
        np.testing.assert_allclose(np.unique(estimate.interval), possible)


def test_light_items_are_not_told_apart():
    """Below the power of two that is found lies at most the negligible part of the weight."""
    rng = np.random.default_rng(0)
    for sigma in (0.5, 1.5, 3.0):
        weight = rng.lognormal(2, sigma, 20_000)
        exponent = np.frexp(weight)[1]
        light = lightest(weight)
        assert weight[exponent < light].sum() <= NEGLIGIBLE * weight.sum()
        assert weight[exponent <= light].sum() > NEGLIGIBLE * weight.sum()
    pool = hs.Pool(rng.random(20_000), weight=weight, strata=8)
    cells = pool.cells(hs.measures.bound("f1", pool.schema))
    assert len(cells) < 0.7 * 8 * len(np.unique(exponent))


def test_a_table_names_the_column_with_the_weights(money):
    scores, amount, truth = money
    frame = pd.DataFrame({"score": scores, "amount": amount})
    pool = hs.Pool.from_frame(frame, score="score", weight="amount")
    evaluation, estimate = labelled(pool, truth, "f1", SIZE)
    expected = metrics.f1_score(truth, scores >= 0.5, sample_weight=amount)
    assert estimate.value == pytest.approx(expected)
    assert estimate.measure == "f1 by amount"
    assert evaluation.pool.fingerprint != hs.Pool(scores, columns={"amount": amount}).fingerprint


def test_thresholds_and_gates_weigh_as_well(money):
    scores, amount, truth = money
    evaluation, _ = labelled(hs.Pool(scores, weight=amount), truth, "f1", SIZE)
    cut = evaluation.threshold(precision=0.5).threshold
    got = metrics.precision_score(truth, scores >= cut, sample_weight=amount)
    assert got >= 0.5
    right = metrics.recall_score(truth, scores >= 0.5, sample_weight=amount)
    assert hs.gate(evaluation, f"recall>={right - 0.001}").state == "pass"
    assert hs.gate(evaluation, f"recall>={right + 0.001}").state == "fail"


def test_a_study_and_the_command_line_weigh(money, tmp_path):
    scores, amount, truth = money
    frame = pd.DataFrame({"id": np.arange(SIZE), "score": scores, "amount": amount})
    frame.to_csv(tmp_path / "pool.csv", index=False)
    study = str(tmp_path / "s.haystat")
    base = ["new", study, str(tmp_path / "pool.csv"), "--id", "id", "--score", "score"]
    made = CliRunner().invoke(app, [*base, "--weight", "amount", "--seed", "1", "--show", "id"])
    assert made.exit_code == 0, made.output
    with hs.Study.open(study) as opened:
        opened.run(lambda items: truth[np.asarray(items)], SIZE, 300)
    found = json.loads(CliRunner().invoke(app, ["estimate", study, "--json"]).output)
    expected = metrics.f1_score(truth, scores >= 0.5, sample_weight=amount)
    assert found["components"][0]["value"] == pytest.approx(expected)
    assert found["measure"] == "f1 by amount"
    assert verify(study).ok


@pytest.mark.parametrize(
    ("weight", "error", "says"),
    [
        ([1.0, 2.0], LengthMismatch, "one for each of 900 items"),
        (np.full(SIZE, -1.0), PoolError, "at least 0"),
        (np.zeros(SIZE), PoolError, "not all 0"),
        (np.full(SIZE, np.nan), PoolError, "finite"),
        (["a"] * SIZE, PoolError, "must be numbers"),
        ("amount", UnknownName, "no column 'amount' to weigh by"),
    ],
)
def test_weights_that_make_no_sense_are_refused(money, weight, error, says):
    with pytest.raises(error, match=says):
        hs.Pool(money[0], weight=weight)


def test_two_columns_of_weights_are_refused(money):
    scores, amount, _ = money
    with pytest.raises(BadOption, match="there is a column 'weight' already"):
        hs.Pool(scores, weight=amount, columns={"weight": amount})


def labels_by_weight(size, power, seed):
    """Scores, weights and labels: the chance of being positive goes like a power of the weight."""
    rng = np.random.default_rng(seed)
    weight = rng.lognormal(0, 1, size)
    goes = weight**power
    truth = (rng.random(size) < np.minimum(0.03 * goes / goes.mean(), 0.9)).astype(int)
    return rng.normal(-3, 1.4, size) + 2.5 * truth, weight, truth


def test_labels_that_go_with_the_weight_do_not_bias_precision():
    """Heavy items are asked about more often: the model must not take light ones for alike."""
    errors, covered = [], 0
    for seed in range(4):
        scores, weight, truth = labels_by_weight(20_000, 2, seed)
        pool = hs.Pool(scores, threshold=0.0, weight=weight)
        evaluation, _ = labelled(pool, truth, "recall", 1500, seed=seed)
        found = evaluation.estimate("precision")
        right = metrics.precision_score(truth, scores >= 0, sample_weight=weight)
        errors.append(found.value - right)
        covered += found.interval[0] <= right <= found.interval[1]
    assert covered >= 3
    assert abs(np.mean(errors)) < 0.01  # without the weight in the model it was 0.023


def test_the_weight_is_no_signal_of_the_user_and_equal_weights_are_none():
    scores, weight, truth = labels_by_weight(3000, 1, 0)
    noise = np.random.default_rng(1).normal(size=3000)
    bound = hs.measures.bound
    for given in ({}, {"noise": noise}):
        pool = hs.Pool(scores, threshold=0.0, weight=weight, signals=given or None)
        _, found = labelled(pool, truth, "f1", 200)
        signals = pool.cells(bound("f1", pool.schema)).signals
        assert signals.coordinates == (*given, "weight")
        assert signals.given == tuple(given)
        assert signals.n_weights == 1
        assert set(found.signals or {}) == set(given)
    ones = hs.Pool(scores, threshold=0.0, weight=np.full(3000, 7.0))
    assert ones.cells(bound("f1", ones.schema)).signals is None
    column = hs.Pool(scores, threshold=0.0, columns={"amount": weight})
    by_amount = hs.measures.Weighted(hs.measures.F1(), "amount")
    assert column.cells(bound("f1", column.schema)).signals is None
    assert column.cells(bound(by_amount, column.schema)).signals.coordinates == ("amount",)


def test_bands_of_a_weight_are_its_powers_of_two_and_items_without_weight_have_none():
    scores, weight, _ = labels_by_weight(3000, 1, 0)
    weight[::7] = 0.0
    pool = hs.Pool(scores, threshold=0.0, weight=weight)
    cells = pool.cells(hs.measures.bound("f1", pool.schema))
    band = cells.signals.band[cells.of_item, 0]
    exponent = np.maximum(np.frexp(weight)[1], lightest(weight))
    assert np.array_equal(band == 0, weight == 0)
    pairs = {(a, b) for a, b, w in zip(exponent, band, weight, strict=True) if w > 0}
    assert len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})
    assert np.array_equal(np.isnan(cells.signals.place[:, 0]), cells.signals.band[:, 0] == 0)


def test_that_there_is_no_guaranteed_interval_is_said_with_the_reason(money):
    scores, amount, truth = money
    _, estimate = labelled(hs.Pool(scores, weight=amount), truth, "recall", 100)
    with pytest.raises(NoSupport, match="its loss differs between the items of a cell"):
        _ = estimate.guaranteed_interval


def test_a_cut_says_by_which_weight_it_is_judged(money):
    scores, amount, truth = money
    pool = hs.Pool(scores, weight="amount", columns={"amount": amount})
    evaluation, _ = labelled(pool, truth, "f1", SIZE)
    found = evaluation.threshold(precision=0.5)
    assert found.requirement == "precision of at least 0.5, by amount"
    assert "precision of at least 0.5, by amount, all cuts" in found.sentence


def test_labels_can_aim_at_the_threshold_of_a_weighted_pool():
    """Its losses are many and differ from item to item, so that not all products are kept."""
    rng = np.random.default_rng(6)
    scores = rng.normal(-3, 1.5, 12_000)
    truth = (rng.random(12_000) < 1 / (1 + np.exp(-2 * scores))).astype(int)
    weight = rng.lognormal(0, 1.5, 12_000)
    aim = hs.measures.Threshold(precision=0.8)
    pool = hs.Pool(scores, threshold=0.0, weight=weight)
    evaluation, _ = labelled(pool, truth, aim, 400)
    choice = evaluation.threshold(precision=0.8)
    above = scores >= choice.threshold
    assert weight[above] @ truth[above] / weight[above].sum() >= 0.8
    assert choice.certified.n_predicted == above.sum()
    with pytest.raises(BadOption, match="use the default design"):
        hs.Evaluation(pool, aim, "adaptive").ask(10)
