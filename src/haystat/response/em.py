"""Expectation-maximisation for the Dirichlet tree: the compiled kernel and its plain formula.

Symbols, from the paper's appendix "Inference for the Dirichlet-tree model": V nodes, K leaves
(strata), C classes; theta_y the class shares; b_yv the branch probabilities; psi_yk the product
of the branches on the way to leaf k; share[k, y] = pi(y | k), proportional to psi_yk theta_y.

The M-step adds pseudo-counts to expected counts and normalises among siblings. The paper prints
a subtraction of the number of leaves under each branch, which turns negative when few positives
are expected. Without it b is the node-wise posterior mean, and also the mode of the posterior
density in the softmax parametrisation, so that EM still climbs one fixed objective.
"""

from __future__ import annotations

import numba
import numpy as np

from haystat.measures.outputs import FloatArray, IntArray


@numba.njit(cache=True)
def run_em(  # type: ignore[no-untyped-def]  # pragma: no cover - compiled
    parent, leaf, pseudo, class_pseudo, observed, hidden, share, tolerance, max_iterations
):
    """Iterate E- and M-steps from `share` (K, C) until it settles.

    pseudo (V, C) are the branch pseudo-counts, class_pseudo (C,) those of theta, observed (K, C)
    the labels seen, hidden (K,) the items without one. Returns the share and the iterations.
    """
    n_nodes, n_classes = pseudo.shape
    n_strata = leaf.shape[0]
    share = share.copy()
    counts = np.empty((n_nodes, n_classes))
    siblings = np.empty((n_nodes, n_classes))
    path = np.empty((n_nodes, n_classes))
    n_hidden = max(hidden.sum(), 1.0)
    for iteration in range(max_iterations):
        counts[:] = pseudo
        siblings[:] = 0.0
        for k in range(n_strata):
            v = leaf[k]
            for y in range(n_classes):
                counts[v, y] += observed[k, y] + hidden[k] * share[k, y]
        # counts[v] = pseudo[v] + expected labels under v; only the latter move up.
        for v in range(n_nodes - 1, 0, -1):
            up = parent[v]
            for y in range(n_classes):
                siblings[up, y] += counts[v, y]
                counts[up, y] += counts[v, y] - pseudo[v, y]
        for y in range(n_classes):
            path[0, y] = class_pseudo[y] + counts[0, y] - pseudo[0, y]
        for v in range(n_nodes):
            for y in range(n_classes):
                if siblings[v, y] > 0.0:
                    siblings[v, y] = 1.0 / siblings[v, y]
        for v in range(1, n_nodes):
            up = parent[v]
            for y in range(n_classes):
                path[v, y] = path[up, y] * counts[v, y] * siblings[up, y]
        moved = 0.0
        for k in range(n_strata):
            v = leaf[k]
            total = 0.0
            for y in range(n_classes):
                total += path[v, y]
            for y in range(n_classes):
                new = path[v, y] / total
                moved += hidden[k] * abs(new - share[k, y])
                share[k, y] = new
        if moved < tolerance * n_hidden:
            return share, iteration + 1
    return share, max_iterations


def m_step(parent: IntArray, leaf: IntArray, pseudo: FloatArray, class_pseudo: FloatArray,
           expected: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """theta (C,), b (V, C) and psi (K, C) for expected labels (K, C): the plain formula."""
    under = np.zeros_like(pseudo)
    under[leaf] = expected
    for node in range(len(parent) - 1, 0, -1):
        under[parent[node]] += under[node]
    weight = pseudo + under
    branch = np.ones_like(pseudo)
    for node in range(len(parent)):
        children = np.flatnonzero(parent == node)
        branch[children] = weight[children] / weight[children].sum(axis=0)
    psi_node = np.ones_like(pseudo)
    for node in range(1, len(parent)):
        psi_node[node] = psi_node[parent[node]] * branch[node]
    theta = class_pseudo + expected.sum(axis=0)
    return theta / theta.sum(), branch, psi_node[leaf]


def log_posterior(tree_parent: IntArray, leaf: IntArray, pseudo: FloatArray,
                  class_pseudo: FloatArray, observed: FloatArray, hidden: FloatArray,
                  theta: FloatArray, branch: FloatArray, psi: FloatArray) -> float:
    """What EM climbs: the log posterior of theta and b in the softmax parametrisation."""
    prior = class_pseudo @ np.log(theta) + np.sum(pseudo[1:] * np.log(branch[1:]))
    joint = theta * psi
    return float(prior + np.sum(observed * np.log(joint)) + hidden @ np.log(joint.sum(axis=1)))
