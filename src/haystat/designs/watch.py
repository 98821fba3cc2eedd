"""Labels that go where an alarm learns most: whether a measure has fallen below a level.

An alarm bets on "below" (inference/growth.py) and needs no unbiased estimate. Positives that are
rare among very many items say little for a label; those near the threshold say much, and it is
enough to show that more of them were missed than the level allows. So most labels are spread by
Neyman's rule over the cells that an alarm would bet on, and the others by the default design, for
estimates and for the model.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haystat.core.arrays import FloatArray
from haystat.designs.assisted import Assisted, AssistedState
from haystat.errors import BadOption, NoSupport
from haystat.inference.fractions import linear_fractional
from haystat.inference.growth import Alternative
from haystat.pool.problem import Problem


@dataclass(frozen=True)
class Watch(Assisted):
    """The default design with most labels where they tell whether a measure is below a level.

    below: the level. fall: how far it falls in the case that labels are spread for, as a share of
    the way from its largest value down to the level. others: share of the labels that are spread
    by the default design.
    """

    below: float = 0.8
    fall: float = 0.5
    others: float = 0.2
    name = "watch"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("below", "fall", "others"):
            if not 0 < getattr(self, name) < 1:
                raise BadOption(f"{name} is {getattr(self, name)}; it must lie between 0 and 1")

    def sizes(self, problem: Problem, state: AssistedState) -> FloatArray:
        usual = super().sizes(problem, state)
        cells, told = problem.cells, state.labelled
        try:
            totals = linear_fractional(problem.measure, 0, cells.example, problem.n_classes)
        except NoSupport:
            raise BadOption(
                f"design 'watch' cannot watch {problem.measure.name}, which is no ratio of totals; "
                "give precision, recall, F1 or accuracy, or use the default design"
            ) from None
        silent, target = np.zeros(len(cells), np.int64), fallen(self.below, 1.0, self.fall)
        left = (cells.size - told.sum(axis=1)) * problem.open
        bet = Alternative.of(*totals, self.below, target, state.share, left, told, silent)
        deviation = np.sqrt(bet.variance)
        aimed = np.where(bet.seen(deviation)[0], deviation, 0.0)
        total = float(aimed @ cells.size)
        if not total > 0:
            return usual
        return np.asarray((1 - self.others) * aimed / total + self.others * usual)


def fallen(level: float, largest: float, share: float) -> float:
    """The measure after it fell below a level, by a share of the way down to that level."""
    return level - share * (largest - level)
