"""Expectation-maximisation for the Dirichlet tree: the plain formula (compiled: em_loops.py).

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

import numpy as np

from haystat.core.arrays import FloatArray, IntArray


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
