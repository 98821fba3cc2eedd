"""A measure of each label of a multi-label problem, and its averages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.errors import BadOption
from haystat.measures.base import Measure
from haystat.measures.combine import Combination, Several
from haystat.measures.facts import Fact, union
from haystat.measures.outputs import Outputs, Schema
from haystat.measures.within import Within


@dataclass(frozen=True)
class ColumnValue:
    """Which of some values a column has; one more code stands for all others."""

    of_score: ClassVar[bool] = False
    of_group: ClassVar[bool] = True
    settles: ClassVar[bool] = True
    column: str
    values: tuple[str, ...]

    @property
    def size(self) -> int:
        """Number of codes."""
        return len(self.values) + 1

    def codes(self, outputs: Outputs) -> IntArray:
        """Code of each item, (n,)."""
        found = np.asarray(outputs.columns[self.column])
        code = np.full(len(outputs), len(self.values), dtype=np.int64)
        for number, value in enumerate(self.values):
            code[np.asarray(found == value)] = number
        return code


@dataclass(frozen=True)
class PerLabel(Combination):
    """A measure of every label, its mean over the labels (macro), and that of all pairs (micro).

    labels: their names, as hs.Pool.multi_label was given them; column has them in the pool.

    >>> import haystat as hs
    >>> pool = hs.Pool.multi_label({"cat": [0.1, 0.9], "dog": [0.8, 0.2]})
    >>> ev = hs.Evaluation(pool, PerLabel(hs.measures.F1(), ("cat", "dog")), random_state=0)
    >>> ev.tell({query.item: int(query.item in ("1/cat", "0/dog")) for query in ev.ask(4)})
    >>> ev.estimate().to_dict()["components"][2]["name"]
    'f1 macro'
    """

    lead: ClassVar[int] = -2  # the mean over the labels
    measure: Measure
    labels: Sequence[str]
    column: str = "label"

    def __post_init__(self) -> None:
        names = (self.labels,) if isinstance(self.labels, str) else tuple(self.labels)
        if not isinstance(self.measure, Measure):
            raise BadOption(f"PerLabel takes a measure such as F1(), not {self.measure!r}")
        if not names or len(set(names)) < len(names):
            raise BadOption(f"labels are {list(names)!r}; name one or more, each once")
        object.__setattr__(self, "labels", names)
        object.__setattr__(self, "name", f"{self.measure.name} per label")
        ends = (*names, "macro", "micro")
        object.__setattr__(self, "components", tuple(f"{self.measure.name} {e}" for e in ends))
        object.__setattr__(self, "bounds", self.measure.bounds)

    def bind(self, schema: Schema) -> Measure:
        """The same measures with everything resolved that depends on the pool."""
        within = [Within(self.measure, column=self.column, equals=name) for name in self.labels]
        parts = [part.bind(schema) for part in (*within, self.measure)]
        if len(parts[-1].components) != 1:
            raise BadOption(f"PerLabel takes a measure of one value, not {self.measure.name}")
        return self._resolved(**self._over(Several(parts)))

    def for_system(self, system: str) -> Measure:
        return replace(self, measure=self.measure.for_system(system))

    def facts(self) -> tuple[Fact, ...] | None:
        """Which label it is, and the facts of the measure."""
        micro = self.joint.parts[-1]
        return union([(ColumnValue(self.column, tuple(self.labels)),), micro.facts()])

    def mixed(self, components: FloatArray) -> FloatArray:
        """Those of the labels, their mean, and that of all pairs."""
        own, micro = components[..., :-1], components[..., -1:]
        return np.concatenate([own, own.mean(axis=-1, keepdims=True), micro], axis=-1)
