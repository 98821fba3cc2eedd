"""Exact quantiles of a column that no engine has to sort.

The first pass cuts the range of the values into even bins, and counts those. A bin that holds a
wanted value is a span of the next pass, from its smallest to its largest value, until both are
the same: three passes or so for a thousand million rows. Later passes look at the rows of such
bins alone.
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
TINY = float(np.finfo(np.float64).tiny)


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
    whole = in_bins(rows.select(**{VALUE: rows[column]}), *ends, BINS)
    with source.reading():
        parts, bins = _parts(whole, np.zeros(1, dtype=np.int64), BINS)
    rows = None
    while True:
        part = np.searchsorted(parts.below, ranks[wanted], side="right") - 1
        single = parts.low[part] == parts.high[part]
        values[wanted[single]] = parts.low[part[single]]
        wanted, kept = wanted[~single], np.unique(part[~single])
        if not len(wanted):
            return values
        rows = of_bins(whole, bins[kept]) if rows is None else rows
        low, high, n_bins = parts.low[kept], parts.high[kept], max(BINS // len(kept), 2)
        with source.reading():
            parts, _ = _parts(in_spans(rows, low, high, n_bins), parts.below[kept], n_bins)


def _parts(rows: Any, below: IntArray, n_bins: int) -> tuple[Spans, IntArray]:
    """The bins of all spans that hold rows, and their numbers; below (n,) is that of the spans."""
    value = rows[VALUE]
    found = rows.group_by(BIN).agg(n=rows.count(), least=value.min(), most=value.max())
    table = found.to_pyarrow().sort_by(BIN)
    n, bins = (table[name].to_numpy().astype(np.int64) for name in ("n", BIN))
    span = bins // n_bins
    before = np.cumsum(n) - n
    first = np.searchsorted(span, np.arange(len(below)))
    below = below[span] + before - before[first[span]]
    return Spans(table["least"].to_numpy(), table["most"].to_numpy(), below), bins


def in_bins(rows: Any, low: float, high: float, n_bins: int) -> Any:
    """The rows, all of whose VALUEs lie between low and high, with the BIN of each.

    Fewer comparisons than in_spans, for a pass over all rows. Engines round or cut off, which is
    all the same. NaN and null have none.
    """
    width = max(high / 2 - low / 2, TINY)
    share = (rows[VALUE] / 2.0 - low / 2) / width
    return rows.mutate(**{BIN: (share * float(n_bins - 1)).try_cast("int32")})


def of_bins(rows: Any, bins: IntArray) -> Any:
    """The rows of some bins, without their BIN."""
    return rows.filter(rows[BIN].isin(bins.tolist())).drop(BIN)


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
    width = ibis.greatest(most / 2 - least / 2, TINY)
    share = (value / 2 - least / 2) / width
    place = clipped((share * float(n_bins - 1)).floor().cast("int64"), 0, n_bins - 2)
    # The largest value has a bin of its own, so that every pass gets on.
    place = ibis.ifelse(value >= most, n_bins - 1, place)
    return rows.mutate(**{BIN: rows.hs_span * n_bins + place})
