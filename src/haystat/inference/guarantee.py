"""What an estimate can promise without a model, from the draws of the default design."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.inference.fractions import linear_fractional
from haystat.inference.guaranteed_interval import StageDraws, guaranteed_interval
from haystat.measures.base import Measure
from haystat.measures.outputs import Outputs


@dataclass(frozen=True)
class Guarantee:
    """The draws that a guaranteed interval rests on; example has an item of each cell."""

    draws: StageDraws
    measure: Measure
    example: Outputs
    n_classes: int

    def intervals(self, level: float) -> FloatArray:
        """The interval of each component, (m, 2); NoSupport where one is no ratio of totals."""
        found = []
        for component in range(len(self.measure.components)):
            totals = linear_fractional(self.measure, component, self.example, self.n_classes)
            found.append(guaranteed_interval(self.draws, *totals, level))
        return np.array(found)


def rates_between(inclusion: Sequence[FloatArray]) -> FloatArray:
    """Rates of successive stages (J, K) from the inclusion probabilities after each, (K,) each.

    A stage with rates r takes the probability of not having been drawn down by exp(-r); a cell that
    was drawn whole has an infinite rate.
    """
    before = np.zeros_like(inclusion[0])
    rates = []
    for after in inclusion:
        with np.errstate(divide="ignore", invalid="ignore"):
            rate = np.log1p(-before) - np.log1p(-after)
        rates.append(np.where(before >= 1, 0.0, np.maximum(rate, 0.0)))
        before = after
    return np.array(rates)


def draws_of(
    size: IntArray, stages: Sequence[tuple[IntArray, IntArray]], inclusion: Sequence[FloatArray]
) -> StageDraws:
    """Draws from the cells and labels of each stage, (n,) each, and the inclusion after it."""
    number = np.repeat(np.arange(len(stages)), [len(cell) for cell, _ in stages])
    cell, label = (np.concatenate([stage[i] for stage in stages]) for i in (0, 1))
    return StageDraws(size, number, cell, label, rates_between(inclusion))
