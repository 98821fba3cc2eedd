"""When to stop: rules that look at an estimate after every stage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haystat.arguments import checked_number
from haystat.estimation.result import Estimate


@dataclass(frozen=True)
class Width:
    """Stop as soon as the interval is at most this wide, for every component of the measure.

    The interval is the one that holds at all times (`Estimate.anytime_interval`): stopping at the
    first moment at which an ordinary interval looks good makes it wrong too often.

    >>> Width(0.05)
    Width(width=0.05)
    """

    width: float

    def __post_init__(self) -> None:
        checked_number("the width to stop at", self.width, 0.05)

    def now(self, estimate: Estimate) -> float:
        """Width of the widest component's interval; NaN where the measure is undefined."""
        low, high = estimate.anytime_intervals.T
        return float(np.max(high - low))

    def reached(self, estimate: Estimate) -> bool:
        """Whether it is time to stop."""
        return self.now(estimate) <= self.width

    def labels_left(self, estimate: Estimate) -> int | None:
        """Labels that are probably still needed: a width falls like one over their root.

        None as long as there is nothing to go by.
        """
        now, n = self.now(estimate), estimate.n_labels
        if not np.isfinite(now) or n == 0:
            return None
        return max(int(np.ceil(n * ((now / self.width) ** 2 - 1))), 0)

    __call__ = reached
