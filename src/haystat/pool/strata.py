"""Stratum edges on a score. Stratum k holds the scores in [edges[k-1], edges[k])."""

from __future__ import annotations

import reprlib
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from haystat.core.arrays import FloatArray
from haystat.errors import BadOption
from haystat.pool import checks

HISTOGRAM_BINS_PER_STRATUM = 4  # 1,024 bins for the paper's 256 strata
BOXES = 1 << 14  # of the grid that finds the stratum of a score
CHUNK = 1 << 15  # scores located at a time, so that the work stays in cache
DENSE_CODES = 1 << 22  # codes below this are renumbered by counting, above by sorting


def csf_edges(scores: FloatArray, n_strata: int) -> FloatArray:
    """Edges that cut the cumulative square root of the score's histogram into equal parts.

    Dalenius and Hodges (1959). The bin in which a cut falls opens the next stratum; where several
    cuts fall into one bin, the bins after it open one each. At most n_strata - 1 inner edges.
    """
    n_bins = HISTOGRAM_BINS_PER_STRATUM * n_strata
    bin_edges = np.linspace(np.min(scores), np.max(scores), n_bins + 1)
    counts = np.bincount(locate(scores, bin_edges[1:-1]), minlength=n_bins)
    return np.unique(bin_edges[opening_bins(counts, n_strata)])


def opening_bins(counts: NDArray[np.integer], n_strata: int) -> NDArray[np.int64]:
    """The bins of a histogram with which strata begin, but for the first stratum."""
    cumulative = np.cumsum(np.sqrt(counts))
    cuts = cumulative[-1] * np.arange(1, n_strata) / n_strata
    first = np.maximum(np.searchsorted(cumulative, cuts), 1)
    steps = np.arange(len(first))
    strictly_increasing = np.maximum.accumulate(first - steps) + steps
    return np.asarray(strictly_increasing[strictly_increasing < len(counts)])


def geometric_edges(scores: FloatArray, n_strata: int) -> FloatArray:
    """Edges in geometric progression from the smallest positive to the largest score.

    Gunning and Horgan (2004). Zeros fall into the first stratum.
    """
    if np.min(scores) < 0:
        raise BadOption(
            f"geometric strata need scores of at least 0, the smallest is {np.min(scores):g}; "
            "use stratify='csf', or shift the scores"
        )
    positive = scores[scores > 0]
    if len(positive) == 0:
        return np.empty(0)
    return np.unique(np.geomspace(positive.min(), positive.max(), n_strata + 1)[1:-1])


def equal_width_edges(scores: FloatArray, n_strata: int) -> FloatArray:
    """Edges that cut the range of the score into intervals of one width."""
    return np.unique(np.linspace(np.min(scores), np.max(scores), n_strata + 1)[1:-1])


def equal_size_edges(scores: FloatArray, n_strata: int) -> FloatArray:
    """Edges at the quantiles of the score; ties may merge strata."""
    return np.unique(np.quantile(scores, np.arange(1, n_strata) / n_strata, method="higher"))


STRATIFIERS: dict[str, Callable[[FloatArray, int], FloatArray]] = {
    "csf": csf_edges,
    "geometric": geometric_edges,
    "equal_width": equal_width_edges,
    "equal_size": equal_size_edges,
}


def assign(scores: FloatArray, edges: FloatArray) -> NDArray[np.int32]:
    """Stratum of each score, numbered from 0 without gaps: empty strata are dropped."""
    return renumber(locate(scores, edges))


def locate(scores: FloatArray, edges: FloatArray) -> NDArray[np.int32]:
    """Number of edges at or below each score, as by searchsorted, in a tenth of the time.

    Scores and edges are put into the boxes of a grid. A larger score never has a lower box, so
    edges in lower boxes lie below the score; only those in its own box are compared with it.
    """
    span = edges[-1] - edges[0] if len(edges) else 0.0
    if len(scores) < BOXES or span < np.finfo(np.float64).tiny * BOXES:
        return np.asarray(np.searchsorted(edges, scores, side="right"), dtype=np.int32)

    def box_of(values: FloatArray) -> NDArray[np.int32]:
        with np.errstate(over="ignore"):
            position = (values - edges[0]) * (BOXES / span)
        return np.asarray(np.clip(position, 0, BOXES - 1, out=position), dtype=np.int32)

    box_of_edge = box_of(edges)
    below = np.searchsorted(box_of_edge, np.arange(BOXES)).astype(np.int32)
    has_edge = np.bincount(box_of_edge, minlength=BOXES) > 0
    result = np.empty(len(scores), dtype=np.int32)
    for start in range(0, len(scores), CHUNK):
        part = scores[start : start + CHUNK]
        box = box_of(part)
        found = below[box]
        near = np.flatnonzero(has_edge[box])
        found[near] = np.searchsorted(edges, part[near], side="right")
        result[start : start + CHUNK] = found
    return result


def renumber(codes: NDArray[np.integer]) -> NDArray[np.int32]:
    """Codes from 0 without gaps, in the same order."""
    low, high = int(codes.min()), int(codes.max())
    if high - low >= DENSE_CODES:
        return np.asarray(np.unique(codes, return_inverse=True)[1], dtype=np.int32)
    shifted = codes - low if low else codes
    used = np.bincount(shifted) > 0
    if used.all():
        return np.asarray(shifted, dtype=np.int32)
    return np.asarray((np.cumsum(used) - 1).astype(np.int32)[shifted])


def checked_edges(edges: ArrayLike) -> FloatArray:
    """Inner stratum edges that a user gives: finite and increasing."""
    given = checks.checked_numbers("the edges given as `stratify`", edges, BadOption)
    if given.ndim != 1 or not np.all(np.isfinite(given)) or np.any(np.diff(given) <= 0):
        raise BadOption(
            f"the edges given as `stratify` are {reprlib.repr(given.tolist())}; give finite "
            "numbers in a list, each larger than the one before"
        )
    return given


def checked_strata(strata: ArrayLike, size: int) -> NDArray[np.int32]:
    """The stratum of each item, as a user gives it, renumbered from 0 without gaps."""
    given = checks.as_array("strata", strata)
    if given.dtype.kind not in "iu" or given.ndim == 0 or (given.size and given.min() < 0):
        raise BadOption(
            f"strata are {reprlib.repr(given.tolist())}; give a whole number of strata, or "
            "the stratum of each item as a whole number from 0"
        )
    checks.same_length("strata", given, size)
    return renumber(given)
