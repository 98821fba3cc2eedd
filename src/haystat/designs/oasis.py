"""OASIS: stratified adaptive importance sampling for F-measures (Marchant, Rubinstein 2017)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from haystat.core.arrays import FloatArray
from haystat.designs.base import Batch, Proposal
from haystat.designs.replacement import ReplacementDesign
from haystat.errors import BadOption
from haystat.models.beta_strata import BetaStrata
from haystat.pool.problem import Problem


@dataclass(frozen=True)
class OasisState:
    """Draws per stratum and class (S, C), and weight drawn so far per cell and class (K, C)."""

    model: BetaStrata
    drawn: FloatArray
    weight: FloatArray


@dataclass(frozen=True)
class Oasis(ReplacementDesign):
    """A stratum by its estimated optimal share, then any of its items alike.

    epsilon: share of uniform sampling mixed in. strength: pseudo-labels of a stratum's prior.
    """

    epsilon: float = 1e-3
    strength: float = 2.0
    name = "oasis"

    def __post_init__(self) -> None:
        if not 0 < self.epsilon <= 1:
            raise BadOption(f"epsilon is {self.epsilon}; it must lie in (0, 1]")
        if not self.strength > 0:
            raise BadOption(f"strength is {self.strength}; it must be positive")

    def start(self, problem: Problem, rng: np.random.Generator) -> OasisState:
        if not getattr(problem.measure, "is_f_measure", False):
            raise BadOption(
                f"oasis estimates F-measures (f1, fbeta, precision, recall), not "
                f"{problem.measure.name}; use design='adaptive'"
            )
        model = BetaStrata(problem.stratum_prior, self.strength)
        nothing = np.zeros((len(problem.cells), problem.n_classes))
        return OasisState(model, model.start(), nothing)

    def observe(self, problem: Problem, state: OasisState, batch: Batch) -> OasisState:
        stratum = problem.cells.stratum[batch.cell]
        drawn = state.model.observe(state.drawn, stratum, batch.label, batch.count)
        weight = state.weight.copy()
        np.add.at(weight, (batch.cell, batch.label), batch.count * batch.weight)
        return OasisState(state.model, drawn, weight)

    def propose(self, problem: Problem, state: OasisState) -> Proposal:
        cells, n_strata = problem.cells, problem.tree.n_strata
        share = state.model.label_share(state.drawn)[cells.stratum]
        norm = problem.losses.sensitivity(self._risk(problem, state))
        square = cells.size * np.einsum("kc,kc->k", norm, share)
        # Items of a stratum are drawn alike, also where predictions differ: the root of their mean.
        mean = np.bincount(cells.stratum, weights=square, minlength=n_strata) / problem.stratum_size
        stratum_mass = problem.stratum_size * np.sqrt(mean)
        if not stratum_mass.any():  # no loss is in sight yet, so that no stratum stands out
            stratum_mass = problem.stratum_size
        item = stratum_mass / stratum_mass.sum() / problem.stratum_size
        item = (1 - self.epsilon) * item + self.epsilon / problem.size
        item = item[cells.stratum]
        return Proposal(item, np.repeat(item[:, None], problem.n_classes, axis=1))

    def covers(self, problem: Problem) -> NDArray[np.bool_]:
        return np.ones((len(problem.cells), problem.n_classes), dtype=bool)

    def _risk(self, problem: Problem, state: OasisState) -> FloatArray:
        """The running estimate; the prior's while that is 0 or undefined."""
        n_draws = state.drawn.sum()
        if n_draws:
            risk = problem.losses.risk(state.weight / n_draws)
            if np.all(np.isfinite(problem.measure.value(risk))) and np.all(risk > 0):
                return risk
        cells = problem.cells
        prior = problem.stratum_prior[cells.stratum]
        return problem.losses.risk(prior * cells.size[:, None] / problem.size)
