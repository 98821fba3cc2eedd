"""Measures in which items count by their weight: views, money, people."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.errors import BadOption, UnknownName
from haystat.measures.base import Measure, ratio
from haystat.measures.facts import Fact, encode, union
from haystat.measures.outputs import Outputs, Schema


@dataclass(frozen=True)
class WeightBin:
    """The power of four below a weight: items of one cell differ by a factor of four at most.

    Finer bins would make cells that cost more than they tell. Weights below 4 ** light are alike:
    together they count next to nothing.
    """

    column: str
    size: int = 64
    light: int = -32
    of_score: ClassVar[bool] = False

    def codes(self, outputs: Outputs) -> IntArray:
        """Code of each item, (n,); 0 for items that do not count."""
        weight = weights(outputs, self.column)
        exponent = np.maximum(np.frexp(weight)[1] // 2, self.light) + self.size // 2
        return np.where(weight > 0, np.clip(exponent, 1, self.size - 1), 0).astype(np.int64)


@dataclass(frozen=True)
class Weighted(Measure):
    """A measure in which every item counts `column` times, a column of the pool.

    As scikit-learn's `sample_weight`: Weighted(Recall(), "amount") is the share of the money that
    is found, one minus it the share that is missed. Weights are at least 0. They differ inside a
    cell, by less than a factor of four: labelled items count with their own, the others with the
    mean of their cell.
    """

    measure: Measure
    column: str
    _inner: Measure = field(init=False, repr=False, compare=False)
    _bin: WeightBin = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.measure, Measure):
            raise BadOption(f"Weighted takes a measure such as F1(), not {self.measure!r}")
        object.__setattr__(self, "_bin", WeightBin(self.column))
        for name, value in self._around(self.measure).items():
            object.__setattr__(self, name, value)

    def bind(self, schema: Schema) -> Measure:
        """The same measure with everything resolved that depends on the pool."""
        if self.column not in schema.columns:
            raise UnknownName(
                f"no column {self.column!r} to weigh by; the pool has {list(schema.columns)}: give "
                "it with columns="
            )
        light = schema.light if schema.weight == self.column else self._bin.light
        around = self._around(self.measure.bind(schema))
        return self._resolved(**around, _bin=WeightBin(self.column, light=light))

    def weighted_by(self, column: str) -> Measure:
        """The measure itself: it has weights of its own."""
        return self

    def for_system(self, system: str) -> Measure:
        """The same measure of another system, not bound to a pool."""
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
        """Weight times loss, and the weight where the measure is no ratio: (n,) -> (n, d)."""
        weight = weights(outputs, self.column)[:, None]
        loss = self._inner.loss(outputs, label) * weight
        return loss if self._inner.scale_free else np.concatenate([loss, weight], axis=1)

    def value(self, risk: FloatArray) -> FloatArray:
        """g: the measure at a risk, (d,) -> (m,); NaN where it is undefined."""
        return self._inner.value(self._inner_risk(risk))

    def jacobian(self, risk: FloatArray) -> FloatArray:
        """Derivative of `value`, (d,) -> (m, d)."""
        if self._inner.scale_free:
            return self._inner.jacobian(risk)
        if risk[-1] == 0:
            return np.zeros((len(self.components), self.n_risk))
        inner_risk = self._inner_risk(risk)
        by_inner = self._inner.jacobian(inner_risk)
        return np.asarray(np.column_stack([by_inner, -by_inner @ inner_risk]) / risk[-1])

    def facts(self) -> tuple[Fact, ...] | None:
        """The facts of the measure, and the size of the weight; they do not settle the loss."""
        return union([(self._bin,), self._inner.facts()])

    def signature(self, outputs: Outputs) -> IntArray | None:
        """None: items of equal facts have weights of their own."""
        return None

    def grouping(self, outputs: Outputs) -> IntArray | None:
        """Items that the measure inside cannot tell apart, with weights of one size, (n,)."""
        facts = self.facts()
        return None if facts is None else encode(facts, outputs)

    def support(self, outputs: Outputs, label: IntArray) -> BoolArray:
        """Whether the loss is non-zero, (n,)."""
        counts = weights(outputs, self.column) > 0
        return counts & self._inner.support(outputs, label) if self._inner.scale_free else counts

    def undefined(self, risk: FloatArray) -> str | None:
        """Why the value is undefined at this risk, in words; None where it is defined."""
        if not self._inner.scale_free and risk[-1] == 0:
            return f"{self.name} is undefined: nothing that weighs something has been drawn"
        return self._inner.undefined(self._inner_risk(risk))

    def _inner_risk(self, risk: FloatArray) -> FloatArray:
        return risk if self._inner.scale_free else ratio(risk[:-1], risk[-1:])

    def _around(self, inner: Measure) -> dict[str, object]:
        """The attributes that follow from the measure inside."""
        return {
            "_inner": inner,
            "name": f"{inner.name} by {self.column}",
            "components": tuple(f"{name} by {self.column}" for name in inner.components),
            "bounds": inner.bounds,
            "n_risk": inner.n_risk + (not inner.scale_free),
            "scale_free": True,
            "lower_is_better": inner.lower_is_better,
        }


def weights(outputs: Outputs, column: str) -> FloatArray:
    """The weight of each item, (n,)."""
    try:
        found = np.asarray(outputs.columns[column], dtype=np.float64)
    except (TypeError, ValueError):
        raise BadOption(f"column {column!r} has weights that are no numbers") from None
    if not np.all(np.isfinite(found)) or np.any(found < 0):
        raise BadOption(f"column {column!r} has weights below 0 or missing; give 0 to leave out")
    return found


NEGLIGIBLE = 1 / 64  # of the total weight, in items that are not told apart by theirs


def lightest(weight: FloatArray) -> int:
    """The power of four below which weights add up to next to nothing."""
    exponent = np.frexp(weight[weight > 0])[1] // 2
    low = int(exponent.min())
    share = np.cumsum(np.bincount(exponent - low, weights=weight[weight > 0])) / weight.sum()
    return low + int(np.searchsorted(share, NEGLIGIBLE, side="right"))
