"""The adaptive design for a stochastic oracle: every draw is asked, and answers may differ."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from haystat.core.arrays import FloatArray
from haystat.designs.base import Batch, Proposal
from haystat.designs.importance import root_mean_square
from haystat.designs.replacement import normalised
from haystat.models.base import ResponseModel
from haystat.pool.problem import Problem


@dataclass(frozen=True)
class StochasticState:
    """The model, what it has seen, and the stages so far."""

    model: ResponseModel
    seen: Any
    n_stages: int

    @classmethod
    def start(cls, problem: Problem, model: ResponseModel) -> StochasticState:
        """Nothing seen yet."""
        return cls(model, model.start(), 0)

    def observe(self, problem: Problem, batch: Batch) -> StochasticState:
        """State after one more stage; a soft answer counts in part for each class."""
        stratum = problem.cells.stratum[batch.cell]
        weight = batch.count * batch.weight
        seen = self.model.observe(self.seen, stratum, batch.label, weight)
        return replace(self, seen=seen, n_stages=self.n_stages + 1)

    def propose(self, problem: Problem, epsilon: float) -> Proposal:
        """Prop. 3, stochastic form, with epsilon_t = epsilon_0 / (t + 1) and the model's risk."""
        share = self.model.label_share(self.seen)[problem.cells.stratum]
        mass = root_mean_square(problem, share, epsilon / (self.n_stages + 1))
        return same_for_all_labels(mass, problem)


def same_for_all_labels(mass: FloatArray, problem: Problem) -> Proposal:
    """A proposal that does not look at the labels, from the mass (K,) of an item of each cell."""
    labelled = np.repeat(mass[:, None], problem.n_classes, axis=1)
    return normalised(mass, labelled, problem, np.zeros_like(labelled, dtype=np.int64))
