"""Places of a signal from counts alone, so that memory and every engine find the same ones.

The values of a signal are cut where t = -logit(rank) passes the place of the decision threshold,
and some distances from it, counted in items; a value that many items share is by itself. All
values between two cuts have one place, that of their mid-rank, rounded to PARTS a unit: sums of
places are whole numbers, which no order of adding up changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from haystat.core.arrays import BoolArray, FloatArray, IntArray

#: t of cuts from that of the threshold on; bands begin at some of them
CUTS = np.array([3.0, 2.0, 1.5, 1.0, 0.5, 0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0])
PARTS = 1024  # of a unit of t, to which places are rounded
FEWEST = 8  # items of a band; fewer go to the next one down


@dataclass(frozen=True)
class Counts:
    """Stretches of the values of a signal, ascending: ends, items, and chosen ones, (n,) each.

    Chosen items are those that most systems predict positive. n_missing items lack the signal,
    chosen_missing of them chosen. A stretch whose ends are the same is one value.
    """

    low: FloatArray
    high: FloatArray
    size: IntArray
    chosen: IntArray
    n_missing: int
    chosen_missing: int

    @property
    def single(self) -> BoolArray:
        """Stretches that are one value."""
        return np.asarray(self.low == self.high)


@dataclass(frozen=True)
class Ladder:
    """What is told of a signal: cuts (n,), and of the values from each on place and band (n + 1,).

    place counts in 1 / PARTS. n_values is 2 or fewer if the signal has as many, and more if not.
    """

    cuts: FloatArray
    place: IntArray
    band: IntArray
    n_values: int
    gap: float

    def rung(self, values: FloatArray) -> IntArray:
        """How many cuts each value reaches."""
        return np.searchsorted(self.cuts, values, side="right")


def counts_of(values: FloatArray, chosen: BoolArray) -> Counts:
    """Every value of a signal in memory, NaN where it is missing."""
    return counts_of_parts(values, np.ones(len(values), dtype=np.int64), chosen.astype(np.int64))


def counts_of_parts(values: FloatArray, size: IntArray, chosen: IntArray) -> Counts:
    """The same of parts of so many items (A,), each of one value, with so many chosen ones (A,)."""
    missing = np.isnan(values)
    value, code = np.unique(values[~missing], return_inverse=True)
    n, n_chosen = (np.bincount(code, part[~missing], len(value)) for part in (size, chosen))
    lacking = int(size[missing].sum()), int(chosen[missing].sum())
    return Counts(value, value, n.astype(np.int64), n_chosen.astype(np.int64), *lacking)


def wanted_counts(size: int, threshold: float) -> IntArray:
    """How many items lie at or above each cut, of so many that have the signal."""
    n = np.unique(np.floor(size / (1 + np.exp(threshold + CUTS)) + 0.5)).astype(np.int64)
    return n[(n >= 1) & (n <= size)]


def wanted_stretches(counts: Counts, threshold: float) -> tuple[IntArray, IntArray]:
    """Stretches in which cuts lie, counted from the top, and from the bottom."""
    upto = np.cumsum(counts.size)
    n = wanted_counts(int(upto[-1]), threshold)
    from_bottom = np.unique(np.searchsorted(upto, n))
    from_top = np.unique(np.searchsorted(upto, upto[-1] - n, side="right"))
    return from_top, from_bottom


def make_ladder(counts: Counts, threshold: float, starts: FloatArray) -> Ladder:
    """The ladder of a signal whose bands begin at `starts`, t from that of the threshold on.

    It is turned round if it puts chosen items lower than the others: bands are fine at the top. A
    verdict stays as it is: it may be about something else.
    """
    n, few = len(counts.size), len(counts.size) <= len(starts) + 1 and bool(counts.single.all())
    if few:
        cuts = [np.arange(1, n)] * 2
    else:
        top, bottom = wanted_stretches(counts, threshold)
        shared = counts.size > 1
        cuts = [
            np.union1d(top, top[shared[top]] + 1),
            np.union1d(bottom + 1, bottom[shared[bottom]]),
        ]
    first = [one[(one > 0) & (one < n)] for one in cuts]
    upright = _totals(counts, first[0])
    gap = _gap(_places(upright[0]), *upright, counts)
    turned = gap < 0 and n > 2
    size = _totals(counts, first[1])[0] if turned else upright[0]
    place = -_places(size) if turned else _places(size)
    order = np.argsort(-place, kind="stable") if turned else np.arange(len(size))[::-1]
    if few:
        band = np.empty(n, dtype=np.int64)
        band[order] = np.arange(1, n + 1)
    else:
        band = _bands(place / PARTS, size, threshold + starts)
    return Ladder(counts.low[first[int(turned)]], place, band, n, abs(gap))


def _totals(counts: Counts, first: IntArray) -> tuple[IntArray, IntArray]:
    """Items between cuts before these stretches, and chosen ones."""
    ends = np.concatenate([[0], first])
    return np.add.reduceat(counts.size, ends), np.add.reduceat(counts.chosen, ends)


def _places(size: IntArray) -> IntArray:
    """t of the mid-ranks of groups of items, ascending, in 1 / PARTS."""
    total = size.sum()
    below = np.cumsum(size) - size
    rank = (total - below - size / 2) / total  # share of the items that lie higher, and half of it
    return np.asarray(np.rint(PARTS * (np.log1p(-rank) - np.log(rank))).astype(np.int64))


def _gap(place: IntArray, size: IntArray, chosen: IntArray, counts: Counts) -> float:
    """How much higher a signal puts chosen items; where it is missing the place is 0."""
    n_chosen = int(chosen.sum()) + counts.chosen_missing
    n_other = int(size.sum()) + counts.n_missing - n_chosen
    if n_chosen == 0 or n_other == 0:
        return 0.0
    return int(place @ chosen) / n_chosen - int(place @ (size - chosen)) / n_other


def _bands(place: FloatArray, size: IntArray, starts: FloatArray) -> NDArray[np.int64]:
    """The band of each group of items, from the top down; few items go to the next one."""
    band = np.ones(len(place), dtype=np.int64)
    for number, start in enumerate(starts, start=1):
        band[place < start] = number + 1
        if size[band == number].sum() < FEWEST:
            band[band == number] = number + 1
    return band
