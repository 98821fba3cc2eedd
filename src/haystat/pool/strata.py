"""Stratum edges on a score. Stratum k holds the scores in [edges[k-1], edges[k])."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from haystat.errors import BadOption
from haystat.measures.outputs import FloatArray, IntArray

HISTOGRAM_BINS = 4096  # also what an engine counts in its first pass over a large pool


def csf_edges(scores: FloatArray, n_strata: int, n_bins: int = HISTOGRAM_BINS) -> FloatArray:
    """Edges that cut the cumulative square root of the score's histogram into equal parts.

    Dalenius and Hodges (1959). Returns at most n_strata - 1 inner edges.
    """
    counts, bin_edges = np.histogram(scores, bins=n_bins)
    cumulative = np.cumsum(np.sqrt(counts))
    targets = cumulative[-1] * np.arange(1, n_strata) / n_strata
    # The bin in which a target falls is closed at its upper edge.
    upper = np.searchsorted(cumulative, targets, side="left") + 1
    return np.unique(bin_edges[upper[upper < n_bins]])


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


def assign(scores: FloatArray, edges: FloatArray) -> IntArray:
    """Stratum of each score, numbered from 0 without gaps: empty strata are dropped."""
    raw = np.searchsorted(edges, scores, side="right")
    return compact(raw, len(edges) + 1)


def compact(raw: IntArray, n_codes: int) -> IntArray:
    """Renumber codes 0 … n_codes - 1 so that every code in use is used and order is kept."""
    used = np.bincount(raw, minlength=n_codes) > 0
    return (np.cumsum(used) - 1)[raw]
