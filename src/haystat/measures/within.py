"""Measures restricted to a sub-population."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haystat.core.arrays import BoolArray, FloatArray
from haystat.errors import BadOption, LengthMismatch, PoolError, UnknownName
from haystat.measures.base import Measure
from haystat.measures.by_factor import ByFactor
from haystat.measures.facts import ColumnEquals, Fact, InMask, union
from haystat.measures.outputs import Outputs, Schema


@dataclass(frozen=True)
class Within(ByFactor):
    """A measure restricted to a sub-population.

    The group is either a mask, one boolean for each item of the pool, or the items whose
    `column` equals `equals`; `title` names it in the components.
    """

    mask: BoolArray | InMask | None = None
    column: str | None = None
    equals: object = None
    title: str | None = None

    def __post_init__(self) -> None:
        if (self.mask is None) == (self.column is None):
            raise BadOption("give either `mask`, or `column` and `equals`")
        if self.mask is not None and not isinstance(self.mask, InMask):
            object.__setattr__(self, "mask", _checked_mask(self.mask))
        super().__post_init__()

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

    def facts(self) -> tuple[Fact, ...] | None:
        """The facts of the measure, and whether the item is in the group."""
        return union([(self._group,), self._inner.facts()])

    def ratios(self, component: int) -> FloatArray | None:
        """Those of the measure inside; its constant is the share of the group."""
        inner = self._inner.ratios(component)
        if inner is None or self._inner.scale_free:
            return inner
        return np.pad(inner, ((0, 0), (0, 0), (0, 1)))

    @property
    def _group(self) -> Fact:
        if isinstance(self.mask, InMask):
            return self.mask
        return ColumnEquals(str(self.column), self.equals)

    @property
    def suffix(self) -> str:
        """Which group."""
        default = "mask" if self.column is None else f"{self.column}={self.equals!r}"
        return f"where {self.title or default}"

    def factor(self, outputs: Outputs) -> FloatArray:
        """1.0 for items of the group, (n,)."""
        return self._group.codes(outputs).astype(float)


def _checked_mask(mask: BoolArray) -> InMask:
    own = np.array(mask)
    if own.dtype != bool or own.ndim != 1:
        raise BadOption(
            f"`mask` is an array of {own.dtype} and shape {own.shape}; give one boolean for each "
            "item of the pool"
        )
    own.flags.writeable = False
    return InMask(own)
