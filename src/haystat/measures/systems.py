"""Measures of one system: of one class against the rest, and of the score."""

from __future__ import annotations

from abc import ABC
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.errors import BadOption
from haystat.measures.base import Measure, check_jacobian
from haystat.measures.outputs import Outputs, Schema


@dataclass(frozen=True, kw_only=True)
class SystemMeasure(Measure, ABC):
    """A measure of one system: the one called `system`, or the pool's first."""

    system: str | None = None

    #: whether labels are numbers, not classes
    of_numbers = False
    #: number of classes of the pool, known once bound
    n_classes: int = field(default=2, init=False, repr=False, compare=False)
    _column: int | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "components", self._prefixed((self.name,)))

    def bind(self, schema: Schema) -> Measure:
        bound = self._located(schema)
        check_jacobian(bound)
        return bound

    def for_system(self, system: str) -> Measure:
        return replace(self, system=system)

    def class_count(self) -> int:
        """Number of classes of the pool; 0 where labels are numbers."""
        return self.n_classes

    @property
    def system_index(self) -> int:
        """Column of the system in the outputs."""
        if self._column is None and self.system is not None:
            raise BadOption(f"{self!r} names a system; bind it to a pool's schema first")
        return self._column or 0

    def _located(self, schema: Schema) -> Self:
        """A copy that knows its system's column and the number of classes."""
        if self.of_numbers and not schema.numeric:
            raise BadOption(
                f"{self.name} is about labels that are numbers and the pool has "
                f"{schema.n_classes} classes; make the pool with classes=None"
            )
        if schema.numeric and not self.of_numbers:
            raise BadOption(
                f"{self.name} is about classes and the labels of the pool are numbers; use mae, "
                "mse, rmse or r2, or give the pool its `classes`"
            )
        column = schema.system_index(self.system)
        return self._resolved(_column=column, n_classes=schema.n_classes)

    def _prefixed(self, components: tuple[str, ...]) -> tuple[str, ...]:
        if self.system is None:
            return components
        return tuple(f"{self.system}:{component}" for component in components)


@dataclass(frozen=True, kw_only=True)
class ClassMeasure(SystemMeasure, ABC):
    """A measure of one class against the rest.

    positive is the index of that class: 1 in a pool of two classes unless given, and to be
    given in a pool of more.
    """

    positive: int | None = None

    @property
    def positive_index(self) -> int:
        """Index of the class that counts as positive."""
        return 1 if self.positive is None else self.positive

    def actual(self, label: IntArray) -> FloatArray:
        """1.0 where the label is the positive class, (n,)."""
        return np.asarray(label == self.positive_index, dtype=float)

    def predicted(self, outputs: Outputs) -> FloatArray:
        """1.0 where the system predicts the positive class, (n,)."""
        predictions = outputs.predictions[:, self.system_index]
        return np.asarray(predictions == self.positive_index, dtype=float)

    def _located(self, schema: Schema) -> Self:
        if self.positive is None and schema.n_classes > 2:
            raise BadOption(
                f"{self.name} is of one class and the pool has {schema.n_classes}; give "
                "`positive`, or take every class such as 'f1_per_class', or their mean 'f1_macro'"
            )
        if not schema.numeric and not 0 <= self.positive_index < schema.n_classes:
            raise BadOption(
                f"positive={self.positive} is not a class index from 0 to {schema.n_classes - 1}"
            )
        return super()._located(schema)


@dataclass(frozen=True, kw_only=True)
class ScoreMeasure(SystemMeasure, ABC):
    """A measure of a score for class 1 in a pool of two classes."""

    def actual(self, label: IntArray) -> FloatArray:
        """1.0 where the label is class 1, (n,)."""
        return np.asarray(label == 1, dtype=float)

    def score(self, outputs: Outputs) -> FloatArray:
        """The system's score, (n,)."""
        return outputs.scores[:, self.system_index]

    def _located(self, schema: Schema) -> Self:
        if not schema.scored:
            raise BadOption(
                f"{self.name} is about scores and the pool has predictions alone; give it `scores`"
            )
        if schema.n_classes > 2:
            raise BadOption(
                f"{self.name} is for the scores of two classes and the pool has "
                f"{schema.n_classes}; make a pool of one class against the rest"
            )
        return super()._located(schema)
