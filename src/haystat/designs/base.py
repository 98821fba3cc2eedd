"""The contract of a design: how the items to ask about are chosen, stage by stage.

A design is a frozen set of options with five pure functions: `start` makes the state, `choose`
picks items from it, `observe` folds a finished stage into it, `covers` says what its draws can
speak about, and `estimate` turns draws and answers into a number. What is as long as the pool never
appears: a design sees cells.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from haystat.core.arrays import FloatArray, IntArray
from haystat.inference.estimate import Estimate
from haystat.inference.sample import Sample
from haystat.inference.weighted_draws import weighted
from haystat.measures.base import Measure
from haystat.pool.base import View
from haystat.pool.problem import Problem


@dataclass(frozen=True)
class Sheet:
    """Where the items of the pool stand when a stage begins.

    unasked (K,) counts the items of each cell that were never asked about. Items asked about are
    either pending, pending_cell (B,), or known, known_cell (A,) and known_label (A,), the class
    index (0 for labels that are numbers). inclusion (K,) is that of the last stage's Choice.
    """

    unasked: IntArray
    pending_cell: IntArray
    known_cell: IntArray
    known_label: IntArray
    inclusion: FloatArray | None = None


@dataclass(frozen=True)
class Choice:
    """The draws of one stage.

    new_cell (n,) names the cell of each item to ask about, in the order drawn; every count says
    how often an item was drawn; weight is p(x) / q(x), fixed now. A design that draws without
    replacement says how likely an item of each cell was to be drawn by now, inclusion (K,).
    """

    new_cell: IntArray
    new_count: IntArray
    new_weight: FloatArray
    pending_count: IntArray
    pending_weight: FloatArray
    known_count: IntArray
    known_weight: FloatArray
    inclusion: FloatArray | None = None


@dataclass(frozen=True)
class Batch:
    """The draws of a finished stage with their labels; `new` marks labels not known before.

    count is how often the item was drawn, or which part of a draw has this label; item is its
    position in the pool. inclusion (K,) is that of the stage's Choice.
    """

    cell: IntArray
    label: IntArray
    count: IntArray | FloatArray
    weight: FloatArray
    new: NDArray[np.bool_]
    item: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    inclusion: FloatArray | None = None


@dataclass(frozen=True)
class Proposal:
    """Probability of one item: without a label (K,), and with each label (K, C).

    atoms (A,), where given, has the probability of every labelled item on its own, in the order
    in which the labels came: labels that are numbers are no two alike.
    """

    unlabelled: FloatArray
    labelled: FloatArray
    atoms: FloatArray | None = None

    def of_known(self, cell: IntArray, label: IntArray) -> FloatArray:
        """Probability of every labelled item, in the order in which the labels came, (A,)."""
        return self.labelled[cell, label] if self.atoms is None else self.atoms


class Design(ABC):
    """How items are chosen. Options are the fields of the subclass."""

    name: str
    #: whether draws are i.i.d., so that an item may be asked about at every one
    with_replacement: bool = False
    #: whether draws of independent evaluations add up to those of one
    adds_up: bool = True
    #: whether its estimates rest on a model of the labels
    by_model: bool = False

    @abstractmethod
    def start(self, problem: Problem, rng: np.random.Generator) -> Any:
        """State before any label."""

    @abstractmethod
    def observe(self, problem: Problem, state: Any, batch: Batch) -> Any:
        """State after one more finished stage."""

    @abstractmethod
    def choose(
        self, problem: Problem, state: Any, sheet: Sheet, n: int, rng: np.random.Generator
    ) -> Choice:
        """Draws that need n new labels, fewer when the design can reach fewer items."""

    @abstractmethod
    def covers(self, problem: Problem) -> NDArray[np.bool_]:
        """Cells and labels (K, C) that stay within reach in every stage.

        The draws can only speak about measures whose loss is zero elsewhere.
        """

    def propose(self, problem: Problem, state: Any) -> Proposal | None:
        """The proposal of the next stage; None where draws are not i.i.d. from one."""
        return None

    def estimate(
        self, pool: View, sample: Sample, measure: Measure, level: float, **options: str
    ) -> Estimate:
        """A measure from what was drawn; by default the mean of the weighted losses.

        options: covariance and stage_weights, as in estimate_importance, where they apply.
        """
        return weighted(pool, sample, measure, level, **options)

    def first_rates(self, problem: Problem, rng: np.random.Generator) -> FloatArray:
        """How likely an item of each cell is to be drawn first, up to a factor, (K,)."""
        return np.ones(len(problem.cells))

    def __str__(self) -> str:
        return self.name


def count_labels(labelled: IntArray, batch: Batch) -> IntArray:
    """Add the newly labelled items of a stage to the counts per cell and class, (K, C)."""
    labelled = labelled.copy()
    np.add.at(labelled, (batch.cell[batch.new], batch.label[batch.new]), 1)
    return labelled
