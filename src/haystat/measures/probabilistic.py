"""Measures of predicted probabilities."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass
from typing import Self

import numpy as np

from haystat.core.arguments import checked_integer, checked_number
from haystat.core.arrays import FloatArray, IntArray
from haystat.errors import BadOption
from haystat.measures.base import MeanLoss, Measure
from haystat.measures.outputs import Outputs, Schema
from haystat.measures.systems import ScoreMeasure


@dataclass(frozen=True)
class OfProbabilities(ScoreMeasure, ABC):
    """A measure that needs scores in [0, 1]."""

    def _located(self, schema: Schema) -> Self:
        located = super()._located(schema)
        low, high = schema.score_range[schema.system_index(self.system)]
        if low < 0 or high > 1:
            raise BadOption(
                f"{self.name} needs scores that are probabilities, but they go from {low:g} to "
                f"{high:g}; give the pool calibrated scores in [0, 1]"
            )
        return located


@dataclass(frozen=True)
class Brier(MeanLoss, OfProbabilities):
    """Mean squared difference between the score, a probability, and "is class 1".

    scale=2.0 gives the paper's definition, which adds the same difference for the other class.
    """

    scale: float = 1.0
    name = "brier"
    lower_is_better = True
    meaning = "The mean squared distance between score and truth: 0 is perfect."

    def __post_init__(self) -> None:
        checked_number("scale", self.scale, 1.0)
        object.__setattr__(self, "bounds", (0.0, float(self.scale)))
        super().__post_init__()

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Squared difference: (n,) labels -> (n, 1)."""
        return self.scale * (self.score(outputs) - self.actual(label)) ** 2


@dataclass(frozen=True)
class LogLoss(MeanLoss, OfProbabilities):
    """Mean of -log of the probability that the score gives the label (cross-entropy).

    Probabilities are clipped to [least, 1 - least]; scikit-learn's bound is the default.
    """

    least: float = float(np.finfo(np.float64).eps)
    name = "log_loss"
    lower_is_better = True
    meaning = "The mean surprise at the label, given the score: 0 is perfect."

    def __post_init__(self) -> None:
        checked_number("least", self.least, 1e-9, most=0.5)
        object.__setattr__(self, "bounds", (0.0, float(-np.log(self.least))))
        super().__post_init__()

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """-log of the label's probability: (n,) labels -> (n, 1)."""
        score = np.clip(self.score(outputs), self.least, 1 - self.least)
        return np.asarray(-np.log(np.where(self.actual(label) > 0, score, 1 - score)))


@dataclass(frozen=True)
class CalibrationError(OfProbabilities):
    """Expected calibration error: how far mean score and share of positives lie apart.

    Scores are put into n_bins of equal width; the absolute differences of the bins are averaged,
    each with the share of items in it. From few labels it tends to come out too large, as noise
    never cancels between bins; fewer bins help.
    """

    n_bins: int = 10
    name = "calibration_error"
    lower_is_better = True
    meaning = "How far scores and shares of positives lie apart, on average: 0 is perfect."
    bounds = (0.0, 1.0)

    def __post_init__(self) -> None:
        checked_integer("n_bins", self.n_bins, smallest=1)
        object.__setattr__(self, "n_risk", self.n_bins)
        super().__post_init__()

    def bind(self, schema: Schema) -> Measure:
        """The same measure of this pool."""
        return self._located(schema)  # no check of the Jacobian: |x| has none at 0

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Label minus score, in the bin of the score: (n,) labels -> (n, n_bins)."""
        score = self.score(outputs)
        # As sklearn.calibration.calibration_curve: a score at an inner edge is in the lower bin.
        edges = np.linspace(0.0, 1.0, self.n_bins + 1)
        loss = np.zeros((len(score), self.n_bins))
        bins = np.searchsorted(edges[1:-1], score)
        loss[np.arange(len(score)), bins] = self.actual(label) - score
        return loss

    def value(self, risk: FloatArray) -> FloatArray:
        return np.asarray(np.sum(np.abs(risk), keepdims=True))

    def values(self, risks: FloatArray) -> FloatArray:
        return np.asarray(np.sum(np.abs(risks), axis=1, keepdims=True))

    def jacobian(self, risk: FloatArray) -> FloatArray:
        """Derivative of `value`, (d,) -> (m, d); zero in a bin without any difference."""
        return np.sign(risk)[None]
