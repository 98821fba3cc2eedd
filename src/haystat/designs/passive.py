"""Passive sampling: every item equally likely, whatever was answered (Def. 2 of the paper)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from haystat.designs.base import Batch, Proposal
from haystat.designs.replacement import ReplacementDesign
from haystat.pool.problem import Problem


@dataclass(frozen=True)
class Passive(ReplacementDesign):
    """Draw items uniformly at random."""

    name = "passive"

    def start(self, problem: Problem, rng: np.random.Generator) -> None:
        return None

    def observe(self, problem: Problem, state: None, batch: Batch) -> None:
        return None

    def propose(self, problem: Problem, state: None) -> Proposal:
        n_cells = len(problem.cells)
        share = 1.0 / problem.size
        return Proposal(np.full(n_cells, share), np.full((n_cells, problem.n_classes), share))

    def covers(self, problem: Problem) -> NDArray[np.bool_]:
        return np.ones((len(problem.cells), problem.n_classes), dtype=bool)
