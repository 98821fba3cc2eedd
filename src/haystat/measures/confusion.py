"""Measures of one class against the rest, from hard predictions (Table 1 of the paper)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from haystat.core.arguments import checked_number
from haystat.core.arrays import FloatArray, IntArray
from haystat.measures.base import MeanLoss, finite, ratio
from haystat.measures.facts import Fact, PredictedClass
from haystat.measures.outputs import Outputs
from haystat.measures.systems import ClassMeasure


@dataclass(frozen=True, kw_only=True)
class OneVsRest(ClassMeasure, ABC):
    """A measure whose loss is made of "is predicted positive" and "is positive"."""

    bounds = (0.0, 1.0)

    @abstractmethod
    def terms(self, predicted: FloatArray, actual: FloatArray) -> tuple[FloatArray, ...]:
        """The d terms of the loss, from arrays of zeros and ones of any one shape."""

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        return np.stack(self.terms(self.predicted(outputs), self.actual(label)), axis=1)

    def facts(self) -> tuple[Fact, ...] | None:
        """The predicted class."""
        return (PredictedClass(self.system_index, self.n_classes),)


@dataclass(frozen=True, kw_only=True)
class Ratio(OneVsRest, ABC):
    """A measure that is the quotient of two risks."""

    n_risk = 2
    scale_free = True
    is_f_measure = True
    lacking = "no item that counts has been drawn"

    def value(self, risk: FloatArray) -> FloatArray:
        return ratio(risk[:1], risk[1:])

    def values(self, risks: FloatArray) -> FloatArray:
        return ratio(risks[:, :1], risks[:, 1:])

    def jacobian(self, risk: FloatArray) -> FloatArray:
        if risk[1] == 0:
            return np.zeros((1, 2))
        return np.array([[1 / risk[1], -risk[0] / risk[1] ** 2]])

    def ratios(self, component: int) -> FloatArray | None:
        """The first risk over the second, (1, 2, 3)."""
        return np.array([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])


@dataclass(frozen=True, kw_only=True)
class Precision(Ratio):
    """Share of the predicted positives that are positive."""

    name = "precision"
    is_share = True
    meaning = (
        "Of 100 items that the system calls positive, about {value} really are (between {low}"
        " and {high})."
    )
    lacking = "no predicted positive has been drawn"

    def terms(self, predicted: FloatArray, actual: FloatArray) -> tuple[FloatArray, ...]:
        """True positives, predicted positives."""
        return predicted * actual, predicted


@dataclass(frozen=True, kw_only=True)
class Recall(Ratio):
    """Share of the positives that are predicted positive."""

    name = "recall"
    is_share = True
    meaning = (
        "Of 100 items that really are positive, the system finds about {value} (between {low}"
        " and {high})."
    )
    lacking = "no positive has been drawn"

    def terms(self, predicted: FloatArray, actual: FloatArray) -> tuple[FloatArray, ...]:
        """True positives, positives."""
        return predicted * actual, actual


@dataclass(frozen=True)
class FBeta(Ratio):
    """Weighted harmonic mean of precision and recall; recall counts beta times as much."""

    beta: float = 1.0
    lacking = "no positive or predicted positive has been drawn"
    is_share = True
    meaning = "F-beta weighs misses beta times as much as false alarms; 100% means none of either."

    def __post_init__(self) -> None:
        checked_number("beta", self.beta, 2.0)
        object.__setattr__(self, "name", f"f{self.beta:g}")
        super().__post_init__()

    def terms(self, predicted: FloatArray, actual: FloatArray) -> tuple[FloatArray, ...]:
        """True positives, weighted mean of positives and predicted positives."""
        square = self.beta**2
        return predicted * actual, (square * actual + predicted) / (1 + square)


@dataclass(frozen=True)
class F1(FBeta):
    """Harmonic mean of precision and recall."""

    meaning = (
        "F1 is one number for two kinds of mistakes, false alarms and misses: 100% means none of "
        "either, and it is low as soon as one of them is frequent."
    )
    beta: float = field(default=1.0, init=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class OfThreeShares(OneVsRest, ABC):
    """A measure of the shares of true positives, positives and predicted positives."""

    n_risk = 3

    def terms(self, predicted: FloatArray, actual: FloatArray) -> tuple[FloatArray, ...]:
        """True positives, positives, predicted positives."""
        return predicted * actual, actual, predicted

    def undefined(self, risk: FloatArray) -> str | None:
        kinds = ("positive", risk[1]), ("predicted positive", risk[2])
        lacking = [kind for kind, share in kinds if share == 0]
        if not lacking:
            return None
        return f"{self.components[0]} is undefined: no {' and no '.join(lacking)} has been drawn"


@dataclass(frozen=True, kw_only=True)
class FowlkesMallows(OfThreeShares):
    """Geometric mean of precision and recall."""

    name = "fowlkes_mallows"
    is_share = True
    meaning = "The geometric mean of precision and recall; 100% means no mistakes."
    scale_free = True

    def value(self, risk: FloatArray) -> FloatArray:
        return ratio(risk[:1], np.sqrt(risk[1:2] * risk[2:3]))

    def jacobian(self, risk: FloatArray) -> FloatArray:
        value = self.value(risk)
        return finite(
            np.stack(
                [
                    ratio(np.ones(1), np.sqrt(risk[1:2] * risk[2:3])),
                    ratio(-value / 2, risk[1:2]),
                    ratio(-value / 2, risk[2:3]),
                ],
                axis=1,
            )
        )


@dataclass(frozen=True, kw_only=True)
class Prevalence(MeanLoss, OneVsRest):
    """Share of the items that are positive."""

    name = "prevalence"
    is_share = True
    lower_is_better = None
    meaning = "The share of positives in the pool."

    def for_system(self, system: str) -> Self:
        """The measure itself: it is about the labels, whatever a system says."""
        return self

    def terms(self, predicted: FloatArray, actual: FloatArray) -> tuple[FloatArray, ...]:
        """Positives."""
        return (actual,)

    def ratios(self, component: int) -> FloatArray | None:
        """Positives over everything, (1, 2, 2)."""
        return np.array([[[1.0, 0.0], [0.0, 1.0]]])


@dataclass(frozen=True, kw_only=True)
class Lift(OfThreeShares):
    """Precision over prevalence: how much richer the predicted positives are than the pool."""

    name = "lift"
    meaning = "How many times as many positives there are among the predicted ones as in the pool."
    bounds = (0.0, np.inf)

    def value(self, risk: FloatArray) -> FloatArray:
        return ratio(risk[:1], risk[1:2] * risk[2:3])
