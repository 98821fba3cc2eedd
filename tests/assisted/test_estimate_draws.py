"""From draws of the missing labels to an estimate: against counting, quantiles and the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, hypergeom

import haystat as hs
from haystat.inference import posterior
from haystat.inference.assisted import assisted_from, blocks_of
from haystat.inference.credible import CredibleEstimate, credible_estimate
from haystat.inference.posterior import (
    Labels,
    Pools,
    draw_events,
    posterior_shares,
    split_by_block,
    unlabelled,
)
from haystat.loop.stages import NO_ANSWER


def labels_of(pool, ledger):
    """As the estimator sees them."""
    item, label = ledger.told()
    cell = ledger.problem.cells.of_item[item].astype(np.int64)
    counts = np.zeros_like(ledger.state.labelled)
    np.add.at(counts, (cell, label), 1)
    return pool.outputs(item), Labels(cell, label, counts, ledger.declined)


def risks_of(pool, ledger, measure=None, seed=0):
    measure = ledger.problem.measure if measure is None else measure
    rng = np.random.default_rng(seed)
    state, problem = ledger.state, ledger.problem
    outputs, labels = labels_of(pool, ledger)
    pools = Pools.draw(state.view, state.modes, problem.cells.size, labels, rng)
    blocks = blocks_of(pool, problem, measure)
    return pools.within(measure, blocks, outputs, rng).risks(measure)


@pytest.mark.parametrize("n_left", [1, 3])
@pytest.mark.parametrize("measure", ["accuracy", "f1"])
def test_with_few_items_left_draws_are_among_what_their_labels_may_be(
    pool_of, ledger_after, truth, measure, n_left
):
    pool, label = pool_of(80)
    ledger = ledger_after(pool, measure, label, [40, 40 - n_left], 1)
    left = np.setdiff1d(np.arange(80), ledger.told()[0])
    assert len(left) == n_left
    possible = []
    for code in range(2**n_left):
        labels = label.copy()
        labels[left] = [code >> i & 1 for i in range(n_left)]
        possible.append(truth(measure, pool, labels)[0])
    draws = ledger.problem.measure.values(risks_of(pool, ledger))[:, 0]
    found = np.unique(draws.round(9))
    assert set(found) <= set(np.round(possible, 9))
    if n_left > 1:
        assert len(found) > 1


def test_draws_are_known_labels_plus_binomial_ones(pool_of, ledger_after):
    """The mean risk against a loop over items, with the posterior's shares."""
    pool, label = pool_of(300)
    ledger = ledger_after(pool, "f1", label, [40, 20], 2)
    state, measure, cells = ledger.state, ledger.problem.measure, ledger.problem.cells
    _, labels = labels_of(pool, ledger)
    share = [
        posterior_shares(state.view, state.modes, labels.counts, np.random.default_rng(seed))
        for seed in range(20)
    ]
    mean = np.mean(share, axis=(0, 1))
    told = dict(zip(*(a.tolist() for a in ledger.told()), strict=True))
    total = np.zeros(measure.n_risk)
    for i in range(300):
        outputs = pool.outputs(np.array([i]))
        losses = [measure.loss(outputs, np.array([c]))[0] for c in (0, 1)]
        p = mean[cells.of_item[i]]
        total += losses[told[i]] if i in told else (1 - p) * losses[0] + p * losses[1]
    risks = np.concatenate([risks_of(pool, ledger, seed=seed) for seed in range(20)])
    error = risks.std(axis=0) / np.sqrt(len(risks) / 4)
    assert np.all(np.abs(risks.mean(axis=0) - total / 300) < 4 * error)
    assert np.all(error < 0.003)


@pytest.mark.parametrize("share", [0.001, 0.2, 0.999])
def test_events_are_binomial(share):
    """Poisson where they are rare, which is as good, and never more than there are items."""
    left = np.array([1, 40, 3000])
    events = draw_events(left, np.full((20_000, 3), share), np.random.default_rng(0))
    assert np.all((events >= 0) & (events <= left))
    for column, n in zip(events.T, left, strict=True):
        for k in {0, int(n * share), n}:
            chance = binom.cdf(k, n, share)
            error = np.sqrt(chance * (1 - chance) / 20_000)
            assert abs(np.mean(column <= k) - chance) < 4 * error + 0.002


def test_beyond_two_classes_events_are_split_by_pseudo_counts():
    """Pólya's urn: mean by the pseudo-counts, variance of the Dirichlet-multinomial."""
    counts, n = np.array([1.0, 0.0, 3.0]), 50.0
    part = posterior._split(np.full(20_000, n), counts, np.random.default_rng(0))
    np.testing.assert_allclose(part.sum(axis=1), 1)
    assert np.all(part[:, 1] == 0)
    p, total = 0.25, 4.0
    variance = p * (1 - p) / n * (n + total) / (1 + total)
    assert part[:, 0].mean() == pytest.approx(p, abs=4 * np.sqrt(variance / 20_000))
    assert part[:, 0].var() == pytest.approx(variance, rel=0.05)


@pytest.mark.parametrize("measure", ["accuracy", "balanced_accuracy"])
def test_three_classes_are_known_at_the_end_and_covered_on_the_way(
    three_classes, ledger_after, truth, measure
):
    pool, label = three_classes(300)
    exact = truth(measure, pool, label)[0]
    ledger = ledger_after(pool, measure, label, [100, 60], 1)
    estimate = assisted_from(pool, ledger, ledger.problem.measure, 0.999)
    low, high = estimate.interval
    assert low <= exact <= high
    ledger = ledger_after(pool, measure, label, [150, 149], 1)
    draws = ledger.problem.measure.values(risks_of(pool, ledger))[:, 0]
    last = np.setdiff1d(np.arange(300), ledger.told()[0])
    possible = []
    for c in range(3):
        labels = label.copy()
        labels[last] = c
        possible.append(truth(measure, pool, labels)[0])
    assert set(draws.round(9)) <= set(np.round(possible, 9))


def test_items_that_nobody_can_label_are_left_out_in_each_cell():
    """Cell 0: 30 drawn, 15 of them lost; cell 1: nothing lost of 20; cell 2: nothing drawn."""
    counts = np.array([[15, 0], [20, 0], [0, 0]])
    size = np.array([1030, 520, 100])
    left = unlabelled(size, counts, np.array([15, 0, 0]))
    # 1030 - 15 known - 15 lost = 1000 not drawn, of which (15 + 0.3) / 31 are lost as well
    expected = [1000 * (1 - 15.3 / 31), 500 * (1 - 0.3 / 21), 100 * (1 - 0.3)]
    np.testing.assert_allclose(left, expected, atol=0.51)
    nothing = np.zeros(3, dtype=np.int64)
    np.testing.assert_array_equal(unlabelled(size, counts, nothing), [1015, 500, 100])


@pytest.mark.parametrize("limit", [10**9, 10])
def test_events_of_a_cell_are_spread_over_its_blocks_without_replacement(limit, monkeypatch):
    """Hypergeometric by the blocks' unlabelled items; nobody's share is left out of each alike."""
    monkeypatch.setattr(posterior, "MOST_EXACT", limit)
    cell = np.array([0, 0, 0, 1, 2])
    unknown = np.array([30, 10, 0, 7, 5])
    events = np.tile([12, 7, 0], (20_000, 1))
    left = np.array([20, 7, 5])
    part, found = split_by_block(unknown, cell, left, events, np.random.default_rng(0))
    np.testing.assert_allclose(part, [15, 5, 0, 7, 5])
    np.testing.assert_array_equal(found[:, :3].sum(axis=1), 12)
    assert np.all(found <= unknown)
    np.testing.assert_array_equal(found[:, 3:], [[7, 0]] * 20_000)
    if limit > 100:
        for k in range(2, 6):
            chance = hypergeom.cdf(k, 40, 10, 12)
            error = np.sqrt(chance * (1 - chance) / 20_000)
            assert abs(np.mean(found[:, 1] <= k) - chance) < 4 * error


def told_and_truth(measure, size=300, rate=(0.6, 0.02)):
    """What is hard for the system is hard for people; the truth about the others."""
    rng = np.random.default_rng(0)
    scores = 1 / (1 + np.exp(-rng.normal(-0.5, 1.5, size)))
    label = (rng.random(size) < scores).astype(int)
    lost = rng.random(size) < np.where(np.abs(scores - 0.5) < 0.25, *rate)
    pool = hs.Pool(scores, strata=8)
    bound = hs.measures.resolve(measure).bind(pool.schema)
    kept = np.flatnonzero(~lost)
    risk = bound.risk(pool.outputs(kept), label[kept], np.full(len(kept), 1 / len(kept)))
    return pool, np.where(lost, NO_ANSWER, label), bound.value(risk)[0]


@pytest.mark.parametrize("measure", ["accuracy", "f1"])
def test_at_the_end_the_estimate_is_exact_about_items_that_can_be_labelled(measure, ledger_after):
    pool, told, exact = told_and_truth(measure)
    ledger = ledger_after(pool, measure, told, [150, 150], 1)
    estimate = assisted_from(pool, ledger, ledger.problem.measure, 0.95)
    assert estimate.value == pytest.approx(exact, rel=1e-12)
    assert estimate.n_labels == np.sum(told != NO_ANSWER)
    np.testing.assert_allclose(estimate.interval, exact, atol=1e-9)
    assert ledger.unanswered_share() == pytest.approx(np.mean(told == NO_ANSWER))


@pytest.mark.parametrize("measure", ["accuracy", "f1"])
def test_on_the_way_the_estimate_is_about_items_that_can_be_labelled(measure, ledger_after):
    pool, told, exact = told_and_truth(measure)
    covered = 0
    for seed in range(60):
        ledger = ledger_after(pool, measure, told, [60, 60], seed)
        low, high = assisted_from(pool, ledger, ledger.problem.measure, 0.95).interval
        covered += low <= exact <= high
    assert covered >= binom.ppf(0.001, 60, 0.95)


@pytest.mark.parametrize("measure", ["f1", "recall", "precision", "accuracy", "mcc"])
def test_when_all_that_matters_is_labelled_the_estimate_is_the_truth(
    pool_of, oracle, truth, measure
):
    pool, label = pool_of(60)
    ev = hs.Evaluation(pool, measure, "assisted", random_state=3)
    estimate = ev.run(oracle(label), 60, 20)
    exact = truth(measure, pool, label)[0]
    assert estimate.value == pytest.approx(exact)
    np.testing.assert_allclose(estimate.interval, exact, atol=1e-9)
    assert ev.ask(1) == []


def test_precision_is_known_once_the_predicted_positives_are(pool_of, oracle, truth):
    pool, label = pool_of(300)
    ev = hs.Evaluation(pool, "precision", "assisted", random_state=3)
    n_predicted = int(pool.outputs(np.arange(300)).predictions.sum())
    estimate = ev.run(oracle(label), 300, 20)
    assert estimate.n_labels == n_predicted < 300
    assert estimate.value == pytest.approx(truth("precision", pool, label)[0])


def make_estimate(draws, level=0.95, measure=None):
    measure = measure or hs.measures.resolve("accuracy").bind(hs.Pool([0.2, 0.8]).schema)
    return credible_estimate(measure, draws, level, 10, ())


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_intervals_are_quantiles_of_the_draws(level):
    wrong = np.random.default_rng(0).beta(2, 8, (999, 1))
    estimate = make_estimate(wrong, level)
    assert isinstance(estimate, CredibleEstimate)
    tail = (1 - level) / 2
    np.testing.assert_allclose(
        estimate.interval, np.quantile(1 - wrong, [tail, 1 - tail]), atol=1e-9
    )
    assert estimate.value == pytest.approx(np.median(1 - wrong))
    assert estimate.std_error == pytest.approx(wrong.std(), rel=1e-9)
    assert estimate.anytime_interval == estimate.interval
    assert estimate.at(0.9).interval == pytest.approx(np.quantile(1 - wrong, [0.05, 0.95]))
    np.testing.assert_allclose(estimate.details["risk"], np.median(wrong))


def test_an_interval_leaves_out_a_share_of_what_its_level_allows():
    rng, measure = np.random.default_rng(3), hs.measures.resolve("accuracy")
    risks = rng.beta(20, 80, (4000, 1))
    plain, wide = (credible_estimate(measure, risks, 0.9, 50, (), share) for share in (1.0, 0.2))
    assert plain.value == wide.value
    np.testing.assert_allclose(wide.interval, np.quantile(1 - risks, [0.01, 0.99]), atol=1e-9)
    np.testing.assert_allclose(wide.interval, plain.at(0.98).interval, atol=1e-9)


@pytest.mark.parametrize(("name", "quantile"), [("accuracy", 0.7), ("prevalence", 0.5)])
def test_the_estimate_is_a_quantile_counted_from_the_worst(name, quantile):
    measure = hs.measures.resolve(name).bind(hs.Pool([0.2, 0.8]).schema)
    risks = np.random.default_rng(4).beta(2, 8, (999, 1))
    estimate = credible_estimate(measure, risks, 0.9, 50, (), 1.0, 0.7)
    assert estimate.value == pytest.approx(np.quantile(measure.values(risks), quantile))
    worse = credible_estimate(_LowerIsBetter(measure), risks, 0.9, 50, (), 1.0, 0.7)
    assert worse.value == pytest.approx(np.quantile(measure.values(risks), 0.3))


class _LowerIsBetter:
    """A measure turned round: its smaller values are the better ones."""

    lower_is_better = True

    def __init__(self, measure):
        self._measure = measure

    def __getattr__(self, name):
        return getattr(self._measure, name)


def test_draws_without_spread_allow_for_rounding_and_stay_within_the_range():
    estimate = make_estimate(np.full((400, 1), 0.3))
    low, high = estimate.interval
    assert 0 < high - low < 1e-9
    assert low < 0.7 < high
    assert make_estimate(np.zeros((400, 1))).interval[1] == 1
    assert make_estimate(np.full((400, 1), -1e-17)).value == 1


def precision_and_recall():
    return hs.measures.resolve(["precision", "recall"]).bind(hs.Pool([0.2, 0.8]).schema)


def test_a_band_holds_its_level_of_the_draws_at_once():
    measure = hs.measures.resolve(["f1", "precision", "recall", "accuracy", "mcc"])
    measure = measure.bind(hs.Pool([0.2, 0.8]).schema)
    rng = np.random.default_rng(1)
    pool = hs.Pool(rng.random(500))
    outputs = pool.outputs(np.arange(500))
    risks = np.array(
        [measure.loss(outputs, rng.integers(2, size=500)).mean(axis=0) for _ in range(600)]
    )
    estimate = make_estimate(risks, 0.9, measure)
    low, high = estimate.band().T
    inside = np.all((estimate.draws >= low) & (estimate.draws <= high), axis=1)
    assert inside.mean() == pytest.approx(0.9, abs=0.005)
    each = estimate.intervals
    assert np.all(low <= each[:, 0] + 1e-12)
    assert np.all(high >= each[:, 1] - 1e-12)


def test_draws_in_which_a_component_is_undefined_are_left_out_for_it():
    """Recall is 0/0 in a third of the draws, then in two thirds."""
    measure = precision_and_recall()
    pool = hs.Pool([0.1, 0.2, 0.3, 0.9, 0.8], strata=1)
    outputs = pool.outputs(np.arange(5))
    positive, none = (
        measure.loss(outputs, np.array(label)).mean(axis=0)
        for label in ([0, 1, 0, 1, 0], [0, 0, 0, 0, 0])
    )
    some = make_estimate(np.array([positive] * 40 + [none] * 20), measure=measure)
    np.testing.assert_allclose(some.values, [0.5, 0.5])
    np.testing.assert_allclose(some.intervals[1], 0.5, atol=1e-9)
    np.testing.assert_allclose(some.intervals[0], [0, 0.5], atol=1e-9)
    most = make_estimate(np.array([positive] * 20 + [none] * 40), measure=measure)
    assert np.isnan(most.values[1])
    assert np.isnan(most.std_errors[1])
    assert most.values[0] == 0
    assert len(most.warnings) == 1


def test_an_undefined_component_has_no_interval_and_no_band():
    measure = precision_and_recall()
    outputs = hs.Pool([0.1, 0.9], strata=1).outputs(np.arange(2))
    none = measure.loss(outputs, np.array([0, 0])).mean(axis=0)
    estimate = make_estimate(np.array([none] * 30), measure=measure)
    assert np.isnan(estimate.values[1])
    assert np.all(np.isnan(estimate.intervals[1]))
    np.testing.assert_allclose(estimate.intervals[0], 0, atol=1e-9)
    np.testing.assert_allclose(estimate.band()[0], 0, atol=1e-9)


@pytest.mark.parametrize("measure", ["precision", "recall", "accuracy", "mcc", "f1"])
def test_a_measure_together_with_others_is_the_measure_alone(pool_of, oracle, measure):
    """The same labels give the same draws, whatever is asked of them."""
    pool, label = pool_of(500)
    ev = hs.Evaluation(pool, "f1", "assisted", random_state=3)
    ev.run(oracle(label), 80, 40)
    alone = ev.estimate(measure)
    names = ["f1", "accuracy", "recall", "mcc", "precision"]
    together = ev.estimate(names)
    place = names.index(measure)
    assert together.values[place] == pytest.approx(alone.value, rel=1e-12)
    np.testing.assert_allclose(together.intervals[place], alone.interval, rtol=1e-9)
    np.testing.assert_allclose(together.draws[:, place], alone.draws[:, 0], rtol=1e-9)


def test_labels_of_a_stage_that_is_not_finished_count(pool_of):
    pool, label = pool_of(500)
    ev = hs.Evaluation(pool, "f1", "assisted", random_state=1)
    stages = [[q.item for q in ev.ask(n)] for n in (20, 15, 10)]
    assert len({item for stage in stages for item in stage}) == 45
    ev.tell({item: int(label[item]) for item in stages[0]})
    before = ev.estimate()
    ev.tell({item: int(label[item]) for item in stages[2]})
    assert (before.n_labels, ev.estimate().n_labels) == (20, 30)
    ev.tell({item: int(label[item]) for item in stages[1]})
    assert ev.estimate().n_labels == 45
