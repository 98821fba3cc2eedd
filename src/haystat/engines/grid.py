"""How many edges of a grid a score reaches, counted by an engine as numpy counts it.

The engine guesses the nearest edge by arithmetic, on the logit scale if need be; a small table
says which raw score that edge is, and one comparison puts the guess right. So a logarithm that
differs in its last digit does no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ibis
import numpy as np
import pyarrow as pa

from haystat.core.arrays import FloatArray
from haystat.core.score_scales import SMALLEST
from haystat.engines.small_tables import small_table
from haystat.pool.scales import Scale

SMALL = "float32"
FEW = 8  # edges that are quicker compared one by one
FURTHEST = 1e150  # whose square is still a number
NARROW = 1e-9  # range, relative to the numbers in it, below which a guess may miss its edge


@dataclass(frozen=True)
class Grid:
    """Ascending edges on the raw score, (n,).

    Where width is positive, edge k (from 1) lies at low + k * width on the scale of the guess,
    which is the logit scale for probabilities, and asinh for scores that go far.
    """

    edges: FloatArray
    low: float = 0.0
    width: float = 0.0
    on_logits: bool = False
    on_asinh: bool = False

    @classmethod
    def on(cls, scale: Scale, edges: FloatArray, width: float) -> Grid:
        """Raw edges that lie `width` apart on a scale, from its low end on."""
        return cls(edges, scale.low, width, scale.name == "logit", scale.name == "asinh")


def even_grid(scale: Scale, n_bins: int) -> Grid:
    """Bins of one width on a scale."""
    edges = np.linspace(scale.low, scale.high, n_bins + 1)[1:-1]
    width = (scale.high - scale.low) / n_bins
    largest = max(abs(scale.low), abs(scale.high))
    if scale.high - scale.low <= NARROW * largest:
        width = 0.0
    return Grid.on(scale, scale.raw(edges), width)


def threshold_grid(thresholds: FloatArray) -> Grid:
    """Thresholds as they are; a guess helps if they are a uniform grid."""
    if len(thresholds) > FEW:
        width = (thresholds[-1] - thresholds[0]) / (len(thresholds) - 1)
        even = np.allclose(np.diff(thresholds), width, rtol=1e-3, atol=0)
        if even and thresholds[-1] - thresholds[0] > NARROW * np.abs(thresholds).max():
            return Grid(thresholds, float(thresholds[0] - width), float(width))
    return Grid(thresholds)


def with_reached(table: Any, column: str, grid: Grid, name: str) -> Any:
    """The table with the number of edges at or below `column` as `name`."""
    if grid.width <= 0 or len(grid.edges) <= FEW:
        edges = grid.edges[np.isfinite(grid.edges)]
        reached = step_function(table[column], edges, range(len(edges) + 1))
        return table.mutate(**{name: reached.cast("int64")})
    nearest = _nearest(table[column], grid)
    edges = np.concatenate([[-np.finfo(np.float64).max], grid.edges])
    edges = np.minimum(edges, np.finfo(np.float64).max)  # infinite: beyond every score
    known = pa.table({"hs_nearest": np.arange(len(edges)), "hs_edge": edges})
    small = small_table(table, known)
    joined = table.mutate(hs_guess=nearest).join(small, [("hs_guess", "hs_nearest")], how="inner")
    reached = joined.hs_guess - (joined[column] < joined.hs_edge).cast("int64")
    return joined.mutate(**{name: reached}).drop("hs_guess", "hs_nearest", "hs_edge")


def step_function(value: Any, edges: FloatArray, heights: Sequence[int]) -> Any:
    """heights[k] of a value that reaches k of the ascending edges (n,), heights having n + 1.

    Each edge at which the height changes is compared. Heights are whole numbers below 2**24, added
    up as floats of 32 bits, which hold these exactly: an engine looks out for overflow of whole
    numbers, which takes longer. Null where the value is.
    """
    different, first = np.unique(edges, return_index=True)
    ends = np.array(heights)[np.append(first, len(edges))]
    steps = zip(different.tolist(), np.diff(ends).tolist(), strict=True)
    terms = [(value >= edge).cast(SMALL) * _small(step) for edge, step in steps if step]
    terms = terms or [(value >= value).cast(SMALL) * _small(0)]
    while len(terms) > 1:  # added up in pairs: a chain would be too deep to compile
        pairs = [a + b for a, b in zip(terms[::2], terms[1::2], strict=False)]
        terms = pairs + terms[2 * len(pairs) :]
    return (terms[0] + _small(ends[0])).cast("float64")


def _small(number: float) -> Any:
    return ibis.literal(float(number), type=SMALL)


def _nearest(score: Any, grid: Grid) -> Any:
    """The number of the edge nearest to a score, from 0 to n."""
    if grid.on_logits:
        probability = clipped(score, SMALLEST, 1 - SMALLEST)
        score = (probability / (1 - probability)).ln()
    if grid.on_asinh:
        size = ibis.least(score.abs(), FURTHEST)
        score = score.sign() * (size + (size * size + 1).sqrt()).ln()
    step = ((score - grid.low) * (1 / grid.width) + 0.5).floor().cast("int64")
    return clipped(step, 0, len(grid.edges))


def clipped(value: Any, low: float, high: float) -> Any:
    """A value that is not null, kept between two ends; `clip` of Ibis names it many times."""
    return ibis.greatest(low, ibis.least(value, high))
