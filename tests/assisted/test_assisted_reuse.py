"""Labels of one assisted evaluation, used for other measures, other systems, in studies."""

from __future__ import annotations

import re

import numpy as np
import pytest

import haystat as hs
from haystat.assistance import blocks_of
from haystat.errors import NoSupport
from haystat.log import NO_ANSWER


def make_case(size=400, seed=5):
    rng = np.random.default_rng(seed)
    scores = rng.beta(0.4, 2.5, size)
    label = (rng.random(size) < scores).astype(int)
    return hs.Pool(scores, strata=8), label


@pytest.fixture
def case():
    pool, label = make_case()
    ev = hs.Evaluation(pool, "f1", "assisted", random_state=3)
    ev.run(lambda items: [int(label[item]) for item in items], 80, 40)
    return pool, label, ev


@pytest.mark.parametrize("measure", ["precision", "recall", "accuracy", "mcc"])
def test_another_measure_of_the_same_facts_is_read_off_the_same_cells(case, measure):
    """All of them are functions of the four numbers TP, FP, FN, TN."""
    _, _, ev = case
    n = hs.Evaluation(make_case()[0], "f1", "assisted").pool.size
    true_positive, half = ev.estimate("f1").details["risk"]
    wrong = ev.estimate("accuracy").details["risk"][0]
    positive = ev.estimate("recall").details["risk"][1]
    predicted = ev.estimate("precision").details["risk"][1]
    assert half == pytest.approx((positive + predicted) / 2)
    assert wrong == pytest.approx(positive + predicted - 2 * true_positive)
    assert predicted * n == pytest.approx(np.sum(ev.pool.outputs(np.arange(n)).predictions))
    both = predicted * positive * (1 - predicted) * (1 - positive)
    expected = {
        "precision": true_positive / predicted,
        "recall": true_positive / positive,
        "accuracy": 1 - wrong,
        "mcc": (true_positive - predicted * positive) / np.sqrt(both),
    }
    assert ev.estimate(measure).value == pytest.approx(expected[measure])


def test_the_same_measure_through_the_blocks_gives_the_same_numbers(case):
    _, _, ev = case
    one, other = ev.estimate(), ev.estimate("f1")
    assert one.value == pytest.approx(other.value, rel=1e-12)
    np.testing.assert_allclose(one.interval, other.interval, rtol=1e-9)
    np.testing.assert_allclose(one.std_error, other.std_error, rtol=1e-9)


@pytest.mark.parametrize("measure", ["brier", "f1"])
def test_a_block_has_the_mean_loss_of_its_items(case, measure):
    """Also where the loss varies inside a cell and the other pool has another order."""
    pool, _, ev = case
    rng = np.random.default_rng(0)
    order = rng.permutation(len(pool))
    scores = np.clip(pool.scores[:, 0] + rng.normal(0, 0.1, len(pool)), 0, 1)
    other = hs.Pool(scores[order], ids=np.arange(len(pool))[order], strata=5)
    bound = hs.measures.resolve(measure).bind(other.schema)
    view = hs.reuse.same_items(pool, other)
    blocks = blocks_of(view, ev._ledger, bound)
    share = rng.random(len(ev._ledger.problem.cells))
    mass = blocks.size[:, None] * np.stack([1 - share, share], axis=1)[blocks.cell]
    expected = np.zeros(bound.n_risk)
    for i in range(len(pool)):
        outputs, part = view.outputs(np.array([i])), share[ev._ledger.problem.cells.of_item[i]]
        expected += (1 - part) * bound.loss(outputs, np.array([0]))[0]
        expected += part * bound.loss(outputs, np.array([1]))[0]
    np.testing.assert_allclose(blocks.risk(mass), expected, rtol=1e-9)


def test_a_system_that_came_later_is_estimated_from_the_same_labels(pool_of, truth):
    pool, label = pool_of(2000, centre=-0.5)
    rng = np.random.default_rng(2)
    order = rng.permutation(2000)
    later = hs.Pool((pool.scores[:, 0] + rng.normal(0, 3, 2000))[order], ids=order, strata=8)
    ev = hs.Evaluation(pool, "f1", "assisted", random_state=1)
    ev.run(lambda items: [int(label[item]) for item in items], 400, 100)
    estimate = ev.estimate(pool=later)
    exact = truth("f1", later, label[order])[0]
    assert abs(estimate.value - exact) < 4 * estimate.std_error
    assert abs(truth("f1", pool, label)[0] - exact) > 4 * estimate.std_error


def test_a_study_falls_back_to_weighted_labels_where_cells_do_not_tell(tmp_path):
    pool, label = make_case()
    path = tmp_path / "s"
    with hs.Study.create(path, pool, measure="f1", design="assisted", random_state=3) as study:
        for _ in range(2):
            study.tell({q.item: int(label[q.item]) for q in study.ask(40)})
        items = np.array([answer.item for answer in study.answers])
        with study.reading() as fold:
            index = np.array([fold.find(item) for item in items.tolist()])
            weight = 1 / fold.ledger.inclusion[fold.ledger.problem.cells.of_item[index]]
        loss = (pool.scores[items, 0] - label[items]) ** 2
        expected = np.sum(weight * loss) / len(pool)
        estimate = study.estimate("brier")
        assert estimate.value == pytest.approx(expected)
        low, high = estimate.interval
        assert low <= np.mean((pool.scores[:, 0] - label) ** 2) <= high


def test_weighted_labels_alone_speak_about_items_that_can_be_labelled(tmp_path, ledger_after):
    pool, label = make_case()
    lost = np.random.default_rng(1).random(len(pool)) < 0.4
    told = np.where(lost, NO_ANSWER, label)
    ledger = ledger_after(pool, "f1", told, [200, 200], 1)
    bound = hs.measures.resolve("brier").bind(pool.schema)
    estimate = hs.assistance.weighted_alone(pool, ledger, bound, 0.95)
    exact = np.mean(((pool.scores[:, 0] - label) ** 2)[~lost])
    assert estimate.value == pytest.approx(exact)


@pytest.mark.parametrize("measure", ["accuracy", "f1", "balanced_accuracy"])
def test_three_classes_without_an_order_of_strata(three_classes, truth, oracle, measure):
    pool, label = three_classes(600)
    target = hs.measures.Macro(hs.measures.F1()) if measure == "f1" else measure
    ev = hs.Evaluation(pool, target, "assisted", random_state=1)
    estimate = ev.run(oracle(label), 200, 50)
    exact = truth(target, pool, label)
    assert np.all(np.abs(estimate.values - exact) < 4 * estimate.std_errors)


def test_several_components_have_an_interval_each(pool_of, truth, oracle):
    pool, label = pool_of(2000, centre=-0.5)
    both = ["precision", "recall"]
    ev = hs.Evaluation(pool, both, "assisted", random_state=1)
    estimate = ev.run(oracle(label), 200, 50)
    assert estimate.intervals.shape == estimate.anytime_intervals.shape == (2, 2)
    exact = truth(both, pool, label)
    assert np.all(estimate.anytime_intervals[:, 0] <= exact)
    assert np.all(exact <= estimate.anytime_intervals[:, 1])


def test_a_refusal_names_only_options_that_the_design_has(pool_of, oracle):
    pool, label = pool_of()
    ev = hs.Evaluation(pool, "precision", random_state=1)
    ev.run(oracle(label), 20)
    with pytest.raises(NoSupport, match=r"Evaluate both together$"):
        ev.estimate("f1")


@pytest.mark.parametrize("budget", [0, 20])
def test_every_estimate_has_the_four_intervals(pool_of, oracle, budget):
    pool, label = pool_of(20)
    ev = hs.Evaluation(pool, "f1", random_state=1)
    estimate = ev.run(oracle(label), budget)  # nothing known, or everything
    np.testing.assert_equal(estimate.interval_if_falling, estimate.interval)
    np.testing.assert_equal(estimate.interval_from_labels, estimate.interval)


def test_no_more_positives_hide_than_there_are_items(pool_of, oracle):
    pool, label = pool_of(600, centre=-3)
    estimate = hs.Evaluation(pool, "accuracy", random_state=1).run(oracle(label), 4)
    (warning,) = estimate.warnings
    hidden = re.search(r"up to ([\d,]+) positives could hide among ([\d,]+) items", warning)
    assert hidden[1] == hidden[2]
