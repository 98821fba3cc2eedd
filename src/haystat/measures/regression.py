"""Measures of predicted numbers (Table 2 of the paper): the label is a number, not a class."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.errors import BadOption
from haystat.measures.base import MeanLoss, finite, ratio
from haystat.measures.outputs import Outputs, Schema
from haystat.measures.systems import SystemMeasure

#: a variance below this share of the mean square is rounding
ROUNDING = 1e-12
DEFINITIONS = ("residual", "explained")


@dataclass(frozen=True, kw_only=True)
class NumberMeasure(SystemMeasure, ABC):
    """A measure of a score that predicts a number."""

    of_numbers = True
    bounds = (0.0, np.inf)

    def error(self, outputs: Outputs, label: FloatArray | IntArray) -> FloatArray:
        """Label minus prediction, (n,)."""
        return np.asarray(label - outputs.scores[:, self.system_index])


@dataclass(frozen=True, kw_only=True)
class MeanAbsoluteError(MeanLoss, NumberMeasure):
    """Mean distance between label and prediction."""

    name = "mae"
    lower_is_better = True

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Distance: (n,) labels -> (n, 1)."""
        return np.abs(self.error(outputs, label))


@dataclass(frozen=True, kw_only=True)
class MeanSquaredError(MeanLoss, NumberMeasure):
    """Mean squared distance between label and prediction."""

    name = "mse"
    lower_is_better = True

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Squared distance: (n,) labels -> (n, 1)."""
        return self.error(outputs, label) ** 2


@dataclass(frozen=True, kw_only=True)
class RootMeanSquaredError(MeanSquaredError):
    """Root of the mean squared distance between label and prediction."""

    name = "rmse"

    def value(self, risk: FloatArray) -> FloatArray:
        return np.sqrt(risk)

    def jacobian(self, risk: FloatArray) -> FloatArray:
        """Derivative of `value`, (d,) -> (m, d); zero without an error, where it is infinite."""
        return finite(ratio(np.full(1, 0.5), np.sqrt(risk)))[:, None]


@dataclass(frozen=True)
class R2(NumberMeasure):
    """Coefficient of determination.

    definition: "residual" is scikit-learn's 1 - E[(y - f)^2] / Var[y]; "explained" the paper's
    E[(f - E[y])^2] / Var[y]. They agree for a least-squares fit on its own data.

    With z = y - c, c a constant near the labels that keeps digits, the loss is [a, b, z, z^2, 1]:
    a = (y - f)^2, b = 0, or a = (f - c)^2, b = f - c.
    """

    definition: str = "residual"
    name = "r2"
    lacking = "all labels drawn are alike"
    n_risk = 5
    scale_free = True

    _centre: float = field(default=0.0, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.definition not in DEFINITIONS:
            raise BadOption(f"definition is {self.definition!r}; it can be {list(DEFINITIONS)}")
        bounds = (-np.inf, 1.0) if self.definition == "residual" else (0.0, np.inf)
        object.__setattr__(self, "bounds", bounds)
        super().__post_init__()

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """(n,) labels -> (n, 5)."""
        z, one = label - self._centre, np.ones(len(label))
        if self.definition == "residual":
            return np.stack([self.error(outputs, label) ** 2, 0 * one, z, z**2, one], axis=1)
        f = outputs.scores[:, self.system_index] - self._centre
        return np.stack([f**2, f, z, z**2, one], axis=1)

    def value(self, risk: FloatArray) -> FloatArray:
        """g: the measure at a risk, (d,) -> (m,); NaN where the labels do not vary."""
        top, bottom = self._parts(risk)
        share = ratio(top, bottom)
        return 1 - share if self.definition == "residual" else share

    def jacobian(self, risk: FloatArray) -> FloatArray:
        a, b, z, zz, one = risk
        top, bottom = self._parts(risk)
        if self.definition == "residual":
            by_top = np.array([one, 0.0, 0.0, 0.0, a])
        else:
            by_top = np.array([one, -2 * z, 2 * (z - b), 0.0, a])
        by_bottom = np.array([0.0, 0.0, -2 * z, one, zz])
        slope = ratio(by_top, bottom) - ratio(top, bottom) * ratio(by_bottom, bottom)
        sign = -1.0 if self.definition == "residual" else 1.0
        return finite(sign * slope)[None]

    def _parts(self, risk: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Numerator and Var[y], both times the square of the total weight, (1,) each."""
        a, b, z, zz, one = risk[:, None]
        bottom = zz * one - z**2
        bottom = np.where(np.abs(bottom) <= ROUNDING * np.abs(zz * one), 0.0, bottom)
        if self.definition == "residual":
            return a * one, bottom
        return a * one - 2 * z * b + z**2, bottom

    def _located(self, schema: Schema) -> Self:
        low, high = schema.score_range[schema.system_index(self.system)]
        return super()._located(schema)._resolved(_centre=float((low + high) / 2))
