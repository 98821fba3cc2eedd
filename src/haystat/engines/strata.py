"""Strata of a pool that is counted by an engine: those that hs.Pool cuts from the same scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from haystat.core.arrays import FloatArray, IntArray
from haystat.core.score_scales import SCALES
from haystat.engines.checks import Summary
from haystat.engines.columns import DEVIATION, MEAN, score_name
from haystat.engines.grid import Grid, even_grid
from haystat.engines.quantiles import quantile_ranks
from haystat.errors import BadOption, UnknownName
from haystat.pool.scales import STEPS, Scale, scale_of, step_edges
from haystat.pool.strata import (
    HISTOGRAM_BINS_PER_STRATUM,
    STRATIFIERS,
    checked_edges,
    geometric_edges,
    opening_bins,
    renumber,
)

METHODS = tuple(STRATIFIERS)

#: the values of one of our columns with some ranks (n,), between the ends of its range
Ranked = Callable[[str, tuple[float, float], IntArray], FloatArray]


@dataclass(frozen=True)
class Cut:
    """How strata are cut from the places of rows.

    ladders: the columns to locate, each on its grid; a row's place is the sum. position (n,) is
    where each place begins on the scale of the cut; None where the place is the position. method
    None takes places as strata.
    """

    ladders: tuple[tuple[str, Grid], ...]
    method: str | None = None
    n_strata: int = 1
    position: FloatArray | None = None

    def strata(self, place: IntArray, size: IntArray) -> NDArray[np.int32]:
        """The stratum of each group, from its place and its number of rows, (G,)."""
        if self.method is None:
            return renumber(place)
        value = place.astype(np.float64) if self.position is None else self.position[place]
        edges = self._edges(value, place, size)
        return renumber(np.searchsorted(edges, value, side="right"))

    def _edges(self, value: FloatArray, place: IntArray, size: IntArray) -> FloatArray:
        n_strata = self.n_strata
        if self.method == "equal_width":
            return np.unique(np.linspace(value.min(), value.max(), n_strata + 1)[1:-1])
        if self.method == "equal_size":
            order = np.argsort(value, kind="stable")
            upto = np.cumsum(size[order])
            rank = quantile_ranks(int(upto[-1]), n_strata)
            return np.unique(value[order][np.searchsorted(upto, rank, side="right")])
        n_bins = HISTOGRAM_BINS_PER_STRATUM * n_strata
        if self.position is None:
            bin_edges = np.linspace(value.min(), value.max(), n_bins + 1)
            bin_of = np.searchsorted(bin_edges[1:-1], value, side="right")
        else:
            bin_edges, bin_of = self.position, place
        counts = np.zeros(n_bins, dtype=np.int64)
        np.add.at(counts, bin_of, size)
        return np.unique(bin_edges[opening_bins(counts, n_strata)])


def make_cut(
    summary: Summary, stratify: Any, n_strata: int, deviation: bool, ranked: Ranked | None = None
) -> Cut:
    """The cut that hs.Pool makes for the same options; `ranked` is needed for equal sizes."""
    if not isinstance(stratify, str):
        return Cut(((score_name(0), Grid(checked_edges(stratify))),))
    if stratify not in METHODS:
        raise UnknownName(f"stratify is {stratify!r}; it can be {list(METHODS)} or edges")
    if stratify == "geometric":
        return Cut(((score_name(0), Grid(_geometric(summary, n_strata, deviation))),))
    scales = [scale_of(low, high) for low, high in summary.score_range]
    if summary.number_range is None and len(scales) > 1:
        return _joint_cut(scales, stratify, n_strata)
    column, ends = score_name(0), summary.score_range[0]
    if summary.number_range is not None:
        column, ends = DEVIATION if deviation else MEAN, np.array(summary.number_range)
        scales = [scale_of(*summary.number_range, numeric=True)]
    if stratify == "equal_size" and ranked is not None:
        rank = quantile_ranks(summary.size, n_strata)
        return _cut_at(column, scales[0], ranked(column, (float(ends[0]), float(ends[1])), rank))
    return _single_cut(column, scales[0], stratify, n_strata)


def _cut_at(column: str, scale: Scale, values: FloatArray) -> Cut:
    """Strata that begin with some values of the raw score, or with what is the same as a logit."""
    return Cut(((column, Grid(scale.raw(np.unique(SCALES[scale.name](values))))),))


def _single_cut(column: str, scale: Scale, stratify: str, n_strata: int) -> Cut:
    if stratify == "equal_width":
        return Cut(((column, even_grid(scale, n_strata)),))
    n_bins = HISTOGRAM_BINS_PER_STRATUM * n_strata
    position = np.linspace(scale.low, scale.high, n_bins + 1)
    return Cut(((column, even_grid(scale, n_bins)),), stratify, n_strata, position)


def _joint_cut(scales: list[Scale], stratify: str, n_strata: int) -> Cut:
    width = max(scale.high - scale.low for scale in scales) / STEPS
    ladders = tuple(
        (score_name(i), Grid.on(scale, edges, width))
        for i, (scale, edges) in enumerate(zip(scales, step_edges(scales), strict=True))
    )
    return Cut(ladders, stratify, n_strata)


def _geometric(summary: Summary, n_strata: int, deviation: bool) -> FloatArray:
    if deviation:
        raise BadOption("geometric strata are cut on scores; use 'csf' with deviations")
    low, high = summary.score_range[0]
    ends = [low, high] if summary.positive is None else [low, summary.positive, high]
    return geometric_edges(np.array(ends), n_strata)
