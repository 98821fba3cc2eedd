"""Measures restricted to a sub-population."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.errors import BadOption, LengthMismatch, PoolError, UnknownName
from haystat.measures.base import Measure, ratio
from haystat.measures.facts import ColumnEquals, Fact, InMask, union
from haystat.measures.outputs import Outputs, Schema


@dataclass(frozen=True)
class Within(Measure):
    """A measure restricted to a sub-population.

    The group is either a mask, one boolean for each item of the pool, or the items whose
    `column` equals `equals`; `title` names it in the components. A measure that is not a ratio
    of risks, such as accuracy, gets the share of the group as one more risk to divide by.
    """

    measure: Measure
    mask: BoolArray | InMask | None = None
    column: str | None = None
    equals: object = None
    title: str | None = None
    _inner: Measure = field(init=False, repr=False, compare=False)

    @property
    def lower_is_better(self) -> bool | None:  # type: ignore[override]
        """As in the pool."""
        return self.measure.lower_is_better

    def __post_init__(self) -> None:
        if (self.mask is None) == (self.column is None):
            raise BadOption("give either `mask`, or `column` and `equals`")
        if self.mask is not None and not isinstance(self.mask, InMask):
            object.__setattr__(self, "mask", _checked_mask(self.mask))
        for name, value in self._around(self.measure).items():
            object.__setattr__(self, name, value)

    def bind(self, schema: Schema) -> Measure:
        """The same restriction with everything resolved that depends on the pool."""
        if isinstance(self.mask, InMask):
            if len(self.mask.mask) != schema.size:
                raise LengthMismatch(
                    f"the mask has {len(self.mask.mask)} entries and the pool {schema.size} items"
                )
            if not np.any(self.mask.mask):
                raise PoolError("the mask selects no item; a group needs at least one")
        elif self.column not in schema.columns:
            raise UnknownName(f"no column {self.column!r}; the pool has {list(schema.columns)}")
        return self._resolved(**self._around(self.measure.bind(schema)))

    def for_system(self, system: str) -> Measure:
        """The same measure of another system, not bound to a pool."""
        return replace(self, measure=self.measure.for_system(system))

    def component_bounds(self) -> FloatArray:
        """Those of the measure inside."""
        return self._inner.component_bounds()

    def class_count(self) -> int:
        """That of the measure inside."""
        return self._inner.class_count()

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Loss of each item under a label, zero outside the group: (n,) labels -> (n, d)."""
        inside = self._inside(outputs)[:, None]
        loss = self._inner.loss(outputs, label) * inside
        return loss if self._inner.scale_free else np.concatenate([loss, inside], axis=1)

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
        by_share = -by_inner @ inner_risk
        return np.asarray(np.column_stack([by_inner, by_share]) / risk[-1])

    def facts(self) -> tuple[Fact, ...] | None:
        """The facts of the measure, and whether the item is in the group."""
        return union([(self._group,), self._inner.facts()])

    def support(self, outputs: Outputs, label: IntArray) -> BoolArray:
        """Whether the loss is non-zero, (n,)."""
        inside = self._inside(outputs) > 0
        return inside & self._inner.support(outputs, label) if self._inner.scale_free else inside

    def risk(self, outputs: Outputs, label: IntArray, weight: FloatArray) -> FloatArray:
        """Weighted total of the losses, (d,)."""
        weight_inside = weight * self._inside(outputs)
        risk = self._inner.risk(outputs, label, weight_inside)
        return risk if self._inner.scale_free else np.append(risk, np.sum(weight_inside))

    def influence(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        """Jacobian times loss: what an item adds to each component, (n, m)."""
        inside = self._inside(outputs)[:, None]
        if self._inner.scale_free:
            return inside * self._inner.influence(outputs, label, risk)
        if risk[-1] == 0:
            return np.zeros((len(outputs), len(self.components)))
        inner_risk = self._inner_risk(risk)
        by_share = -self._inner.jacobian(inner_risk) @ inner_risk
        influence = self._inner.influence(outputs, label, inner_risk) + by_share
        return np.asarray(inside * influence / risk[-1])

    def sensitivity(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        """Squared length of the influence, (n,)."""
        if self._inner.scale_free:
            return self._inside(outputs) * self._inner.sensitivity(outputs, label, risk)
        return super().sensitivity(outputs, label, risk)

    def component_weights(self) -> FloatArray:
        """How much the variance of each component counts in the total variance, (m,)."""
        return self._inner.component_weights()

    def ratios(self, component: int) -> FloatArray | None:
        """Those of the measure inside; its constant is the share of the group."""
        inner = self._inner.ratios(component)
        if inner is None or self._inner.scale_free:
            return inner
        return np.pad(inner, ((0, 0), (0, 0), (0, 1)))

    def undefined(self, risk: FloatArray) -> str | None:
        """Why the value is undefined at this risk, in words; None where it is defined."""
        if not self._inner.scale_free and risk[-1] == 0:
            return f"{self.name} is undefined: no item of the group has been drawn"
        reason = self._inner.undefined(self._inner_risk(risk))
        return None if reason is None else f"where {self._title}: {reason}"

    @property
    def _group(self) -> Fact:
        if isinstance(self.mask, InMask):
            return self.mask
        return ColumnEquals(str(self.column), self.equals)

    @property
    def _title(self) -> str:
        default = "mask" if self.column is None else f"{self.column}={self.equals!r}"
        return self.title or default

    def _inside(self, outputs: Outputs) -> FloatArray:
        """1.0 for items of the group, (n,)."""
        return self._group.codes(outputs).astype(float)

    def _inner_risk(self, risk: FloatArray) -> FloatArray:
        """The risk of the measure inside the group."""
        return risk if self._inner.scale_free else ratio(risk[:-1], risk[-1:])

    def _around(self, inner: Measure) -> dict[str, object]:
        """The attributes that follow from the measure inside."""
        return {
            "_inner": inner,
            "name": f"{inner.name} where {self._title}",
            "components": tuple(f"{name} where {self._title}" for name in inner.components),
            "bounds": inner.bounds,
            "n_risk": inner.n_risk + (not inner.scale_free),
            "scale_free": True,
        }


def _checked_mask(mask: BoolArray) -> InMask:
    own = np.array(mask)
    if own.dtype != bool or own.ndim != 1:
        raise BadOption(
            f"`mask` is an array of {own.dtype} and shape {own.shape}; give one boolean for each "
            "item of the pool"
        )
    own.flags.writeable = False
    return InMask(own)
