"""The share of every class in every cell, learnt from the labels: what assists an estimate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.linalg import solve_triangular

from haystat.measures.outputs import FloatArray, IntArray
from haystat.response.dirichlet_tree import DirichletTree, TreeState
from haystat.response.rank_spline import RankSpline, SplineState


class Shares(Protocol):
    """A model of the labels after some of them were seen."""

    @property
    def share(self) -> FloatArray:
        """Share of each class among the unlabelled items of each cell, (K, C)."""

    @property
    def error(self) -> FloatArray:
        """What a standard error in each direction of the model adds to `share`, (p, K, C)."""

    def observe(self, labelled: IntArray, cell: IntArray, label: IntArray) -> Shares:
        """The model after labels of items of these cells (n,); labelled (K, C) counts them all."""


@dataclass(frozen=True)
class SplineShares:
    """Two classes: the second falls with the rank of the score, but for strays."""

    model: RankSpline
    state: SplineState

    @property
    def share(self) -> FloatArray:
        positive = self.model.share(self.state)
        return np.stack([1 - positive, positive], axis=1)

    @property
    def error(self) -> FloatArray:
        trend = self.state.trend
        root = np.linalg.cholesky(self.state.curvature)
        slope = self.model.basis * (trend * (1 - trend))[:, None]
        error = solve_triangular(root, slope.T, lower=True)
        return np.stack([-error, error], axis=2)

    def observe(self, labelled: IntArray, cell: IntArray, label: IntArray) -> SplineShares:
        return replace(self, state=self.model.fit(self.state, labelled))


@dataclass(frozen=True)
class TreeShares:
    """Any classes, strata without an order: the paper's tree. stratum (K,) is that of each cell."""

    model: DirichletTree
    state: TreeState
    stratum: IntArray

    @property
    def share(self) -> FloatArray:
        return self.state.label_share[self.stratum]

    @property
    def error(self) -> FloatArray:
        return np.zeros((0, len(self.stratum), self.state.label_share.shape[1]))

    def observe(self, labelled: IntArray, cell: IntArray, label: IntArray) -> TreeShares:
        return replace(self, state=self.model.observe(self.state, self.stratum[cell], label))
