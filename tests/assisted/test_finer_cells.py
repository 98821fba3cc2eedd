"""Sub-populations whose labels go with the score in other ways: each is judged by its own."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

import haystat as hs
from haystat.core.wording import label_count
from haystat.inference.assisted import FEW_IN_GROUP, blocks_of
from haystat.inference.finer_cells import Finer, unseen
from haystat.measures import F1, PRCurve, Prevalence, Recall, Several, Within, bound
from haystat.measures.facts import encode, part_of

GROUPS = range(3)
IN_GROUPS = [Within(Recall(), column="country", equals=group) for group in GROUPS]


@pytest.fixture(scope="module")
def countries():
    """The second country has more positives than its scores say, the third fewer."""
    rng = np.random.default_rng(0)
    country = rng.choice(3, 20_000, p=[0.6, 0.25, 0.15])
    scores = rng.normal(-4, 2, 20_000)
    labels = rng.random(20_000) < 1 / (1 + np.exp(-1.3 * scores - np.array([0, -2, 2.5])[country]))
    pool = hs.Pool(scores, threshold=0.0, columns={"country": country})
    recall = [
        metrics.recall_score(labels[country == group], scores[country == group] >= 0)
        for group in GROUPS
    ]
    return pool, labels.astype(int), recall


@pytest.mark.parametrize("drawn_for", ["f1", Several(IN_GROUPS)], ids=["f1", "groups"])
def test_every_group_is_within_its_interval(countries, drawn_for):
    """As if they were alike, estimates were 0.1 to 0.4 away from the truth and covered none."""
    pool, labels, recall = countries
    covered = np.zeros(len(GROUPS))
    for seed in range(4):
        evaluation = hs.Evaluation(pool, drawn_for, random_state=seed)
        evaluation.run(lambda items: labels[items], 400, 100)
        found = [evaluation.estimate(measure) for measure in IN_GROUPS]
        ends = np.array([estimate.interval for estimate in found])
        covered += (ends[:, 0] <= recall) & (recall <= ends[:, 1])
    assert covered.sum() >= 10  # of twelve at 95%: fewer have a chance of one in fifty
    assert covered.min() >= 2


def test_a_group_for_whom_the_score_says_little_is_within_its_interval():
    """Held to the slope of the others, its prevalence was covered once in these four."""
    rng = np.random.default_rng(0)
    minor = rng.random(20_000) < 0.1
    labels = (rng.random(20_000) < np.where(minor, 0.03, 0.015)).astype(int)
    scores = rng.normal(-4, 1.3, 20_000) + np.where(minor, 1.5, 5.5) * labels
    pool = hs.Pool(scores, threshold=0.0, columns={"minor": minor})
    truth, covered = labels[minor].mean(), 0
    for seed in range(4):
        evaluation = hs.Evaluation(pool, "f1", random_state=seed)
        evaluation.run(lambda items: labels[items], 800, 200)
        low, high = evaluation.estimate(Within(Prevalence(), column="minor", equals=True)).interval
        covered += low <= truth <= high
    assert covered >= 3


def test_a_group_with_few_labels_says_so(countries):
    pool, labels, _ = countries
    evaluation = hs.Evaluation(pool, "f1", random_state=0)
    evaluation.run(lambda items: labels[items], 60, 60)
    said = evaluation.estimate("recall", by="country").warnings
    counts = np.bincount(pool.columns["country"][[a.item for a in evaluation.answers]])
    few = [n for n in counts if n < FEW_IN_GROUP]
    assert 0 < len(few) < len(counts)
    for n in few:
        assert any(f"This group has {label_count(n)}:" in one for one in said)
    assert sum("This group has" in one for one in said) == len(set(few))


def test_a_group_has_one_number_alone_or_beside_others(countries):
    pool, labels, _ = countries
    evaluation = hs.Evaluation(pool, "f1", random_state=0)
    evaluation.run(lambda items: labels[items], 200, 100)
    alone = [evaluation.estimate(measure) for measure in (F1(), *IN_GROUPS)]
    together = evaluation.estimate(Several([F1(), *IN_GROUPS]))
    np.testing.assert_array_equal(together.values, [estimate.value for estimate in alone])
    np.testing.assert_array_equal(together.intervals, [estimate.interval for estimate in alone])


def finer_cells(evaluation, measure):
    """The cells of a design cut by the groups of a measure, and the design's ledger."""
    ledger = evaluation._shared._state.ledger
    measure = bound(measure, evaluation.pool.schema)
    blocks = blocks_of(evaluation.pool, ledger.problem, measure)
    facts = unseen(ledger.problem, measure, foreign=False)
    return ledger, measure, Finer.cut(ledger, measure, facts, blocks)


@pytest.mark.parametrize("inside", [Recall(), PRCurve(n_thresholds=20)], ids=["recall", "curve"])
def test_cells_are_cut_by_groups_and_by_nothing_else(countries, inside):
    pool, labels, _ = countries
    evaluation = hs.Evaluation(pool, "f1", random_state=0)
    evaluation.run(lambda items: labels[items], 100, 100)
    ledger, measure, finer = finer_cells(evaluation, Within(inside, column="country", equals=1))
    cells = ledger.problem.cells
    member = pool.columns["country"] == 1
    pairs, count = np.unique(np.stack([cells.of_item, member]), axis=1, return_counts=True)
    np.testing.assert_array_equal(np.stack([finer.coarse, finer.group]), pairs)
    np.testing.assert_array_equal(finer.size, count)
    items = np.arange(0, pool.size, 7)
    place = finer.of_items(cells.of_item[items].astype(int), measure, pool.outputs(items))
    np.testing.assert_array_equal(finer.coarse[place], cells.of_item[items])
    np.testing.assert_array_equal(finer.group[place], member[items])
    np.testing.assert_array_equal(np.bincount(finer.blocks.cell, finer.blocks.size), finer.size)


def test_only_groups_that_the_design_does_not_know_cut_its_cells(countries):
    pool, *_ = countries
    first, second, _ = (bound(measure, pool.schema) for measure in IN_GROUPS)
    problem = hs.Evaluation(pool, IN_GROUPS[0], random_state=0)._shared._state.ledger.problem
    assert unseen(problem, bound("f1", pool.schema), foreign=False) == ()
    assert unseen(problem, first, foreign=False) == ()
    assert len(unseen(problem, second, foreign=False)) == 1
    assert len(unseen(problem, second, foreign=True)) == 2


def test_items_nobody_could_label_are_spread_over_the_groups(countries):
    pool, labels, _ = countries
    evaluation = hs.Evaluation(pool, "f1", random_state=0)
    evaluation.run(lambda items: labels[items], 100, 100)
    *_, finer = finer_cells(evaluation, IN_GROUPS[0])
    whole = np.bincount(finer.coarse, finer.size).astype(int)
    np.testing.assert_array_equal(finer.spread(whole), finer.size)


def test_several_systems_on_scales_of_their_own_share_one_curve():
    """Strata are cut on the mean; a score that is no probability puts what they claim in disorder.

    Every stratum had an offset of its own then, and a stage took twenty times as long.
    """
    rng = np.random.default_rng(1)
    truth = rng.random(4000) < 0.05
    scores = {
        "classifier": 1 / (1 + np.exp(-rng.normal(6 * truth - 5, 1.5))),
        "detector": 0.05 * rng.normal(truth, 1),
    }
    predictions = {"classifier": scores["classifier"] >= 0.5, "detector": scores["detector"] > 0.08}
    pool = hs.Pool(scores, {name: said.astype(int) for name, said in predictions.items()})
    evaluation = hs.Evaluation(pool, "f1", random_state=0)
    view = evaluation._shared._state.ledger.state.view
    assert view.model.curve.basis.shape[1] < 40
    place = view.regions.place[view.regions.of_cell]
    stratum = evaluation._shared._state.ledger.problem.cells.stratum
    assert np.corrcoef(stratum, place)[0, 1] > 0.8


def test_a_model_that_came_later_is_judged_by_its_own_predictions():
    """Drawn for a poor system, the F1 of a good one came out as 0.04 instead of 0.9."""
    rng = np.random.default_rng(2)
    labels = (rng.random(20_000) < 0.02).astype(int)
    poor = hs.Pool(rng.normal(labels, 1), threshold=2.0)
    good = hs.Pool(rng.normal(5 * labels, 1), threshold=2.8)
    truth = metrics.f1_score(labels, good.scores[:, 0] >= 2.8)
    covered, values = 0, []
    for seed in range(4):
        evaluation = hs.Evaluation(poor, "f1", random_state=seed)
        evaluation.run(lambda items: labels[items], 500, 100)
        estimate = evaluation.estimate("f1", pool=good)
        covered += estimate.interval[0] <= truth <= estimate.interval[1]
        values.append(estimate.value)
        # Of a curve of its score the model knows nothing: labels count by their weight.
        assert not np.isnan(evaluation.estimate("roc_auc", pool=good).value)
    assert covered >= 3
    assert abs(np.mean(values) - truth) < 0.15


def test_a_code_of_facts_tells_about_some_of_them(countries):
    pool, *_ = countries
    curve = PRCurve(n_thresholds=5)
    measure = bound(Several([curve, *IN_GROUPS]), pool.schema)
    outputs, facts = pool.outputs(np.arange(100)), measure.facts()
    code = measure.grouping(outputs)
    for chosen in (facts, facts[:2], facts[1:], facts[::2]):
        expected = encode(chosen, outputs)
        np.testing.assert_array_equal(part_of(facts, chosen, code), expected)


def test_hidden_positives_may_lie_where_a_later_model_sees_them():
    rng = np.random.default_rng(3)
    labels = (rng.random(3000) < 0.05).astype(int)
    old, new = (hs.Pool(rng.normal(3 * labels, 1), threshold=2.0) for _ in range(2))
    evaluation = hs.Evaluation(old, "f1", random_state=0)
    evaluation.run(lambda items: labels[items], 100, 100)
    ledger, seen_by = evaluation._shared._state.ledger, old.seen_by(new)
    measure = bound("f1", new.schema)
    facts = unseen(ledger.problem, measure, foreign=True)
    finer = Finer.cut(ledger, measure, facts, blocks_of(seen_by, ledger.problem, measure))
    curve, size = finer.view.model.curve, finer.view.model.size
    flat, tilted = curve.hints.tilts
    np.testing.assert_array_equal(flat, 1)
    low, pointed = curve.low, finer.group[finer.view.regions.first] == 1
    assert np.average(tilted[low], weights=size[low]) == pytest.approx(1)
    there = low & pointed
    assert size[there] @ tilted[there] > 0.5 * size[low].sum()
    np.testing.assert_allclose(tilted[low & ~pointed], 0.5)


@pytest.mark.parametrize("strata", [4, "random"])
def test_a_curve_through_coarse_strata_is_covered(strata):
    """Positives of a stratum were spread over its scores: recall at -1 was 0.16 to 0.24 too low."""
    rng = np.random.default_rng(0)
    scores = rng.normal(-4, 2, 20_000)
    labels = (rng.random(20_000) < 1 / (1 + np.exp(-1.3 * scores))).astype(int)
    strata = rng.integers(6, size=20_000) if strata == "random" else strata
    pool = hs.Pool(scores, threshold=0.0, strata=strata)
    truth = [metrics.recall_score(labels, scores >= cut) for cut in (-1, 1)]
    covered = 0
    for seed in range(4):
        evaluation = hs.Evaluation(pool, "f1", random_state=seed)
        evaluation.run(lambda items: labels[items], 600, 200)
        curve = evaluation.estimate(PRCurve(thresholds=[-1.0, 1.0]))
        low, high = curve.intervals[2:].T
        covered += np.sum((low <= truth) & (truth <= high))
    assert covered >= 7  # of eight


def test_a_curve_through_fine_strata_is_of_the_same_draws_as_recall():
    rng = np.random.default_rng(0)
    scores = rng.normal(-4, 2, 20_000)
    labels = (rng.random(20_000) < 1 / (1 + np.exp(-1.3 * scores))).astype(int)
    evaluation = hs.Evaluation(hs.Pool(scores, threshold=0.0), "f1", random_state=0)
    evaluation.run(lambda items: labels[items], 200, 100)
    curve = evaluation.estimate(PRCurve(thresholds=[0.0]))
    np.testing.assert_allclose(curve.values[1], evaluation.estimate("recall").value)
