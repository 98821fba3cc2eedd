"""Two systems against each other, and the rule that ends a comparison."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import isqrt

import numpy as np

from haystat.core.arguments import checked_choice
from haystat.core.arrays import FloatArray
from haystat.errors import BadOption
from haystat.inference.estimate import Estimate

#: which interval decides -> the property of an estimate
INTERVALS = {"anytime": "anytime_intervals", "fixed": "intervals"}
BETTER = ("higher", "lower")


@dataclass(frozen=True)
class Duel:
    """One system against another: its measure minus the other's, and the paired interval.

    The interval holds for all pairs at once. labels_left is about how many labels would tell the
    two apart; 0 when they are told apart, None when more labels than there are items.
    """

    system: str
    other: str
    difference: float
    low: float
    high: float
    winner: str | None
    labels_left: int | None

    @property
    def told(self) -> bool:
        """Whether it is known which is better, or that they are equal."""
        return self.winner is not None or self.low == self.high == 0

    def verdict(self, level: float) -> str:
        """In words."""
        if np.isnan(self.difference):
            return "not known yet; label some items first"
        if self.winner is not None:
            loser = self.other if self.winner == self.system else self.system
            return f"{self.winner} is better than {loser} at {level:.0%}"
        if self.told:
            return f"{self.system} and {self.other} are equal"
        if self.labels_left is None:
            return "cannot tell yet; as things stand, not before all items are labelled"
        return f"cannot tell yet; about {self.labels_left:,} more labels"

    def turned(self) -> Duel:
        """The same duel seen from the other system."""
        return Duel(
            self.other,
            self.system,
            -self.difference,
            -self.high,
            -self.low,
            self.winner,
            self.labels_left,
        )


@dataclass(frozen=True)
class Decided:
    """Stop as soon as one system is better than all others: a rule for `run(until=…)`.

    It looks at estimates of `measures.Differences`. better: "higher" or "lower". interval:
    "anytime", which may be looked at as often as one likes.

    >>> Decided()
    Decided(better='higher', interval='anytime')
    """

    better: str = "higher"
    interval: str = "anytime"

    def __post_init__(self) -> None:
        checked_choice("better", self.better, BETTER)
        checked_choice("interval", self.interval, INTERVALS)

    def __call__(self, estimate: Estimate) -> bool:
        low, high = simultaneous(estimate, self.interval).T
        if self.better == "lower":
            low, high = -high, -low
        n_systems = n_rivals(estimate)
        beaten = np.zeros((n_systems, n_systems), dtype=bool)
        first, second = np.triu_indices(n_systems, 1)
        beaten[second, first], beaten[first, second] = low > 0, high < 0
        return bool(np.any(beaten.sum(axis=0) == n_systems - 1))


def simultaneous(estimate: Estimate, interval: str) -> FloatArray:
    """Intervals that hold for all pairs at once (Bonferroni), (pairs, 2)."""
    n_pairs = len(estimate.values)
    shared = estimate.at(1 - (1 - estimate.level) / n_pairs)
    return np.asarray(getattr(shared, INTERVALS[interval]))


def n_rivals(estimate: Estimate) -> int:
    """Number of systems whose k (k - 1) / 2 differences were estimated."""
    n_pairs = len(estimate.values)
    n_systems = (1 + isqrt(1 + 8 * n_pairs)) // 2
    if n_systems * (n_systems - 1) // 2 != n_pairs or n_systems < 2:
        raise BadOption(
            f"{estimate.measure} has {n_pairs} components, which are no differences of all pairs; "
            "evaluate hs.measures.Differences of a measure with one component"
        )
    return n_systems


def duels(
    estimate: Estimate, systems: tuple[str, ...], better: str, interval: str, size: int
) -> tuple[Duel, ...]:
    """All pairs, in the order of the components."""
    ends = simultaneous(estimate, interval)
    pairs = combinations(systems, 2)
    rows = zip(pairs, estimate.values.tolist(), ends.tolist(), strict=True)
    n, left = estimate.n_labels, size - estimate.n_labels
    result = []
    for (system, other), value, (low, high) in rows:
        above, below = (system, other) if better == "higher" else (other, system)
        winner = above if low > 0 else below if high < 0 else None
        missing = 0 if winner or low == high == 0 else labels_left(value, low, high, n)
        known = missing is not None and missing <= left
        result.append(Duel(system, other, value, low, high, winner, missing if known else None))
    return tuple(result)


def labels_left(value: float, low: float, high: float, n: int) -> int | None:
    """Labels until the interval leaves zero out, if its ends move in like one over the root of n.

    None where there is nothing to go by.
    """
    distance = value - low if value > 0 else high - value
    if n == 0 or value == 0 or not np.isfinite(distance / value):
        return None
    return max(int(np.ceil(n * ((distance / value) ** 2 - 1))), 1)
