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

MOST_MOMENTS = 1 << 27  # second moments of losses, 1 GiB


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
    """Cells whose items differ: first (K, C, d) and second (K, C, d, d) moments of their losses."""

    measure: Measure
    first: FloatArray
    second: FloatArray

    @property
    def mean(self) -> FloatArray:
        return self.first

    @property
    def support(self) -> NDArray[np.bool_]:
        return np.asarray(np.einsum("kcdd->kc", self.second) > 0)

    def risk(self, mass: FloatArray) -> FloatArray:
        return np.asarray(np.einsum("kc,kcd->d", mass, self.first))

    def sensitivity(self, risk: FloatArray) -> FloatArray:
        jacobian = self.measure.jacobian(risk)
        weighted = jacobian.T @ (self.measure.component_weights()[:, None] * jacobian)
        return np.asarray(np.einsum("de,kcde->kc", weighted, self.second))

    def aimed(self, risk: FloatArray) -> FloatArray:
        return replace(self, measure=self.measure.aim).influence(risk)

    def influence(self, risk: FloatArray) -> FloatArray:
        return np.asarray(np.einsum("md,kcd->kcm", self.measure.jacobian(risk), self.first))

    def kept(self) -> dict[str, Any]:
        """The moments."""
        return {"first": self.first, "second": self.second}


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
    n_moments = prod(shape) * measure.n_risk
    if n_moments > MOST_MOMENTS:
        raise BadOption(
            f"{measure.name} has {measure.n_risk} losses an item and too many kinds of items to "
            f"keep apart: {len(size)} cells would need {n_moments:.1e} numbers; evaluate fewer "
            "systems or thresholds together, or cut fewer strata"
        )
    first, second = np.zeros(shape), np.zeros((*shape, measure.n_risk))
    for outputs in blocks:
        cell = of_item[outputs.index]
        for label in range(n_classes):
            loss = measure.loss(outputs, np.full(len(outputs), label))
            np.add.at(first[:, label], cell, loss)
            for i in range(measure.n_risk):
                np.add.at(second[:, label, i], cell, loss[:, i, None] * loss)
    return MeanLosses(measure, first / size[:, None, None], second / size[:, None, None, None])
