"""The compiled loops of `stream.py`; `tests/engines/test_cross.py` has their plain forms.

Scores go by in blocks that stay in the cache. What is done for every score is simple enough for
vector instructions (u, boxes), or a look at a table and an addition; all else is for the few.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numba
import numpy as np

from haystat.pool.permanent_numbers import HALF, MULTIPLIERS, PRIME

SHIFT = 42  # sign, exponent and the first 10 binary digits of a double are its box
BLOCK = 1 << 11  # scores that are looked at together
M0, M1, M2, M3, M4 = (np.uint64(multiplier) for multiplier in MULTIPLIERS)

compiled = numba.njit(cache=True, nogil=True)


@compiled
def _product(half, key, multiplier):  # pragma: no cover
    """(half ^ key) * multiplier modulo 2**32 - 5 without a division or a branch.

    Two subtractions, of 2**32 - 5 as often as 2**32 is in it, leave less than 2**32 + 15.
    """
    prime, shift = np.uint64(PRIME), np.uint64(32)
    product = (half ^ key) * multiplier
    product -= (product >> shift) * prime
    product -= (product >> shift) * prime
    less = product - prime  # wraps to a huge number if there is nothing to take away
    return (less if less < product else product) & np.uint64(HALF)


@compiled
def upper_halves(first_key, keys, out):  # pragma: no cover
    """The 32 highest bits of u of the keys from first_key on: four of the five rounds."""
    k0, k1, k2, k3 = keys[0], keys[1], keys[2], keys[3]
    start = np.uint64(first_key)
    for i in range(len(out)):
        key = start + np.uint64(i)
        right = key & np.uint64(HALF)
        one = _product(right, k0, M0) ^ (key >> np.uint64(32))
        two = _product(one, k1, M1) ^ right
        three = _product(two, k2, M2) ^ one
        out[i] = np.uint32(_product(three, k3, M3) ^ two)


@compiled
def number_of(key, keys):  # pragma: no cover
    """u of one key."""
    left, right = key >> np.uint64(32), key & np.uint64(HALF)
    left, right = right, _product(right, keys[0], M0) ^ left
    left, right = right, _product(right, keys[1], M1) ^ left
    left, right = right, _product(right, keys[2], M2) ^ left
    left, right = right, _product(right, keys[3], M3) ^ left
    left, right = right, _product(right, keys[4], M4) ^ left
    return np.int64((left << np.uint64(31)) | (right >> np.uint64(1)))


@compiled
def put_in_boxes(scores, first, n_boxes, ends, wide, boxes):  # pragma: no cover
    """Scores as doubles and their boxes from `first` on; ends are widened, in the order of bits."""
    low, high, last = ends[0], ends[1], np.int64(n_boxes - 1)
    for i in range(len(scores)):
        wide[i] = np.float64(scores[i]) + 0.0  # -0.0 is 0.0
    bits = wide.view(np.int64)
    for i in range(len(scores)):
        ordered = bits[i] ^ ((bits[i] >> 63) & np.int64(2**63 - 1))
        low, high = min(low, ordered), max(high, ordered)
        boxes[i] = np.uint32(min(max((ordered >> SHIFT) - first, 0), last))
    ends[0], ends[1] = low, high


@compiled
def _edges_below(score, edges, low, high):  # pragma: no cover
    """How many edges are at or below a score, if it is from low to high."""
    while low < high:
        middle = (low + high) // 2
        if edges[middle] <= score:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def nth_smallest(values, n):  # pragma: no cover
    """The value that n others come before, by Hoare's selection; values change places."""
    low, high = 0, len(values) - 1
    while low < high:
        pivot, i, j = values[n], low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while pivot < values[j]:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i, j = i + 1, j - 1
        low, high = (i if j < n else low), (j if n < i else high)
    return values[n]


@compiled
def _keep(group, u, key, score, kept, limits, uppers, n_kept):  # pragma: no cover
    """Add an item; when the room is full, only the smallest u stay, and the limit is the last."""
    kept_u, kept_key, kept_score, n_wanted = kept
    place = n_kept[group]
    kept_u[group, place], kept_key[group, place], kept_score[group, place] = u, key, score
    n_kept[group] = place + 1
    if place + 1 < kept_u.shape[1]:
        return
    numbers, keys, scores = kept_u[group], kept_key[group], kept_score[group]
    limit, n = nth_smallest(numbers.copy(), n_wanted - 1), 0
    for i in range(len(numbers)):
        if numbers[i] <= limit:
            numbers[n], keys[n], scores[n] = numbers[i], keys[i], scores[i]
            n += 1
    limits[group], uppers[group], n_kept[group] = limit, np.uint32(limit >> 31), n


@compiled
def take_in(  # pragma: no cover
    scores, first_key, keys, edges, first, below, table, kept, sums, limits, uppers, n_kept, ends
):
    """Count and sum up scores by group, and keep those whose u is up to the limit of the group."""
    halves, boxes = np.empty(BLOCK, np.uint32), np.empty(BLOCK, np.uint32)
    doubles = np.empty(BLOCK)
    for start in range(0, len(scores), BLOCK):
        block = scores[start : start + BLOCK]
        upper, box, wide = halves[: len(block)], boxes[: len(block)], doubles[: len(block)]
        upper_halves(first_key + start, keys, upper)
        put_in_boxes(block, first, len(table), ends, wide, box)
        for i in range(len(block)):
            found = table[box[i]]
            if found < 0:  # an edge is in the box
                found = _edges_below(wide[i], edges, below[box[i]], below[box[i] + np.uint32(1)])
            group = np.uint32(found)  # an index that cannot be negative needs no check
            sums[group, 0] += 1.0  # next to each other: one addition of two numbers
            sums[group, 1] += wide[i]
            if upper[i] <= uppers[group]:
                key = first_key + start + i
                u = number_of(np.uint64(key), keys)
                if u <= limits[group]:
                    _keep(group, u, key, wide[i], kept, limits, uppers, n_kept)
