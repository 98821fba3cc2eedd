"""Cells partition the pool; candidates come in the order of u."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from haystat import Pool, measures
from haystat.pool import cells as cells_module
from haystat.pool.cells import FIRST_CANDIDATES
from haystat.pool.permanent_numbers import permanent_numbers


def two_systems(size: int = 3000, **options) -> Pool:
    rng = np.random.default_rng(4)
    first = np.round(rng.beta(0.4, 3, size), 3)
    second = rng.normal(-1, 2, size)
    country = rng.choice(["at", "ch", "de"], size)
    return Pool({"a": first, "b": second}, columns={"country": country}, strata=20, **options)


MEASURES = {
    "f1": lambda: measures.F1(),
    "other system": lambda: measures.Recall(system="b"),
    "accuracy": lambda: measures.Accuracy(),
    "curve": lambda: measures.PRCurve(n_thresholds=9),
    "brier": lambda: measures.Brier(),
    "several": lambda: measures.ForSystems(measures.F1()),
    "country": lambda: measures.Within(measures.F1(), column="country", equals="ch"),
}


@pytest.fixture(params=MEASURES)
def case(request):
    pool = two_systems()
    measure = MEASURES[request.param]().bind(pool.schema)
    return pool, measure, pool.cells(measure)


def test_cells_partition_the_pool(case):
    pool, _, cells = case
    np.testing.assert_array_equal(np.bincount(cells.of_item), cells.size)
    assert cells.size.min() > 0
    assert cells.size.sum() == len(pool)


def test_what_a_cell_is_predicted_does_not_depend_on_the_order_of_the_pool():
    """Recall of one system does not tell apart what another one predicts: most of a cell counts."""
    pool, found = two_systems(seed=1), []
    for order in (np.arange(len(pool)), np.random.default_rng(0).permutation(len(pool))):
        scores = {name: pool.scores[order, k] for k, name in enumerate(pool.systems)}
        other = Pool(scores, ids=order, strata=7)
        cells = other.cells(measures.Recall(system="a").bind(other.schema))
        found.append(cells.example.predictions)
        parts = [other.outputs(np.flatnonzero(cells.of_item == k)) for k in range(len(cells))]
        share = np.array([part.predictions[:, 1].mean() for part in parts])
        assert np.any((share > 0) & (share < 1))
        np.testing.assert_array_equal(found[-1][:, 1], share > 0.5)
    np.testing.assert_array_equal(*found)


def test_a_cell_lies_in_one_stratum(case):
    pool, _, cells = case
    np.testing.assert_array_equal(cells.stratum[cells.of_item], pool.stratum)


def test_items_of_a_cell_have_one_signature_and_cells_of_a_stratum_differ(case):
    pool, measure, cells = case
    signature = measure.signature(pool.outputs(np.arange(len(pool))))
    if signature is None:
        signature = np.zeros(len(pool), dtype=int)
    triples = {*zip(cells.of_item.tolist(), pool.stratum.tolist(), signature.tolist(), strict=True)}
    assert len(triples) == len({(s, g) for _, s, g in triples}) == len(cells)


def test_the_example_of_a_cell_is_one_of_its_items(case):
    _, _, cells = case
    np.testing.assert_array_equal(cells.of_item[cells.example.index], np.arange(len(cells)))


def test_cells_do_not_depend_on_the_size_of_the_blocks(case, monkeypatch):
    pool, measure, cells = case
    monkeypatch.setattr("haystat.pool.memory.BLOCK", 17)
    np.testing.assert_array_equal(pool.cells(measure).of_item, cells.of_item)


def test_prior_shares_are_means_over_items_and_systems(case):
    pool, _, cells = case
    logistic = 1 / (1 + np.exp(-pool.scores[:, 1]))
    positive = (pool.scores[:, 0] + logistic) / 2
    expected = [positive[cells.of_item == cell].mean() for cell in range(len(cells))]
    np.testing.assert_allclose(cells.prior[:, 1], expected, rtol=1e-6)  # 20 binary digits
    np.testing.assert_allclose(cells.prior.sum(axis=1), 1)


def test_given_probabilities_are_the_prior():
    given = np.random.default_rng(0).dirichlet([1, 1, 1], 60)
    pool = Pool(
        np.arange(60.0), np.arange(60) % 3, probabilities=given, classes=(0, 1, 2), strata=4
    )
    cells = pool.cells(measures.Accuracy().bind(pool.schema))
    for cell in range(len(cells)):
        np.testing.assert_allclose(cells.prior[cell], given[cells.of_item == cell].mean(axis=0))


def test_scores_of_each_class_are_the_prior_as_they_are_or_by_softmax():
    given = np.random.default_rng(0).dirichlet([1, 1, 1], 60)
    for scores in (given, np.log(given) + 7):
        pool = Pool(scores, classes=("x", "y", "z"), strata=4)
        cells = pool.cells(measures.Accuracy().bind(pool.schema))
        for cell in range(len(cells)):
            np.testing.assert_allclose(cells.prior[cell], given[cells.of_item == cell].mean(axis=0))


def test_one_score_says_nothing_about_three_classes():
    pool = Pool([0.1, 0.5, 0.9], [0, 1, 2], classes=(0, 1, 2))
    cells = pool.cells(measures.Accuracy().bind(pool.schema))
    np.testing.assert_allclose(cells.prior, 1 / 3)


def test_no_label_is_ruled_out_by_a_prior_of_zero():
    pool = Pool([0.0, 0.0, 1.0])
    cells = pool.cells(measures.F1().bind(pool.schema))
    assert cells.prior.min() > 0
    np.testing.assert_allclose(cells.prior, [[1, 0], [0, 1]], atol=1e-8)


def brute_force_order(pool: Pool, cells, cell: int, seed: int) -> list[int]:
    items = np.flatnonzero(cells.of_item == cell)
    keys = items if pool.ids.dtype.kind != "i" else pool.ids[items]
    return items[np.argsort(permanent_numbers(keys, seed), kind="stable")].tolist()


@pytest.mark.parametrize("ids", [None, np.random.default_rng(1).permutation(3000) - 1500])
def test_candidates_come_in_the_order_of_u(ids):
    pool = two_systems(ids=ids, seed=5)
    cells = pool.cells(measures.F1().bind(pool.schema))
    for seed, candidates in ((5, pool.candidates(cells)), (9, pool.candidates(cells, 9))):
        for cell in range(len(cells)):
            taken = [candidates.take(cell, rank) for rank in range(cells.size[cell])]
            assert taken == brute_force_order(pool, cells, cell, seed)


def test_candidates_beyond_the_first_are_fetched():
    size = 60_000
    pool = Pool(np.linspace(-1, 1, size), strata=3)
    cells = pool.cells(measures.F1().bind(pool.schema))
    largest = int(np.argmax(cells.size))
    expected = brute_force_order(pool, cells, largest, 2)
    last = int(cells.size[largest]) - 1
    assert last > 8 * FIRST_CANDIDATES
    ranks = [0, FIRST_CANDIDATES - 1, FIRST_CANDIDATES, 2000, 6000, last, 5, last - 1]
    candidates = pool.candidates(cells, 2)
    assert [candidates.take(largest, rank) for rank in ranks] == [expected[r] for r in ranks]
    others = [cell for cell in range(len(cells)) if cell != largest]
    for cell in others:
        assert candidates.take(cell, 3) == brute_force_order(pool, cells, cell, 2)[3]


def test_a_pass_that_finds_too_few_is_repeated(monkeypatch):
    pool = Pool(np.linspace(-1, 1, 5000), strata=1)
    cells = pool.cells(measures.F1().bind(pool.schema))
    expected = brute_force_order(pool, cells, 0, 0)
    monkeypatch.setattr(cells_module, "FIRST_CANDIDATES", 1)
    monkeypatch.setattr(cells_module, "EXCESS", -0.95)
    candidates = pool.candidates(cells)
    assert [candidates.take(0, rank) for rank in range(len(expected))] == expected


def test_a_rank_beyond_the_cell_is_an_error():
    pool = Pool([0.1, 0.2])
    cells = pool.cells(measures.F1().bind(pool.schema))
    with pytest.raises(IndexError):
        pool.candidates(cells).take(0, int(cells.size[0]))


def test_every_order_is_equally_likely_over_seeds():
    pool = Pool(np.full(4, 0.5), ids=[10, 11, 12, 13])
    cells = pool.cells(measures.F1().bind(pool.schema))
    number = {order: index for index, order in enumerate(permutations(range(4)))}
    seen = np.zeros(len(number), dtype=int)
    for seed in range(4800):
        candidates = pool.candidates(cells, seed)
        seen[number[tuple(candidates.take(0, rank) for rank in range(4))]] += 1
    assert stats.chisquare(seen).pvalue > 1e-3


def test_every_item_of_a_large_cell_is_equally_often_among_the_first():
    pool = Pool(np.full(3000, 0.5))
    cells = pool.cells(measures.F1().bind(pool.schema))
    seen = np.zeros(30, dtype=int)
    for seed in range(300):
        candidates = pool.candidates(cells, seed)
        for rank in range(100):
            seen[candidates.take(0, rank) // 100] += 1
    # 100 of 3000 without replacement vary a little less than a multinomial: conservative.
    assert stats.chisquare(seen).pvalue > 1e-3
