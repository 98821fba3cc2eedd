"""Pairs that are scored in a stream: the same pool as their scores in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import haystat as hs
from haystat.engines.grid import even_grid
from haystat.engines.stream import Reservoir, absorb, in_order, make_bins
from haystat.engines.stream_loops import nth_smallest, number_of, upper_halves
from haystat.errors import BadOption, BadScore, EmptyPool
from haystat.pool.permanent_numbers import permanent_numbers, round_keys
from haystat.pool.scales import scale_of


def logistic(left, right):
    """Similar rows are likely to match."""
    return 1 / (1 + np.exp(3 * np.abs(left[:, None] - right[None, :]) - 1))


def margin(left, right):
    return 2 - 3 * np.abs(left[:, None] - right[None, :])


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(0)
    return rng.normal(0, 2, 300), rng.normal(0, 2, 170)


def chosen_edges(pool):
    """Where the strata of a streamed pool begin, on the raw score."""
    groups, edges = pool.held.sketch.groups, pool.cut.ladders[0][1].edges
    place = groups.column("hs_place")
    stratum = pool.held.sketch.atoms.stratum[pool.held.sketch.atom_of]
    firsts = [place[stratum == s].min() for s in range(1, pool.n_strata)]
    return [edges[first - 1] for first in firsts]


@pytest.mark.parametrize(
    ("score", "options"),
    [(logistic, {}), (margin, {"score_range": (-20.0, 2.0), "strata": 64})],
    ids=["probabilities", "margins"],
)
def test_a_stream_is_the_same_pool_as_its_scores_in_memory(score, options, tables, run_draws):
    left, right = tables
    pool = hs.cross_pool(left, right, score, seed=5, chunk=999, **options)
    scores = score(left, right).ravel()
    memory = hs.Pool(scores, stratify=chosen_edges(pool), seed=5)
    rng = np.random.default_rng(1)
    truth = rng.random(len(scores)) < (scores if score is logistic else scores > 1)
    label = dict(enumerate(truth.astype(int).tolist()))
    one, other = run_draws(memory, "f1", label, n=100), run_draws(pool, "f1", label, n=100)
    assert pool.n_strata == memory.n_strata
    np.testing.assert_array_equal(pool.schema.score_range, memory.schema.score_range)
    assert one[0] == other[0]
    if score is logistic:  # margins have their prior from bins
        np.testing.assert_array_equal(one[1], other[1])


def test_the_chunks_make_no_difference_and_dry_cells_are_scored_again(tables):
    left, right = tables
    pools = [
        hs.cross_pool(left, right, logistic, chunk=chunk, candidates=n, strata=8)
        for chunk, n in ((10**9, 5000), (1, 3), (4000, 1024))
    ]
    cells = [pool.cells(hs.measures.F1().bind(pool.schema)) for pool in pools]
    orders = [pool.candidates(c) for pool, c in zip(pools, cells, strict=True)]
    for cell, size in enumerate(cells[0].size.tolist()):
        first, *others = [
            [pool.id_of(i) for i in order.first(cell, min(size, 600))[0].tolist()]
            for pool, order in zip(pools, orders, strict=True)
        ]
        assert all(other == first for other in others)


def test_score_may_use_its_memory_again(tables):
    left, right = tables
    memory = np.empty(left.shape + right.shape)

    def reusing(a, b):
        memory[: len(a)] = logistic(a, b)
        return memory[: len(a)]

    pools = [hs.cross_pool(left, right, score, chunk=999) for score in (logistic, reusing)]
    items = [pool.held.sketch.items for pool in pools]
    np.testing.assert_array_equal(items[0].id, items[1].id)
    groups = [pool.held.sketch.groups for pool in pools]
    np.testing.assert_array_equal(groups[0].size, groups[1].size)
    np.testing.assert_array_equal(groups[0].score_sum, groups[1].score_sum)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_compiled_loop_is_the_plain_one(kind):
    rng = np.random.default_rng(2)
    scores = np.concatenate([rng.random(40_000) ** 8, [0.0, -0.0, 1.0, 0.3, 0.5]]).astype(kind)
    edges = even_grid(scale_of(0.0, 1.0), 64).edges
    bins = make_bins(edges, 0.3)
    reservoir = Reservoir.empty(len(bins.edges) + 1, 20)
    assert absorb(reservoir, bins, scores[:999], 7, 3) == 0
    assert absorb(reservoir, bins, scores[999:], 7 + 999, 3) == 0
    u, scores = permanent_numbers(np.arange(7, 7 + len(scores)), 3), scores.astype(float)
    group = np.searchsorted(edges, scores, side="right") + (scores >= 0.3)
    n_groups = len(bins.edges) + 1
    np.testing.assert_array_equal(reservoir.count, np.bincount(group, minlength=n_groups))
    np.testing.assert_allclose(reservoir.total, np.bincount(group, scores, minlength=n_groups))
    np.testing.assert_array_equal(reservoir.extremes, [scores.min(), scores.max()])
    for g in np.unique(group):
        expected = np.flatnonzero((group == g) & (u <= reservoir.limit[g]))
        kept = reservoir.key[g, : reservoir.n_kept[g]] - 7
        np.testing.assert_array_equal(np.sort(kept), expected)
        np.testing.assert_array_equal(reservoir.u[g, : len(kept)], u[kept])
        np.testing.assert_array_equal(reservoir.score[g, : len(kept)], scores[kept])
        assert len(expected) >= min(20, (group == g).sum())


@pytest.mark.parametrize("first_key", [0, 2**32 - 500, 2**63 - 1000])
def test_compiled_numbers_are_the_plain_ones(first_key):
    keys = np.array(round_keys(9), dtype=np.uint64)
    out = np.empty(1000, dtype=np.uint32)
    upper_halves(first_key, keys, out)
    plain = permanent_numbers(first_key + np.arange(1000), 9)
    np.testing.assert_array_equal(out, plain >> 31)
    numbers = [number_of(np.uint64(first_key + i), keys) for i in range(1000)]
    np.testing.assert_array_equal(numbers, plain)


@pytest.mark.parametrize("n", [0, 1, 24, 99])
def test_the_compiled_selection_is_that_of_sorted_values(n):
    for seed in range(20):
        values = np.random.default_rng(seed).integers(0, 60, 100)
        expected = np.sort(values)[n]
        assert nth_smallest(values, n) == expected


def test_the_sums_do_not_depend_on_the_chunks():
    scores = np.random.default_rng(4).random(9001)
    bins = make_bins(np.array([0.2, 0.7]), 0.5)
    totals = []
    for step in (9001, 4000, 17):
        reservoir = Reservoir.empty(4, 5)
        for start in range(0, len(scores), step):
            absorb(reservoir, bins, scores[start : start + step], start, 0)
        totals.append(reservoir.total)
    np.testing.assert_array_equal(totals[1:], [totals[0]] * 2)


@pytest.mark.parametrize("threshold", [-np.inf, -1.0, 0.25, 0.3, 2.0, np.inf])
def test_a_group_is_a_bin_above_or_below_the_threshold(threshold):
    edges = np.array([-1.0, 0.25, 0.26, 0.26, 1e200, np.inf])
    bins = make_bins(edges, threshold)
    scores = np.array([-1e300, -1.0, -0.0, 0.25, 0.255, 0.26, 0.3, 0.5, 2.0, 1e300])
    reservoir = Reservoir.empty(len(bins.edges) + 1, 20)
    assert absorb(reservoir, bins, scores, 0, 0) == 0
    for g, n_kept in enumerate(reservoir.n_kept.tolist()):
        kept = reservoir.score[g, :n_kept]
        np.testing.assert_array_equal(np.searchsorted(edges, kept, side="right"), bins.place[g])
        np.testing.assert_array_equal(kept >= threshold, bins.above[g])
    assert reservoir.n_kept.sum() == len(scores)


def test_bits_are_ordered_like_the_numbers():
    numbers = np.random.default_rng(3).normal(0, 1e3, 1000)
    numbers = np.sort(np.append(numbers, [0.0, -1e300, 1e300, 1e-310]))
    assert np.all(np.diff(in_order(numbers)) > 0)
    assert in_order(np.array([-0.0])) == in_order(np.array([0.0]))


@pytest.mark.parametrize("kind", [pd.DataFrame, pa.table])
def test_both_tables_are_shown(kind):
    left = kind({"name": [f"a{i}" for i in range(20)]})
    right = kind({"name": [f"b{i}" for i in range(30)], "year": list(range(30))})
    pool = hs.cross_pool(left, right, lambda a, b: np.full((len(a), len(b)), 0.3))
    shown = pool.records(np.array([pool.index_of(4 * 30 + 7)]))
    assert shown == {"left.name": ["a4"], "right.name": ["b7"], "right.year": [7]}


def test_studies_of_streamed_pairs(tables, tmp_path):
    pool = hs.cross_pool(*tables, logistic)
    with hs.Study.create(tmp_path / "pairs.haystat", pool, "f1", random_state=0) as study:
        study.tell({question.item: 0 for question in study.ask(50)})
        assert study.n_labels == 50


def test_scores_that_cannot_be(tables):
    left, right = tables

    def broken(a, b):
        scores = logistic(a, b)
        scores[scores < 1e-9] = np.nan
        return scores

    with pytest.raises(BadScore, match=r"scores are NaN.*row \d+ with row \d+"):
        hs.cross_pool(left * 10, right, broken)
    with pytest.raises(BadScore, match="shape"):
        hs.cross_pool(left, right, lambda a, b: np.zeros(len(a)))
    with pytest.raises(EmptyPool):
        hs.cross_pool(left[:0], right, logistic)
    with pytest.raises(BadOption, match="score_range"):
        hs.cross_pool(left, right, logistic, score_range=(1, 0))
    pool = hs.cross_pool(left, right, logistic)
    with pytest.raises(BadOption, match="streamed"):
        hs.Evaluation(pool, "pr_curve")
