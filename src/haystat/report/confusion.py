"""The confusion matrix as a measure, so that the labels of any study can estimate it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.measures.facts import Fact, PredictedClass
from haystat.measures.outputs import Outputs, Schema
from haystat.measures.systems import SystemMeasure


@dataclass(frozen=True)
class ConfusionMatrix(SystemMeasure):
    """Share of the items with each prediction and label, prediction by prediction.

    Items of the first class that are predicted as such are what the others leave over: they have
    no loss, so that a design for rare positives need not draw them.
    """

    name = "confusion_matrix"
    bounds = (0.0, 1.0)

    def facts(self) -> tuple[Fact, ...] | None:
        """The predicted class."""
        return (PredictedClass(self.system_index, self.n_classes),)

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """1 in the place of the prediction and the label, (n,) -> (n, C * C - 1)."""
        code = outputs.predictions[:, self.system_index] * self.n_classes + label
        return np.asarray(code[:, None] == np.arange(1, self.n_classes**2), dtype=float)

    def value(self, risk: FloatArray) -> FloatArray:
        """g: the share of each combination, (C * C - 1,) -> (C * C,)."""
        return np.concatenate([[1.0 - risk.sum()], risk])

    def jacobian(self, risk: FloatArray) -> FloatArray:
        return np.vstack([-np.ones(len(risk)), np.eye(len(risk))])

    def _located(self, schema: Schema) -> Self:
        bound = super()._located(schema)
        n = bound.n_classes
        pairs = [(i, j) for i in range(n) for j in range(n)]
        names = tuple(f"{schema.class_name(i)} is {schema.class_name(j)}" for i, j in pairs)
        return bound._resolved(n_risk=n * n - 1, components=names)
