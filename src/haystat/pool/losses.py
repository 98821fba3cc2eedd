"""What the losses of a measure look like from the cells: all that a design needs of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from haystat.core.arrays import FloatArray, IntArray
from haystat.errors import BadOption
from haystat.measures.base import Measure
from haystat.measures.outputs import Outputs

MOST_MOMENTS = 1 << 27  # of losses, 1 GiB


class CellLosses(Protocol):
    """Losses of the K cells under each of C labels."""

    @property
    def support(self) -> NDArray[np.bool_]:
        """Whether the loss of some item of the cell is not zero, (K, C)."""

    def risk(self, mass: FloatArray) -> FloatArray:
        """Risk if `mass` (K, C) of the pool lies in each cell under each label, (d,)."""

    @property
    def mean(self) -> FloatArray:
        """Mean loss of an item of each cell under each label, (K, C, d)."""

    def sensitivity(self, risk: FloatArray) -> FloatArray:
        """Mean squared influence of an item of each cell under each label, (K, C)."""

    def influence(self, risk: FloatArray) -> FloatArray:
        """Mean influence of an item of each cell under each label, (K, C, m)."""

    def aimed(self, risk: FloatArray) -> FloatArray:
        """The influence on what a design draws for, `Measure.aim`, (K, C, m)."""

    def kept(self) -> dict[str, Any]:
        """The arrays and outputs that a sketch must keep to make these losses again."""


@dataclass(frozen=True)
class EqualLosses:
    """Cells whose items all have the loss of one example."""

    measure: Measure
    outputs: Outputs  # (K * C): every example once per label
    label: IntArray
    support: NDArray[np.bool_]

    @cached_property
    def mean(self) -> FloatArray:
        return self.measure.loss(self.outputs, self.label).reshape(*self.support.shape, -1)

    def risk(self, mass: FloatArray) -> FloatArray:
        return self.measure.risk(self.outputs, self.label, mass.ravel())

    def sensitivity(self, risk: FloatArray) -> FloatArray:
        return self.measure.sensitivity(self.outputs, self.label, risk).reshape(self.support.shape)

    def aimed(self, risk: FloatArray) -> FloatArray:
        return replace(self, measure=self.measure.aim).influence(risk)

    def influence(self, risk: FloatArray) -> FloatArray:
        influence = self.measure.influence(self.outputs, self.label, risk)
        return np.nan_to_num(influence).reshape(*self.support.shape, -1)

    def kept(self) -> dict[str, Any]:
        """Nothing: these losses follow from the examples of the cells."""
        return {}


@dataclass(frozen=True)
class MeanLosses:
    """Cells whose items differ: means (K, C, d) of their losses and of the squares of these.

    second (K, C, d, d) has the means of all products, where they are not too many to keep.
    """

    measure: Measure
    first: FloatArray
    square: FloatArray
    second: FloatArray | None = None

    @classmethod
    def of(cls, measure: Measure, first: FloatArray, second: FloatArray) -> MeanLosses:
        """Losses whose second moments are all known."""
        return cls(measure, first, np.einsum("kcdd->kcd", second), second)

    @property
    def mean(self) -> FloatArray:
        return self.first

    @property
    def support(self) -> NDArray[np.bool_]:
        return np.asarray(np.any(self.square > 0, axis=2))

    def risk(self, mass: FloatArray) -> FloatArray:
        return np.asarray(np.einsum("kc,kcd->d", mass, self.first))

    def sensitivity(self, risk: FloatArray) -> FloatArray:
        if self.second is None:
            raise BadOption(
                f"{self.measure.name} has {self.first.shape[2]} losses an item, and the products "
                f"of all in {len(self.first)} cells, which this design draws by, are too many to "
                "keep; use the default design, evaluate fewer systems or thresholds together, or "
                "cut fewer strata"
            )
        jacobian = self.measure.jacobian(risk)
        weighted = jacobian.T @ (self.measure.component_weights()[:, None] * jacobian)
        return np.asarray(np.einsum("de,kcde->kc", weighted, self.second))

    def aimed(self, risk: FloatArray) -> FloatArray:
        return replace(self, measure=self.measure.aim).influence(risk)

    def influence(self, risk: FloatArray) -> FloatArray:
        return np.asarray(np.einsum("md,kcd->kcm", self.measure.jacobian(risk), self.first))

    def kept(self) -> dict[str, Any]:
        """The moments."""
        moments = {"first": self.first, "square": self.square}
        return moments if self.second is None else moments | {"second": self.second}


def equal_losses(measure: Measure, example: Outputs, n_classes: int) -> EqualLosses:
    """Losses of cells that the measure's signature made uniform."""
    n_cells = len(example)
    outputs = example.take(np.repeat(np.arange(n_cells), n_classes))
    label = np.tile(np.arange(n_classes), n_cells)
    support = measure.support(outputs, label).reshape(n_cells, n_classes)
    return EqualLosses(measure, outputs, label, support)


def mean_losses(
    measure: Measure,
    blocks: Iterable[Outputs],
    of_item: NDArray[np.int32],
    size: IntArray,
    n_classes: int,
) -> MeanLosses:
    """Loss moments of every cell, from one pass over the items in the order of the pool."""
    shape = (len(size), n_classes, measure.n_risk)
    if prod(shape) > MOST_MOMENTS:
        raise BadOption(
            f"{measure.name} has {measure.n_risk} losses an item and too many kinds of items to "
            f"keep apart: {len(size)} cells would need {prod(shape):.1e} numbers; evaluate fewer "
            "systems or thresholds together, or cut fewer strata"
        )
    first, square = np.zeros(shape), np.zeros(shape)
    many = prod(shape) * measure.n_risk > MOST_MOMENTS
    second = None if many else np.zeros((*shape, measure.n_risk))
    for outputs in blocks:
        cell = of_item[outputs.index]
        for label in range(n_classes):
            loss = measure.loss(outputs, np.full(len(outputs), label))
            np.add.at(first[:, label], cell, loss)
            np.add.at(square[:, label], cell, loss**2)
            if second is not None:
                add_products(second[:, label], cell, loss, loss)
    n = size[:, None, None]
    products = None if second is None else second / n[..., None]
    return MeanLosses(measure, first / n, square / n, products)


def add_products(
    second: FloatArray, cell: NDArray[np.integer], left: FloatArray, right: FloatArray
) -> None:
    """Add the products of losses (n, d) to those of their cells, (K, d, d), a row at a time."""
    for i in range(second.shape[1]):
        np.add.at(second[:, i], cell, left[:, i, None] * right)
