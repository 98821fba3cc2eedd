"""When to stop: rules that look at an estimate after every stage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haystat.core.arguments import checked_choice, checked_number
from haystat.inference.estimate import Estimate

#: which interval is to be narrow -> the property of an estimate
INTERVALS = {"interval": "anytime_intervals", "guaranteed": "guaranteed_intervals"}


@dataclass(frozen=True)
class Width:
    """Stop as soon as the interval is at most this wide, for every component of the measure.

    interval: "interval" looks at `Estimate.interval`, which for the default design is a posterior's
        and does not mind when one stops, and for the designs that draw with replacement at
        `anytime_interval`; "guaranteed" looks at `Estimate.guaranteed_interval`.

    >>> Width(0.05)
    Width(width=0.05, interval='interval')
    """

    width: float
    interval: str = "interval"

    def __post_init__(self) -> None:
        checked_choice("interval", self.interval, INTERVALS)
        checked_number("the width to stop at", self.width, 0.05)

    def now(self, estimate: Estimate) -> float:
        """Width of the widest component's interval; NaN where the measure is undefined."""
        low, high = getattr(estimate, INTERVALS[self.interval]).T
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
