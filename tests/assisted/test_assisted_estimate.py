"""The estimator against a loop over items, its bias and its standard error against repeats."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from haystat.estimation.assisted import (
    agreement,
    assisted_risk,
    error_terms,
    surprise,
    without_rarest,
)
from haystat.estimation.assisted_result import SMALLEST_FREEDOM, Agreement
from haystat.estimation.sample import sample_of, strays_of
from haystat.estimation.weights import label_weights

import haystat as hs
from haystat.assistance import assisted_from, blocks_of
from haystat.designs.assisted import Assisted
from haystat.estimation import assisted as assisted_module
from haystat.estimation import strays
from haystat.evaluation import estimate_from
from haystat.ledger import pose
from haystat.log import NO_ANSWER

REPEATS = 150


def seen(pool, ledger, measure=None):
    """The sample, blocks and labels that the estimator works on."""
    measure = ledger.problem.measure if measure is None else measure
    sample = sample_of(
        ledger.problem, ledger.design, ledger.state, ledger.inclusion, ledger.unlabelled
    )
    item, label = ledger.known()
    cell = ledger.problem.cells.of_item[item].astype(np.int64)
    return sample, blocks_of(pool, ledger, measure), (cell, label, pool.outputs(item))


def loop_over_items(pool, ledger, measure, sample):
    """R of the estimator's docstring, one item at a time."""
    item, label = ledger.known()
    told = dict(zip(item.tolist(), label.tolist(), strict=True))
    weights = label_weights(sample)
    total = np.zeros(measure.n_risk)
    for i in range(pool.size):
        cell = ledger.problem.cells.of_item[i]
        outputs = pool.outputs(np.array([i]))
        losses = [measure.loss(outputs, np.array([c]))[0] for c in range(len(pool.classes))]
        expected = sum(p * loss for p, loss in zip(sample.share[cell], losses, strict=True))
        total += expected
        if i in told:
            total += weights[cell, told[i]] * (losses[told[i]] - expected)
    return total / pool.size


def make_two_systems(size=120):
    rng = np.random.default_rng(1)
    truth = rng.normal(-1, 1.5, size)
    scores = {name: truth + rng.normal(0, 0.5, size) for name in ("old", "new")}
    label = (rng.random(size) < 1 / (1 + np.exp(-truth))).astype(int)
    return hs.Pool(scores, strata=6), label


def make_probabilities(size=150):
    rng = np.random.default_rng(3)
    scores = rng.beta(0.5, 2, size)
    return hs.Pool(scores, strata=6), (rng.random(size) < scores).astype(int)


CASES = {
    "f1": lambda make, three: (*make(150), "f1"),
    "accuracy": lambda make, three: (*make(150), "accuracy"),
    "brier": lambda make, three: (*make_probabilities(), "brier"),
    "two systems": lambda make, three: (*make_two_systems(), hs.measures.F1(system="new")),
    "three classes": lambda make, three: (*three(150), "accuracy"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_risk_is_that_of_a_loop_over_the_items(case, pool_of, three_classes, ledger_after):
    pool, label, measure = CASES[case](pool_of, three_classes)
    ledger = ledger_after(pool, measure, label, [20, 15], 2)
    sample, blocks, labels = seen(pool, ledger)
    bound = ledger.problem.measure
    risk = assisted_risk(sample, blocks, bound, labels, label_weights(sample))
    np.testing.assert_allclose(risk, loop_over_items(pool, ledger, bound, sample), atol=1e-12)


@pytest.mark.parametrize("measure", ["brier", "recall", "accuracy"])
def test_the_risk_of_another_measure_is_that_of_a_loop_too(measure, ledger_after):
    pool, label = make_probabilities()
    ledger = ledger_after(pool, "f1", label, [20, 15], 2)
    bound = hs.measures.resolve(measure).bind(pool.schema)
    sample, blocks, labels = seen(pool, ledger, bound)
    risk = assisted_risk(sample, blocks, bound, labels, label_weights(sample))
    np.testing.assert_allclose(risk, loop_over_items(pool, ledger, bound, sample), atol=1e-12)


@pytest.mark.parametrize("batches", [[80], [20] * 4])
def test_without_a_cap_the_estimate_is_unbiased(monkeypatch, pool_of, ledger_after, truth, batches):
    """In one stage. In several the labels move sizes and model, and a bias of the order 1/n stays:
    0.2 standard deviations here, 0.3 in stages of five, which these repeats cannot tell."""
    monkeypatch.setattr(strays, "EXPECTED", 0.0)
    pool, label = pool_of(600)
    problem = pose(pool, hs.measures.resolve("accuracy").bind(pool.schema))
    design, values = Assisted(cap=1e9), []
    for seed in range(REPEATS):
        ledger = ledger_after(pool, problem, label, batches, seed, design)
        values.append(assisted_from(pool, ledger, design, problem.measure, 0.95).value)
    miss = np.mean(values) - truth("accuracy", pool, label)[0]
    assert abs(miss) < 4 * np.std(values) / np.sqrt(len(values))


@pytest.mark.parametrize("measure", ["accuracy", "f1"])
def test_the_standard_error_is_the_spread_over_repeats(pool_of, ledger_after, measure):
    pool, label = pool_of(3000, seed=2, centre=0.0, strata=16)
    problem = pose(pool, hs.measures.resolve(measure).bind(pool.schema))
    design, results = Assisted(), []
    for seed in range(REPEATS):
        ledger = ledger_after(pool, problem, label, [100, 100, 100], seed, design)
        estimate = assisted_from(pool, ledger, design, problem.measure, 0.95)
        results.append((estimate.value, estimate.std_error))
    values, errors = np.array(results).T
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(values.std(), rel=0.15)


def more_than_expected(sample, influence, weights):
    """Labels found against the predictions over those expected, by squared effect, at least 1."""
    ratios = []
    for c in range(sample.share.shape[1]):
        found = expected = 0.0
        for k in np.flatnonzero(sample.against[:, c]):
            beyond = influence[k, c, 0] - sample.share[k] @ influence[k, :, 0]
            effect = ((weights[k, c] - 1) * beyond) ** 2
            found += effect * sample.labelled[k, c]
            expected += effect * sample.size[k] * sample.share[k, c] * sample.inclusion[k]
        ratios.append(max(found / expected, 1.0) if expected > 0 else 1.0)
    return ratios


def too_rare(sample, weights, more, limit):
    """Cells and classes whose labels against the predictions are the heaviest few."""
    left_out = set()
    for c in range(sample.share.shape[1]):
        number, cells = 0.0, np.flatnonzero(sample.against[:, c])
        for k in sorted(cells, key=lambda k, c=c: (-weights[k, c], k)):
            number += sample.size[k] * sample.share[k, c] * sample.inclusion[k] * more[c]
            if number > limit:
                break
            left_out.add((k, c))
    return left_out


@pytest.mark.parametrize("limit", [0.0, 0.02, 3.0])
def test_error_terms_by_hand(pool_of, ledger_after, monkeypatch, limit):
    """Accuracy, so that a label moves the estimate by 1 / M: every cell on its own."""
    assert assisted_module.RAREST == 0.02
    monkeypatch.setattr(assisted_module, "RAREST", limit)
    pool, label = pool_of(150)
    evenly = Assisted(uniform=(1.0, 1.0))
    ledger = ledger_after(pool, "accuracy", label, [60, 20], 2, evenly)
    sample, blocks, _ = seen(pool, ledger)
    weights = label_weights(sample)
    influence = blocks.influence(np.zeros(1)) / pool.size
    terms, shape = error_terms(sample, blocks, influence, weights)
    variance, third, fourth, drift = 0.0, 0.0, 0.0, np.zeros(len(sample.error))
    more = more_than_expected(sample, influence, weights)
    left_out = too_rare(sample, weights, more, limit)
    if limit == 3.0:
        assert len(left_out) > 2
    for k, size in enumerate(ledger.problem.cells.size):
        for c, share in enumerate(sample.share[k]):
            # The weight W is drawn with probability P: moments of W [drawn] - 1.
            chance, weight = sample.inclusion[k], weights[k, c]
            beyond = influence[k, c, 0] - sample.share[k] @ influence[k, :, 0]
            drawn = 0.0 if (k, c) in left_out else more[c] * chance
            square = drawn * (weight - 1) ** 2 + (1 - chance)
            cube = drawn * (weight - 1) ** 3 - (1 - chance)
            variance += size * share * square * beyond**2
            third += size * share * cube * beyond**3
            bulge = drawn * (weight - 1) ** 4 + (1 - chance)
            fourth += size * share * bulge * beyond**4
            open_part = 1 - chance * sample.share[k] @ weights[k]
            drift += size * open_part * sample.error[:, k, c] * influence[k, c, 0]
    assert np.sum(terms**2) == pytest.approx(variance + drift @ drift)
    assert shape.lean[0] == pytest.approx(third / variance)
    assert shape.freedom[0] == pytest.approx(max(variance**2 / fourth, SMALLEST_FREEDOM))


def test_the_heaviest_labels_are_left_out_until_enough_of_them_are_expected():
    """Only against the predictions: the second class of the first four cells."""
    drawn = np.array([[9.0, 0.015], [9.0, 0.004], [9.0, 0.002], [9.0, 0.0], [0.01, 0.2]])
    excess = np.array([[1.0, 50.0], [1.0, 90.0], [1.0, 20.0], [1.0, 70.0], [500.0, 99.0]])
    against = np.array([[False, True]] * 4 + [[True, False]])
    kept = without_rarest(drawn, excess, against)
    # 0.004 and 0.015 are 0.019 together; of the first class 0.01 in the last cell.
    np.testing.assert_array_equal(kept[:, 1], [0, 0, 0.002, 0, 0.2])
    np.testing.assert_array_equal(kept[:, 0], [9, 9, 9, 9, 0])


def with_strays(pool_of, ledger_after):
    """A ledger that found positives where the scores expect none."""
    pool, label = pool_of(3000, centre=-3)
    label[np.argsort(pool.outputs(np.arange(3000)).scores[:, 0])[::150]] = 1
    return pool, ledger_after(pool, "f1", label, [300, 300], 2)


def test_a_sparse_cell_is_predicted_negative_and_labelled_at_most_three_times_as_usual(
    pool_of, ledger_after
):
    pool, ledger = with_strays(pool_of, ledger_after)
    sample, *_ = seen(pool, ledger)
    low = ledger.state.shares.model.low
    inclusion = np.full(len(low), 0.1)
    inclusion[:2] = 0.29, 0.31
    strays = strays_of(replace(sample, inclusion=inclusion), ledger.state)
    assert low[:2].all()
    assert not low.all()
    np.testing.assert_array_equal(strays.sparse, low & (np.arange(len(low)) != 1))
    assert strays.found == pytest.approx(ledger.state.shares.state.stray[strays.sparse].sum())


@pytest.mark.parametrize("measure", ["f1", "precision", "recall", "accuracy", "mcc"])
def test_with_all_labels_the_estimate_is_the_truth(pool_of, ledger_after, truth, measure):
    """Through the estimator itself, although `estimate` would no longer call it."""
    pool, label = pool_of(90, centre=0.0)
    ledger = ledger_after(pool, measure, label, [40, 50], 1)
    bound, exact = ledger.problem.measure, truth(measure, pool, label)
    found = assisted_from(pool, ledger, ledger.design, bound, 0.95)
    np.testing.assert_allclose(found.values, exact, rtol=1e-12)
    np.testing.assert_allclose(found.std_errors, 0, atol=1e-12)
    needed = ledger.problem.losses.support
    settled = estimate_from(pool, ledger, bound, needed, 0.95)
    np.testing.assert_allclose(settled.values, exact, rtol=1e-12)
    assert settled.interval == (settled.value, settled.value)


@pytest.mark.parametrize("measure", ["f1", "precision", "recall", "accuracy", "mcc"])
def test_one_item_before_the_end_the_estimate_is_as_good_as_the_truth(
    pool_of, ledger_after, truth, measure
):
    pool, label = pool_of(90, centre=0.0)
    ledger = ledger_after(pool, measure, label, [40, 49], 1)
    found = assisted_from(pool, ledger, ledger.design, ledger.problem.measure, 0.95)
    exact = truth(measure, pool, label)[0]
    assert abs(found.value - exact) < 0.06
    low, high = found.interval
    assert low - 1e-12 <= exact <= high + 1e-12


@pytest.mark.parametrize("seed", range(15))
def test_no_estimate_lies_outside_its_range(pool_of, ledger_after, seed):
    pool, label = pool_of(300, seed=seed, centre=-4.0)
    for measure in ("f1", "precision", "recall", "accuracy"):
        ledger = ledger_after(pool, measure, label, [3, 5, 20], seed)
        needed = ledger.problem.losses.support
        estimate = estimate_from(pool, ledger, ledger.problem.measure, needed, 0.95)
        assert np.all(estimate.details["risk"] >= -1e-12)
        if np.isnan(estimate.value):
            assert "no predicted positive" in estimate.warnings[0]
            continue
        for low, high in (estimate.interval, estimate.anytime_interval):
            assert 0 <= low <= estimate.value <= high <= 1


def test_a_sum_that_cancels_is_zero():
    """Where no positive is left, recall is 0/0 and not what rounding makes of it."""
    rng = np.random.default_rng(3)
    for size in range(20, 400, 20):
        pool = hs.Pool(rng.normal(-1, 2, size), threshold=-100.0, strata=1)
        evaluation = hs.Evaluation(pool, "recall", random_state=size)
        estimate = evaluation.run(lambda items: [0] * len(items), 3)
        n_positives = estimate.details["risk"][1]
        assert n_positives == 0 or n_positives > 1e-6
        assert np.isnan(estimate.value) == (n_positives == 0)


def test_a_cell_that_nobody_can_label_has_no_part_in_the_error(pool_of, ledger_after):
    pool, label = pool_of(400)
    cells = pose(pool, hs.measures.F1().bind(pool.schema)).cells
    inside = cells.of_item == np.argmin(cells.size)
    ledger = ledger_after(pool, "f1", np.where(inside, NO_ANSWER, label), [400], 1)
    sample, blocks, _ = seen(pool, ledger)
    assert sample.size.min() == 0
    blocks = replace(blocks, size=blocks.size * sample.size / cells.size)
    deviation = np.ones((len(cells), 2, 1))
    # As many positives as the model expects three times over.
    sample = replace(sample, share=np.full_like(sample.share, 0.1), labelled=3 * sample.labelled)
    weights = np.full_like(sample.share, 2.0)
    assert surprise(sample, blocks, deviation, weights).max() > 1


@pytest.mark.parametrize("budgets", [[40], [100, 80], [200, 190]])
def test_if_nothing_hides_the_measure_is_that_of_labels_and_predictions(
    pool_of, ledger_after, truth, budgets
):
    pool, label = pool_of(400, centre=-2.0)
    ledger = ledger_after(pool, "f1", label, budgets, 3)
    found = assisted_from(pool, ledger, ledger.design, ledger.problem.measure, 0.95)
    item, told = ledger.known()
    as_predicted = pool.outputs(np.arange(pool.size)).predictions[:, 0].copy()
    as_predicted[item] = told
    exact = truth("f1", pool, as_predicted)
    np.testing.assert_allclose(found.agreement.values, exact, rtol=1e-9)


def test_how_many_labels_hide_is_what_the_estimate_adds_to_the_labels(pool_of, ledger_after):
    """For accuracy: items that are not as predicted, in the estimate and among the labels."""
    pool, label = pool_of(400, centre=-2.0)
    ledger = ledger_after(pool, "accuracy", label, [60, 60], 3)
    sample, blocks, labels = seen(pool, ledger)
    weights, measure = label_weights(sample), ledger.problem.measure
    risk = assisted_risk(sample, blocks, measure, labels, weights)
    found = agreement(sample, blocks, measure, weights, risk, 0.0)
    wrong = np.where(sample.against, sample.labelled, 0).sum()
    accuracy = float(np.atleast_1d(measure.value(risk))[0])
    assert found.number == pytest.approx(pool.size * (1 - accuracy) - wrong)
    assert found.values[0] == pytest.approx(1 - wrong / pool.size)


def test_intervals_reach_to_where_nothing_hides_if_that_is_likely(pool_of, ledger_after):
    pool, label = pool_of(400, centre=-2.0)
    ledger = ledger_after(pool, "f1", label, [100, 100], 3)
    found = assisted_from(pool, ledger, ledger.design, ledger.problem.measure, 0.95)
    beyond = np.array([found.anytime_interval[1] + 0.01])
    for number, reached in ((3.6, True), (3.8, False)):  # none of 3.69 has probability 2.5%
        other = replace(found, agreement=Agreement(beyond, number))
        for ends in (other.interval, other.interval_if_falling, other.anytime_interval):
            assert (ends[1] == beyond[0]) == reached
            assert ends[0] < found.value
