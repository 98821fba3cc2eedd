"""Losses of predicted numbers, seen from the cells: moments under a Gaussian for the label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.measures.base import Measure
from haystat.measures.outputs import Outputs
from haystat.pool.base import Order
from haystat.pool.losses import MeanLosses
from haystat.pool.prior import rounded

SAMPLE = 1024  # items of a cell from which examples are taken
EXAMPLES = 16  # items that stand for the predictions of a cell
NODES = 8  # of the quadrature, exact for losses whose square is a polynomial of degree 15
SMALLEST_SHARE = 1e-3  # of the mean deviation: a system that claims to be exact may be wrong


@dataclass(frozen=True)
class NumberLosses:
    """Cells whose labels are numbers; there is one column of "classes", (K, 1), for all labels.

    A label is Gaussian around the prediction, or the mean of the predictions of several systems.
    example (n,) are items of the cells example_cell (n,), ascending, up to EXAMPLES of each, spread
    evenly over its predictions. deviation (K,) is the prior standard deviation of a label. outputs
    looks up any items of the pool.
    """

    measure: Measure
    example: Outputs
    example_cell: IntArray
    deviation: FloatArray
    outputs: Callable[[IntArray], Outputs]

    @property
    def support(self) -> BoolArray:
        """Any label may have a loss, (K, 1)."""
        return np.ones((len(self.deviation), 1), dtype=bool)

    def risk(self, mass: FloatArray) -> FloatArray:
        """Risk if `mass` (K, 1) of the pool lies in each cell, before any label, (d,)."""
        return self._prior.risk(mass)

    @property
    def mean(self) -> FloatArray:
        """Mean loss of an item of each cell, before any label, (K, 1, d)."""
        return self._prior.mean

    def sensitivity(self, risk: FloatArray) -> FloatArray:
        """Mean squared influence of an item of each cell, before any label, (K, 1)."""
        return self._prior.sensitivity(risk)

    def influence(self, risk: FloatArray) -> FloatArray:
        """Mean influence of an item of each cell, before any label, (K, 1, m)."""
        return self._prior.influence(risk)

    def aimed(self, risk: FloatArray) -> FloatArray:
        """The influence on what a design draws for, (K, 1, m)."""
        return self._prior.aimed(risk)

    def kept(self) -> dict[str, Any]:
        """The examples, and how far labels spread."""
        return {
            "example": self.example,
            "example_cell": self.example_cell,
            "deviation": self.deviation,
        }

    def moments(self, mean: FloatArray, deviation: FloatArray) -> MeanLosses:
        """The losses if residuals have this mean and standard deviation, (K,) each.

        Gauss-Hermite quadrature over the label, and the mean over the examples of a cell.
        """
        first: FloatArray = np.zeros(1)
        second: FloatArray = np.zeros(1)
        cell = self.example_cell
        starts, n_examples = np.unique(cell, return_index=True, return_counts=True)[1:]
        centre = prediction(self.example) + mean[cell]
        nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
        for node, weight in zip(nodes, weights / weights.sum(), strict=True):
            loss = self.measure.loss(self.example, centre + deviation[cell] * node)  # type: ignore[arg-type]
            part = (weight / n_examples[cell])[:, None] * loss
            first = first + np.add.reduceat(part, starts)
            second = second + np.add.reduceat(part[:, :, None] * loss[:, None, :], starts)
        return MeanLosses.of(self.measure, first[:, None], second[:, None])

    def residual(self, item: IntArray, label: FloatArray) -> FloatArray:
        """Label minus prediction, (n,)."""
        return np.asarray(label - prediction(self.outputs(item)))

    def of_items(self, item: IntArray, label: FloatArray) -> FloatArray:
        """Losses of items whose label is known, (n, d)."""
        return self.measure.loss(self.outputs(item), label)  # type: ignore[arg-type]

    @cached_property
    def _prior(self) -> MeanLosses:
        return self.moments(np.zeros_like(self.deviation), self.deviation)


def prediction(outputs: Outputs) -> FloatArray:
    """The prediction, or the mean of those of several systems, (n,)."""
    return np.asarray(outputs.scores.mean(axis=1))


def number_losses(
    measure: Measure,
    outputs: Callable[[IntArray], Outputs],
    order: Order,
    size: IntArray,
    deviation: FloatArray,
) -> NumberLosses:
    """Losses of cells of `size` (K,) items, the first of which by u stand for the others."""
    runs = [order.first(cell, SAMPLE)[0] for cell in range(len(size))]
    n_items = np.array([len(run) for run in runs])
    item = np.concatenate(runs)
    of_item = np.repeat(np.arange(len(size)), n_items)
    ascending = np.lexsort((prediction(outputs(item)), of_item))
    n_examples = np.minimum(n_items, EXAMPLES)
    cell = np.repeat(np.arange(len(size)), n_examples)
    start = np.cumsum(n_items) - n_items
    step = np.arange(len(cell)) - np.repeat(np.cumsum(n_examples) - n_examples, n_examples)
    rank = (step + 0.5) / n_examples[cell] * n_items[cell]
    example = item[ascending[start[cell] + rank.astype(np.int64)]]
    return NumberLosses(measure, outputs(example), cell, deviation, outputs)


def same_deviation(spread: float, n_cells: int) -> FloatArray:
    """The spread of all scores, where a system does not say how sure it is, (K,)."""
    return np.full(n_cells, float(rounded(np.array(spread))) if spread > 0 else 1.0)


def given_deviation(square_sum: FloatArray, size: IntArray) -> FloatArray:
    """Root mean square of the deviations in each cell, from the sums of their squares, (K,)."""
    square = rounded(square_sum / size)
    typical = float(rounded(np.sqrt(square_sum.sum() / size.sum())))
    return np.maximum(np.sqrt(square), SMALLEST_SHARE * typical if typical > 0 else 1.0)
