"""Steps of the draws of importance sampling, and those that they might have made."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.inference.drawn_items import DrawnItems
from haystat.inference.tails import SIDES, Tails, self_weighted
from haystat.measures.base import Measure
from haystat.measures.outputs import Outputs
from haystat.pool.cells import first_items
from haystat.pool.strata import renumber

#: a mean of w z below this share of the mean of |w z| is zero up to rounding
ROUNDING = 1e-9


@dataclass(frozen=True)
class Draws:
    """Draws and what they add to the estimate.

    share (n,) is that of one draw of each row in the mean; group (n,) names the influence of the
    row among influence (G, m); centre (m,) is the mean of w z.
    """

    rows: DrawnItems
    share: FloatArray
    group: IntArray
    influence: FloatArray
    centre: FloatArray

    @cached_property
    def balanced(self) -> BoolArray:
        """Components whose w z has mean zero, (m,): those of a measure that is a ratio of risks."""
        rows = self.rows
        mass = np.bincount(self.group, rows.count * self.share * rows.weight).astype(np.float64)
        mean = _weighted(mass, np.abs(self.influence))
        return np.asarray(np.abs(self.centre) <= ROUNDING * mean)

    def shares(self, bounds: FloatArray) -> BoolArray:
        """Components that are quotients in [0, 1], (m,)."""
        return np.asarray(self.balanced & np.all(bounds == (0.0, 1.0), axis=1))

    @property
    def scale(self) -> float:
        """Makes the sum of squares of the steps an unbiased variance."""
        n = self.rows.n_draws
        return float(np.sqrt(n / (n - 1))) if n > 1 else 1.0


def importance_tails(draws: Draws, measure: Measure, outputs: Outputs, risk: FloatArray) -> Tails:
    """What carries the error of an estimate from these draws; outputs are those of the rows."""
    square, cube = side_sums(draws)
    possible = possible_steps(draws, measure, outputs, risk)
    bounds, scale = measure.component_bounds(), draws.scale
    tails = scale**2 * square, scale**3 * cube, scale * possible
    return Tails(*tails, bounds, draws.shares(bounds))


def side_sums(draws: Draws) -> tuple[FloatArray, FloatArray]:
    """Sums of d^2 and |d|^3 over the draws of each side, (2, m) each.

    Where c is zero the sign of a step is that of its influence, so that equal ones are added up.
    """
    rows = draws.rows
    step = draws.share * rows.weight
    count = rows.count.astype(np.float64)
    weights = [np.bincount(draws.group, count * step**power).astype(np.float64) for power in (2, 3)]
    square, cube = np.zeros((2, len(draws.centre))), np.zeros((2, len(draws.centre)))
    for side, sign in enumerate(SIDES):
        part = np.maximum(sign * draws.influence, 0.0)
        squared = part * part  # a power of 3 would take ten times as long as a product
        square[side] = _weighted(weights[0], squared)
        cube[side] = _weighted(weights[1], squared * part)
    for j in np.flatnonzero(~draws.balanced).tolist():
        for side, part in enumerate(_sides(_steps(draws, j))):
            square[side, j], cube[side, j] = rows.count @ part**2, rows.count @ part**3
    return square, cube


def largest_steps(draws: Draws) -> FloatArray:
    """Largest step of each side, (2, m)."""
    columns = [[part.max() for part in _sides(_steps(draws, j))] for j in range(len(draws.centre))]
    return np.array(columns).T


def possible_steps(
    draws: Draws, measure: Measure, outputs: Outputs, risk: FloatArray
) -> FloatArray:
    """Step of one more find on each side, (2, m).

    Of classes: one that other labels of what was asked would have made. A number may be anything,
    so that one more is taken to be like the largest.
    """
    if draws.rows.label.dtype.kind == "f":
        return largest_steps(draws)
    asked = asked_rows(draws.rows)
    kind, extremes = label_extremes(draws.rows, measure, outputs, risk, asked)
    step = (draws.share * draws.rows.weight)[asked]
    weights = [np.bincount(kind, step**power).astype(np.float64) for power in (1, 2)]
    total, square = np.zeros((2, len(draws.centre))), np.zeros((2, len(draws.centre)))
    for side, sign in enumerate(SIDES):
        part = np.maximum(sign * extremes[side], 0.0)
        total[side] = _weighted(weights[0], part)
        square[side] = _weighted(weights[1], part * part)
    for j in np.flatnonzero(~draws.balanced):
        for side, sign in enumerate(SIDES):
            off = step * extremes[side][kind, j] - draws.share[asked] * draws.centre[j]
            part = np.maximum(sign * off, 0.0)
            total[side, j], square[side, j] = part.sum(), part @ part
    return self_weighted(total, square)


def asked_rows(rows: DrawnItems) -> IntArray:
    """Rows whose label was not known when they were drawn, in the order of the rows.

    So sums over them do not depend on how a pool numbers its items.
    """
    if rows.n_answers is not None:  # every draw was asked
        return np.arange(len(rows.item))
    return np.sort(np.unique(rows.item, return_index=True)[1])


def label_extremes(
    rows: DrawnItems, measure: Measure, outputs: Outputs, risk: FloatArray, asked: IntArray
) -> tuple[IntArray, FloatArray]:
    """Kind of each row asked, and lowest and highest influence of a kind over labels, (2, k, m)."""
    asked_outputs = outputs.take(asked)
    signature = measure.signature(asked_outputs)
    kind = renumber(rows.item[asked] if signature is None else signature)
    like = asked_outputs.take(first_items(kind, int(kind.max()) + 1))
    n_classes = measure.class_count() or max(int(rows.label.max()) + 1, 2)
    with np.errstate(all="ignore"):
        of_label = [
            np.nan_to_num(measure.influence(like, np.full(len(like), label), risk))
            for label in range(n_classes)
        ]
    lowest, highest = np.minimum.reduce(of_label), np.maximum.reduce(of_label)
    return kind.astype(np.int64), np.stack([lowest, highest])


def _weighted(weight: FloatArray, values: FloatArray) -> FloatArray:
    """Weighted sum over the rows, (m,). Not a matrix product, whose threads cost more than it."""
    return np.asarray(np.einsum("g,gm->m", weight, values))


def _steps(draws: Draws, component: int) -> FloatArray:
    """Steps of the rows in one component, (n,)."""
    influence = draws.influence[draws.group, component]
    return np.asarray(draws.share * (draws.rows.weight * influence - draws.centre[component]))


def _sides(steps: FloatArray) -> list[FloatArray]:
    """How far each step goes down and up, zero on the other side."""
    return [np.maximum(sign * steps, 0.0) for sign in SIDES]
