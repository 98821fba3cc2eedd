"""Which items are taken, and how likely that was."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest

import haystat as hs
from haystat.designs.assisted import Assisted, passed, take, uniforms
from haystat.designs.base import Sheet
from haystat.ledger import pose

SIZES = np.array([4.0, 1.0, 0.2, 8.0, 0.05])
CELL_SIZE = np.array([30, 200, 400, 5, 1000])
NOTHING = np.zeros(5, dtype=np.int64)
KEYS = np.random.default_rng(0).integers(2**63, size=3000).tolist()


def n_taken(cell):
    return np.bincount(cell, minlength=len(SIZES))


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


@pytest.mark.parametrize(("size", "rank"), [(5, 1), (5, 3), (5, 5), (1000, 7)])
def test_the_r_th_smallest_of_n_uniforms_is_beta(size, rank):
    u = [-np.expm1(passed(np.array([size]), np.array([rank]), key)[0]) for key in KEYS]
    assert kstest(u, "beta", args=(rank, size - rank + 1)).pvalue > 1e-3


def test_neighbouring_order_statistics_have_their_covariance():
    """cov(U_(r), U_(s)) = r (N + 1 - s) / ((N + 1)^2 (N + 2)), r <= s."""
    size, low, high = 12, 3, 8
    log_left = [passed(np.array([size, size]), np.array([low, low]), key)[0] for key in KEYS]
    later = [passed(np.array([size, size]), np.array([high, low]), key)[0] for key in KEYS]
    u, v = -np.expm1(log_left), -np.expm1(later)
    assert (v > u).all()
    expected = low * (size + 1 - high) / ((size + 1) ** 2 * (size + 2))
    product = (u - u.mean()) * (v - v.mean())
    assert abs(product.mean() - expected) < 4 * product.std() / np.sqrt(len(KEYS))


def test_thirty_and_then_twenty_are_the_fifty_that_are_taken_at_once():
    for key in KEYS[:50]:
        first, _ = take(SIZES, CELL_SIZE, NOTHING, 30, key)
        second, threshold = take(SIZES, CELL_SIZE, n_taken(first), 20, key)
        together, same = take(SIZES, CELL_SIZE, NOTHING, 50, key)
        np.testing.assert_array_equal(np.r_[first, second], together)
        assert threshold == pytest.approx(same, rel=1e-12)


def test_the_items_taken_are_those_below_the_threshold():
    """Against a plain sort of u / size over all items."""
    for key in KEYS[:20]:
        cell = np.repeat(np.arange(5), CELL_SIZE)
        rank = np.concatenate([np.arange(1, size + 1) for size in CELL_SIZE])
        ratio = np.empty(len(cell))
        for i, (k, r) in enumerate(zip(cell, rank, strict=True)):
            ratio[i] = -np.expm1(_log_left(k, r, key)) / SIZES[k] if r <= 80 else np.inf
        order = np.argsort(ratio, kind="stable")
        taken, threshold = take(SIZES, CELL_SIZE, NOTHING, 60, key)
        np.testing.assert_array_equal(taken, cell[order[:60]])
        assert threshold == pytest.approx(ratio[order[60]], rel=1e-12)


def _log_left(cell, rank, key):
    """log(1 - u): one factor V^(1/N) for each of the items passed."""
    numbers = uniforms(key, np.full(rank, cell), np.arange(rank))
    return np.sum(np.log(numbers) / (CELL_SIZE[cell] - np.arange(rank)))


def test_one_over_the_inclusion_is_an_unbiased_weight():
    """Also after a second stage, with sizes that the labels had no say in."""
    totals = []
    for key in KEYS[:1500]:
        cell, threshold = take(SIZES, CELL_SIZE, NOTHING, 40, key)
        first = np.minimum(1, SIZES * threshold)
        later = SIZES[::-1].copy()
        more, threshold = take(later, CELL_SIZE, n_taken(cell), 25, key)
        second = np.maximum(first, np.minimum(1, later * threshold))
        totals.append([n_taken(cell) / first, n_taken(np.r_[cell, more]) / second])
    miss = np.array(totals) / CELL_SIZE - 1
    error = miss.std(axis=0) / np.sqrt(len(miss))
    assert np.all(np.abs(miss.mean(axis=0)) < 4 * error)
    assert np.all(error < 0.02)  # so that the line above would notice


def test_when_nothing_is_left_the_threshold_is_infinite():
    cell, threshold = take(SIZES, CELL_SIZE, NOTHING, int(CELL_SIZE.sum()), 1)
    assert threshold == np.inf
    np.testing.assert_array_equal(n_taken(cell), CELL_SIZE)
    cell, threshold = take(SIZES, CELL_SIZE, CELL_SIZE, 10, 1)
    assert (len(cell), threshold) == (0, np.inf)


def test_the_stage_that_takes_the_last_item_has_inclusion_one(pool_of, ledger_after):
    pool, label = pool_of(60)
    ledger = ledger_after(pool, "f1", label, [25, 34], 3)
    assert np.all(ledger.stages[-1].inclusion <= 1)
    assert np.any(ledger.stages[-1].inclusion < 1)
    ledger = ledger_after(pool, "f1", label, [25, 34, 5], 3)
    assert ledger.stages[-1].n_new == 1
    np.testing.assert_array_equal(ledger.inclusion, 1)


def test_inclusion_never_falls_and_weights_are_one_over_it(pool_of, ledger_after):
    """A cell that attracts hardly any labels now keeps what it had."""
    pool, label = pool_of(400)
    ledger = ledger_after(pool, "f1", label, [30] * 5, 3)
    cell = ledger.problem.cells.of_item
    for stage in ledger.stages:
        np.testing.assert_array_equal(stage.weight, 1 / stage.inclusion[cell[stage.item]])
    before = np.linspace(0.3, 0.99, len(ledger.problem.cells))
    nobody = np.zeros(0, dtype=np.int64)
    sheet = Sheet(ledger.problem.cells.size, nobody, nobody, nobody, before)
    choice = ledger.design.choose(ledger.problem, ledger.state, sheet, 3, np.random.default_rng(0))
    assert np.all(choice.inclusion >= before)


@pytest.mark.parametrize("by_cell", [0.0, 0.8, 1.0])
def test_labels_that_are_spread_evenly_go_to_the_items_and_to_the_cells(pool_of, by_cell):
    """With uniform = 1 nothing is left to the model; labels of a cell are sizes times its items."""
    pool, _ = pool_of(500)
    problem = pose(pool, hs.measures.resolve("f1").bind(pool.schema))
    design = Assisted(uniform=(1.0, 1.0), by_cell=by_cell)
    sizes = design.sizes(problem, design.start(problem, np.random.default_rng(0)))
    items = problem.cells.size
    expected = (1 - by_cell) * items / items.sum() + by_cell / len(items)
    assert len(set(items.tolist())) > 2
    np.testing.assert_allclose(sizes * items, expected)
