"""Measures in which an item counts by a factor of its own: a weight, or 1 in a group and 0 outside.

Where the measure inside is no ratio of risks, such as accuracy, the mean factor is one more risk,
to divide by.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace

import numpy as np

from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.measures.base import Measure, ratio
from haystat.measures.outputs import Outputs


@dataclass(frozen=True)
class ByFactor(Measure, ABC):
    """A measure whose losses are those of the measure inside, times a factor."""

    measure: Measure
    _inner: Measure = field(init=False, repr=False, compare=False)

    @abstractmethod
    def factor(self, outputs: Outputs) -> FloatArray:
        """How much each item counts, (n,), at least 0."""

    @property
    @abstractmethod
    def suffix(self) -> str:
        """What the names of the components end in."""

    @property
    def lower_is_better(self) -> bool | None:  # type: ignore[override]
        """As of the measure inside."""
        return self.measure.lower_is_better

    def __post_init__(self) -> None:
        for name, value in self._around(self.measure).items():
            object.__setattr__(self, name, value)

    @property
    def aim(self) -> Measure:
        """That of the measure inside, by the same factor."""
        return self._resolved(_inner=self._inner.aim)

    @property
    def evenly(self) -> float:
        """That of the measure inside."""
        return self._inner.evenly

    def for_system(self, system: str) -> Measure:
        return replace(self, measure=self.measure.for_system(system))

    def component_bounds(self) -> FloatArray:
        """Those of the measure inside."""
        return self._inner.component_bounds()

    def component_weights(self) -> FloatArray:
        """Those of the measure inside."""
        return self._inner.component_weights()

    def class_count(self) -> int:
        """That of the measure inside."""
        return self._inner.class_count()

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Factor times loss, and the factor where the measure is no ratio: (n,) -> (n, d)."""
        factor = self.factor(outputs)[:, None]
        loss = self._inner.loss(outputs, label) * factor
        return loss if self._inner.scale_free else np.concatenate([loss, factor], axis=1)

    def value(self, risk: FloatArray) -> FloatArray:
        return self._inner.value(self._inner_risk(risk))

    def jacobian(self, risk: FloatArray) -> FloatArray:
        if self._inner.scale_free:
            return self._inner.jacobian(risk)
        if risk[-1] == 0:
            return np.zeros((len(self.components), self.n_risk))
        inner_risk = self._inner_risk(risk)
        by_inner = self._inner.jacobian(inner_risk)
        return np.asarray(np.column_stack([by_inner, -by_inner @ inner_risk]) / risk[-1])

    def support(self, outputs: Outputs, label: IntArray) -> BoolArray:
        counts = self.factor(outputs) > 0
        return counts & self._inner.support(outputs, label) if self._inner.scale_free else counts

    def risk(self, outputs: Outputs, label: IntArray, weight: FloatArray) -> FloatArray:
        counted = weight * self.factor(outputs)
        risk = self._inner.risk(outputs, label, counted)
        return risk if self._inner.scale_free else np.append(risk, np.sum(counted))

    def influence(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        factor = self.factor(outputs)[:, None]
        if self._inner.scale_free:
            return factor * self._inner.influence(outputs, label, risk)
        if risk[-1] == 0:
            return np.zeros((len(outputs), len(self.components)))
        inner_risk = self._inner_risk(risk)
        by_share = -self._inner.jacobian(inner_risk) @ inner_risk
        influence = self._inner.influence(outputs, label, inner_risk) + by_share
        return np.asarray(factor * influence / risk[-1])

    def sensitivity(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        if self._inner.scale_free:
            return self.factor(outputs) ** 2 * self._inner.sensitivity(outputs, label, risk)
        return super().sensitivity(outputs, label, risk)

    def undefined(self, risk: FloatArray) -> str | None:
        if not self._inner.scale_free and risk[-1] == 0:
            return f"{self.name} is undefined: nothing that counts has been drawn"
        reason = self._inner.undefined(self._inner_risk(risk))
        return None if reason is None else f"{self.suffix}: {reason}"

    def _inner_risk(self, risk: FloatArray) -> FloatArray:
        """The risk of the measure inside, where an item counts by its factor."""
        return risk if self._inner.scale_free else ratio(risk[:-1], risk[-1:])

    def _around(self, inner: Measure) -> dict[str, object]:
        """The attributes that follow from the measure inside."""
        return {
            "_inner": inner,
            "name": f"{inner.name} {self.suffix}",
            "components": tuple(f"{name} {self.suffix}" for name in inner.components),
            "bounds": inner.bounds,
            "n_risk": inner.n_risk + (not inner.scale_free),
            "scale_free": True,
        }
