"""Unbiasedness, by adding up every way in which the draws can fall."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import haystat as hs
from haystat import designs
from haystat.designs.base import Sheet
from haystat.designs.stratified import GOLDEN_RATIO, StratifiedState

REPLACEMENT = ("passive", "importance", "oasis", "adaptive", "adaptive_flat")
CASES = [
    (design, measure)
    for design in REPLACEMENT
    for measure in ("f1", "accuracy", "recall")
    if (design, measure) != ("oasis", "accuracy")
]
RNG = np.random.default_rng(0)


def weighted_loss(pool, probability):
    """w loss of each item, (M, d); zero where the item is never drawn."""
    with np.errstate(divide="ignore"):
        weight = 1 / (pool.size * probability)
    return np.where(probability > 0, weight, 0)[:, None] * pool.loss


def check_proposal(pool, probability):
    assert probability.sum() == pytest.approx(1, abs=1e-12)
    assert np.all(probability >= 0)
    assert np.all(probability[np.any(pool.loss != 0, axis=1)] > 0)


@pytest.mark.parametrize(("name", "measure"), CASES)
def test_risk_estimate_is_unbiased_over_all_sequences_of_two_stages(tiny, name, measure):
    pool = tiny(measure)
    design = designs.resolve(name)
    state = design.start(pool.problem, RNG)
    first = pool.probability(design.propose(pool.problem, state), ())
    check_proposal(pool, first)
    first_loss = weighted_loss(pool, first)
    expected, total = np.zeros(pool.problem.measure.n_risk), 0.0
    for drawn, chance in pool.sequences(2, first):
        next_state = design.observe(pool.problem, state, pool.batch(drawn, first, ()))
        second = pool.probability(design.propose(pool.problem, next_state), set(drawn))
        check_proposal(pool, second)
        second_loss = weighted_loss(pool, second)
        for again, next_chance in pool.sequences(2, second):
            estimate = (first_loss[list(drawn)].sum(0) + second_loss[list(again)].sum(0)) / 4
            expected += chance * next_chance * estimate
            total += chance * next_chance
    assert total == pytest.approx(1, abs=1e-9)
    np.testing.assert_allclose(expected, pool.risk, atol=1e-9)


@pytest.mark.parametrize("measure", ["f1", "accuracy", ["precision", "recall"]])
@pytest.mark.parametrize("delta", [0.0, 0.3])
def test_an_item_that_may_have_a_loss_is_within_reach_under_every_label(tiny, measure, delta):
    pool = tiny(measure)
    design = designs.Adaptive(delta=delta)
    proposal = design.propose(pool.problem, design.start(pool.problem, RNG))
    covered = design.covers(pool.problem)
    assert np.all(covered[pool.problem.losses.support])
    assert np.all(proposal.unlabelled[covered.any(axis=1)] > 0)
    assert np.all(proposal.labelled[covered] > 0)


def test_the_floor_of_the_proposal_sinks_with_every_label(tiny):
    """Prop. 5: epsilon_t = epsilon_0 (1 - labelled share). Accuracy's influence is 1 everywhere."""
    pool = tiny(["accuracy", "recall"])
    state = designs.Adaptive().start(pool.problem, RNG)
    batch = pool.batch([0, 3], np.full(6, 1 / 6), ())
    state = designs.Adaptive().observe(pool.problem, state, batch)
    support = pool.problem.losses.support
    free = designs.Adaptive(epsilon=1e-12).propose(pool.problem, state).labelled
    low, high = free[support].min(), free[support].max()
    # |J loss| = 1 for a false positive: it moves accuracy by 1 and recall not at all.
    cell = pool.cell[4]
    scale = free[cell, 0]
    epsilon = (low + high) / 2 / scale  # in between, once a third of the pool is labelled
    floored = designs.Adaptive(epsilon=epsilon * 6 / 4).propose(pool.problem, state).labelled
    expected = np.maximum(free, epsilon * scale * support)
    np.testing.assert_allclose(floored / floored.max(), expected / expected.max())
    assert low < epsilon * scale < high


@pytest.mark.parametrize("name", ["importance", "adaptive", "adaptive_flat"])
@pytest.mark.parametrize("measure", ["f1", "accuracy", "recall"])
def test_a_prior_of_exactly_zero_does_not_put_a_label_out_of_reach(tiny, name, measure):
    pool = tiny(measure, probabilities=np.array([0.0, 0, 0, 1, 1, 1]))
    design = designs.resolve(name)
    proposal = design.propose(pool.problem, design.start(pool.problem, RNG))
    check_proposal(pool, pool.probability(proposal, ()))


def stage_totals(pool, probability, known, n):
    """E[draws], E[sum of w loss] of a stage for n labels, and (probability, new items) of its ends.

    Between two new items the repeats are i.i.d. from the labelled items, r in all; their number
    is geometric, so their sum is known in closed form.
    """
    value = weighted_loss(pool, probability)
    ends = []

    def walk(seen, new, chance):
        if len(new) == n:
            ends.append((chance, new))
            return np.zeros(1 + value.shape[1])
        repeat = probability[list(seen)].sum()
        totals = np.zeros(1 + value.shape[1])
        for item in seen:
            totals += probability[item] / (1 - repeat) * np.array([1, *value[item]])
        for item in set(range(pool.size)) - seen:
            share = probability[item] / (1 - repeat)
            if share > 0:
                later = walk(seen | {item}, (*new, item), chance * share)
                totals += share * (np.array([1, *value[item]]) + later)
        return totals

    totals = walk(frozenset(known), (), 1.0)
    return totals[0], totals[1:], ends


@pytest.mark.parametrize("name", ["passive", "importance", "adaptive", "adaptive_flat"])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 1), (3,)])
def test_stages_that_end_with_a_label_add_up_to_draws_times_risk(tiny, name, sizes):
    """Wald's identity over stages of an adaptive design: E[sum w loss] = E[draws] R.

    These designs learn from new items only, so repeats need no enumeration.
    """
    pool = tiny("f1")
    design = designs.resolve(name)

    def fold(state, known, sizes):
        if not sizes:
            return 0.0, np.zeros(pool.problem.measure.n_risk)
        probability = pool.probability(design.propose(pool.problem, state), known)
        n_draws, total, ends = stage_totals(pool, probability, known, sizes[0])
        for chance, new in ends:
            batch = pool.batch(new, probability, known)
            later = fold(design.observe(pool.problem, state, batch), known | set(new), sizes[1:])
            n_draws, total = n_draws + chance * later[0], total + chance * later[1]
        return n_draws, total

    n_draws, total = fold(design.start(pool.problem, RNG), frozenset(), sizes)
    np.testing.assert_allclose(total, n_draws * pool.risk, atol=1e-9)


class FixedUniforms:
    """Stands in for the Generator where a design only draws uniforms."""

    def __init__(self, values):
        self.values = list(values)

    def random(self, n):
        taken, self.values = self.values[:n], self.values[n:]
        return np.array(taken)


def stratified_inclusion(pool, n):
    """Chance of each item to be among the first n, over the start x0 and the uniforms."""
    design = designs.Stratified()
    start = design.start(pool.problem, RNG)
    n_cells = len(pool.problem.cells)
    sheet = Sheet(
        pool.problem.cells.size.copy(), np.zeros(0, int), np.zeros(0, int), np.zeros(0, int)
    )
    # The strata of the points change only where x0 + i phi crosses an edge.
    crossings = [(e - i * GOLDEN_RATIO) % 1 for e in [0, *start.edges] for i in range(n)]
    breaks = np.unique([0.0, *crossings, 1.0])
    # All strata have at most two items: three uniforms tell the cells of one or two items apart.
    grid = (np.arange(2) + 0.5) / 2
    inclusion = np.zeros(pool.size)
    for low, high in pairwise(breaks):
        if high - low < 1e-12:
            continue
        state = StratifiedState((low + high) / 2, start.edges, start.members)
        chances = np.zeros(n_cells)
        tuples = np.stack(np.meshgrid(*[grid] * n, indexing="ij"), axis=-1).reshape(-1, n)
        for uniforms in tuples:
            choice = design.choose(pool.problem, state, sheet, n, FixedUniforms(uniforms))
            chances += np.bincount(choice.new_cell, minlength=n_cells) / len(tuples)
        # Inside a cell the items are taken in a random order.
        inclusion += (high - low) * (chances / pool.problem.cells.size)[pool.cell]
    return inclusion


def test_stratified_draws_every_item_with_the_same_chance(tiny):
    pool = tiny("f1")
    np.testing.assert_allclose(stratified_inclusion(pool, 1), 1 / 6, atol=1e-9)
    # No stratum can run out: of two points at a distance phi at most two fall into one third.
    inclusion = stratified_inclusion(pool, 2)
    np.testing.assert_allclose(inclusion, 2 / 6, atol=1e-9)
    np.testing.assert_allclose(inclusion @ pool.loss / 2, pool.risk, atol=1e-9)


def test_stratified_keeps_to_proportional_shares_however_labels_are_batched(pool_of):
    pool, _ = pool_of(600, strata=5)
    size = np.bincount(pool.stratum)
    for steps in ([120], [7] * 17 + [1], [1] * 120):
        ev = hs.Evaluation(pool, "f1", "stratified", random_state=3)
        asked = [query.item for n in steps for query in ev.ask(n)]
        drawn = np.bincount(pool.stratum[asked], minlength=len(size))
        assert np.all(np.abs(drawn - 120 * size / pool.size) < 2)
        assert len(set(asked)) == 120
