"""Successive sampling with permanent exponential clocks.

Every item has a clock, exponential with mean 1, and is drawn once the cumulative rate of its cell
has passed it: with the probability 1 - exp(-H) if that is H. So the next item is one of those not
drawn yet, with a probability proportional to the rate of its cell, whatever was drawn before. Only
the order of the items inside a cell is needed to draw them; their clocks come as order statistics,
cell by cell, from one key: of m clocks that are left the first rings after an exponential time with
mean 1 / m.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from math import log

import numpy as np

from haystat.core.arrays import FloatArray, IntArray

STEPS = np.array([0x9E3779B97F4A7C15, 0xD1B54A32D192ED03], dtype=np.uint64)
ALL_BITS = (1 << 64) - 1
MIXES = tuple(
    (np.uint64(shift), np.uint64(factor))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
)
PRECISE = 1e-12  # relative, of the multiple of the sizes
SLACK = 1e-9  # of an inclusion probability, from which an item is certain to be drawn


def stage_rates(
    sizes: FloatArray, inclusion: FloatArray, unasked: IntArray, n: int, least: float
) -> FloatArray:
    """Rates of the next stage, (K,), so that about n items are drawn.

    The stage is to bring the inclusion of cell k to min(1, c sizes_k), c such that n draws are
    expected; infinite where that is 1, so that all items are drawn. No cell is left alone: each
    gets at least `least` of the rate it would have if nothing had been drawn before.
    """
    reach = 1 / np.maximum(1 - inclusion, SLACK)

    def share(c: float) -> FloatArray:
        """How likely an item that is left is drawn, but for `least`."""
        return np.clip((c * sizes - inclusion) * reach, 0.0, 1.0)

    def expected(c: float) -> float:
        return float(unasked @ np.maximum(share(c), -np.expm1(-least * c * sizes)))

    most = float(unasked[sizes > 0].sum())
    if n >= most:
        return np.where(sizes > 0, np.inf, 0.0)
    low, high = 0.0, float(n)  # of sizes that add up to 1 about n times as much is drawn
    while expected(high) < n:
        low, high = high, 2 * high
    from scipy.optimize import brentq  # slow to import, and only drawing needs it

    multiple = brentq(lambda c: expected(c) - n, low, high, xtol=PRECISE * high, rtol=PRECISE)
    aim = multiple * sizes
    with np.errstate(divide="ignore"):
        rates = np.where(aim >= 1 - SLACK, np.inf, -np.log1p(-share(multiple)))
    return np.asarray(np.maximum(rates, least * aim))


@dataclass(frozen=True)
class Start:
    """Where the clocks stood when an evaluation began: rung (K,) of them, elapsed (K,) time.

    By what has not rung yet all clocks are as good as new.
    """

    rung: IntArray
    elapsed: FloatArray

    @classmethod
    def at(cls, rung: IntArray, inclusion: FloatArray) -> Start:
        """`rung` items of each cell were drawn, which had this probability, (K,) each."""
        return cls(rung, elapsed_at(inclusion))


def elapsed_at(inclusion: FloatArray) -> FloatArray:
    """Cumulative rate at which items are drawn with a probability, (K,)."""
    return np.asarray(-np.log1p(-np.minimum(inclusion, 1 - 1e-16)))


def take(
    rates: FloatArray,
    inclusion: FloatArray,
    cell_size: IntArray,
    asked: IntArray,
    n: int,
    key: int,
    start: Start | None = None,
) -> tuple[IntArray, FloatArray]:
    """Cells of the next n items, and the inclusion after them, (K,).

    Cells with an infinite rate come first, in their order, and are drawn whole.
    """
    left = cell_size - asked
    certain = np.isinf(rates) & (left > 0)
    census = np.repeat(np.flatnonzero(certain), left[certain])[:n]
    rates = np.where(np.isinf(rates), 0.0, rates)
    drawn, clock = _ring(rates, inclusion, cell_size, asked, n - len(census), key, start)
    after = 1 - (1 - inclusion) * np.exp(-rates * clock)
    whole = np.bincount(census, minlength=len(left)) == left
    return np.concatenate([census, drawn]), np.where(whole, 1.0, after)


def _ring(
    rates: FloatArray,
    inclusion: FloatArray,
    cell_size: IntArray,
    asked: IntArray,
    n: int,
    key: int,
    start: Start | None,
) -> tuple[IntArray, float]:
    """Cells of the n clocks that ring first, and when the last of them rings.

    From then on all other clocks are as good as new.
    """
    rate, elapsed = rates.tolist(), elapsed_at(inclusion)
    reachable = np.flatnonzero((asked < cell_size) & (rates > 0))
    rung = rung_at(cell_size, np.minimum(asked + 1, cell_size), key, start)
    first = np.maximum(rung[reachable] - elapsed[reachable], 0.0) / rates[reachable]
    soonest = np.argsort(first, kind="stable")[:n]  # only the n cells that ring first can matter
    first, reachable = first[soonest], reachable[soonest]
    heap = list(zip(first.tolist(), reachable.tolist(), strict=True))
    heapq.heapify(heap)
    rank, sizes = (asked + 1).tolist(), cell_size.tolist()
    taken: list[int] = []
    when = 0.0
    while heap and len(taken) < n:
        when, cell = heapq.heappop(heap)
        taken.append(cell)
        if rank[cell] < sizes[cell]:
            gap = _gap(key, cell, rank[cell], sizes[cell])
            heapq.heappush(heap, (when + gap / rate[cell], cell))
            rank[cell] += 1
    return np.array(taken, dtype=np.int64), when


def rung_at(
    cell_size: IntArray, asked: IntArray, key: int, start: Start | None = None
) -> FloatArray:
    """When the clock of the last item asked about rang in each cell, (K,); 0 if there is none."""
    first = np.zeros_like(asked) if start is None else np.minimum(start.rung, asked)
    n = asked - first
    cell = np.repeat(np.arange(len(asked)), n)
    rank = np.arange(len(cell)) - np.repeat(np.cumsum(n) - n - first, n)
    gaps = -np.log(uniforms(key, cell, rank)) / (cell_size[cell] - rank)
    total = np.bincount(cell, weights=gaps, minlength=len(asked))
    return np.asarray(total if start is None else total + start.elapsed, dtype=np.float64)


def _gap(key: int, cell: int, rank: int, size: int) -> float:
    """Time from one clock of a cell to the next; numpy would be slow for one number."""
    x = (key + cell * int(STEPS[0]) + rank * int(STEPS[1])) & ALL_BITS
    for shift, factor in MIXES:
        x = (x ^ (x >> int(shift))) * int(factor) & ALL_BITS
    x ^= x >> 31
    return -log(((x >> 11) + 0.5) * 2.0**-53) / (size - rank)


def uniforms(key: int, cell: IntArray, rank: IntArray) -> FloatArray:
    """A number in (0, 1) for each cell and rank: the same for the same key (splitmix64)."""
    with np.errstate(over="ignore"):
        x = np.uint64(key) + cell.astype(np.uint64) * STEPS[0] + rank.astype(np.uint64) * STEPS[1]
        for shift, factor in MIXES:
            x = (x ^ (x >> shift)) * factor
        x ^= x >> np.uint64(31)
    return np.asarray(((x >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53)
