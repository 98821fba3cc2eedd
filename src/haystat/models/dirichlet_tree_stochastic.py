"""The paper's model of a stochastic oracle: a Dirichlet tree with importance-weighted counts.

Symbols, from the appendix "Extension of the Dirichlet-tree model to stochastic oracles": alpha~ and
beta~ are the hyperparameters plus the weights w of all answers y (of class y; of class y under a
branch). Their posterior means give p(y | k), proportional to alpha~_y times the product of
beta~ / (sum of beta~ over siblings) on the way to leaf k. Divided by the number of draws, alpha~
and beta~ converge to P(Y = y) and P(Y = y, X under the branch).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.models.dirichlet_tree import SMALLEST_PRIOR
from haystat.models.em import m_step
from haystat.pool.tree import Tree


@dataclass(frozen=True)
class WeightedDirichletTree:
    """Shares of the answers along a tree of strata, any number of classes.

    prior (K, C) holds the mean prior probability of each stratum. The hyperparameters are the
    paper's, as in DirichletTree.
    """

    tree: Tree
    prior: FloatArray

    @cached_property
    def class_prior(self) -> FloatArray:
        """alpha, (C,)."""
        return np.asarray(1.0 + self._floored_prior.sum(axis=0))

    @cached_property
    def branch_prior(self) -> FloatArray:
        """beta, (V, C)."""
        return self.tree.depth[:, None] ** 2 + self.tree.totals(self._floored_prior)

    @property
    def _floored_prior(self) -> FloatArray:
        return np.maximum(self.prior, SMALLEST_PRIOR)

    def start(self) -> FloatArray:
        """Weight seen per stratum and class, (K, C)."""
        return np.zeros_like(self.prior)

    def observe(
        self,
        seen: FloatArray,
        stratum: IntArray,
        label: IntArray,
        weight: IntArray | FloatArray,
    ) -> FloatArray:
        """Add answers with their weights p(x) / q(x)."""
        seen = seen.copy()
        np.add.at(seen, (stratum, label), weight)
        return seen

    def label_share(self, seen: FloatArray) -> FloatArray:
        """Posterior predictive share of each class in each stratum, (K, C)."""
        # With beta in place of beta - 1 the M-step of EM is the posterior mean.
        theta, _, psi = m_step(
            self.tree.parent, self.tree.leaf, self.branch_prior, self.class_prior, seen
        )
        joint = theta * psi
        share: FloatArray = joint / joint.sum(axis=1, keepdims=True)
        return share
