"""Weights of a pool behind an engine: rows are told apart by the power of two below their weight.

All powers are counted; which of them hold so little that they need not be told apart is known from
the counts (measures/weighted.py), without a pass of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.engines.grid import step_function
from haystat.measures.weighted import WeightBin, lightest_of

HEAVY = "hs_heavy"  # our name of the code
KINDS = WeightBin("")


def weight_code(weight: Any, ends: tuple[float, float]) -> Any:
    """The code of each weight; ends are the smallest above 0 and the largest."""
    first, last = (int(np.clip(np.frexp(end)[1], KINDS.light, -KINDS.light)) for end in ends)
    edges = np.concatenate([[ends[0]], np.ldexp(1.0, np.arange(first, last))])
    codes = KINDS.codes_of(np.concatenate([[0.0], edges]))
    return step_function(weight, edges, codes.tolist()).cast("int64")


def light_of(code: IntArray, total: FloatArray) -> int:
    """The power of two below which weights are not told apart; total (G,) of those of a code."""
    return lightest_of(code - KINDS.size // 2, total)


def told_apart(code: IntArray, total: FloatArray) -> IntArray:
    """The codes (G,) as the WeightBin of the pool has them, which takes light ones for alike."""
    return np.where(code > 0, np.maximum(code, light_of(code, total) + KINDS.size // 2), 0)
