"""Precision, recall and F of many classes: one value a class, macro or micro average."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.errors import BadOption
from haystat.measures.base import Measure, check_jacobian
from haystat.measures.combine import Combination, Joint
from haystat.measures.confusion import F1, OneVsRest, Precision, Ratio, Recall
from haystat.measures.facts import Fact
from haystat.measures.outputs import Outputs, Schema


@dataclass(frozen=True)
class PerClass(Joint):
    """A measure of each class against the rest, one component a class.

    labels are the indices of the classes; all of the pool's unless given.
    """

    measure: OneVsRest
    labels: Sequence[int] | None = None

    parts = ()
    components = ()

    def __post_init__(self) -> None:
        _check_measure(self.measure, OneVsRest)
        object.__setattr__(self, "labels", _checked_labels(self.labels))
        object.__setattr__(self, "name", f"{self.measure.name}_per_class")

    def bind(self, schema: Schema) -> PerClass:
        """One bound measure for each class."""
        # Labels that are numbers have no classes; the measure refuses them when it is bound.
        indices = range(max(schema.n_classes, 1)) if self.labels is None else self.labels
        return self._resolved(**self._joined([self._part(index, schema) for index in indices]))

    def for_system(self, system: str) -> Measure:
        return replace(self, measure=replace(self.measure, system=system))

    def _part(self, index: int, schema: Schema) -> Measure:
        part = replace(self.measure, positive=index).bind(schema)
        names = tuple(f"{name}[{schema.class_name(index)}]" for name in part.components)
        return part._resolved(components=names)


@dataclass(frozen=True)
class Macro(Combination):
    """Mean over the classes of a measure of each class against the rest.

    labels are the indices of the classes; all of the pool's unless given. The mean is undefined
    while it is undefined for one of them.
    """

    measure: OneVsRest
    labels: Sequence[int] | None = None

    def __post_init__(self) -> None:
        _check_measure(self.measure, OneVsRest)
        object.__setattr__(self, "labels", _checked_labels(self.labels))
        object.__setattr__(self, "name", f"{self.measure.name}_macro")
        object.__setattr__(self, "components", _named(self.measure, "macro"))
        object.__setattr__(self, "bounds", self.measure.bounds)

    def bind(self, schema: Schema) -> Measure:
        """The same mean with everything resolved that depends on the pool."""
        joint = PerClass(self.measure, self.labels).bind(schema)
        return self._resolved(**self._over(joint))

    def for_system(self, system: str) -> Measure:
        return replace(self, measure=replace(self.measure, system=system))

    def mixed(self, components: FloatArray) -> FloatArray:
        """Mean over the classes."""
        return np.asarray(np.mean(components, axis=-1, keepdims=True))


@dataclass(frozen=True)
class Micro(Measure):
    """Precision, recall or F with the counts of several classes added up.

    labels are the indices of the classes. Over all classes, the default, every item counts
    once as predicted and once as actual, so all three are the accuracy, and take its loss.
    """

    measure: Ratio
    labels: Sequence[int] | None = None
    _inner: Ratio = field(init=False, repr=False, compare=False)

    bounds = (0.0, 1.0)

    def __post_init__(self) -> None:
        _check_measure(self.measure, Ratio)
        object.__setattr__(self, "labels", _checked_labels(self.labels))
        object.__setattr__(self, "name", f"{self.measure.name}_micro")
        object.__setattr__(self, "components", _named(self.measure, "micro"))
        object.__setattr__(self, "n_risk", 1 if self.labels is None else 2)
        object.__setattr__(self, "scale_free", self.labels is not None)
        object.__setattr__(self, "lacking", self.measure.lacking)
        object.__setattr__(self, "_inner", self.measure)

    def bind(self, schema: Schema) -> Measure:
        located = [
            replace(self.measure, positive=index)._located(schema) for index in self.labels or (0,)
        ]
        bound = self._resolved(_inner=located[0])
        check_jacobian(bound)
        return bound

    def for_system(self, system: str) -> Measure:
        return replace(self, measure=replace(self.measure, system=system))

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Mistakes, or the two counts over the classes: (n,) labels -> (n, 1) or (n, 2)."""
        predictions = outputs.predictions[:, self._inner.system_index]
        if self.labels is None:
            return np.asarray(label != predictions, dtype=float)
        predicted = (predictions[:, None] == self.labels).astype(float)
        actual = (label[:, None] == self.labels).astype(float)
        terms = self._inner.terms(predicted, actual)
        return np.stack([np.sum(term, axis=1) for term in terms], axis=1)

    def value(self, risk: FloatArray) -> FloatArray:
        return 1 - risk if self.labels is None else self._inner.value(risk)

    def jacobian(self, risk: FloatArray) -> FloatArray:
        return np.array([[-1.0]]) if self.labels is None else self._inner.jacobian(risk)

    def ratios(self, component: int) -> FloatArray | None:
        """That of the accuracy, or of the measure with the counts added up."""
        accuracy = np.array([[[-1.0, 1.0], [0.0, 1.0]]])
        return accuracy if self.labels is None else self._inner.ratios(component)

    def facts(self) -> tuple[Fact, ...] | None:
        """The predicted class."""
        return self._inner.facts()


def _named(measure: OneVsRest, average: str) -> tuple[str, ...]:
    return tuple(f"{name}_{average}" for name in measure.components)


def _check_measure(measure: object, kind: type) -> None:
    if not isinstance(measure, kind):
        raise BadOption(
            f"{measure!r} is no measure of one class, such as Precision(), Recall(), F1()"
        )


def _checked_labels(labels: Sequence[int] | None) -> tuple[int, ...] | None:
    """The class indices as a tuple; whether the pool has them is checked when it is known."""
    if labels is None:
        return None
    if len(labels) == 0 or len(set(labels)) < len(labels):
        raise BadOption(f"labels={list(labels)} must name one or more classes, each once")
    return tuple(int(index) for index in labels)


def _over_classes(
    average: Callable[..., Measure], measure: Callable[..., OneVsRest]
) -> Callable[..., Measure]:
    def make(*, labels: Sequence[int] | None = None, **options: object) -> Measure:
        return average(measure(**options), labels)

    return make


precision_macro = _over_classes(Macro, Precision)
recall_macro = _over_classes(Macro, Recall)
f1_macro = _over_classes(Macro, F1)
precision_micro = _over_classes(Micro, Precision)
recall_micro = _over_classes(Micro, Recall)
f1_micro = _over_classes(Micro, F1)
precision_per_class = _over_classes(PerClass, Precision)
recall_per_class = _over_classes(PerClass, Recall)
f1_per_class = _over_classes(PerClass, F1)
