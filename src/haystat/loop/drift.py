"""Whether the truth drifts: labels of an earlier version beside what is said about them now.

A random share of the labels that a version carries over is asked about again. Of n items that have
both labels k differ: k is binomial, and the interval of its share is that of Clopper and Pearson
(1934). People differ as well. Where items had several answers, m of them with a share d of pairs
that differ, k of n is compared with d m of m by Fisher's exact test; where none had, with USUAL.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from haystat.loop.state import State

USUAL = 0.05  # share of items that two people label differently, where nothing tells
DOUBTFUL = 0.05  # probability of so many changes below which people alone do not explain them


@dataclass(frozen=True)
class Drift:
    """Items that were asked about again: how many, with both labels, and with another one now.

    interval is that of the share of changed labels among those that were carried over;
    disagreement the share that people explain, told by n_repeated items with several answers (0: it
    is taken to be USUAL); chance is the probability of so many changes by disagreement alone.
    """

    n_asked: int
    n_told: int
    n_changed: int
    interval: tuple[float, float]
    level: float
    disagreement: float
    n_repeated: int
    chance: float

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is wrong and what to do, if the labels have changed by more than people differ."""
        if self.chance >= DOUBTFUL:
            return ()
        return (
            f"{self}, more than the {self.disagreement:.0%} that disagreement between people "
            "explains: the truth seems to drift. Leave out old labels (max_age=, haystat next "
            "--max-age), or look at what changed before you rely on them.",
        )

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"{self.n_changed} of {self.n_told} labels that were asked about again have changed "
            f"[{low:.1%}, {high:.1%}]"
        )


def drift_of(state: State, level: float) -> Drift | None:
    """What became of the labels that were asked about again; None if none was."""
    if not state.asked_again:
        return None
    told = [(old.label, state.answer_to(q)) for q, old in state.asked_again.items()]
    pairs = [(old, new.label) for old, new in told if new and None not in (old, new.label)]
    n, k = len(pairs), sum(old != new for old, new in pairs)
    people = state.agreement()
    m = people.n_items
    share = 1 - people.share if m else USUAL
    chance = chance_of(k, n, share, m)
    return Drift(len(told), n, k, exact_interval(k, n, level), level, share, m, chance)


def exact_interval(k: int, n: int, level: float) -> tuple[float, float]:
    """Of a binomial share, k of n (Clopper and Pearson)."""
    from scipy.special import betaincinv  # here and below: slow to import, seldom needed

    tail = (1 - level) / 2
    low = float(betaincinv(k, n - k + 1, tail)) if k > 0 else 0.0
    return low, float(betaincinv(k + 1, n - k, 1 - tail)) if k < n else 1.0


def chance_of(k: int, n: int, share: float, m: int) -> float:
    """P(k changes or more of n) if only people differ: a share of m items, or known if m is 0."""
    from scipy.stats import binom, hypergeom

    if m == 0:
        return float(binom.sf(k - 1, n, share))
    return float(hypergeom.sf(k - 1, n + m, k + round(share * m), n))
