"""Measures in which items count by their weight: views, money, people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.errors import BadOption, UnknownName
from haystat.measures.base import Measure
from haystat.measures.by_factor import ByFactor
from haystat.measures.facts import Fact, union
from haystat.measures.outputs import Outputs, Schema


@dataclass(frozen=True)
class WeightBin:
    """The power of two below a weight: items of one cell differ by a factor of two at most.

    In wider bins the mean of a cell is too far from the weight of its positives, where labels go
    with weights; finer ones would make cells that cost more than they tell. Weights below
    2 ** light are alike; those below half of it count next to nothing, all together.
    """

    column: str
    size: int = 128
    light: int = -64
    of_score: ClassVar[bool] = False
    of_group: ClassVar[bool] = False
    settles: ClassVar[bool] = False

    def codes(self, outputs: Outputs) -> IntArray:
        """Code of each item, (n,); 0 for items that do not count."""
        return self.codes_of(weights(outputs, self.column))

    def codes_of(self, weight: FloatArray) -> IntArray:
        """Code of each weight, (n,)."""
        exponent = np.maximum(np.frexp(weight)[1], self.light) + self.size // 2
        return np.where(weight > 0, np.clip(exponent, 1, self.size - 1), 0).astype(np.int64)


@dataclass(frozen=True)
class Weighted(ByFactor):
    """A measure in which every item counts `column` times, a column of the pool.

    As scikit-learn's `sample_weight`: Weighted(Recall(), "amount") is the share of the money that
    is found, one minus it the share that is missed. Weights are at least 0. They differ inside a
    cell, by less than a factor of two: labelled items count with their own, the others with the
    mean of those of their cell that have no label.
    """

    column: str
    _bin: WeightBin = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.measure, Measure):
            raise BadOption(f"Weighted takes a measure such as F1(), not {self.measure!r}")
        object.__setattr__(self, "_bin", WeightBin(self.column))
        super().__post_init__()

    def bind(self, schema: Schema) -> Measure:
        if self.column not in schema.columns:
            raise UnknownName(
                f"no column {self.column!r} to weigh by; the pool has {list(schema.columns)}: give "
                "it with columns="
            )
        light = schema.light if schema.weight == self.column else self._bin.light
        around = self._around(self.measure.bind(schema))
        return self._resolved(**around, _bin=WeightBin(self.column, light=light))

    def weighted_by(self, weighted: Callable[[Measure], Measure]) -> Measure:
        """The measure itself: it has weights of its own."""
        return self

    @property
    def suffix(self) -> str:
        """By what."""
        return f"by {self.column}"

    def factor(self, outputs: Outputs) -> FloatArray:
        """The weight of each item, (n,)."""
        return weights(outputs, self.column)

    def facts(self) -> tuple[Fact, ...] | None:
        """The facts of the measure, and the size of the weight; they do not settle the loss."""
        return union([(self._bin,), self._inner.facts()])


def weights(outputs: Outputs, column: str) -> FloatArray:
    """The weight of each item, (n,)."""
    try:
        found = np.asarray(outputs.columns[column], dtype=np.float64)
    except (TypeError, ValueError):
        raise BadOption(f"column {column!r} has weights that are no numbers") from None
    if not np.all(np.isfinite(found)) or np.any(found < 0):
        raise BadOption(f"column {column!r} has weights below 0 or missing; give 0 to leave out")
    return found


NEGLIGIBLE = 1 / 1024  # of the total weight, in items that are not told apart by theirs


def lightest(weight: FloatArray) -> int:
    """The power of two below which weights add up to next to nothing."""
    return lightest_of(np.frexp(weight)[1], weight)


def lightest_of(exponent: IntArray, total: FloatArray) -> int:
    """The same for parts of the items, total (n,) being the sum of the weights of each."""
    counts = total > 0
    low = int(exponent[counts].min())
    share = np.cumsum(np.bincount(exponent[counts] - low, weights=total[counts])) / total.sum()
    return low + int(np.searchsorted(share, NEGLIGIBLE, side="right"))
