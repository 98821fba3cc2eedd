"""Expectation-maximisation for the Dirichlet tree: the compiled kernel and its plain formula.

Symbols, from the paper's appendix "Inference for the Dirichlet-tree model": V nodes, K leaves
(strata), C classes; theta_y the class shares; b_yv the branch probabilities; psi_yk the product
of the branches on the way to leaf k; share[k, y] = pi(y | k), proportional to psi_yk theta_y.

The M-step takes the node-wise mode of the Dirichlet posterior: b is proportional to beta - 1 plus
the expected labels under the branch. beta - 1 = depth^2 - 1 + (sum of priors) is positive, so the
mode always exists, and EM climbs the log posterior of theta and b. The paper prints a subtraction
of the number of leaves under each branch instead (the mode for the density of psi rather than of
b), which turns negative when few positives are expected. At depth 1 the two agree.
"""

from __future__ import annotations

import numba
import numpy as np

from haystat.core.arrays import FloatArray, IntArray


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


def m_step(
    parent: IntArray,
    leaf: IntArray,
    pseudo: FloatArray,
    class_pseudo: FloatArray,
    expected: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """theta (C,), b (V, C) and psi (K, C) for expected labels (K, C): the plain formula."""
    under = np.zeros_like(pseudo)
    under[leaf] = expected
    for node in range(len(parent) - 1, 0, -1):
        under[parent[node]] += under[node]
    weight = pseudo + under
    siblings = np.zeros_like(pseudo)
    np.add.at(siblings, parent[1:], weight[1:])
    branch = np.ones_like(pseudo)
    branch[1:] = weight[1:] / siblings[parent[1:]]
    psi_node = np.ones_like(pseudo)
    for node in range(1, len(parent)):
        psi_node[node] = psi_node[parent[node]] * branch[node]
    theta = class_pseudo + expected.sum(axis=0)
    return theta / theta.sum(), branch, psi_node[leaf]


def log_posterior(
    tree_parent: IntArray,
    leaf: IntArray,
    pseudo: FloatArray,
    class_pseudo: FloatArray,
    observed: FloatArray,
    hidden: FloatArray,
    theta: FloatArray,
    branch: FloatArray,
    psi: FloatArray,
) -> float:
    """What EM climbs: the log posterior of theta and b, up to a constant."""
    prior = class_pseudo @ np.log(theta) + np.sum(pseudo[1:] * np.log(branch[1:]))
    joint = theta * psi
    return float(prior + np.sum(observed * np.log(joint)) + hidden @ np.log(joint.sum(axis=1)))
