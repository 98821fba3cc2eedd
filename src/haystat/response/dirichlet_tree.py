"""The paper's model of a deterministic oracle: a Dirichlet tree over strata, fitted by EM."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from haystat.measures.outputs import FloatArray, IntArray
from haystat.pool.tree import Tree
from haystat.response.em import m_step, run_em


@dataclass(frozen=True)
class TreeState:
    """label_share (K, C): the share of each class among the unlabelled items of each stratum."""

    observed: FloatArray
    label_share: FloatArray


@dataclass(frozen=True)
class DirichletTree:
    """Shares of the labels along a tree of strata, any number of classes.

    prior (K, C) holds the mean prior probability of each stratum, size (K,) its items. The
    hyperparameters are the paper's: the class pseudo-counts are the sums of the priors, the
    branch to node v has depth(v)^2 plus the sum of the priors under v.
    """

    tree: Tree
    prior: FloatArray
    size: IntArray
    tolerance: float = 1e-6
    max_iterations: int = 1000

    @property
    def class_pseudo(self) -> FloatArray:
        """alpha - 1, (C,)."""
        return self.prior.sum(axis=0)

    @property
    def branch_pseudo(self) -> FloatArray:
        """beta, (V, C)."""
        return self.tree.depth[:, None] ** 2 + self.tree.totals(self.prior)

    def start(self) -> TreeState:
        """The prior: what the model says before any label."""
        theta, _, psi = m_step(
            self.tree.parent,
            self.tree.leaf,
            self.branch_pseudo,
            self.class_pseudo,
            np.zeros_like(self.prior),
        )
        joint = theta * psi
        return TreeState(np.zeros_like(self.prior), joint / joint.sum(axis=1, keepdims=True))

    def observe(self, state: TreeState, stratum: IntArray, label: IntArray) -> TreeState:
        """Fold in the labels of items not seen before; EM starts where it last ended."""
        observed = state.observed.copy()
        np.add.at(observed, (stratum, label), 1)
        share, _ = run_em(
            self.tree.parent,
            self.tree.leaf,
            self.branch_pseudo,
            self.class_pseudo,
            observed,
            self.size - observed.sum(axis=1),
            state.label_share,
            self.tolerance,
            self.max_iterations,
        )
        return replace(state, observed=observed, label_share=share)
