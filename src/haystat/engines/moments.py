"""Losses that differ inside a cell, from the groups of a sketch: no further pass is needed.

Each group counts as so many items with its mean scores. A group is a thousandth of the range of
a score wide, so that the moments are those of the items but for a small share; they only shape
the proposal, and the estimate looks up labelled items one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.engines.layout import Layout, bin_names
from haystat.engines.passes import Groups
from haystat.engines.sketch import atom_sums
from haystat.engines.sketch_items import MergedOrder, SketchItems
from haystat.measures.base import Measure
from haystat.measures.outputs import Outputs
from haystat.pool.losses import MOST_MOMENTS, MeanLosses, add_products
from haystat.pool.number_losses import NumberLosses, given_deviation, number_losses, same_deviation


def binned_losses(
    measure: Measure, held: SketchItems, of_atom: IntArray, size: IntArray, n_classes: int
) -> MeanLosses:
    """Loss moments of every cell under each label."""
    groups, atom_of, atoms = held.sketch.groups, held.sketch.atom_of, held.sketch.atoms
    columns = {name: values[atom_of] for name, values in atoms.facts.items()}
    spread = np.ones(len(atom_of))  # mean square of what items count, over the square of the mean
    if held.layout.columns.weight is not None and groups.weight_sum is not None:
        mean, square = groups.weight_sum.T / groups.size
        columns[held.layout.columns.weight] = mean
        np.divide(square, mean**2, out=spread, where=mean**2 > 0)
    outputs = Outputs(
        np.zeros(len(atom_of), dtype=np.int64),
        _mean_scores(groups, held.layout),
        atoms.predictions[atom_of],
        columns,
    )
    cell, weight = of_atom[atom_of], groups.size / size[of_atom[atom_of]]
    shape = (len(size), n_classes, measure.n_risk)
    first, square = np.zeros(shape), np.zeros(shape)
    many = prod(shape) * measure.n_risk > MOST_MOMENTS
    second = None if many else np.zeros((*shape, measure.n_risk))
    for label in range(n_classes):
        loss = measure.loss(outputs, np.full(len(outputs), label))
        np.add.at(first[:, label], cell, weight[:, None] * loss)
        np.add.at(square[:, label], cell, (weight * spread)[:, None] * loss**2)
        if second is not None:
            add_products(second[:, label], cell, (weight * spread)[:, None] * loss, loss)
    return MeanLosses(measure, first, square, second)


def _mean_scores(groups: Groups, layout: Layout) -> FloatArray:
    """The mean score of each group (G, S), which has reached the thresholds that its items have.

    A sum rounds: six times 0.1 over six is below 0.1. A loss that were 0 would never be drawn.
    """
    mean = groups.score_sum / groups.size[:, None]
    for name, (system, grid) in zip(bin_names(layout), layout.bins, strict=True):
        edges, reached = np.concatenate([[-np.inf], grid.edges, [np.inf]]), groups.column(name)
        below = np.nextafter(edges[reached + 1], -np.inf)
        mean[:, system] = np.clip(mean[:, system], edges[reached], below)
    return mean


def binned_number_losses(
    measure: Measure,
    held: SketchItems,
    of_atom: IntArray,
    size: IntArray,
    spread: float,
    outputs: Callable[[IntArray], Outputs],
) -> NumberLosses:
    """Losses of cells whose labels are numbers, as hs.Pool sees them."""
    order = MergedOrder(held, of_atom, size)
    deviation = same_deviation(spread, len(size))
    if held.layout.columns.deviation is not None:
        groups = held.sketch.groups
        total = atom_sums(groups.square_sum, of_atom[held.sketch.atom_of], len(size))
        deviation = given_deviation(total, size)
    return number_losses(measure, outputs, order, size, deviation)
