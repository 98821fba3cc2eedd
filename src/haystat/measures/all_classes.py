"""Measures that treat all classes alike: accuracy, balanced accuracy, Matthews correlation.

The last two take the minimal loss of Table 1 in a pool of two classes, or if `positive` is
given, and scikit-learn's multi-class definition otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.measures.base import Measure, finite, ratio
from haystat.measures.confusion import OfThreeShares
from haystat.measures.facts import Fact, PredictedClass
from haystat.measures.outputs import Outputs, Schema
from haystat.measures.systems import SystemMeasure

#: a share this close to one is taken for one: what is left is rounding
ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True)
class Accuracy(SystemMeasure):
    """Share of the items whose predicted class is right; any number of classes."""

    name = "accuracy"
    is_share = True
    meaning = (
        "Of 100 items taken at random, the system gets about {value} right (between {low} and"
        " {high})."
    )
    bounds = (0.0, 1.0)

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """One for a mistake: (n,) labels -> (n, 1)."""
        return np.asarray(label != outputs.predictions[:, self.system_index], dtype=float)

    def value(self, risk: FloatArray) -> FloatArray:
        return 1 - risk

    def jacobian(self, risk: FloatArray) -> FloatArray:
        return np.array([[-1.0]])

    def facts(self) -> tuple[Fact, ...] | None:
        """The predicted class."""
        return (PredictedClass(self.system_index, self.n_classes),)

    def ratios(self, component: int) -> FloatArray | None:
        """One minus the mistakes, over one, (1, 2, 2)."""
        return np.array([[[-1.0, 1.0], [0.0, 1.0]]])


@dataclass(frozen=True, kw_only=True)
class BalancedAccuracy(OfThreeShares):
    """Mean of the recalls of all classes."""

    name = "balanced_accuracy"
    is_share = True
    meaning = (
        "Averaged over the classes, the system gets about {value} of 100 items of a class "
        "right (between {low} and {high})."
    )

    def bind(self, schema: Schema) -> Measure:
        """The same measure for the pool's systems and classes."""
        if self.positive is None and schema.n_classes > 2:
            return MultiClassBalancedAccuracy(system=self.system).bind(schema)
        return super().bind(schema)

    def value(self, risk: FloatArray) -> FloatArray:
        hit, positive, predicted = risk[:, None]
        negative = complement(positive)
        true_negative = 1 - positive - predicted + hit
        return (ratio(hit, positive) + ratio(true_negative, negative)) / 2

    def jacobian(self, risk: FloatArray) -> FloatArray:
        hit, positive, predicted = risk[:, None]
        negative = complement(positive)
        columns = [
            ratio(np.ones(1), positive) + ratio(np.ones(1), negative),
            ratio(-hit, positive**2) + ratio(hit - predicted, negative**2),
            ratio(-np.ones(1), negative),
        ]
        return finite(np.stack(columns, axis=1) / 2)

    def undefined(self, risk: FloatArray) -> str | None:
        if risk[1] == 0:
            return f"{self.components[0]} is undefined: no positive has been drawn"
        if complement(risk[1:2])[0] == 0:
            return f"{self.components[0]} is undefined: no negative has been drawn"
        return None


@dataclass(frozen=True, kw_only=True)
class MCC(OfThreeShares):
    """Matthews correlation coefficient of predictions and labels."""

    name = "mcc"
    meaning = "1 means perfect agreement with the truth, 0 no better than chance."
    bounds = (-1.0, 1.0)
    lacking = "all labels or all predictions drawn are alike"

    def bind(self, schema: Schema) -> Measure:
        """The same measure for the pool's systems and classes."""
        if self.positive is None and schema.n_classes > 2:
            return MultiClassMCC(system=self.system).bind(schema)
        return super().bind(schema)

    def value(self, risk: FloatArray) -> FloatArray:
        hit, positive, predicted = risk[:, None]
        return ratio(hit - positive * predicted, _spread(positive, predicted))

    def jacobian(self, risk: FloatArray) -> FloatArray:
        _, positive, predicted = risk[:, None]
        value, spread = self.value(risk), _spread(positive, predicted)
        columns = [
            ratio(np.ones(1), spread),
            ratio(-predicted, spread) - value * _half_log_slope(positive),
            ratio(-positive, spread) - value * _half_log_slope(predicted),
        ]
        return finite(np.stack(columns, axis=1))

    def undefined(self, risk: FloatArray) -> str | None:
        return Measure.undefined(self, risk)


@dataclass(frozen=True, kw_only=True)
class AllClasses(SystemMeasure):
    """A measure whose risk holds shares of each of the C classes."""

    bounds = (0.0, 1.0)

    #: risk components that are not of one class
    _n_common = 0

    def facts(self) -> tuple[Fact, ...] | None:
        """The predicted class."""
        return (PredictedClass(self.system_index, self.n_classes),)

    def _located(self, schema: Schema) -> Self:
        n_risk = self._n_common + 2 * schema.n_classes
        return super()._located(schema)._resolved(n_risk=n_risk)

    def _memberships(self, outputs: Outputs, label: IntArray) -> tuple[FloatArray, FloatArray]:
        """Predicted and actual class as rows of zeros and a one, (n, C) each."""
        classes = np.arange(self.n_classes)
        predictions = outputs.predictions[:, self.system_index]
        return (
            (predictions[:, None] == classes).astype(float),
            (label[:, None] == classes).astype(float),
        )


@dataclass(frozen=True, kw_only=True)
class MultiClassBalancedAccuracy(AllClasses):
    """Mean of the recalls of any number of classes."""

    name = BalancedAccuracy.name
    is_share = True
    meaning = BalancedAccuracy.meaning
    n_risk = 4
    scale_free = True

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Hits of each class, members of each class: (n,) labels -> (n, 2C)."""
        predicted, actual = self._memberships(outputs, label)
        return np.concatenate([predicted * actual, actual], axis=1)

    def value(self, risk: FloatArray) -> FloatArray:
        hit, actual = risk.reshape(2, -1)
        return np.atleast_1d(np.mean(ratio(hit, actual)))

    def jacobian(self, risk: FloatArray) -> FloatArray:
        """Derivative of `value`, (d,) -> (m, d); zero for a class not drawn."""
        hit, actual = risk.reshape(2, -1)
        columns = [ratio(np.ones(len(hit)), actual), ratio(-hit, actual**2)]
        return finite(np.concatenate(columns)[None] / self.n_classes)

    def undefined(self, risk: FloatArray) -> str | None:
        missing = np.flatnonzero(risk.reshape(2, -1)[1] == 0).tolist()
        if not missing:
            return None
        return f"{self.components[0]} is undefined: no item of class index {missing} has been drawn"


@dataclass(frozen=True, kw_only=True)
class MultiClassMCC(AllClasses):
    """Matthews correlation coefficient of any number of classes (Gorodkin's R_K)."""

    name = MCC.name
    meaning = MCC.meaning
    n_risk = 5
    bounds = (-1.0, 1.0)
    lacking = MCC.lacking
    _n_common = 1

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Is right, predicted class, actual class: (n,) labels -> (n, 1 + 2C)."""
        predicted, actual = self._memberships(outputs, label)
        right = np.sum(predicted * actual, axis=1, keepdims=True)
        return np.concatenate([right, predicted, actual], axis=1)

    def value(self, risk: FloatArray) -> FloatArray:
        predicted, actual = risk[1:].reshape(2, -1)
        return ratio(risk[:1] - predicted @ actual, self._spread(predicted, actual))

    def jacobian(self, risk: FloatArray) -> FloatArray:
        predicted, actual = risk[1:].reshape(2, -1)
        value, spread = self.value(risk), self._spread(predicted, actual)
        columns = [
            ratio(np.ones(1), spread),
            ratio(-actual, spread) + value * ratio(predicted, _variety(predicted)),
            ratio(-predicted, spread) + value * ratio(actual, _variety(actual)),
        ]
        return finite(np.concatenate(columns)[None])

    @staticmethod
    def _spread(predicted: FloatArray, actual: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore"):
            return np.sqrt(_variety(predicted) * _variety(actual))


def complement(share: FloatArray) -> FloatArray:
    """One minus the share; zero where only rounding is left."""
    rest = 1 - share
    return np.where(np.abs(rest) < ROUNDING, 0.0, rest)


def _variety(shares: FloatArray) -> FloatArray:
    """One minus the sum of squared shares, (1,)."""
    return complement(np.atleast_1d(shares @ shares))


def _spread(positive: FloatArray, predicted: FloatArray) -> FloatArray:
    """Product of the standard deviations of two indicators."""
    with np.errstate(invalid="ignore"):  # weights may add up to more than one: then undefined
        return np.sqrt(positive * complement(positive) * predicted * complement(predicted))


def _half_log_slope(share: FloatArray) -> FloatArray:
    """Derivative of log sqrt(share (1 - share))."""
    return (ratio(np.ones(1), share) - ratio(np.ones(1), complement(share))) / 2
