"""Which items are drawn, in which order, and how likely that was."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from haystat.designs import clocks
from haystat.designs.clocks import rung_at, stage_rates, take, uniforms
from haystat.inference.guarantee import rates_between

RATES = np.array([4.0, 1.0, 0.2, 8.0, 0.05])
SIZE = np.array([30, 200, 400, 5, 1000])
FRESH, NOBODY = np.zeros(5), np.zeros(5, dtype=np.int64)
KEYS = np.random.default_rng(0).integers(2**63, size=3000).tolist()


def n_taken(cell):
    return np.bincount(cell, minlength=len(SIZE))


def test_the_numbers_are_uniform_and_do_not_depend_on_each_other():
    cell, rank = (a.ravel() for a in np.meshgrid(np.arange(100), np.arange(200), indexing="ij"))
    drawn = uniforms(KEYS[0], cell, rank).reshape(100, 200)
    assert kstest(drawn.ravel(), "uniform").pvalue > 1e-3
    assert ((drawn > 0) & (drawn < 1)).all()
    for one, other in ((drawn[1:], drawn[:-1]), (drawn[:, 1:], drawn[:, :-1])):
        correlation = np.corrcoef(one.ravel(), other.ravel())[0, 1]
        assert abs(correlation) < 4 / np.sqrt(one.size)
    next_key = uniforms(KEYS[0] + 1, cell, rank)
    assert abs(np.corrcoef(drawn.ravel(), next_key)[0, 1]) < 4 / np.sqrt(drawn.size)


def test_one_number_at_a_time_is_the_same_number():
    rng = np.random.default_rng(1)
    for key, cell, rank in zip(KEYS[:200], *rng.integers(1000, size=(2, 200)), strict=True):
        together = -np.log(uniforms(key, np.array([cell]), np.array([rank]))[0]) / (2000 - rank)
        assert clocks._gap(key, int(cell), int(rank), 2000) == pytest.approx(together, rel=1e-12)


@pytest.mark.parametrize(("size", "rank"), [(5, 1), (5, 3), (5, 5), (1000, 7)])
def test_the_r_th_clock_of_n_is_an_order_statistic_of_exponentials(size, rank):
    """exp(-clock) is uniform, so that 1 - exp(-clock) is beta."""
    clock = np.array([rung_at(np.array([size]), np.array([rank]), key)[0] for key in KEYS])
    assert kstest(-np.expm1(-clock), "beta", args=(rank, size - rank + 1)).pvalue > 1e-3


def test_no_item_asked_about_has_no_clock():
    np.testing.assert_array_equal(rung_at(SIZE, NOBODY, 3), 0)


def test_inclusion_is_how_often_items_are_drawn():
    """N_k = E[undrawn_k / (1 - inclusion_k)] wherever the clocks stop (a martingale).

    Also after a second stage whose rates depend on the first.
    """
    miss = []
    for key in KEYS:
        cell, first = take(RATES, FRESH, SIZE, NOBODY, 40, key)
        later = RATES[::-1] * np.where(n_taken(cell) > SIZE * first, 3.0, 1.0)
        more, second = take(later, first, SIZE, n_taken(cell), 25, key)
        n_drawn = np.array([n_taken(cell), n_taken(np.r_[cell, more])])
        undrawn_share = np.maximum(1 - np.array([first, second]), 1e-300)
        miss.append((SIZE - n_drawn) / undrawn_share - SIZE)
    miss = np.array(miss)
    error = miss.std(axis=0) / np.sqrt(len(miss))
    assert np.all(np.abs(miss.mean(axis=0)) < 4 * error)
    assert np.all(error < 0.02 * SIZE)  # so that the line above would notice


@pytest.mark.parametrize("place", [0, 5, 19])
def test_the_next_item_is_drawn_in_proportion_to_rates(place):
    """Of the items not drawn yet, each by the rate of its cell, whatever was drawn before."""
    found, expected = np.zeros(5), np.zeros(5)
    for key in KEYS:
        cell, _ = take(RATES, FRESH, SIZE, NOBODY, 20, key)
        chance = RATES * (SIZE - n_taken(cell[:place]))
        expected += chance / chance.sum()
        found[cell[place]] += 1
    assert chisquare(found, expected).pvalue > 1e-3


@pytest.mark.parametrize("place", [0, 1, 7])
def test_in_a_later_stage_the_next_item_is_drawn_in_proportion_to_its_rates(place):
    """Rates that depend on what was drawn before, as those of a model do."""
    found, expected = np.zeros(5), np.zeros(5)
    for key in KEYS[:2000]:
        cell, inclusion = take(RATES, FRESH, SIZE, NOBODY, 25, key)
        second = RATES[::-1] * (1 + 3 * (n_taken(cell) > SIZE * inclusion))
        more, inclusion = take(second, inclusion, SIZE, n_taken(cell), 10, key)
        asked = n_taken(np.r_[cell, more])
        third = np.where(asked > 8, 0.1, 2.0) * RATES
        last, _ = take(third, inclusion, SIZE, asked, 10, key)
        chance = third * (SIZE - asked - n_taken(last[:place]))
        expected += chance / chance.sum()
        found[last[place]] += 1
    assert chisquare(found, expected).pvalue > 1e-3


def test_the_first_items_of_a_later_stage_do_not_tell_of_the_earlier_ones():
    """Given what was drawn, by pairs: last cell of one stage, first of the next."""
    pairs, expected = np.zeros((5, 5)), np.zeros((5, 5))
    for key in KEYS:
        cell, inclusion = take(RATES, FRESH, SIZE, NOBODY, 12, key)
        more, _ = take(RATES[::-1].copy(), inclusion, SIZE, n_taken(cell), 1, key)
        chance = RATES[::-1] * (SIZE - n_taken(cell))
        pairs[cell[-1], more[0]] += 1
        expected[cell[-1]] += chance / chance.sum()
    large = expected > 5
    assert large.sum() > 8
    scale = pairs[large].sum() / expected[large].sum()
    assert chisquare(pairs[large], expected[large] * scale).pvalue > 1e-3


def test_one_stage_is_two_stages_with_the_same_rates():
    for key in KEYS[:50]:
        first, inclusion = take(RATES, FRESH, SIZE, NOBODY, 30, key)
        second, after = take(RATES, inclusion, SIZE, n_taken(first), 20, key)
        together, same = take(RATES, FRESH, SIZE, NOBODY, 50, key)
        np.testing.assert_array_equal(np.r_[first, second], together)
        np.testing.assert_allclose(after, same, rtol=1e-9)


def test_items_that_are_certain_come_first_and_are_drawn_whole():
    rates = np.array([1.0, 1.0, 1.0, np.inf, 0.0])
    for key in KEYS[:20]:
        cell, inclusion = take(rates, FRESH, SIZE, NOBODY, 20, key)
        np.testing.assert_array_equal(cell[:5], 3)
        assert not np.any(cell[5:] >= 3)
        assert (inclusion[3], inclusion[4]) == (1, 0)
    part, inclusion = take(rates, FRESH, SIZE, NOBODY, 4, 1)
    np.testing.assert_array_equal(part, 3)
    assert inclusion[3] < 1  # an item is left


def test_at_the_end_everything_is_drawn_once():
    cell, inclusion = take(np.full(5, np.inf), FRESH, SIZE, NOBODY, int(SIZE.sum()), 1)
    np.testing.assert_array_equal(n_taken(cell), SIZE)
    np.testing.assert_array_equal(inclusion, 1)
    cell, _ = take(RATES, FRESH, SIZE, NOBODY, 5000, 1)
    np.testing.assert_array_equal(n_taken(cell), SIZE)
    cell, after = take(RATES, inclusion, SIZE, SIZE, 10, 1)
    assert len(cell) == 0
    np.testing.assert_array_equal(after, 1)


def test_no_cell_gives_more_items_than_it_has():
    rng = np.random.default_rng(4)
    for key in KEYS[:20]:
        asked, inclusion = NOBODY, FRESH
        for _ in range(30):
            rates = np.exp(rng.normal(0, 3, 5))
            cell, after = take(rates, inclusion, SIZE, asked, 60, key)
            asked = asked + n_taken(cell)
            assert np.all(asked <= SIZE)
            assert np.all(after >= inclusion)
            inclusion = after
        assert asked.sum() == SIZE.sum()


def test_draws_are_those_of_the_key():
    one, same, other = (take(RATES, FRESH, SIZE, NOBODY, 100, key) for key in (5, 5, 6))
    np.testing.assert_array_equal(one[0], same[0])
    np.testing.assert_array_equal(one[1], same[1])
    assert np.any(one[0] != other[0])


@pytest.mark.parametrize("least", [0.0001, 0.02, 0.5])
@pytest.mark.parametrize("n", [1, 40, 700, 1600])
def test_rates_of_a_stage_expect_as_many_items_as_are_wanted(n, least):
    sizes = RATES / (RATES @ SIZE)
    inclusion = np.array([0.5, 0.01, 0.0, 0.9, 0.02])
    unasked = np.rint(SIZE * (1 - inclusion)).astype(np.int64)
    n = min(n, int(unasked.sum()) - 1)
    rates = stage_rates(sizes, inclusion, unasked, n, least)
    assert unasked @ -np.expm1(-rates) == pytest.approx(n, rel=1e-6)
    assert np.all(rates > 0)


def test_a_stage_brings_inclusion_to_a_multiple_of_the_sizes():
    """Where it was lower before; elsewhere a small rate remains."""
    sizes = RATES / (RATES @ SIZE)
    inclusion = np.array([0.3, 0.02, 0.001, 0.0, 0.2])
    rates = stage_rates(sizes, inclusion, np.rint(SIZE * (1 - inclusion)).astype(int), 60, 0.02)
    after = 1 - (1 - inclusion) * np.exp(-rates)
    multiple = after[1] / sizes[1]
    moved = multiple * sizes > inclusion * 1.02
    assert moved.sum() >= 3
    np.testing.assert_allclose(after[moved], np.minimum(1, multiple * sizes)[moved], rtol=1e-6)
    np.testing.assert_allclose(rates[~moved], 0.02 * multiple * sizes[~moved], rtol=1e-6)


def test_a_stage_for_all_that_is_left_is_a_census():
    sizes = np.array([0.1, 0.2, 0.0])
    rates = stage_rates(sizes, np.zeros(3), np.array([3, 4, 5]), 7, 0.02)
    np.testing.assert_array_equal(rates, [np.inf, np.inf, 0])


def test_large_sizes_are_certain():
    sizes = np.array([1.0, 1e-4])
    rates = stage_rates(sizes, np.zeros(2), np.array([3, 1000]), 50, 0.02)
    assert np.isinf(rates[0])
    assert 1000 * -np.expm1(-rates[1]) == pytest.approx(47)


def test_the_recorded_inclusions_give_the_rates_back():
    """Up to the clock at which each stage ended."""
    inclusion, asked, recorded, used = FRESH, NOBODY, [], []
    for stage, key in enumerate((7, 7, 7)):
        rates = np.roll(RATES, stage).copy()
        rates[3] = np.inf if stage == 1 else rates[3]
        cell, inclusion = take(rates, inclusion, SIZE, asked, 30, key)
        asked = asked + n_taken(cell)
        recorded.append(inclusion)
        used.append(rates)
    found = rates_between(recorded)
    for rates, between in zip(used, found, strict=True):
        open_ = np.isfinite(rates) & (between > 0)
        ratio = between[open_] / rates[open_]
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-6)
    assert np.isinf(found[1, 3])
    assert found[2, 3] == 0
    assert np.all(found[:, [0, 1, 2, 4]] > 0)


def test_weights_are_one_over_the_inclusion_which_never_falls(pool_of, ledger_after):
    pool, label = pool_of(400)
    ledger = ledger_after(pool, "f1", label, [30] * 5, 3)
    cell, before = ledger.problem.cells.of_item, 0.0
    for stage in ledger.stages:
        np.testing.assert_array_equal(stage.weight, 1 / stage.inclusion[cell[stage.item]])
        assert np.all(stage.inclusion >= before)
        assert len(np.unique(stage.item)) == 30
        before = stage.inclusion
    items = np.concatenate([stage.item for stage in ledger.stages])
    assert len(np.unique(items)) == 150


def test_the_stage_that_takes_the_last_item_has_inclusion_one(pool_of, ledger_after):
    pool, label = pool_of(60)
    ledger = ledger_after(pool, "f1", label, [25, 34], 3)
    assert np.any(ledger.stages[-1].inclusion < 1)
    ledger = ledger_after(pool, "f1", label, [25, 34, 5], 3)
    assert ledger.stages[-1].n_new == 1
    np.testing.assert_array_equal(ledger.inclusion, 1)
