"""Stratum edges: against examples worked by hand, and for every kind of score."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from haystat import Pool
from haystat.pool.strata import (
    BOXES,
    STRATIFIERS,
    assign,
    csf_edges,
    equal_size_edges,
    equal_width_edges,
    geometric_edges,
    locate,
    renumber,
)


def scores_with(counts: dict[float, int]) -> np.ndarray:
    return np.repeat(list(counts), list(counts.values()))


def test_csf_halves_the_cumulative_root_of_the_counts():
    # 8 bins of width 1. Roots 4 3 2 1 0 0 0 1, cumulative 4 7 9 10 10 10 10 11: half is 5.5, which
    # the second bin reaches.
    scores = scores_with({0.0: 16, 1.5: 9, 2.5: 4, 3.5: 1, 8.0: 1})
    assert csf_edges(scores, 2).tolist() == [1.0]
    assert np.bincount(assign(scores, csf_edges(scores, 2))).tolist() == [16, 15]


def test_csf_in_thirds():
    # 12 bins of width 1, cumulative roots 4 7 9 10 … 11: thirds at 3.67 (bin 0, which cannot open
    # a second stratum, so bin 1) and 7.33 (bin 2).
    scores = scores_with({0.0: 16, 1.5: 9, 2.5: 4, 3.5: 1, 12.0: 1})
    assert csf_edges(scores, 3).tolist() == [1.0, 2.0]
    assert np.bincount(assign(scores, csf_edges(scores, 3))).tolist() == [16, 9, 6]


def test_csf_puts_cuts_that_fall_into_one_bin_after_each_other():
    # 16 bins of width 1, cumulative roots 1 1 1 1 1 11 … 12: the cuts 3, 6 and 9 all fall into
    # bin 5. Nothing lies in [6, 7), so three strata are left of four.
    scores = scores_with({0.0: 1, 5.5: 100, 16.0: 1})
    assert csf_edges(scores, 4).tolist() == [5.0, 6.0, 7.0]
    assert np.bincount(assign(scores, csf_edges(scores, 4))).tolist() == [1, 100, 1]


def test_csf_counts_as_a_histogram_does():
    scores = np.random.default_rng(0).normal(size=50_000)
    counts, bin_edges = np.histogram(scores, bins=4 * 30)
    cumulative = np.cumsum(np.sqrt(counts))
    first = np.searchsorted(cumulative, cumulative[-1] * np.arange(1, 30) / 30)
    assert np.all(np.diff(first) > 0)
    assert first[0] > 0
    np.testing.assert_array_equal(csf_edges(scores, 30), bin_edges[first])


def test_geometric_edges_grow_by_one_factor():
    scores = np.array([1.0, 1.5, 3.0, 5.0, 9.0, 16.0])
    edges = geometric_edges(scores, 4)
    np.testing.assert_allclose(edges, [2.0, 4.0, 8.0])
    assert assign(scores, edges).tolist() == [0, 0, 1, 2, 3, 3]


def test_geometric_puts_zeros_into_the_first_stratum():
    scores = np.array([0.0, 0.0, 1.0, 3.0, 9.0, 16.0])
    edges = geometric_edges(scores, 4)
    np.testing.assert_allclose(edges, [2.0, 4.0, 8.0])
    assert assign(scores, edges).tolist() == [0, 0, 0, 1, 2, 2]
    assert geometric_edges(np.zeros(3), 4).tolist() == []


def test_equal_width_edges_split_the_range():
    scores = np.array([0.0, 0.9, 1.0, 3.9, 4.0])
    assert equal_width_edges(scores, 4).tolist() == [1.0, 2.0, 3.0]
    assert assign(scores, equal_width_edges(scores, 4)).tolist() == [0, 0, 1, 2, 2]


def test_equal_size_strata_hold_equally_many():
    scores = np.random.default_rng(1).permutation(12).astype(float)
    edges = equal_size_edges(scores, 4)
    assert edges.tolist() == [3.0, 6.0, 9.0]
    assert np.bincount(assign(scores, edges)).tolist() == [3, 3, 3, 3]


def test_equal_size_keeps_ties_together():
    scores = scores_with({1.0: 5, 2.0: 1, 3.0: 2})
    stratum = assign(scores, equal_size_edges(scores, 4))
    assert stratum.tolist() == [0] * 6 + [1] * 2


@pytest.mark.parametrize("stratify", STRATIFIERS)
class TestEveryStratifier:
    def test_equal_scores_make_one_stratum(self, stratify):
        for value in (0.0, 0.3, 1.0, 7.0):
            assert Pool(np.full(50, value), stratify=stratify).n_strata == 1

    def test_fewer_distinct_scores_than_strata(self, stratify):
        scores = np.repeat([0.1, 0.5, 0.9], 10)
        pool = Pool(scores, strata=100, stratify=stratify)
        assert 1 < pool.n_strata <= 3

    def test_strata_follow_the_scores_without_gaps(self, stratify):
        scores = np.round(np.random.default_rng(2).beta(0.3, 3, 2000), 2)
        pool = Pool(scores, strata=40, stratify=stratify)
        order = np.argsort(scores, kind="stable")
        steps = np.diff(pool.stratum[order])
        assert pool.stratum[order[0]] == 0
        assert set(steps.tolist()) == {0, 1}
        assert np.all(np.diff(scores[order])[steps == 1] > 0)
        assert 1 < pool.n_strata <= 40

    def test_one_stratum(self, stratify):
        assert Pool(np.linspace(0, 1, 9), strata=1, stratify=stratify).n_strata == 1

    def test_scores_closer_together_than_the_bins_can_be(self, stratify):
        scores = np.array([1.0, 1.0, np.nextafter(1.0, 2.0)]) + 1
        assert Pool(scores, strata=8, stratify=stratify).n_strata <= 2

    def test_a_pool_of_one_item(self, stratify):
        pool = Pool([0.7], stratify=stratify)
        assert (len(pool), pool.n_strata, pool.stratum.tolist()) == (1, 1, [0])


def test_given_edges_are_closed_below():
    pool = Pool([0.0, 0.2, 0.5, 0.51, 1.0], stratify=[0.2, 0.5])
    assert pool.stratum.tolist() == [0, 1, 2, 2, 2]


def test_given_edges_that_leave_strata_empty():
    pool = Pool([0.0, 0.2, 0.9], stratify=[-5, 0.1, 0.3, 0.4, 7])
    assert pool.stratum.tolist() == [0, 1, 2]


def test_given_stratum_of_each_item_keeps_its_order():
    pool = Pool([0.1, 0.2, 0.3, 0.4], strata=[9, 2, 2, 10**12])
    assert pool.stratum.tolist() == [1, 0, 0, 2]
    assert pool.n_strata == pool.tree.n_strata == 3


def test_probabilities_are_cut_on_the_logit_scale():
    scores = np.array([0.001, 0.02, 0.5, 0.98, 0.999])
    logits = np.log(scores / (1 - scores))
    by_probability = Pool(scores, strata=3, stratify="equal_width")
    by_logit = Pool(logits, strata=3, stratify="equal_width")
    assert by_probability.stratum.tolist() == by_logit.stratum.tolist() == [0, 0, 1, 2, 2]


def test_several_systems_are_cut_on_their_mean():
    first, second = np.array([0.0, 1.0, 2.0, 9.0]), np.array([9.0, 2.0, 2.0, 9.0])
    pool = Pool({"a": first, "b": second}, strata=2, stratify="equal_width")
    assert pool.stratum.tolist() == [0, 0, 0, 1]


@given(
    st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=40, unique=True),
    st.integers(0, 2**32 - 1),
)
def test_locate_is_searchsorted(edges, seed):
    edges = np.sort(np.array(edges))
    rng = np.random.default_rng(seed)
    scores = rng.choice(np.concatenate([edges, np.nextafter(edges, np.inf), -edges]), BOXES + 1)
    np.testing.assert_array_equal(
        locate(scores, edges), np.searchsorted(edges, scores, side="right")
    )


def test_locate_finds_scores_on_and_around_a_fine_grid():
    edges = np.linspace(-8, 4, 1024)
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.normal(-4, 3, 50_000), edges, np.nextafter(edges, -np.inf)])
    np.testing.assert_array_equal(
        locate(scores, edges), np.searchsorted(edges, scores, side="right")
    )


@pytest.mark.parametrize("codes", [[3, 1, 3, 7], [-2, 10**12, 5, 5], [0, 1, 2, 1]])
def test_renumber_keeps_order_and_leaves_no_gap(codes):
    expected = np.unique(codes, return_inverse=True)[1]
    assert renumber(np.array(codes)).tolist() == expected.tolist()
