"""Which cuts meet a requirement, for certain, although one looks at all of them.

Whoever looks at all cuts and takes the best needs a statement about all those that may be taken.
The joint draws give it: cuts are taken into the certified set in the order of how probable it is
that they meet the requirement, as long as the draws in which all of them meet it at once are enough
(the excursion set of Bolin and Lindgren 2015). So whichever of these cuts is chosen, and however,
the requirement holds with the probability that is stated.

Of a recall the draws tell too little by themselves: what no label has hit they have from the prior.
So the labels below a cut must have ruled out that enough positives are there to break it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr

from haystat.core.arguments import checked_number
from haystat.core.arrays import BoolArray, FloatArray
from haystat.decisions.candidate_thresholds import LabelsBelow
from haystat.decisions.threshold_draws import CutDraws
from haystat.errors import BadOption

MOST_SPENT = 0.5  # of the allowed error on the draws; less where intervals leave out fewer of them
WORTHWHILE = 0.01  # of the positives, below which a cut is not looked at
ENOUGH = 1.5  # times the labels that would do for one cut on average, to be likely to do


@dataclass(frozen=True)
class Need:
    """At least `least` of a measure; of the false positive rate at most."""

    name: str
    least: float

    @property
    def turned(self) -> bool:
        """Whether less is better."""
        return self.name == "false_positive_rate"

    @property
    def kept(self) -> str:
        """What the cut should keep as much of as it can."""
        return "precision" if self.name == "recall" else "recall"

    def __str__(self) -> str:
        sign = "at most" if self.turned else "at least"
        return f"{self.name.replace('_', ' ')} of {sign} {self.least:g}"

    def values(self, draws: CutDraws) -> FloatArray:
        """The measure such that more is better, (S, L)."""
        sign = -1.0 if self.turned else 1.0
        return np.asarray(sign * draws.of(self.name))

    @property
    def bound(self) -> float:
        """What `values` must reach."""
        return -self.least if self.turned else self.least


def checked_need(**given: float | None) -> Need:
    """The one requirement that was given."""
    named = {name: value for name, value in given.items() if value is not None}
    if len(named) != 1:
        raise BadOption(
            f"a threshold has one requirement, not {len(named)}; give one of precision=0.95, "
            "recall=0.9, f1='best', false_positive_rate=0.01"
        )
    [(name, value)] = named.items()
    return Need(name, checked_number(name, value, 0.95, most=1))


def lower_band(values: FloatArray, level: float) -> FloatArray:
    """What the columns of joint draws (S, L) stay above, all at once, with probability level."""
    ascending = np.sort(values, axis=0)
    columns = zip(ascending.T, values.T, strict=True)
    rank = np.stack([np.searchsorted(a, v, side="right") for a, v in columns], axis=1)
    lowest = rank.min(axis=1)  # ties count upwards: equal draws fall together
    at = int(np.quantile(lowest, 1 - level, method="lower"))
    return np.asarray(ascending[max(at, 1) - 1])


def certified(draws: CutDraws, need: Need, level: float) -> BoolArray:
    """The largest set of cuts that meet the requirement all at once in enough of the draws, (L,).

    Cuts that are likely to find less than 1% of the positives are not looked at.
    """
    met = need.values(draws) >= need.bound
    joint = np.ones(len(met), dtype=bool)
    taken = np.zeros(met.shape[1], dtype=bool)
    looked_at, enough = worthwhile(draws), inner_level(draws, level)
    for cut in np.argsort(-met.mean(axis=0), kind="stable"):
        if looked_at[cut]:
            joint &= met[:, cut]
            if joint.mean() < enough:
                break
            taken[cut] = True
    return taken


def ruled_out(draws: CutDraws, need: Need, below: LabelsBelow, level: float) -> BoolArray:
    """Cuts below which the labels rule out so many positives that recall would be missed, (L,).

    With h true positives, b = h (1 - t) / t positives below a cut bring recall down to t. If they
    lay anywhere among the N items there, n labels would hit a binomial number of them, with a
    probability of b / N each: more than were hit, with probability `level`. Where there are not
    more than b items, there is nothing to rule out.
    """
    if need.name != "recall":
        return np.ones(len(draws.cuts), dtype=bool)
    share = breaking_shares(draws, need)
    return np.asarray((share >= 1) | (bdtr(np.ceil(below.positive), below.n, share) <= 1 - level))


def breaking_shares(draws: CutDraws, need: Need) -> FloatArray:
    """Share of the items below each cut that break a recall by being positive, (L,); 1 at most."""
    left = np.maximum(1 - draws.predicted, 0.0)
    breaking, all_there = np.median(draws.hit, axis=0) * (1 - need.least), left * need.least
    few = all_there <= breaking
    return np.where(few, 1.0, breaking / np.where(few, 1.0, all_there))


def labels_to_rule_out(draws: CutDraws, need: Need, at: int, level: float) -> int | None:
    """About how many labels, spread evenly, would let a cut stand if none below it is positive."""
    share = breaking_shares(draws, need)[at]
    if not 0 < share < 1 or level >= 1:
        return None
    return int(np.ceil(np.log1p(-level) / np.log1p(-share) / (1 - draws.predicted[at])))


def inner_level(draws: CutDraws, level: float) -> float:
    """The share of the draws in which a certified set must hold.

    The draws may fail in as many cases as they leave out of an interval, at most in half of those
    that `level` allows: the rest is kept for what the model, or a normal distribution, is wrong
    about.
    """
    return 1 - min(draws.tail_share, MOST_SPENT) * (1 - level)


def worthwhile(draws: CutDraws) -> BoolArray:
    """Cuts that predict something and are likely to find some positives, (L,)."""
    return (draws.predicted > 0) & (np.median(draws.recall, axis=0) >= WORTHWHILE)


def best_cut(draws: CutDraws, need: Need, met: BoolArray) -> int | None:
    """The cut among those that are certified which keeps most of the other measure."""
    at = np.flatnonzero(met)
    if len(at) == 0:
        return None
    kept = np.median(draws.of(need.kept)[:, at], axis=0)
    # Recall never falls as cuts go down, so that of equals the highest predicts least.
    return int(at[len(at) - 1 - np.argmax(kept[::-1])])


def labels_to_settle(draws: CutDraws, need: Need, level: float, n_labels: int) -> int | None:
    """About how many labels would certify some cut; None if none seems to meet the requirement.

    The lower end of an interval comes nearer to the median like one over the root of the labels.
    """
    looked_at = worthwhile(draws)
    if not looked_at.any() or n_labels == 0:
        return None
    values = need.values(draws)[:, looked_at]
    low, middle = np.quantile(values, [1 - inner_level(draws, level), 0.5], axis=0)
    slack = middle - need.bound
    if not np.any(slack > 0):
        return None
    hopeful = slack > 0
    with np.errstate(over="ignore"):  # a slack of next to nothing
        factor = float(np.min(((middle - low)[hopeful] / slack[hopeful]) ** 2))
    needed = ENOUGH * max(factor, 1.0) * n_labels
    return int(np.ceil(needed)) if np.isfinite(needed) else None


def best_f1(draws: CutDraws, level: float) -> tuple[int, float]:
    """The cut with the least expected loss of F1, and by how much it falls short at most."""
    f1 = draws.f1
    regret = f1.max(axis=1, keepdims=True) - f1
    at = int(np.argmin(regret.mean(axis=0)))
    return at, float(np.quantile(regret[:, at], 1 - draws.tail_share * (1 - level)))
