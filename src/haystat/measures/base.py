"""The contract of a measure: G = g(R), R = E[loss] (Definition 1 of the paper)."""

from __future__ import annotations

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import wraps
from typing import Any, ClassVar, Self

import numpy as np

from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.errors import BadOption
from haystat.measures.facts import Fact, encode
from haystat.measures.outputs import Outputs, Schema

COMPLEX_STEP = 1e-30
#: numbers in the largest temporary array of losses (32 MiB)
LOSS_BLOCK = 1 << 22


class Measure(ABC):
    """A performance measure: a loss for each item and label, and a map g of the mean loss.

    A new measure needs `loss` and `value`; the Jacobian is then derived by complex steps and
    checked against finite differences when the measure is bound to a pool. Give `facts`
    when the loss depends only on a few discrete facts: the proposal is then exactly optimal.

    d is the length of the risk, m the number of components of the value. A subclass may return
    a scalar from `value` (m = 1) and an (n,) array from `loss` (d = 1).
    """

    #: name shown to people and written to logs
    name: str = "measure"
    #: one name for each component of the value
    components: tuple[str, ...] = ("value",)
    #: which of them stands for all where there is room for one
    lead: ClassVar[int] = 0
    #: smallest and largest possible value
    bounds: tuple[float, float] = (-np.inf, np.inf)
    #: length of the risk vector
    n_risk: int = 1
    #: whether value(c * risk) equals value(risk) for every c > 0, as for ratios of risks
    scale_free: bool = False
    #: whether a smaller value is a better one; None if neither is
    lower_is_better: bool | None = False
    #: whether labels are numbers
    of_numbers: bool = False
    #: whether the value is a share, which people read as a percentage
    is_share: bool = False
    #: the value in words; {value}, {low} and {high} are numbers out of 100
    meaning: str = ""
    #: of a measure of one value, what is wrong with the draws where it is undefined, in words
    lacking: str = ""
    #: whether the measure is precision, recall or an F-measure
    is_f_measure: bool = False
    #: of a curve over thresholds, what the first and the second half of its components are
    curve: tuple[str, str] | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for method, shaped in (("loss", _as_rows), ("value", _as_vector)):
            if method in cls.__dict__:
                setattr(cls, method, shaped(cls.__dict__[method]))

    def bind(self, schema: Schema) -> Measure:
        """The same measure with everything resolved that depends on the pool."""
        check_jacobian(self)
        return self

    @abstractmethod
    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Loss of each item under a label: (n,) labels -> (n, d)."""

    @abstractmethod
    def value(self, risk: FloatArray) -> FloatArray:
        """g: the measure at a risk, (d,) -> (m,); NaN where it is undefined."""

    def values(self, risks: FloatArray) -> FloatArray:
        """`value` at many risks, (S, d) -> (S, m)."""
        with np.errstate(all="ignore"):
            return np.stack([self.value(risk) for risk in risks])

    def jacobian(self, risk: FloatArray) -> FloatArray:
        """Derivative of `value`, (d,) -> (m, d); always finite, zero for what is undefined."""
        return complex_step_jacobian(self, risk)

    def facts(self) -> tuple[Fact, ...] | None:
        """Discrete facts about an item by which its loss differs; None if there are none."""
        return None

    def signature(self, outputs: Outputs) -> IntArray | None:
        """Code per item, (n,): items with equal codes have equal losses. None if there is none."""
        settled = all(fact.settles for fact in self.facts() or ())
        return self.grouping(outputs) if settled else None

    def grouping(self, outputs: Outputs) -> IntArray | None:
        """Code per item by which the pool is cut into cells, (n,): its facts. None without any."""
        facts = self.facts()
        return None if facts is None else encode(facts, outputs)

    def support(self, outputs: Outputs, label: IntArray) -> BoolArray:
        """Whether the loss is non-zero, (n,)."""
        return np.asarray(np.any(self.loss(outputs, label) != 0, axis=1))

    def risk(self, outputs: Outputs, label: IntArray, weight: FloatArray) -> FloatArray:
        """Weighted total of the losses, (d,)."""
        rows = max(1, LOSS_BLOCK // self.n_risk)
        if len(outputs) <= rows:
            return np.asarray(weight @ self.loss(outputs, label))
        total = np.zeros(self.n_risk)
        for start in range(0, len(outputs), rows):
            block = slice(start, start + rows)
            total += weight[block] @ self.loss(outputs.take(block), label[block])
        return total

    def influence(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        """Jacobian times loss: what an item adds to each component, (n, m)."""
        return self.loss(outputs, label) @ self.jacobian(risk).T

    def sensitivity(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        """Squared length of the influence, (n,). The core of Prop. 2 of the paper."""
        influence = self.influence(outputs, label, risk)
        return np.asarray(np.einsum("nm,nm,m->n", influence, influence, self.component_weights()))

    def component_weights(self) -> FloatArray:
        """How much the variance of each component counts in the total variance, (m,)."""
        return np.ones(len(self.components))

    def component_bounds(self) -> FloatArray:
        """Smallest and largest possible value of each component, (m, 2)."""
        return np.tile(np.array(self.bounds, dtype=np.float64), (len(self.components), 1))

    def class_count(self) -> int:
        """Number of classes of the pool, as far as the measure knows; 0 if it does not."""
        return 0

    def ratios(self, component: int) -> FloatArray | None:
        """The component as a sum of ratios of linear functions of the risk, (terms, 2, d + 1).

        Numerator and denominator of each term, the last entry of both a constant. None if the
        component is no such sum.
        """
        return None

    def undefined(self, risk: FloatArray) -> str | None:
        """Why the value is undefined at this risk, in words; None where it is defined."""
        if np.all(np.isfinite(self.value(risk))):
            return None
        if self.lacking:
            return f"{self.components[0]} is undefined: {self.lacking}"
        return f"{self.name} is undefined for what has been drawn so far"

    @property
    def aim(self) -> Measure:
        """What a design that is aimed by a model draws for, with the same losses; mostly itself."""
        return self

    @property
    def evenly(self) -> float:
        """Share of the labels that such a design spreads evenly at least, whatever its model says.

        More than usual where an answer takes that there is nothing where the model expects nothing.
        """
        return 0.0

    def side_by_side(self) -> tuple[Measure, ...]:
        """The measures that this one puts side by side; itself if it is one."""
        return (self,)

    def weighted_by(self, weighted: Callable[[Measure], Measure]) -> Measure:
        """The same measure in which items count by their weight, as `weighted` makes it of one."""
        return weighted(self)

    def for_system(self, system: str) -> Measure:
        """The same measure of another system, not bound to a pool."""
        raise BadOption(f"{self.name} has no `system` option, so it cannot be moved to {system!r}")

    def __str__(self) -> str:
        return self.name

    def _resolved(self, **values: object) -> Self:
        """A copy with attributes set that depend on the pool."""
        other = copy.copy(self)
        for name, value in values.items():
            object.__setattr__(other, name, value)
        return other


def ratio(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Quotient, NaN where the denominator is zero; real or complex."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(denominator == 0, np.nan, np.divide(numerator, denominator))


def finite(array: FloatArray) -> FloatArray:
    """The array with zeros in place of NaN and infinities."""
    return np.where(np.isfinite(array), array, 0.0)


def complex_step_jacobian(measure: Measure, risk: FloatArray) -> FloatArray:
    """Jacobian of g to machine precision for any g made of analytic operations, (m, d)."""
    steps = risk.astype(complex) + 1j * COMPLEX_STEP * np.eye(len(risk))
    with np.errstate(divide="ignore", invalid="ignore"):
        columns = [np.imag(measure.value(step)) / COMPLEX_STEP for step in steps]
    return finite(np.stack(columns, axis=1))


def check_jacobian(measure: Measure, tolerance: float = 1e-5) -> None:
    """Compare the Jacobian with central differences at a generic risk; raise if they differ."""
    risk = np.linspace(0.2, 0.3, measure.n_risk)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "discards the imaginary part": the check will tell
            value = measure.value(risk)
            given = measure.jacobian(risk)
            differences = difference_jacobian(measure, risk)
    except TypeError as error:  # float(), math.sqrt() … do not take complex numbers
        raise BadOption(
            f"the Jacobian of {measure.name} cannot be derived ({error}); give `jacobian`, "
            "or write `value` with numpy functions that take complex numbers"
        ) from error
    shape = (len(measure.components), measure.n_risk)
    if value.shape != shape[:1] or given.shape != shape:
        raise BadOption(
            f"{measure.name} has {shape[0]} components and n_risk = {shape[1]}, but `value` "
            f"returns shape {value.shape} and `jacobian` shape {given.shape}"
        )
    comparable = np.isfinite(differences)
    scale = 1 + np.abs(differences[comparable])
    if np.any(np.abs(given[comparable] - differences[comparable]) > tolerance * scale):
        raise BadOption(
            f"the Jacobian of {measure.name} disagrees with finite differences; give "
            "`jacobian`, or write `value` without abs, max and comparisons"
        )


def difference_jacobian(measure: Measure, risk: FloatArray, step: float = 1e-6) -> FloatArray:
    """Jacobian by central differences, (m, d)."""
    moves = step * np.eye(len(risk))
    columns = [
        (measure.value(risk + move) - measure.value(risk - move)) / (2 * step) for move in moves
    ]
    return np.stack(columns, axis=1)


def _as_rows(loss: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(loss)
    def rows(self: Measure, outputs: Outputs, label: IntArray) -> FloatArray:
        losses = np.asarray(loss(self, outputs, label), dtype=float)
        return losses[:, None] if losses.ndim == 1 else losses

    return rows


def _as_vector(value: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(value)
    def vector(self: Measure, risk: FloatArray) -> FloatArray:
        return np.atleast_1d(value(self, risk))

    return vector


class MeanLoss(Measure, ABC):
    """A measure that is the mean of its loss, and so always defined."""

    def value(self, risk: FloatArray) -> FloatArray:
        return risk

    def jacobian(self, risk: FloatArray) -> FloatArray:
        return np.array([[1.0]])
