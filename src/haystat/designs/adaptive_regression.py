"""The adaptive design for labels that are numbers: a Gaussian tree for the residuals."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.designs.base import Batch, Proposal
from haystat.models.gaussian_tree import GaussianTree
from haystat.pool.number_losses import NumberLosses
from haystat.pool.problem import Problem
from haystat.pool.tree import Tree

DEFENSIVE = 0.5  # share of the proposal that does not learn


@dataclass(frozen=True)
class RegressionState:
    """The model, what it has seen (S, 3), and the labelled items.

    known (K,) counts the labelled items of each cell; cell (A,) and loss (A, d) are theirs, in the
    order in which the labels came. All stay empty for a stochastic oracle.
    """

    losses: NumberLosses
    model: GaussianTree
    seen: FloatArray
    known: FloatArray
    cell: IntArray
    loss: FloatArray

    @classmethod
    def start(cls, problem: Problem, tree: Tree) -> RegressionState:
        """Nothing seen yet."""
        losses = cast(NumberLosses, problem.losses)
        model = GaussianTree(tree, stratum_deviation(problem, losses))
        known = np.zeros(len(problem.cells))
        nothing = np.zeros(0, dtype=np.int64)
        loss = np.zeros((0, problem.measure.n_risk))
        return cls(losses, model, model.start(), known, nothing, loss)

    def observe(self, problem: Problem, batch: Batch) -> RegressionState:
        """State after one more stage."""
        new = np.flatnonzero(batch.new)
        item, cell, label = batch.item[new], batch.cell[new], batch.label[new].astype(float)
        residual = self.losses.residual(item, label)
        seen = self.model.observe(self.seen, problem.cells.stratum[cell], residual)
        if problem.oracle == "stochastic":
            return replace(self, seen=seen)
        known = self.known + np.bincount(cell, minlength=len(self.known))
        loss = np.concatenate([self.loss, self.losses.of_items(item, label)])
        cell = np.concatenate([self.cell, cell])
        return replace(self, seen=seen, known=known, cell=cell, loss=loss)

    def propose(self, problem: Problem, epsilon: float) -> Proposal:
        """Root mean square of |J loss| under the model; |J loss| itself of labelled items.

        The form of Prop. 3 for a stochastic oracle: of an item without a label all that is known
        is a distribution, and this is the best proposal under it (Prop. 2). A share DEFENSIVE
        goes by the prior alone: squares of heavy-tailed residuals are noisy, and a stratum that
        looks harmless after a few labels must not be given up.
        """
        mean, deviation = self.model.moments(self.seen)
        stratum, measure = problem.cells.stratum, problem.measure
        moments = self.losses.moments(mean[stratum], deviation[stratum])
        n_open = problem.cells.size - self.known
        risk = moments.risk(n_open[:, None] / problem.size) + self.loss.sum(axis=0) / problem.size
        square = moments.sensitivity(risk)[:, 0]
        influence = self.loss @ measure.jacobian(risk).T
        exact = np.einsum("am,am,m->a", influence, influence, measure.component_weights())
        # Losses have a unit, so that the floor is a share of the mean over the pool. It holds for
        # labelled items without a loss too: another measure may see one.
        floor = epsilon * (n_open @ square + exact.sum()) / problem.size
        learnt = np.sqrt(np.maximum(square, floor)), np.sqrt(np.maximum(exact, floor))
        before = np.sqrt(self.losses.sensitivity(risk)[:, 0])
        prior = before, before[self.cell]
        mixed = [
            (1 - DEFENSIVE) * own + DEFENSIVE * other
            for own, other in zip(
                shares(learnt, n_open, problem), shares(prior, n_open, problem), strict=True
            )
        ]
        return Proposal(mixed[0], mixed[0][:, None], mixed[1])


def shares(
    mass: tuple[FloatArray, FloatArray], n_open: FloatArray, problem: Problem
) -> tuple[FloatArray, FloatArray]:
    """Probabilities from the masses of an unlabelled item of each cell and of labelled items."""
    total = float(n_open @ mass[0] + mass[1].sum())
    if total == 0:  # as far as is known there are no errors: look anywhere
        return np.full_like(mass[0], 1 / problem.size), np.full_like(mass[1], 1 / problem.size)
    return mass[0] / total, mass[1] / total


def stratum_deviation(problem: Problem, losses: NumberLosses) -> FloatArray:
    """Prior standard deviation of a residual in each stratum, (S,)."""
    cells = problem.cells
    total = np.zeros(problem.tree.n_strata)
    np.add.at(total, cells.stratum, cells.size * losses.deviation**2)
    return np.asarray(np.sqrt(total / problem.stratum_size))
