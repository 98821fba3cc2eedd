"""A sketch in one pass over scores that come in chunks and are never stored.

Each score is put into its bin as it comes, and each bin keeps the items with the smallest u. The
loop is compiled; `tests/engines/test_cross.py` holds it against the plain form.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from haystat.measures.outputs import FloatArray, IntArray
from haystat.pool.order import HALF, MULTIPLIERS, round_keys

ROOM = 4  # items a bin has room for, for each that is wanted
SHIFT = 42  # sign, exponent and the first 10 binary digits of a double are its box
LARGEST = 1e300
BLOCK = 1 << 11  # items whose u is held at a time


@dataclass(frozen=True)
class Bins:
    """Ascending edges on the raw score, and below (B + 1,): those in boxes before first + b.

    Boxes are ordered like the doubles in them and a 1024th of their size wide, so that few have
    an edge in them, and most scores are located by a look at the table.
    """

    edges: FloatArray
    first: int
    below: NDArray[np.int32]


def make_bins(edges: FloatArray) -> Bins:
    """The bins between edges; infinite edges are beyond every score."""
    finite = edges[edges <= LARGEST]
    if len(finite) == 0:
        return Bins(finite, 0, np.zeros(2, dtype=np.int32))
    boxes = box_of(finite)
    first, last = int(boxes[0]) - 1, int(boxes[-1]) + 1
    below = np.searchsorted(boxes, np.arange(first, last + 2)).astype(np.int32)
    return Bins(finite, first, below)


def box_of(values: FloatArray) -> IntArray:
    """The box of each double, (n,)."""
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.int64)
    ordered = np.where(bits < 0, bits ^ np.int64(2**63 - 1), bits)
    return np.asarray(ordered >> SHIFT)


@dataclass
class Reservoir:
    """For each group (a bin, below or above the threshold) the items with the smallest u so far.

    u, key and score (G, R) have room for R items. facts (G, 4) are, side by side because they are
    needed together: the number of all items, the sum of their scores, the limit up to which all u
    were kept, and how many items are here; the last two are integers in the bits of the doubles.
    """

    u: NDArray[np.int64]
    key: NDArray[np.int64]
    score: FloatArray
    facts: FloatArray
    extremes: FloatArray

    @classmethod
    def empty(cls, n_groups: int, n_wanted: int) -> Reservoir:
        """Nothing seen yet."""
        room = (n_groups, ROOM * n_wanted)
        facts = np.zeros((n_groups, 4))
        facts.view(np.int64)[:, 2] = np.iinfo(np.int64).max
        numbers = np.empty(room, dtype=np.int64), np.empty(room, dtype=np.int64)
        return cls(*numbers, np.empty(room), facts, np.array([np.inf, -np.inf]))

    @property
    def count(self) -> IntArray:
        """Items of each group, (G,)."""
        return self.facts[:, 0].astype(np.int64)

    @property
    def total(self) -> FloatArray:
        """Sum of the scores of each group, (G,)."""
        return self.facts[:, 1]

    @property
    def limit(self) -> NDArray[np.int64]:
        """The u up to which all items of each group were kept, (G,)."""
        return self.facts.view(np.int64)[:, 2]

    @property
    def n_kept(self) -> IntArray:
        """Items of each group that are here, (G,)."""
        return self.facts.view(np.int64)[:, 3]


def absorb(
    reservoir: Reservoir,
    bins: Bins,
    scores: NDArray[np.floating[Any]],
    first_key: int,
    seed: int,
    threshold: float,
) -> int:
    """Take in scores whose keys count up from `first_key`; how many of them are not finite.

    A group is twice the bin of a score, and one more from the threshold on.
    """
    return int(
        _absorb(
            np.ascontiguousarray(scores).reshape(-1),
            np.int64(first_key),
            np.array(round_keys(seed), dtype=np.uint64),
            np.array(MULTIPLIERS, dtype=np.uint64),
            float(threshold),
            bins.edges,
            np.int64(bins.first),
            bins.below,
            reservoir.u,
            reservoir.key,
            reservoir.score,
            reservoir.facts,
            reservoir.extremes,
        )
    )


@numba.njit(cache=True, nogil=True)
def _numbers(first_key, n, keys, multipliers, out):  # type: ignore[no-untyped-def]  # pragma: no cover
    """u of the keys from first_key on: pool/order.py, with 2**32 = 5 modulo its prime."""
    half = np.uint64(HALF)
    for i in range(n):
        key = np.uint64(first_key + i)
        left, right = key >> np.uint64(32), key & half
        for r in range(5):
            product = (right ^ keys[r]) * multipliers[r]
            product = (product >> np.uint64(32)) * np.uint64(5) + (product & half)
            product = (product >> np.uint64(32)) * np.uint64(5) + (product & half)
            if product >= np.uint64(4294967291):
                product -= np.uint64(4294967291)
            left, right = right, product ^ left
        out[i] = np.int64((left << np.uint64(31)) | (right >> np.uint64(1)))


@numba.njit(cache=True, nogil=True)
def _halve(u, key, score, n_wanted):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Move the n_wanted items with the smallest u to the front; the largest u among them."""
    order = np.argsort(u)[:n_wanted]
    u[:n_wanted], key[:n_wanted], score[:n_wanted] = u[order], key[order], score[order]
    return u[n_wanted - 1]


@numba.njit(cache=True, nogil=True)
def _group(scores, threshold, edges, first, below, out):  # type: ignore[no-untyped-def]  # pragma: no cover
    """Group of each score; -1 of one that is not finite."""
    bits, last = scores.view(np.int64), len(below) - 2
    for i in range(len(scores)):
        score = scores[i]
        ordered = bits[i] if bits[i] >= 0 else bits[i] ^ np.int64(2**63 - 1)
        box = min(max((ordered >> SHIFT) - first, 0), last)
        box = np.uint64(box)
        low, high = below[box], below[box + np.uint64(1)]
        while low < high:  # edges at or below the score
            middle = (low + high) // 2
            if edges[middle] <= score:
                low = middle + 1
            else:
                high = middle
        group = 2 * low + (1 if score >= threshold else 0)
        out[i] = group if -LARGEST <= score <= LARGEST else -1


@numba.njit(cache=True, nogil=True)
def _absorb(  # type: ignore[no-untyped-def]  # pragma: no cover
    scores,
    first_key,
    keys,
    multipliers,
    threshold,
    edges,
    first,
    below,
    kept_u,
    kept_key,
    kept_score,
    facts,
    extremes,
):
    n_bad, room = 0, kept_u.shape[1]
    whole = facts.view(np.int64)
    n_wanted = room // ROOM
    u, groups, wide = np.empty(BLOCK, np.int64), np.empty(BLOCK, np.int32), np.empty(BLOCK)
    for start in range(0, len(scores), BLOCK):
        block = wide[: min(BLOCK, len(scores) - start)]
        block[:] = scores[start : start + BLOCK]  # as doubles
        _numbers(first_key + start, len(block), keys, multipliers, u)
        _group(block, threshold, edges, first, below, groups)
        extremes[0], extremes[1] = min(extremes[0], block.min()), max(extremes[1], block.max())
        for i in range(len(block)):
            if groups[i] < 0:
                n_bad += 1
                continue
            group = np.uint64(groups[i])  # an index that cannot be negative needs no check
            facts[group, 0] += 1.0
            facts[group, 1] += block[i]
            if u[i] <= whole[group, 2]:
                place = whole[group, 3]
                kept_u[group, place] = u[i]
                kept_key[group, place] = first_key + start + i
                kept_score[group, place] = block[i]
                whole[group, 3] = place + 1
                if place + 1 == room:
                    whole[group, 2] = _halve(
                        kept_u[group], kept_key[group], kept_score[group], n_wanted
                    )
                    whole[group, 3] = n_wanted
    return n_bad
