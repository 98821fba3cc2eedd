"""Losses of predicted numbers, seen from the cells: moments under a Gaussian for the label."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from haystat.measures.base import Measure
from haystat.measures.outputs import BoolArray, FloatArray, IntArray, Outputs
from haystat.pool.losses import MeanLosses

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

    def sensitivity(self, risk: FloatArray) -> FloatArray:
        """Mean squared influence of an item of each cell, before any label, (K, 1)."""
        return self._prior.sensitivity(risk)

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
        return MeanLosses(self.measure, first[:, None], second[:, None])

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
    scores: FloatArray,
    deviations: FloatArray | None,
    of_item: NDArray[np.int32],
    size: IntArray,
) -> NumberLosses:
    """Losses of cells whose items `of_item` (M,) have `scores` (M, S) and perhaps deviations."""
    n_cells = len(size)
    order = np.lexsort((scores.mean(axis=1), of_item))
    n_examples = np.minimum(size, EXAMPLES)
    cell = np.repeat(np.arange(n_cells), n_examples)
    start = np.cumsum(size) - size
    step = np.arange(len(cell)) - np.repeat(np.cumsum(n_examples) - n_examples, n_examples)
    rank = (step + 0.5) / n_examples[cell] * size[cell]
    example = order[start[cell] + rank.astype(np.int64)]
    return NumberLosses(
        measure, outputs(example), cell, _deviation(scores, deviations, of_item, size), outputs
    )


def _deviation(
    scores: FloatArray, deviations: FloatArray | None, of_item: NDArray[np.int32], size: IntArray
) -> FloatArray:
    """Root mean square of the given deviations in each cell; else the spread of all scores."""
    if deviations is None:
        spread = float(scores.mean(axis=1).std())
        return np.full(len(size), spread if spread > 0 else 1.0)
    square = np.bincount(of_item, weights=deviations**2, minlength=len(size)) / size
    typical = float(np.sqrt(np.mean(deviations**2)))
    return np.maximum(np.sqrt(square), SMALLEST_SHARE * typical if typical > 0 else 1.0)
