"""Measures at one point of the curve that scores draw: of the top k, where a requirement is met.

From the highest threshold to the lowest the counts of true positives h, predicted positives q and
positives n move along a broken line. Between two thresholds items come in random order, so that h
and q are linear there. A requirement is linear in them: h - 0.95 q >= 0 is precision of at least
0.95. The point lies where its margin changes sign, and moves when the counts do.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from haystat.core.arguments import checked_integer, checked_number
from haystat.core.arrays import FloatArray
from haystat.errors import BadOption
from haystat.measures.base import finite
from haystat.measures.curves import OneOverThresholds
from haystat.measures.outputs import Schema


@dataclass(frozen=True)
class PointRequirement:
    """margin = hit * h + predicted * q + positive * n + constant, met where it is not negative.

    lowest: the point is the last from the top at which it is met; else it is the first.
    """

    hit: float = 0.0
    predicted: float = 0.0
    positive: float = 0.0
    constant: float = 0.0
    lowest: bool = True

    def margin(self, hit: FloatArray, predicted: FloatArray, positive: float) -> FloatArray:
        """The margin at points of the curve, (n,)."""
        rest = self.positive * positive + self.constant
        return np.asarray(self.hit * hit + self.predicted * predicted + rest)

    def place(self, margin: FloatArray) -> tuple[int, float]:
        """The point before the crossing of a margin (n,), and the part of the way to the next."""
        met = margin >= 0
        if not met.any():
            return 0, 0.0
        before = (
            len(met) - 1 - int(np.argmax(met[::-1])) if self.lowest else int(np.argmax(met)) - 1
        )
        if before < 0 or before == len(met) - 1:
            return max(before, 0), 0.0
        return before, float(margin[before] / (margin[before] - margin[before + 1]))


@dataclass(frozen=True)
class Slopes:
    """A value at a point of the curve, and its derivatives by h, q and n there."""

    value: float
    hit: float
    predicted: float
    positive: float


def hits_at(hit: float, predicted: float, positive: float) -> Slopes:
    """h."""
    return Slopes(hit, 1.0, 0.0, 0.0)


def recall_at(hit: float, predicted: float, positive: float) -> Slopes:
    """h / n."""
    recall = hit / positive
    return Slopes(recall, 1 / positive, 0.0, -recall / positive)


def precision_at(hit: float, predicted: float, positive: float) -> Slopes:
    """h / q."""
    precision = hit / predicted
    return Slopes(precision, 1 / predicted, -precision / predicted, 0.0)


def lift_at(hit: float, predicted: float, positive: float) -> Slopes:
    """h / (q n)."""
    lift = hit / (predicted * positive)
    return Slopes(lift, 1 / (predicted * positive), -lift / predicted, -lift / positive)


@dataclass(frozen=True)
class AtPoint(OneOverThresholds, ABC):
    """A measure at the point of the curve where a requirement is met."""

    n_thresholds: int = field(default=1024, kw_only=True)  # so that the requirement comes first
    thresholds: Sequence[float] | None = field(default=None, kw_only=True)
    scale_free = False

    @property
    @abstractmethod
    def requirement(self) -> PointRequirement:
        """What decides the point."""

    @abstractmethod
    def at(self, hit: float, predicted: float, positive: float) -> Slopes:
        """The measure at a point of the curve."""

    def value(self, risk: FloatArray) -> FloatArray:
        if risk[-1] == 0:
            return np.full(1, np.nan)
        return np.array([self._solved(risk)[2].value])

    def slopes(self, risk: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        n_thresholds = len(self.grid)
        if risk[-1] == 0:
            return np.zeros(n_thresholds), np.zeros(n_thresholds), np.zeros(1)
        before, along, by = self._solved(risk)
        part = np.zeros(n_thresholds + 2)
        part[before] = 1 - along
        part[min(before + 1, n_thresholds + 1)] += along
        inner = part[1:-1][::-1]
        # Where everything is predicted, the true positives are the positives.
        by_positive = np.array([by.positive + part[-1] * by.hit])
        return finite(by.predicted * inner), finite(by.hit * inner), finite(by_positive)

    def _solved(self, risk: FloatArray) -> tuple[int, float, Slopes]:
        """The point, and the derivatives that allow for its moving with the counts.

        Along the curve the value changes by v' and the margin by m'; a margin that grows by x
        moves the point so that the value loses x v' / m'.
        """
        predicted, hit, positive = self._split(risk)
        n = float(positive[0])
        h = np.concatenate([[0.0], hit[::-1], positive])
        q = np.concatenate([[0.0], predicted[::-1], [1.0]])
        needs = self.requirement
        before, along = needs.place(needs.margin(h, q, n))
        after = min(before + 1, len(h) - 1)
        dh, dq = h[after] - h[before], q[after] - q[before]
        with np.errstate(all="ignore"):
            at = self.at(h[before] + along * dh, q[before] + along * dq, n)
            step = needs.hit * dh + needs.predicted * dq
            moved = np.divide(at.hit * dh + at.predicted * dq, step)
        exchange = float(moved) if np.isfinite(moved) and after > before else 0.0
        return (
            before,
            along,
            Slopes(
                at.value,
                at.hit - exchange * needs.hit,
                at.predicted - exchange * needs.predicted,
                at.positive - exchange * needs.positive,
            ),
        )


@dataclass(frozen=True)
class AtK(AtPoint, ABC):
    """A measure of the k items with the highest scores; items with equal scores in random order."""

    k: int = 100
    _share: float = field(default=1.0, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        checked_integer("k", self.k, smallest=1)
        super().__post_init__()

    def _component_names(self, thresholds: Sequence[float]) -> tuple[str, ...]:
        return (f"{self.name.removesuffix('k')}{self.k}",)

    @property
    def requirement(self) -> PointRequirement:
        """At most k items are predicted."""
        return PointRequirement(predicted=-1.0, constant=self._share)

    def _located(self, schema: Schema) -> Self:
        if self.k > schema.size:
            raise BadOption(f"k is {self.k} and the pool has {schema.size} items; give fewer")
        return super()._located(schema)._resolved(_share=self.k / schema.size)


@dataclass(frozen=True)
class PrecisionAtK(AtK):
    """Share of positives among the k items with the highest scores."""

    name = "precision_at_k"

    def at(self, hit: float, predicted: float, positive: float) -> Slopes:
        """h / q."""
        return precision_at(hit, predicted, positive)


@dataclass(frozen=True)
class RecallAtK(AtK):
    """Share of the positives that are among the k items with the highest scores."""

    name = "recall_at_k"

    def at(self, hit: float, predicted: float, positive: float) -> Slopes:
        """h / n."""
        return recall_at(hit, predicted, positive)


@dataclass(frozen=True)
class LiftAtK(AtK):
    """Precision of the k items with the highest scores over that of all items."""

    name = "lift_at_k"
    bounds = (0.0, np.inf)

    def at(self, hit: float, predicted: float, positive: float) -> Slopes:
        """h / (q n)."""
        return lift_at(hit, predicted, positive)


@dataclass(frozen=True)
class RecallAtFPR(AtPoint):
    """Recall where the false positive rate is `rate`, on a ROC curve of straight lines."""

    rate: float = 0.01
    name = "recall_at_fpr"

    def __post_init__(self) -> None:
        checked_number("rate", self.rate, 0.01, most=1)
        super().__post_init__()

    def _component_names(self, thresholds: Sequence[float]) -> tuple[str, ...]:
        return (f"recall_at_fpr_{self.rate:g}",)

    @property
    def requirement(self) -> PointRequirement:
        """rate * (1 - n) - (q - h) >= 0."""
        return PointRequirement(hit=1.0, predicted=-1.0, positive=-self.rate, constant=self.rate)

    def at(self, hit: float, predicted: float, positive: float) -> Slopes:
        """h / n."""
        return recall_at(hit, predicted, positive)
