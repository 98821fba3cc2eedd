"""Static importance sampling: the optimal proposal if the prior were the truth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from haystat.core.arrays import FloatArray
from haystat.designs.base import Batch, Proposal
from haystat.designs.replacement import ReplacementDesign, normalised
from haystat.pool.problem import Problem


@dataclass(frozen=True)
class Importance(ReplacementDesign):
    """Sawade et al. (2010): one proposal, from the prior p(y|x) alone, in the form of Prop. 3.

    epsilon keeps the proposal positive wherever a loss can be.
    """

    epsilon: float = 1e-9
    name = "importance"

    def start(self, problem: Problem, rng: np.random.Generator) -> Proposal:
        form = "stochastic" if problem.numeric else problem.oracle
        mass = FORMS[form](problem, problem.cells.prior, self.epsilon)
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


def expected_norm(problem: Problem, share: FloatArray, epsilon: float) -> FloatArray:
    """Mass of an item of each cell whose one label is uncertain, (K,). Prop. 3, deterministic."""
    norm = np.sqrt(_sensitivity(problem, share))
    norm = np.maximum(norm, epsilon * problem.losses.support)
    mass: FloatArray = np.einsum("kc,kc->k", norm, share)
    return mass


def root_mean_square(problem: Problem, share: FloatArray, epsilon: float) -> FloatArray:
    """Mass of an item of each cell whose label is random, (K,). Prop. 3, stochastic.

    With epsilon = 0 and the true share this is the optimum of Prop. 2.
    """
    square = _sensitivity(problem, share)
    square = np.maximum(square, epsilon * problem.losses.support)
    mass: FloatArray = np.sqrt(np.einsum("kc,kc->k", square, share))
    return mass


FORMS = {"deterministic": expected_norm, "stochastic": root_mean_square}


def _sensitivity(problem: Problem, share: FloatArray) -> FloatArray:
    """Squared influences at the risk that the shares (K, C) imply, (K, C)."""
    risk = problem.losses.risk(share * problem.cells.size[:, None] / problem.size)
    return problem.losses.sensitivity(risk)
