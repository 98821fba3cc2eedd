"""Expectation-maximisation for the Dirichlet tree, compiled; symbols and formula are in em.py."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True)
def run_em(  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    parent, leaf, pseudo, class_pseudo, observed, hidden, share, tolerance, max_iterations
):
    """Iterate E- and M-steps from `share` (K, C) until it settles.

    pseudo (V, C) is beta - 1 of the branches, class_pseudo (C,) is alpha - 1 of theta, observed
    (K, C) the labels seen, hidden (K,) the items without one. Returns share and iterations.
    """
    n_nodes, n_classes = pseudo.shape
    n_strata = leaf.shape[0]
    share = share.T.copy()
    fixed = _fixed_counts(parent, leaf, pseudo, class_pseudo, observed)
    under = np.empty(n_nodes)  # expected labels of hidden items under each node
    siblings = np.empty(n_nodes)  # sum over the children of each node
    path = np.empty((n_classes, n_nodes))  # theta times the branches down to each node
    n_hidden = max(hidden.sum(), 1.0)
    for iteration in range(max_iterations):
        for y in range(n_classes):
            under[:] = 0.0
            siblings[:] = 0.0
            for k in range(n_strata):
                under[leaf[k]] = hidden[k] * share[y, k]
            for v in range(n_nodes - 1, 0, -1):
                under[parent[v]] += under[v]
                siblings[parent[v]] += fixed[y, v] + under[v]
            path[y, 0] = fixed[y, 0] + under[0]
            for v in range(n_nodes):
                siblings[v] = 1.0 / siblings[v] if siblings[v] > 0.0 else 0.0
            for v in range(1, n_nodes):
                up = parent[v]
                path[y, v] = path[y, up] * siblings[up] * (fixed[y, v] + under[v])
        moved = 0.0
        for k in range(n_strata):
            total = 0.0
            for y in range(n_classes):
                total += path[y, leaf[k]]
            for y in range(n_classes):
                new = path[y, leaf[k]] / total
                moved += hidden[k] * abs(new - share[y, k])
                share[y, k] = new
        if moved < tolerance * n_hidden:
            return share.T.copy(), iteration + 1
    return share.T.copy(), max_iterations


@numba.njit(cache=True)
def _fixed_counts(parent, leaf, pseudo, class_pseudo, observed):  # type: ignore[no-untyped-def]
    """Pseudo-counts plus observed labels of every branch, and of theta at the root, (C, V)."""
    n_nodes, n_classes = pseudo.shape
    fixed = np.zeros((n_classes, n_nodes))
    for y in range(n_classes):
        for k in range(leaf.shape[0]):
            fixed[y, leaf[k]] += observed[k, y]
        for v in range(n_nodes - 1, 0, -1):
            fixed[y, parent[v]] += fixed[y, v]
            fixed[y, v] += pseudo[v, y]
        fixed[y, 0] += class_pseudo[y]
    return fixed
