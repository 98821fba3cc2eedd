"""Measures of predicted probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from haystat.errors import BadOption
from haystat.measures.outputs import FloatArray, IntArray, Outputs, Schema
from haystat.measures.systems import ScoreMeasure


@dataclass(frozen=True)
class Brier(ScoreMeasure):
    """Mean squared difference between the score, a probability, and "is class 1".

    scale=2.0 gives the paper's definition, which adds the same difference for the other class.
    """

    scale: float = 1.0
    name = "brier"

    def __post_init__(self) -> None:
        if not (np.isfinite(self.scale) and self.scale > 0):
            raise BadOption(f"scale={self.scale} is not a positive number")
        object.__setattr__(self, "bounds", (0.0, float(self.scale)))
        super().__post_init__()

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Squared difference: (n,) labels -> (n, 1)."""
        return self.scale * (self.score(outputs) - self.actual(label)) ** 2

    def value(self, risk: FloatArray) -> FloatArray:
        """g: the measure at a risk, (d,) -> (m,)."""
        return risk

    def jacobian(self, risk: FloatArray) -> FloatArray:
        """Derivative of `value`, (d,) -> (m, d)."""
        return np.array([[1.0]])

    def undefined(self, risk: FloatArray) -> str | None:
        """The Brier score is always defined."""
        return None

    def _located(self, schema: Schema) -> Self:
        located = super()._located(schema)
        low, high = schema.score_range[schema.system_index(self.system)]
        if low < 0 or high > 1:
            raise BadOption(
                f"brier needs scores that are probabilities, but they go from {low:g} to "
                f"{high:g}; give the pool calibrated scores in [0, 1]"
            )
        return located
