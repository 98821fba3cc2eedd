"""The guaranteed interval: what it promises, on pools made to break it."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from guaranteed_pools import (
    World,
    all_predicted,
    chasing,
    empty_tail,
    first_draws,
    guessing,
    noise,
    one_cell,
    rare_positives,
    sample,
    sample_with_replacement,
    strata,
    top_heavy,
    uniform,
    with_census,
)
from scipy.stats import beta, binom

from haystat.inference.guaranteed_interval import (
    Bets,
    StageDraws,
    guaranteed_interval,
    logical_bounds,
)

#: pool, rates, measure, further options
CASES = {
    "empty tail": (empty_tail, top_heavy, "recall", {}),
    "empty tail, f1": (empty_tail, chasing, "f1", {}),
    "rare positives": (rare_positives, top_heavy, "recall", {}),
    "rare positives, chased": (rare_positives, chasing, "f1", {}),
    "all predicted positive": (all_predicted, uniform, "precision", {}),
    "noise": (noise, chasing, "f1", {}),
    "noise, accuracy": (noise, top_heavy, "accuracy", {}),
    "one cell": (one_cell, uniform, "precision", {}),
    "wrong guesses": (rare_positives, top_heavy, "f1", {"guess": guessing}),
    "certain and never": (noise, with_census, "f1", {}),
    "no answers": (rare_positives, top_heavy, "f1", {"silent": 0.1}),
    "with replacement": (rare_positives, None, "f1", {}),
}


def make_draws(world, rates_of, rng, n_draws, guess=None, silent=0.0):
    if rates_of is None:
        return sample_with_replacement(world, n_draws, rng)
    shares = None if guess is None else guess(world, rng)
    return sample(world, rates_of, n_draws, rng, shares, silent)


def excluded_at_some_look(case, seed, looks):
    """Whether an interval at one of the looks, or the bets at any draw, exclude the truth."""
    make, rates_of, measure, options = CASES[case]
    rng = np.random.default_rng([seed, len(case)])
    world = make(rng)
    truth, losses = world.truth(measure), world.losses(measure)
    draws = make_draws(world, rates_of, rng, max(looks), **options)
    bets = Bets(draws, *losses)
    if max(bets.wealth(truth, sign)[0] for sign in (1, -1)) >= 40:  # 2 / 0.05
        return True
    for look in looks:
        low, high = guaranteed_interval(first_draws(draws, look), *losses, 0.95)
        if not low - 1e-12 <= truth <= high + 1e-12:
            return True
    return False


@pytest.mark.parametrize("case", CASES)
def test_the_truth_is_kept_at_all_looks_together(case):
    missed = sum(excluded_at_some_look(case, seed, (20, 40, 50)) for seed in range(150))
    assert missed <= binom.ppf(0.999, 150, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_truth_is_kept_at_all_looks_together_in_many_pools(case):
    missed = sum(excluded_at_some_look(case, seed, (20, 50)) for seed in range(2000))
    assert missed <= binom.ppf(0.999, 2000, 0.05)


@pytest.mark.parametrize("n_positives", [1, 2, 3])
def test_every_order_of_a_small_pool_together_misses_in_one_of_twenty(n_positives):
    """18 items, alike to the design: every order of the labels has the same chance."""
    n_items, losses = 18, (np.array([[0.0, 1.0]]), np.ones((1, 2)))
    zeros, orders = np.zeros(n_items, int), list(combinations(range(n_items), n_positives))
    missed = 0
    for positives in orders:
        label = zeros.copy()
        label[list(positives)] = 1
        draws = StageDraws(np.array([n_items]), zeros, zeros, label, np.ones((1, 1)))
        bets = Bets(draws, *losses)
        missed += any(bets.wealth(n_positives / n_items, s)[0] >= 40 for s in (1, -1))
    assert missed <= 0.05 * len(orders)


@pytest.mark.parametrize("measure", ["f1", "recall", "precision", "accuracy"])
def test_when_every_item_is_labelled_the_interval_is_the_value(measure):
    rng = np.random.default_rng(1)
    for make, rates_of in ((rare_positives, top_heavy), (all_predicted, uniform), (noise, chasing)):
        world = make(rng)
        draws = sample(world, rates_of, len(world.label), rng)
        interval = guaranteed_interval(draws, *world.losses(measure), 0.95)
        assert interval == pytest.approx((world.truth(measure),) * 2, abs=1e-12)


@pytest.mark.parametrize("measure", ["f1", "recall", "precision", "accuracy"])
def test_logical_bounds_are_those_of_all_labels(measure):
    rng = np.random.default_rng(2)
    cell, predicted = strata(9, 3, 1)
    for _ in range(20):
        world = World(cell, rng.integers(2, size=9), predicted)
        above, below = world.losses(measure)
        item = rng.permutation(9)[:5]
        label = np.append(world.label[item[:4]], -1)
        draws = StageDraws(world.size, np.zeros(5, int), cell[item], label, np.ones((1, 3)))
        values, free = [], np.setdiff1d(np.arange(9), item[:4])
        for rest in product((0, 1), repeat=5):
            labels = world.label.copy()
            labels[free] = rest
            total = below[cell, labels].sum()
            values += [above[cell, labels].sum() / total] if total else []
        assert logical_bounds(draws, above, below) == pytest.approx((min(values), max(values)))


def test_the_interval_only_shrinks_and_stays_within_what_is_possible():
    rng = np.random.default_rng(3)
    world = rare_positives(rng)
    losses = world.losses("f1")
    draws = sample(world, top_heavy, 250, rng)
    ends = []
    for look in range(0, 251, 25):
        now = first_draws(draws, look)
        low, high = guaranteed_interval(now, *losses, 0.95)
        possible = logical_bounds(now, *losses)
        assert possible[0] <= low <= high <= possible[1]
        ends.append((low, high))
    low, high = np.transpose(ends)
    assert np.all(np.diff(low) >= 0)
    assert np.all(np.diff(high) <= 0)
    assert high[-1] - low[-1] < 0.5 * (high[1] - low[1])


def test_an_unlucky_order_does_not_lead_out_of_what_is_possible():
    """All 60 positives come first, then 39 of the 40 negatives."""
    zeros, label = np.zeros(99, int), np.repeat([1, 0], [60, 39])
    losses = np.array([[0.0, 1.0]]), np.ones((1, 2))
    draws = StageDraws(np.array([100]), zeros, zeros, label, np.ones((1, 1)))
    assert guaranteed_interval(first_draws(draws, 60), *losses, 0.95)[0] > 0.8
    low, high = guaranteed_interval(draws, *losses, 0.95)
    assert 0.6 <= low <= high <= 0.61


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_all_in_favour_refutes_what_the_level_asks_for(level):
    """50 of 50 draws with replacement: tau^50 is the chance, and the bets cost a little more."""
    zeros, fresh = np.zeros(50, int), np.zeros(50, bool)
    losses = np.array([[0.0, 1.0]]), np.ones((1, 2))
    rates = np.full((1, 1), 1e-9)
    draws = StageDraws(np.array([10**9]), zeros, zeros, zeros + 1, rates, None, fresh)
    low, _ = guaranteed_interval(draws, *losses, level)
    chance = low**50
    assert 0.1 * (1 - level) / 2 < chance <= (1 - level) / 2


def test_a_measure_that_no_labels_define_has_no_interval():
    draws = StageDraws(np.array([3]), *np.zeros((3, 1), int), np.ones((1, 1)))
    assert np.all(np.isnan(guaranteed_interval(draws, np.zeros((1, 2)), np.zeros((1, 2)), 0.95)))


def clopper_pearson(hits, n):
    low = beta.ppf(0.025, hits, n - hits + 1) if hits else 0.0
    return low, beta.ppf(0.975, hits + 1, n - hits) if hits < n else 1.0


@pytest.mark.parametrize("n", [100, 200, 500])
def test_width_is_within_half_of_clopper_pearsons(n):
    """That one is valid at one look only. Precision 0.99 of 1,000 items, uniform draws."""
    rng, widths, exact = np.random.default_rng(4), [], []
    truth = np.repeat([0, 1], [10, 990])
    for _ in range(20):
        label = rng.permutation(truth)[:n]
        draws = StageDraws(np.array([1000]), *np.zeros((2, n), int), label, np.ones((1, 1)))
        low, high = guaranteed_interval(draws, np.array([[0.0, 1.0]]), np.ones((1, 2)), 0.95)
        widths.append(high - low)
        exact.append(-np.subtract(*clopper_pearson(label.sum(), n)))
    assert np.mean(widths) < 1.5 * np.mean(exact)


def test_an_empty_tail_is_bounded_as_by_the_rule_of_three():
    """No positive among n of N items: at most N log(2 / alpha) / n of them, times the mixture."""
    n_tail, n = 100_000, 1000
    losses = np.array([[0.0, 0.0], [0.0, 1.0]]), np.array([[0.0, 1.0], [0.0, 1.0]])
    size, stage = np.array([n_tail, 50]), np.repeat([0, 1], [50, n])
    cell, label = np.repeat([1, 0], [50, n]), np.repeat([1, 0], [50, n])
    rates = np.array([[0.0, np.inf], [1.0, 0.0]])
    low, high = guaranteed_interval(StageDraws(size, stage, cell, label, rates), *losses, 0.95)
    assert high == 1
    assert low > 50 / (50 + 1.35 * n_tail * np.log(40) / n)


@pytest.mark.parametrize("measure", ["f1", "accuracy"])
def test_good_guesses_narrow_the_interval(measure):
    rng, widths = np.random.default_rng(5), []
    for _ in range(5):
        cell, predicted = strata(5000, 20, 5)
        chance = np.where(np.arange(20) % 2, 0.98, 0.02)
        world = World(cell, (rng.random(5000) < chance[cell]).astype(int), predicted)
        good, flat = np.stack([1 - chance, chance], axis=1), np.full((20, 2), 0.5)
        for guess in (good, flat):
            draws = sample(world, uniform, 300, np.random.default_rng(6), guess)
            low, high = guaranteed_interval(draws, *world.losses(measure), 0.95)
            widths.append(high - low)
    assert np.mean(widths[::2]) < 0.7 * np.mean(widths[1::2])
