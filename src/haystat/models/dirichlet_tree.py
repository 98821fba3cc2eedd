"""The paper's model of a deterministic oracle: a Dirichlet tree over strata, fitted by EM."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.models.em import m_step
from haystat.pool.tree import Tree

SMALLEST_PRIOR = 1e-9

# EM slows down with the number of unlabelled items per label. Where it settles hardly depends on
# that number, since there the pull of the labels balances that of the prior; so in larger pools
# the unlabelled items share this weight among them.
MOST_HIDDEN = 200_000.0

FIRST_ITERATIONS = 1000  # of EM, before the first label


@dataclass(frozen=True)
class TreeState:
    """label_share (K, C): the share of each class among the unlabelled items of each stratum."""

    observed: FloatArray
    label_share: FloatArray


@dataclass(frozen=True)
class DirichletTree:
    """Shares of the labels along a tree of strata, any number of classes.

    prior (K, C) holds the mean prior probability of each stratum, size (K,) its items. The
    hyperparameters are the paper's: alpha is 1 plus the sum of the priors, beta of the branch to
    node v is depth(v)^2 plus the sum of the priors under v. EM stops when less than `tolerance`
    of the unlabelled items changes label, or after `max_iterations`: the next labels go on
    from there.
    """

    tree: Tree
    prior: FloatArray
    size: IntArray
    tolerance: float = 1e-6
    max_iterations: int = 100

    @cached_property
    def class_pseudo(self) -> FloatArray:
        """alpha - 1, (C,)."""
        total: FloatArray = self._floored_prior.sum(axis=0)
        return total

    @cached_property
    def branch_pseudo(self) -> FloatArray:
        """beta - 1, (V, C)."""
        return self.tree.depth[:, None] ** 2 - 1.0 + self.tree.totals(self._floored_prior)

    @property
    def _floored_prior(self) -> FloatArray:
        # A label that the prior rules out must stay possible, else it could never be learnt.
        return np.maximum(self.prior, SMALLEST_PRIOR)

    def start(self) -> TreeState:
        """Before any label: EM fits the prior to how the items lie in the strata."""
        return self.fit(self.prior_state(), FIRST_ITERATIONS)

    def prior_state(self) -> TreeState:
        """The mode of the prior alone."""
        theta, _, psi = m_step(
            self.tree.parent,
            self.tree.leaf,
            self.branch_pseudo,
            self.class_pseudo,
            np.zeros_like(self.prior),
        )
        joint = theta * psi
        return TreeState(np.zeros_like(self.prior), joint / joint.sum(axis=1, keepdims=True))

    def observe(
        self,
        state: TreeState,
        stratum: IntArray,
        label: IntArray,
        weight: IntArray | FloatArray,
    ) -> TreeState:
        """Fold in the labels of items not seen before; EM starts where it last ended."""
        observed = state.observed.copy()
        np.add.at(observed, (stratum, label), weight)
        return self.fit(replace(state, observed=observed), self.max_iterations)

    def label_share(self, state: TreeState) -> FloatArray:
        """Share of each class among the unlabelled items of each stratum, (K, C)."""
        return state.label_share

    def fit(self, state: TreeState, max_iterations: int) -> TreeState:
        """EM from the shares of `state` towards the posterior mode."""
        # Here, not above: numba takes a quarter of a second to import.
        from haystat.models.em_loops import run_em

        hidden = np.maximum(self.size - state.observed.sum(axis=1), 0.0)
        share, _ = run_em(
            self.tree.parent,
            self.tree.leaf,
            self.branch_pseudo,
            self.class_pseudo,
            state.observed,
            hidden * min(1.0, MOST_HIDDEN / max(hidden.sum(), 1.0)),
            state.label_share,
            self.tolerance,
            max_iterations,
        )
        return replace(state, label_share=share)
