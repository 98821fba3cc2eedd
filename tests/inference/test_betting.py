"""The bets behind the guaranteed interval, against every sequence of draws of tiny pools."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from haystat.inference.betting import ADAPTIVE, FRACTIONS
from haystat.inference.guaranteed_interval import Bets, StageDraws

#: cell and label of the items of a pool; cell 0 is predicted positive, the others are not
CELL = np.array([0, 0, 1, 1, 2])
LABEL = np.array([1, 0, 1, 0, 0])
SIZE = np.bincount(CELL)
ACTUAL, PREDICTED = np.array([[0.0, 1.0]] * 3), np.array([[1.0, 1.0]] + [[0.0, 0.0]] * 2)
F1 = 2 * ACTUAL * PREDICTED, ACTUAL + PREDICTED
RECALL = ACTUAL * PREDICTED, ACTUAL
ACCURACY = (ACTUAL == PREDICTED).astype(float), np.ones((3, 2))
RATIOS = {"f1": F1, "recall": RECALL, "accuracy": ACCURACY}
GUESS = np.array([[0.2, 0.8], [0.7, 0.3], [0.99, 0.01]])
N_DRAWS = 4


def truth(ratio, label=LABEL):
    return ratio[0][CELL, label].sum() / ratio[1][CELL, label].sum()


def stage_rates(answers):
    """Rates of two stages of two draws; those of the second depend on the labels of the first."""
    second = [1.0, 3.0, 0.5] if sum(answers[:2]) == 1 else [2.0, 0.1, 4.0]
    return np.array([[3.0, 1.0, 0.3], second])


def sequences(label=LABEL):
    """All ways to draw N_DRAWS of the items one by one: probability, items, rates."""
    runs = [(1.0, [])]
    for t in range(N_DRAWS):
        longer = []
        for chance, items in runs:
            rate = stage_rates(label[items])[t // 2][CELL]
            rate[items] = 0
            longer += [(chance * rate[i] / rate.sum(), [*items, i]) for i in np.flatnonzero(rate)]
        runs = longer
    return [(chance, items, stage_rates(label[items])) for chance, items in runs]


def expected_wealth(ratio, tau, sign, runs, label=LABEL, **options):
    """Mean of the last wealth; none may be negative."""
    stage, mean = np.arange(N_DRAWS) // 2, 0.0
    for chance, items, rates in runs:
        draws = StageDraws(SIZE, stage, CELL[items], label[items], rates, **options)
        wealth = Bets(draws, *ratio).wealth(tau, sign)[1]
        assert wealth >= 0
        mean += chance * wealth
    return mean


@pytest.mark.parametrize("shares", [None, np.array([GUESS, GUESS[:, ::-1]])], ids=["own", "given"])
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("ratio", RATIOS)
def test_bets_at_the_truth_are_fair_whatever_the_guess(ratio, sign, shares):
    runs, ratio = sequences(), RATIOS[ratio]
    assert sum(chance for chance, *_ in runs) == pytest.approx(1)
    assert expected_wealth(ratio, truth(ratio), sign, runs, shares=shares) == pytest.approx(1)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("ratio", RATIOS)
def test_bets_lose_where_the_claim_is_false_and_win_where_it_is_true(ratio, sign):
    runs, ratio = sequences(), RATIOS[ratio]
    assert expected_wealth(ratio, truth(ratio) + 0.2 * sign, sign, runs) < 1
    assert expected_wealth(ratio, truth(ratio) - 0.2 * sign, sign, runs) > 1


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("of_class", [None, 2])
def test_bets_on_three_classes_are_fair(of_class, sign):
    """Accuracy, or F1 of a class; cell k is predicted to be of class k."""
    label, right = np.array([0, 2, 1, 0, 2]), np.eye(3)
    ratio = right, np.ones((3, 3))
    if of_class is not None:
        member = right[of_class]
        ratio = 2 * np.outer(member, member), np.add.outer(member, member)
    runs, tau = sequences(label), truth(ratio, label)
    assert expected_wealth(ratio, tau, sign, runs, label) == pytest.approx(1)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("ratio", RATIOS)
def test_draws_with_replacement_are_fair_too(ratio, sign):
    ratio, chance = RATIOS[ratio], np.array([0.3, 0.15, 0.1])  # of each item of a cell
    mean = 0.0
    for items in product(range(5), repeat=N_DRAWS):
        seen = [item in items[:t] for t, item in enumerate(items)]
        cell, label = CELL[list(items)], LABEL[list(items)]
        draws = StageDraws(
            SIZE, np.zeros(N_DRAWS, int), cell, label, chance[None], None, np.array(seen)
        )
        mean += np.prod(chance[cell]) * Bets(draws, *ratio).wealth(truth(ratio), sign)[1]
    assert mean == pytest.approx(np.sum(chance[CELL]) ** N_DRAWS)


def runs_without(missing):
    """Sequences of N_DRAWS items that never take item `missing`, at equal rates."""
    others = [item for item in range(5) if item != missing]
    orders = [order for order in product(others, repeat=N_DRAWS) if len(set(order)) == N_DRAWS]
    return [list(order) for order in orders]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("label_of_last", [0, 1])
@pytest.mark.parametrize("ratio", RATIOS)
def test_a_cell_that_is_not_drawn_counts_with_its_worst_label(ratio, label_of_last, sign):
    """Item 4 is alone in cell 2, which has no rate."""
    ratio, label = RATIOS[ratio], np.append(LABEL[:4], label_of_last)
    rates = np.array([[1.0, 1.0, 0.0]])
    tau, mean, runs = truth(ratio, label), 0.0, runs_without(4)
    for items in runs:
        draws = StageDraws(SIZE, np.zeros(N_DRAWS, int), CELL[items], label[items], rates)
        mean += Bets(draws, *ratio).wealth(tau, sign)[1] / len(runs)
    worst = np.argmin(sign * (ratio[0] - tau * ratio[1])[2])
    assert mean == pytest.approx(1) if label_of_last == worst else mean < 1


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("true_label", [0, 1])
@pytest.mark.parametrize("ratio", RATIOS)
def test_an_item_without_an_answer_counts_with_its_worst_label(ratio, true_label, sign):
    """Nobody can label item 2; every item is equally likely to be next."""
    ratio, label = RATIOS[ratio], LABEL.copy()
    label[2] = true_label
    tau, mean = truth(ratio, label), 0.0
    runs = [order for order in product(range(5), repeat=N_DRAWS) if len(set(order)) == N_DRAWS]
    for items in runs:
        shown = np.where(np.array(items) == 2, -1, label[list(items)])
        draws = StageDraws(SIZE, np.zeros(N_DRAWS, int), CELL[list(items)], shown, np.ones((1, 3)))
        wealth = Bets(draws, *ratio).wealth(tau, sign)[1]
        assert wealth >= 0
        mean += wealth / len(runs)
    worst = np.argmin(sign * (ratio[0] - tau * ratio[1])[1])
    assert mean == pytest.approx(1) if true_label == worst else mean < 1


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("ratio", RATIOS)
def test_what_is_taken_for_certain_is_known_and_not_bet_on(ratio, sign):
    """Item 4 first, wherever it stands in its stage; then two of the others."""
    ratio, rates = RATIOS[ratio], np.array([[1.0, 1.0, np.inf]])
    runs = [order for order in product(range(4), repeat=2) if order[0] != order[1]]
    for place in (0, 2):
        mean = 0.0
        for order in runs:
            items = np.insert(order, place, 4)
            draws = StageDraws(SIZE, np.zeros(3, int), CELL[items], LABEL[items], rates)
            mean += Bets(draws, *ratio).wealth(truth(ratio), sign)[1] / len(runs)
        assert mean == pytest.approx(1)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("true_label", [0, 1])
@pytest.mark.parametrize("ratio", RATIOS)
def test_what_is_taken_for_certain_may_have_no_answer(ratio, true_label, sign):
    """Item 4 first, which nobody can label; then two of the others."""
    ratio, rates = RATIOS[ratio], np.array([[1.0, 1.0, np.inf]])
    tau, mean = truth(ratio, np.append(LABEL[:4], true_label)), 0.0
    runs = [order for order in product(range(4), repeat=2) if order[0] != order[1]]
    for order in runs:
        label = np.append(-1, LABEL[list(order)])
        draws = StageDraws(SIZE, np.zeros(3, int), CELL[[4, *order]], label, rates)
        mean += Bets(draws, *ratio).wealth(tau, sign)[1] / len(runs)
    worst = np.argmin(sign * (ratio[0] - tau * ratio[1])[2])
    assert mean == pytest.approx(1) if true_label == worst else mean < 1


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("tau", [0.0, 0.13, 0.5, 0.77, 1.0])
@pytest.mark.parametrize("ratio", RATIOS)
def test_no_label_takes_more_than_what_is_at_stake(ratio, tau, sign):
    left = (1 - ADAPTIVE) * np.mean(1 - FRACTIONS)  # if all the fixed bets are lost
    least = np.inf
    for cell, label in product(range(3), (-1, 0, 1)):
        one = np.zeros(1, int)
        rates, shares = np.array([[3.0, 1.0, 0.2]]), np.array([GUESS])
        draws = StageDraws(SIZE, one, one + cell, one + label, rates, shares)
        least = min(least, Bets(draws, *RATIOS[ratio]).wealth(tau, sign)[1])
    assert left - 1e-12 <= least <= left + ADAPTIVE + 0.01  # some label loses all of it


@pytest.mark.parametrize("share", [0.1, 0.3, 0.7, 1 / 3])
@pytest.mark.parametrize("n_items", [7, 10, 13])
def test_rounding_refutes_nothing(n_items, share):
    """All that is drawn is certain, and the sum at tau is zero but for rounding."""
    above, below = np.array([[share, share], [share, 1.0]]), np.ones((2, 2))
    zeros = np.zeros(6, int)
    draws = StageDraws(np.array([n_items, 5]), zeros, zeros, zeros, np.array([[1.0, 0.0]]))
    assert Bets(draws, above, below).wealth(share, 1)[0] == pytest.approx(1, abs=1e-3)
