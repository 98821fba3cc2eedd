"""Bets on "below": never expected to gain where nothing has fallen, and where they grow fastest."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from haystat.inference.growth import Alternative, wealth_below
from haystat.inference.guaranteed_interval import StageDraws

# Recall: cells of a predicted positive and of two predicted negatives, near and far.
A = np.array([[0.0, 1.0], [0.0, 0.0], [0.0, 0.0]])
B = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
NONE = np.zeros((3, 2), dtype=int)


def alternative(target, shares=(0.9, 0.05, 0.0002), told=NONE):
    share, left = np.column_stack([1 - np.array(shares), shares]), np.array([20, 30, 4000])
    return Alternative.of(A, B, 0.8, target, share, left, told, np.zeros(3, int))


def test_shares_are_tilted_until_the_measure_is_what_is_bet_on():
    told = np.array([[1, 3], [4, 1], [9, 0]])
    for target in (0.7, 0.5):
        found = alternative(target, told=told)
        positive = found.left * found.shares[:, 1] + told[:, 1]
        assert positive[0] / positive.sum() == pytest.approx(target)
    already = alternative(0.7, shares=(0.9, 0.9, 0.001))
    np.testing.assert_allclose(already.shares[:, 1], [0.9, 0.9, 0.001])


def test_the_cells_that_are_bet_on_are_the_best_of_all_choices():
    rng = np.random.default_rng(0)
    numerator = np.column_stack([np.zeros(6), np.repeat([1.0, 0.0], 3)])
    denominator = np.column_stack([np.zeros(6), np.ones(6)])
    for _ in range(30):
        share = rng.uniform(0.01, 0.99, 6)
        left, rates = rng.integers(5, 300, 6), rng.uniform(0.01, 1, 6)
        given = np.column_stack([1 - share, share]), left, np.zeros((6, 2), int), np.zeros(6, int)
        found = Alternative.of(numerator, denominator, 0.8, 0.4, *given)
        seen, mean, spread = found.seen(rates)
        best = 0.0
        for choice in product([False, True], repeat=6):
            inside = np.array(choice)
            value = np.sum(left * np.where(inside, found.expected, found.worst))
            cost = np.sum((left * found.variance / rates)[inside])
            best = max(best, value**2 / cost if value > 0 and cost > 0 else 0.0)
        assert best > 0
        assert mean**2 / spread == pytest.approx(best)
        assert np.sum((left * found.variance / rates)[seen]) == pytest.approx(spread)


def test_rare_labels_among_many_items_are_not_bet_on():
    bet = alternative(0.6)
    _, near, far = bet.seen(np.sqrt(bet.variance))[0]
    assert near
    assert not far


@pytest.mark.parametrize("unanswered", [False, True])
def test_bets_gain_nothing_on_average_at_the_level_by_enumeration(unanswered):
    # All orders of three draws in two stages; recall is 0.8 in truth.
    label = [1, 1, 1, 1, 1, 0, 0]
    cell = np.array([0, 0, 0, 0, 1, 1, 2])
    rates = np.array([[0.5, 2.0, 0.7], [0.1, 1.0, 3.0]])
    guess = np.array([[0.2, 0.8], [0.3, 0.7], [0.9, 0.1]])
    stage = np.array([0, 0, 1])
    total, found = 0.0, []
    for order in permutations(range(7), 3):
        chance, left = 1.0, set(range(7))
        for item, j in zip(order, stage.tolist(), strict=True):
            chance *= rates[j][cell[item]] / sum(rates[j][cell[i]] for i in left)
            left.discard(item)
        told = np.array([-1 if unanswered and item in (4, 5) else label[item] for item in order])
        draws = StageDraws(
            np.array([4, 2, 1]), stage, cell[list(order)], told, rates, np.stack([guess, guess])
        )
        found.append(wealth_below(draws, A, B, 0.8, 0.5))
        total += chance * found[-1]
    assert min(found) > 0
    assert np.ptp(found) > 0.2  # bets are made
    assert total <= 1 + 1e-9


def test_bets_grow_after_a_fall_and_shrink_without_one():
    rng = np.random.default_rng(1)
    size, stage, rates = np.array([140, 160]), np.zeros(40, int), np.array([[0.0, 1.0]])
    share = np.array([[[0.01, 0.99], [0.8, 0.2]]])
    growth = {}
    for missed in (60, 16):
        wealth = []
        for _ in range(20):
            label = (rng.permutation(160)[:40] < missed).astype(int)
            draws = StageDraws(size, stage, np.ones(40, int), label, rates, share)
            wealth.append(wealth_below(draws, A[:2], B[:2], 0.8, 0.7))
        growth[missed] = np.mean(np.log(wealth))
    assert growth[60] > 0.5
    assert growth[16] < -0.5
