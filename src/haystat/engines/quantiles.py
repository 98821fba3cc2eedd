"""Exact quantiles of a column that no engine has to sort.

Each pass cuts the spans that hold a wanted value into bins, and counts those. A bin that holds a
wanted value is a span of the next pass, from its smallest to its largest value, until both are
the same: three passes or so for a thousand million rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ibis
import numpy as np
import pyarrow as pa

from haystat.core.arrays import FloatArray, IntArray
from haystat.engines.grid import clipped, step_function
from haystat.engines.source import Source

BINS = 1 << 18  # of a pass, over all spans
VALUE, BIN = "hs_value", "hs_bin"


@dataclass(frozen=True)
class Spans:
    """Intervals of values that do not overlap, ascending: ends and the rows below each, (n,)."""

    low: FloatArray
    high: FloatArray
    below: IntArray


def quantile_ranks(size: int, n_strata: int) -> IntArray:
    """Ranks, from 0, of the values where strata of equal size begin; numpy's method "higher"."""
    share = np.arange(1, n_strata) / n_strata
    return np.ceil((size - 1) * share).astype(np.int64)


def values_of_ranks(
    source: Source, rows: Any, column: str, ends: tuple[float, float], ranks: IntArray
) -> FloatArray:
    """The values with these ranks among a column that goes from one end to the other, exactly."""
    values = np.full(len(ranks), ends[0])
    wanted = np.arange(len(ranks))
    spans = Spans(np.array(ends[:1]), np.array(ends[1:]), np.zeros(1, dtype=np.int64))
    rows = rows.select(**{VALUE: rows[column]})
    while len(wanted):
        with source.reading():
            parts = _parts(rows, spans)
        part = np.searchsorted(parts.below, ranks[wanted], side="right") - 1
        single = parts.low[part] == parts.high[part]
        values[wanted[single]] = parts.low[part[single]]
        wanted, kept = wanted[~single], np.unique(part[~single])
        spans = Spans(parts.low[kept], parts.high[kept], parts.below[kept])
    return values


def _parts(rows: Any, spans: Spans) -> Spans:
    """The bins of all spans that hold rows."""
    n_bins = max(BINS // len(spans.low), 2)
    rows = in_spans(rows, spans.low, spans.high, n_bins)
    found = rows.group_by(BIN).agg(n=rows.count(), least=rows[VALUE].min(), most=rows[VALUE].max())
    table = found.to_pyarrow().sort_by(BIN)
    n, span = table["n"].to_numpy().astype(np.int64), table[BIN].to_numpy() // n_bins
    before = np.cumsum(n) - n
    first = np.searchsorted(span, np.arange(len(spans.low)))
    below = spans.below[span] + before - before[first[span]]
    return Spans(table["least"].to_numpy(), table["most"].to_numpy(), below)


def in_spans(rows: Any, low: FloatArray, high: FloatArray, n_bins: int) -> Any:
    """The rows whose VALUE lies in one of some spans (n,), ascending, with the BIN that it is in.

    The bins of each span are n_bins, numbered through all spans.
    """
    if len(low) == 1:
        ends = {"hs_span": 0, "hs_low": float(low[0]), "hs_high": float(high[0])}
        rows = rows.mutate(**{name: ibis.literal(end) for name, end in ends.items()})
    else:
        span = step_function(rows[VALUE], low[1:], range(len(low)))
        known = pa.table({"hs_of": np.arange(len(low)), "hs_low": low, "hs_high": high})
        rows = rows.mutate(hs_span=span.cast("int64"))
        rows = rows.join(ibis.memtable(known), [("hs_span", "hs_of")], how="inner")
    value, least, most = rows[VALUE], rows.hs_low, rows.hs_high
    rows = rows.filter((value >= least) & (value <= most))
    # Halves, so that the width of a span is a number; one over it could be infinite.
    width = ibis.greatest(most / 2 - least / 2, float(np.finfo(np.float64).tiny))
    share = (value / 2 - least / 2) / width
    place = clipped((share * float(n_bins - 1)).floor().cast("int64"), 0, n_bins - 2)
    # The largest value has a bin of its own, so that every pass gets on.
    place = ibis.ifelse(value >= most, n_bins - 1, place)
    return rows.mutate(**{BIN: rows.hs_span * n_bins + place})
