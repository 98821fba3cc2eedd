"""A sketch in one pass over scores that come in chunks and are never stored.

Each score is put into its group as it comes, and each group keeps the items with the smallest u.
The loops are compiled, in `stream_loops.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.engines.stream_loops import SHIFT, take_in
from haystat.pool.checks import LARGEST
from haystat.pool.permanent_numbers import round_keys

ROOM = 4  # items a group has room for, for each that is wanted
LARGEST_INTEGER = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Bins:
    """Groups of scores: from one edge to the next, where the threshold is an edge as well.

    edges (E,) ascend, and the threshold is edges[cut]. Boxes are ordered like the doubles in them
    and a 1024th of their size wide, so that few have an edge in them: group (B,) is the group of
    all scores of box first + b, or -1. below (B + 1,) are the edges in boxes before first + b.
    """

    edges: FloatArray
    cut: int
    first: int
    below: NDArray[np.int32]
    group: NDArray[np.int32]

    @property
    def above(self) -> BoolArray:
        """Whether the scores of each group reach the threshold, (E + 1,)."""
        return np.asarray(np.arange(len(self.edges) + 1) > self.cut)

    @property
    def place(self) -> IntArray:
        """How many edges other than the threshold the scores of each group reach, (E + 1,)."""
        return np.arange(len(self.edges) + 1) - self.above


def make_bins(edges: FloatArray, threshold: float) -> Bins:
    """The groups between edges, above and below the threshold; no score reaches infinite ones."""
    steps = edges[edges <= LARGEST]
    cut = int(np.searchsorted(steps, threshold))
    if threshold <= LARGEST:
        steps = np.insert(steps, cut, max(threshold, -LARGEST))
    bits = in_order(steps)
    boxes = bits >> SHIFT
    first, last = (int(boxes[0]) - 1, int(boxes[-1]) + 1) if len(boxes) else (0, 0)
    below = np.searchsorted(boxes, np.arange(first, last + 2)).astype(np.int32)
    group = below[1:].copy()
    group[boxes[bits != boxes << SHIFT] - first] = -1  # all scores reach an edge where a box begins
    return Bins(steps, cut, first, below, group)


def in_order(values: FloatArray) -> IntArray:
    """The bits of doubles, as integers in the order of the doubles; -0.0 is 0.0."""
    bits = (values + 0.0).view(np.int64)
    return np.where(bits < 0, bits ^ LARGEST_INTEGER, bits)


@dataclass(frozen=True)
class Reservoir:
    """For each group of scores the items with the smallest u so far.

    u, key and score (G, R) have room for R items, n_kept (G,) of them are here: all whose u is up
    to limit (G,), and upper (G,) are the upper halves of the limits. sums (G, 2) are the
    number of all items and the sum of their scores; ends (2,) the smallest and largest of all
    scores, as in_order gives them.
    """

    u: NDArray[np.int64]
    key: NDArray[np.int64]
    score: FloatArray
    n_kept: IntArray
    limit: NDArray[np.int64]
    upper: NDArray[np.uint32]
    sums: FloatArray
    ends: IntArray

    @classmethod
    def empty(cls, n_groups: int, n_wanted: int) -> Reservoir:
        """Nothing seen yet."""
        room = (n_groups, ROOM * n_wanted)
        return cls(
            np.empty(room, dtype=np.int64),
            np.empty(room, dtype=np.int64),
            np.empty(room),
            np.zeros(n_groups, dtype=np.int64),
            np.full(n_groups, LARGEST_INTEGER),
            np.full(n_groups, np.iinfo(np.uint32).max, dtype=np.uint32),
            np.zeros((n_groups, 2)),
            np.array([LARGEST_INTEGER, -LARGEST_INTEGER]),
        )

    @property
    def count(self) -> IntArray:
        """Items of each group, (G,)."""
        return self.sums[:, 0].astype(np.int64)

    @property
    def total(self) -> FloatArray:
        """Sum of the scores of each group, (G,)."""
        return self.sums[:, 1]

    @property
    def extremes(self) -> FloatArray:
        """The smallest and the largest score, (2,)."""
        bits = np.where(self.ends < 0, self.ends ^ LARGEST_INTEGER, self.ends)
        return bits.view(np.float64)


def absorb(
    reservoir: Reservoir,
    bins: Bins,
    scores: NDArray[np.floating[Any]],
    first_key: int,
    seed: int,
) -> int:
    """Take in scores whose keys count up from `first_key`; how many of them are not finite."""
    kept = reservoir.u, reservoir.key, reservoir.score, reservoir.u.shape[1] // ROOM
    take_in(
        scores,
        first_key,
        np.array(round_keys(seed), dtype=np.uint64),
        bins.edges,
        bins.first,
        bins.below,
        bins.group,
        kept,
        reservoir.sums,
        reservoir.limit,
        reservoir.upper,
        reservoir.n_kept,
        reservoir.ends,
    )
    if np.all(np.abs(reservoir.extremes) <= LARGEST):
        return 0
    return int(np.count_nonzero(~(np.abs(scores) <= LARGEST)))
