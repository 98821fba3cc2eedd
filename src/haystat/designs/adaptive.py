"""The paper's design: adaptive importance sampling with a Dirichlet tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from haystat.core.arguments import checked_choice
from haystat.core.arrays import FloatArray, IntArray
from haystat.designs.adaptive_regression import RegressionState
from haystat.designs.adaptive_stochastic import StochasticState
from haystat.designs.base import Batch, Proposal, count_labels
from haystat.designs.replacement import ReplacementDesign, normalised
from haystat.errors import BadOption
from haystat.models import MODELS, ResponseModel
from haystat.pool.problem import Problem
from haystat.pool.tree import Tree, flat_tree


@dataclass(frozen=True)
class AdaptiveState:
    """The model, what it has seen, and the items labelled so far per cell and class, (K, C)."""

    model: ResponseModel
    seen: Any
    labelled: IntArray

    @classmethod
    def start(cls, problem: Problem, model: ResponseModel) -> AdaptiveState:
        """Nothing seen yet."""
        labelled = np.zeros((len(problem.cells), problem.n_classes), dtype=np.int64)
        return cls(model, model.start(), labelled)

    def observe(self, problem: Problem, batch: Batch) -> AdaptiveState:
        """State after one more stage; a label counts once, however often its item was drawn."""
        cell, label = batch.cell[batch.new], batch.label[batch.new]
        once = np.ones(len(cell))
        seen = self.model.observe(self.seen, problem.cells.stratum[cell], label, once)
        return AdaptiveState(self.model, seen, count_labels(self.labelled, batch))

    def propose(self, problem: Problem, epsilon: float) -> Proposal:
        """Prop. 3: p(x) sum_y max(|J loss|, epsilon 1[loss != 0]) pi(y|x).

        J is taken at the model's risk, in which labelled items count with their label.
        """
        cells, losses = problem.cells, problem.losses
        n_labelled = self.labelled.sum(axis=1)
        share = self.model.label_share(self.seen)[cells.stratum]
        mass = self.labelled + (cells.size - n_labelled)[:, None] * share
        risk = losses.risk(mass / problem.size)
        epsilon *= 1 - n_labelled.sum() / problem.size
        norm = np.sqrt(losses.sensitivity(risk))
        norm = np.maximum(norm, epsilon * losses.support)
        unlabelled = np.einsum("kc,kc->k", norm, share)
        return normalised(unlabelled, norm, problem, self.labelled)


State = AdaptiveState | StochasticState | RegressionState
#: oracle -> state, and the usual model
STATES: dict[str, tuple[type[AdaptiveState] | type[StochasticState], str]] = {
    "deterministic": (AdaptiveState, "dirichlet_tree"),
    "stochastic": (StochasticState, "weighted_dirichlet_tree"),
}


@dataclass(frozen=True)
class Adaptive(ReplacementDesign):
    """Algorithm 1 with the proposal of Prop. 3.

    One label an item is handled here, a stochastic oracle and labels that are numbers next door.

    epsilon: epsilon_0 of Prop. 5, which keeps the proposal positive wherever a loss can be.
    delta: share of uniform sampling mixed in, for labels that will serve other measures too.
    tolerance: EM stops when less than this share of the unlabelled items changes label.
    model: of the oracle, by name; by default the paper's, a Dirichlet tree.
    """

    epsilon: float = 1e-9
    delta: float = 0.0
    tolerance: float = 1e-6
    model: str | None = None
    name = "adaptive"

    def __post_init__(self) -> None:
        if not 0 <= self.delta <= 1:
            raise BadOption(f"delta is {self.delta}; it must lie in [0, 1]")
        if not self.epsilon > 0:
            raise BadOption(f"epsilon is {self.epsilon}; it must be positive")
        if self.model is not None:
            checked_choice("model", self.model, MODELS)

    def tree(self, problem: Problem) -> Tree:
        """The hierarchy of the strata."""
        return problem.tree

    def start(self, problem: Problem, rng: np.random.Generator) -> State:
        tree = self.tree(problem)
        if problem.numeric:
            return RegressionState.start(problem, tree)
        kind, usual = STATES[problem.oracle]
        make = MODELS[self.model or usual]
        model = make(tree, problem.stratum_prior, problem.stratum_size, self.tolerance)
        return kind.start(problem, model)

    def observe(self, problem: Problem, state: State, batch: Batch) -> State:
        return state.observe(problem, batch)

    def propose(self, problem: Problem, state: State) -> Proposal:
        """The proposal of the next stage, with a share `delta` of uniform sampling."""
        proposal = state.propose(problem, self.epsilon)
        return mixed_with_uniform(proposal, self.delta, problem.size)

    def covers(self, problem: Problem) -> NDArray[np.bool_]:
        support = problem.losses.support
        if problem.oracle == "stochastic":  # an item in reach is so whatever its last answer was
            support = np.repeat(support.any(axis=1, keepdims=True), problem.n_classes, axis=1)
        # Else a labelled item without loss is never drawn again, unless all items are.
        return support | (self.delta > 0)


@dataclass(frozen=True)
class AdaptiveFlat(Adaptive):
    """The same with a tree of depth 1: strata without hierarchy ("Ours-1" of the paper)."""

    name = "adaptive_flat"

    def tree(self, problem: Problem) -> Tree:
        return flat_tree(problem.tree.n_strata)


def mixed_with_uniform(proposal: Proposal, delta: float, size: int) -> Proposal:
    """(1 - delta) q + delta p: less specialised, for sample reuse."""

    def mixed(probability: FloatArray) -> FloatArray:
        return (1 - delta) * probability + delta / size

    atoms = None if proposal.atoms is None else mixed(proposal.atoms)
    return Proposal(mixed(proposal.unlabelled), mixed(proposal.labelled), atoms)
