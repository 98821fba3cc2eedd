"""Static importance sampling: the optimal proposal if the prior were the truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from haystat.designs.base import Batch, Problem
from haystat.designs.replacement import Proposal, ReplacementDesign, normalised
from haystat.measures.outputs import FloatArray


@dataclass(frozen=True)
class Importance(ReplacementDesign):
    """Sawade et al. (2010): one proposal, from the prior p(y|x) alone.

    epsilon keeps the proposal positive wherever a loss can be (Prop. 3, stochastic form).
    """

    epsilon: float = 1e-9
    name = "importance"

    def start(self, problem: Problem, rng: np.random.Generator) -> Proposal:
        prior = problem.cells.prior
        mass = optimal_mass(problem, prior, self.epsilon)
        labelled = np.repeat(mass[:, None], problem.n_classes, axis=1)
        nothing = np.zeros_like(labelled, dtype=np.int64)
        return normalised(mass, labelled, problem, nothing)

    def observe(self, problem: Problem, state: Proposal, batch: Batch) -> Proposal:
        return state

    def propose(self, problem: Problem, state: Proposal) -> Proposal:
        return state

    def covers(self, problem: Problem) -> NDArray[np.bool_]:
        support = problem.losses.support
        return np.repeat(support.any(axis=1, keepdims=True), problem.n_classes, axis=1)


def optimal_mass(problem: Problem, share: FloatArray, epsilon: float = 0.0) -> FloatArray:
    """Asymptotically optimal mass of an item of each cell, (K,), not normalised. Prop. 2.

    share (K, C) is p(y|x) in each cell.
    """
    cells = problem.cells
    risk = problem.losses.risk(share * cells.size[:, None] / problem.size)
    sensitivity = problem.losses.sensitivity(risk)
    floored = np.maximum(sensitivity, epsilon * problem.losses.support)
    return np.sqrt(np.einsum("kc,kc->k", floored, share))
