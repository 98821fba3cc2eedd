"""Hierarchies over strata: nodes numbered so that every parent comes before its children."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.errors import BadOption


@dataclass(frozen=True)
class Tree:
    """A rooted tree whose leaves are the strata.

    parent (V,) is -1 for the root, which is node 0; depth (V,) is 0 for the root; leaf (K,) is
    the node of each stratum.
    """

    parent: IntArray
    depth: IntArray
    leaf: IntArray

    @property
    def n_strata(self) -> int:
        return len(self.leaf)

    @property
    def height(self) -> int:
        return int(self.depth.max())

    def totals(self, per_stratum: FloatArray) -> FloatArray:
        """Sum over the strata under each node, (K, …) -> (V, …)."""
        result = np.zeros((len(self.parent), *per_stratum.shape[1:]))
        result[self.leaf] = per_stratum
        for node in range(len(self.parent) - 1, 0, -1):
            result[self.parent[node]] += result[node]
        return result


def balanced_tree(n_strata: int, branching: int) -> Tree:
    """Ordered tree that splits the strata into near-equal runs until one stratum is left.

    With branching ** depth strata this is the paper's complete tree filled breadth-first.
    """
    if branching < 2:
        raise BadOption(f"branching is {branching}; it must be at least 2")
    parents, depths = [-1], [0]
    leaf = np.zeros(n_strata, dtype=np.int64)
    level = [(0, 0, n_strata)]  # node, first stratum, one past the last
    while level:
        children = []
        for node, first, last in level:
            if last - first == 1:
                leaf[first] = node
                continue
            for start, stop in _near_equal_runs(first, last, branching):
                children.append((len(parents), start, stop))
                parents.append(node)
                depths.append(depths[node] + 1)
        level = children
    return Tree(np.array(parents), np.array(depths), leaf)


def flat_tree(n_strata: int) -> Tree:
    """Depth-1 tree: no hierarchy."""
    return balanced_tree(n_strata, max(2, n_strata))


def tree_from_parents(parents: IntArray, n_strata: int) -> Tree:
    """Any tree, given as the parent of each node (-1 for the root).

    The leaves, in order of their numbers, are strata 0 … n_strata - 1.
    """
    parents = np.asarray(parents, dtype=np.int64)
    roots = np.flatnonzero(parents < 0)
    if len(roots) != 1 or np.any(parents >= len(parents)):
        raise BadOption("a tree needs one root (parent -1) and parents that are nodes of it")
    depths = _depths(parents)
    is_leaf = np.ones(len(parents), dtype=bool)
    is_leaf[parents[parents >= 0]] = False
    leaves = np.flatnonzero(is_leaf)
    if len(leaves) != n_strata:
        raise BadOption(f"the tree has {len(leaves)} leaves, the pool has {n_strata} strata")
    order = np.argsort(depths, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    new_parents = np.where(parents[order] < 0, -1, rank[parents[order]])
    return Tree(new_parents, depths[order], rank[leaves])


def _near_equal_runs(first: int, last: int, branching: int) -> list[tuple[int, int]]:
    n_parts = min(branching, last - first)
    cuts = [first + (last - first) * i // n_parts for i in range(n_parts + 1)]
    return list(pairwise(cuts))


def _depths(parents: IntArray) -> IntArray:
    depths = np.zeros(len(parents), dtype=np.int64)
    node = parents.copy()
    for _ in range(len(parents)):
        inside = node >= 0
        if not inside.any():
            return depths
        depths[inside] += 1
        node[inside] = parents[node[inside]]
    raise BadOption("the parents form a cycle; a tree has none")
