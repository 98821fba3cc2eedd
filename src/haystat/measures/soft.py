"""Soft answers: the loss of an answer that is a distribution over the classes is its mean loss."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.measures.base import Measure
from haystat.measures.facts import Fact
from haystat.measures.outputs import Outputs

OfClass = Callable[[Outputs, IntArray], FloatArray]


class SoftLabels(Measure):
    """A bound measure whose labels are rows of a table of distributions over the classes.

    share (L, C): label l means class c with probability share[l, c].
    """

    def __init__(self, measure: Measure, share: FloatArray) -> None:
        self.measure = measure
        self.share = share
        self.name = measure.name
        self.components = measure.components
        self.bounds = measure.bounds
        self.n_risk = measure.n_risk
        self.scale_free = measure.scale_free

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Mean loss of each item under a distribution: (n,) labels -> (n, d)."""
        return self._mean(outputs, label, self.measure.loss)

    def value(self, risk: FloatArray) -> FloatArray:
        return self.measure.value(risk)

    def jacobian(self, risk: FloatArray) -> FloatArray:
        return self.measure.jacobian(risk)

    def facts(self) -> tuple[Fact, ...] | None:
        """Those of the measure."""
        return self.measure.facts()

    def risk(self, outputs: Outputs, label: IntArray, weight: FloatArray) -> FloatArray:
        total = np.zeros(self.n_risk)
        for c, share in enumerate(self.share[label].T):
            total += self.measure.risk(outputs, np.full(len(label), c), weight * share)
        return total

    def influence(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        return self._mean(outputs, label, lambda o, c: self.measure.influence(o, c, risk))

    def component_bounds(self) -> FloatArray:
        """Those of the measure."""
        return self.measure.component_bounds()

    def class_count(self) -> int:
        """Number of classes; the first rows of the table are these."""
        return int(self.share.shape[1])

    def component_weights(self) -> FloatArray:
        """Those of the measure."""
        return self.measure.component_weights()

    def undefined(self, risk: FloatArray) -> str | None:
        return self.measure.undefined(risk)

    def _mean(self, outputs: Outputs, label: IntArray, of_class: OfClass) -> FloatArray:
        parts = [
            share[:, None] * of_class(outputs, np.full(len(label), c))
            for c, share in enumerate(self.share[label].T)
        ]
        return np.asarray(sum(parts))
