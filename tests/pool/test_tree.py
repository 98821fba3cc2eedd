"""Trees over strata."""

from __future__ import annotations

import numpy as np
import pytest

from haystat import Pool
from haystat.errors import BadOption
from haystat.models import DirichletTree
from haystat.models.em import m_step
from haystat.pool.tree import balanced_tree, flat_tree, tree_from_parents

SHAPES = [(k, b) for k in (1, 2, 3, 5, 7, 8, 9, 27, 64, 100, 255, 256, 257) for b in (2, 3, 5, 300)]


def runs_under(tree) -> list[list[int]]:
    """The strata under each node."""
    under: list[list[int]] = [[] for _ in tree.parent]
    for stratum, node in enumerate(tree.leaf.tolist()):
        while node >= 0:
            under[node].append(stratum)
            node = int(tree.parent[node])
    return under


@pytest.mark.parametrize(("n_strata", "branching"), SHAPES)
class TestBalancedTree:
    def test_strata_are_the_leaves(self, n_strata, branching):
        tree = balanced_tree(n_strata, branching)
        inner = set(tree.parent[1:].tolist())
        assert set(tree.leaf.tolist()) == set(range(len(tree.parent))) - inner
        assert tree.n_strata == len(set(tree.leaf.tolist())) == n_strata

    def test_parents_come_first_and_have_two_or_more_children(self, n_strata, branching):
        tree = balanced_tree(n_strata, branching)
        assert tree.parent[0] == -1
        assert np.all(tree.parent[1:] < np.arange(1, len(tree.parent)))
        children = np.bincount(tree.parent[1:], minlength=len(tree.parent))
        inner = np.setdiff1d(np.arange(len(tree.parent)), tree.leaf)
        assert np.all((children[inner] >= 2) & (children[inner] <= branching))

    def test_every_node_covers_a_run_of_strata(self, n_strata, branching):
        tree = balanced_tree(n_strata, branching)
        for strata in runs_under(tree):
            assert strata == list(range(strata[0], strata[-1] + 1))

    def test_siblings_differ_by_at_most_one_stratum(self, n_strata, branching):
        tree = balanced_tree(n_strata, branching)
        size = np.array([len(strata) for strata in runs_under(tree)])
        for node in range(len(tree.parent)):
            siblings = size[tree.parent == node]
            assert len(siblings) == 0 or siblings.max() - siblings.min() <= 1

    def test_depth_is_as_small_as_it_can_be(self, n_strata, branching):
        tree = balanced_tree(n_strata, branching)
        assert np.all(tree.depth[1:] == tree.depth[tree.parent[1:]] + 1)
        height = 0
        while branching**height < n_strata:
            height += 1
        assert tree.height == height


@pytest.mark.parametrize(
    ("branching", "depth"), [(2, 1), (2, 8), (3, 4), (4, 3), (16, 2), (256, 1)]
)
def test_a_power_of_the_branching_gives_the_complete_breadth_first_tree(branching, depth):
    tree = balanced_tree(branching**depth, branching)
    nodes = np.arange(len(tree.parent))
    assert len(nodes) == sum(branching**level for level in range(depth + 1))
    np.testing.assert_array_equal(tree.parent, [-1, *(nodes[1:] - 1) // branching])
    np.testing.assert_array_equal(tree.leaf, nodes[-(branching**depth) :])


@pytest.mark.parametrize("n_strata", [1, 2, 3, 256])
def test_flat_tree_has_no_hierarchy(n_strata):
    tree = flat_tree(n_strata)
    assert tree.height == min(1, n_strata - 1)
    assert tree.n_strata == n_strata


def test_a_balanced_tree_branches():
    with pytest.raises(BadOption, match="branching is 1; it must be at least 2"):
        balanced_tree(4, 1)


def test_totals_add_up_what_lies_under_a_node():
    values = np.arange(10.0).reshape(5, 2)
    tree = balanced_tree(5, 2)
    expected = [values[strata].sum(axis=0) for strata in runs_under(tree)]
    np.testing.assert_array_equal(tree.totals(values), expected)


def test_one_stratum_is_a_tree_that_the_response_model_can_fit():
    prior, size = np.array([[0.8, 0.2]]), np.array([100])
    model = DirichletTree(balanced_tree(1, 2), prior, size, tolerance=1e-12, max_iterations=5000)
    start = model.prior_state()
    np.testing.assert_allclose(start.label_share, prior)
    state = model.observe(start, np.zeros(4, dtype=int), np.array([0, 1, 1, 1]), np.ones(4))
    # One leaf: the posterior mode is the mean of pseudo-counts and labels.
    np.testing.assert_allclose(state.label_share, [[1.8 / 5, 3.2 / 5]], rtol=1e-6)
    theta, branch, psi = m_step(
        model.tree.parent, model.tree.leaf, model.branch_pseudo, model.class_pseudo, prior
    )
    np.testing.assert_allclose(theta, prior[0])
    assert np.all(branch == 1)
    assert np.all(psi == 1)


def test_tree_from_parents_numbers_strata_by_leaves():
    #        4
    #      /   \
    #     1     3        leaves 0, 2, 5 are strata 0, 1, 2
    #    / \     \
    #   5   0     2
    tree = tree_from_parents(np.array([1, 4, 3, 4, -1, 1]), 3)
    assert tree.parent.tolist() == [-1, 0, 0, 1, 2, 1]
    assert tree.depth.tolist() == [0, 1, 1, 2, 2, 2]
    assert tree.leaf.tolist() == [3, 4, 5]
    assert runs_under(tree) == [[0, 1, 2], [0, 2], [1], [0], [1], [2]]


def test_tree_from_parents_gives_back_a_balanced_tree():
    tree = balanced_tree(9, 2)
    # Relabelled by depth; the leaves of the shallow level come first.
    again = tree_from_parents(tree.parent, 9)
    np.testing.assert_array_equal(again.parent, tree.parent)
    np.testing.assert_array_equal(again.leaf, np.sort(tree.leaf))


def test_a_single_node_and_a_chain_are_trees():
    assert tree_from_parents(np.array([-1]), 1).height == 0
    chain = tree_from_parents(np.array([-1, 0, 1, 2]), 1)
    assert chain.depth.tolist() == [0, 1, 2, 3]
    assert chain.leaf.tolist() == [3]


@pytest.mark.parametrize(
    ("parents", "n_strata", "message"),
    [
        ([-1, 0, 3, 2], 1, "cycle"),
        ([1, 0], 1, "one root"),
        ([-1, 0, 2], 1, "cycle"),
        ([-1, -1, 0, 0], 3, "one root"),
        ([-1, 0, 0, 7], 3, "nodes of it"),
        ([], 1, "one root"),
        ([-1, 0, 0], 3, "2 leaves, the pool has 3 strata"),
    ],
)
def test_what_is_no_tree_is_refused(parents, n_strata, message):
    with pytest.raises(BadOption, match=message):
        tree_from_parents(np.array(parents, dtype=int), n_strata)


def test_a_pool_takes_a_tree_of_its_own():
    pool = Pool([0.1, 0.2, 0.6, 0.9], strata=[0, 1, 2, 2], parents=[-1, 0, 0, 1, 1])
    assert pool.tree.n_strata == 3
    assert pool.tree.depth[pool.tree.leaf].tolist() == [1, 2, 2]
