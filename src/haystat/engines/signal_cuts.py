"""Where signals behind an engine are cut: two passes for each, one for a verdict or texts.

The first counts the values in bins, the second looks into the bins that hold a cut. Ladders are
then those that hs.Pool makes (pool/signal_places.py), and further passes compare values with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from haystat.core.arrays import FloatArray, IntArray
from haystat.engines.columns import Columns, check_present
from haystat.engines.quantiles import BIN, VALUE, in_bins, in_spans, of_bins
from haystat.engines.signals import (
    CHOSEN,
    VOTES,
    EngineSignal,
    signal_of,
    signal_values,
    with_votes,
)
from haystat.engines.source import Source
from haystat.errors import BadOption, BadSignal
from haystat.pool.signal_places import Counts, Ladder, make_ladder, wanted_stretches
from haystat.pool.signals import level_values, starts_of, threshold_place

BINS = 1 << 14  # of the values of a signal, in one pass
AT_ONCE = 1 << 22  # rows whose values are counted one by one
MOST_LEVELS = 1 << 12  # of a category


def read_signals(
    source: Source,
    columns: Columns,
    given: Mapping[str, str],
    classes: tuple[Any, ...],
    thresholds: Sequence[float],
    n_more: int = 0,
) -> tuple[EngineSignal, ...]:
    """The signals of a pool that has n_more beside them, by passes over their columns."""
    if not given:
        return ()
    _check(source, given, classes)

    def rows_of(column: str) -> Any:
        value = {VALUE: signal_values(source.table, column, missing=False)}  # NaN has no BIN
        plain = with_votes(source.table, columns, value, classes, thresholds)
        return plain.select(VALUE, CHOSEN, VOTES)

    looks = []
    for name, column in given.items():
        span = _span(source, name, column)
        with source.reading():
            looks.append(_look(rows_of(column), name, span))
    n_predictions = looks[0].total("n") * len(columns.systems)
    threshold = threshold_place(looks[0].total("votes"), n_predictions)
    starts = starts_of(len(given) + n_more)
    found = []
    for (name, column), look in zip(given.items(), looks, strict=True):
        if source.table[column].type().is_string():
            found.append(_of_levels(look, name, column, threshold, starts, n_predictions))
            continue
        with source.reading():
            counts = _refined(look, rows_of(column), threshold, starts)
        ladder = make_ladder(counts, threshold, starts)
        cuts, missing = tuple(ladder.cuts.tolist()), counts.n_missing > 0
        found.append(signal_of(name, column, ladder, cuts=cuts, missing=missing))
    return tuple(found)


def _check(source: Source, given: Mapping[str, str], classes: tuple[Any, ...]) -> None:
    """Raise unless all columns can be signals, and none is infinite."""
    schema = source.table.schema()
    if len(classes) != 2:
        kind = f"{len(classes)} classes" if classes else "labels that are numbers"
        raise BadOption(
            f"signals {list(given)} are given with {kind}; they help to find the positives of two "
            "classes, leave them out"
        )
    for name, column in given.items():
        check_present(column, schema)
        kind = schema[column]
        if not (kind.is_numeric() or kind.is_boolean() or kind.is_string()):
            raise BadSignal(f"signal {name!r} must be numbers or texts, not {kind}; convert it")


def _span(source: Source, name: str, column: str) -> tuple[float, float] | None:
    """The smallest and the largest value of a number; None of texts and verdicts."""
    value = source.table[column]
    if not value.type().is_numeric():
        return None
    # Engines know these of files without a look at the rows, unless they are asked for more.
    low, high = _aggregated(source, low=value.min(), high=value.max())
    if value.type().is_floating() and not (_is_finite(low) and _is_finite(high)):
        number = value.cast("float64")
        infinite = ((number == float("inf")) | (number == float("-inf"))).fill_null(False)
        known = signal_values(source.table, column)
        ends = {"low": known.min(), "high": known.max()}
        n, low, high = _aggregated(source, n=infinite.cast("int64").sum(), **ends)
        if n:
            raise BadSignal(
                f"signal {name!r} is infinite in {n} rows; give a finite number, NaN if it is "
                "missing"
            )
    if low is None:
        raise BadSignal(f"signal {name!r} is missing for every item; leave it out")
    return float(low), float(high)


def _aggregated(source: Source, **wanted: Any) -> list[Any]:
    with source.reading():
        (found,) = source.table.aggregate(**wanted).to_pyarrow().to_pylist()
    return [found[name] for name in wanted]


def _is_finite(end: float | None) -> bool:
    return end is not None and isfinite(end)


@dataclass(frozen=True)
class Look:
    """The first pass over a signal: rows by their value, or by their bin between two ends.

    counted is an Arrow table of the values or bins, ascending, with n, votes, chosen, least and
    most; missing has n, votes and chosen of the rows that lack the signal.
    """

    span: tuple[float, float] | None
    counted: pa.Table
    missing: Mapping[str, int]

    def total(self, what: str) -> int:
        """The sum over all rows."""
        return int(self.column(what).sum()) + self.missing[what]

    def column(self, what: str) -> IntArray:
        """n, votes, chosen or BIN of the values or bins."""
        return np.asarray(self.counted[what].to_numpy().astype(np.int64))

    def counts(self) -> Counts:
        """The values or bins as stretches."""
        return _as_counts(self.counted, self.missing)


def _look(rows: Any, name: str, span: tuple[float, float] | None) -> Look:
    """The first pass over a signal; raises if it tells nothing."""
    key = VALUE if span is None else BIN
    if span is not None:
        rows = in_bins(rows, *span, BINS)
    counted = _by(rows, key, MOST_LEVELS + 2 if span is None else None)
    lacks = (pc.is_null(counted[key]), pc.invert(pc.is_null(counted[key])))
    without, counted = (counted.filter(one) for one in lacks)
    sums = {what: int(pc.sum(without[what]).as_py() or 0) for what in ("n", "votes", "chosen")}
    if not counted.num_rows:
        raise BadSignal(f"signal {name!r} is missing for every item; leave it out")
    least, most = counted["least"][0].as_py(), counted["most"][-1].as_py()
    if least == most and not sums["n"]:
        raise BadSignal(
            f"signal {name!r} is {least!s} for every item and tells nothing; leave it out"
        )
    return Look(span, counted, sums)


def _by(rows: Any, key: str, most: int | None = None) -> pa.Table:
    """Rows, votes, chosen ones and the range of what a key tells apart, ascending."""
    sums = {"n": rows.count(), "votes": rows[VOTES].sum(), "chosen": rows[CHOSEN].sum()}
    if key != VALUE:
        sums |= {"least": rows[VALUE].min(), "most": rows[VALUE].max()}
    found = rows.group_by(key).agg(**sums).limit(most).to_pyarrow()
    if key == VALUE:
        found = found.append_column("least", found[VALUE]).append_column("most", found[VALUE])
    return found.sort_by("least")


def _of_levels(
    look: Look,
    name: str,
    column: str,
    threshold: float,
    starts: FloatArray,
    n_predictions: int,
) -> EngineSignal:
    """A signal of categories."""
    text = look.counted[VALUE].to_pylist()
    if len(text) > MOST_LEVELS:
        raise BadSignal(
            f"signal {name!r} has more than {MOST_LEVELS} different texts, which an engine does "
            "not count; give a number, or texts of fewer kinds"
        )
    size, votes, chosen = (look.column(kind) for kind in ("n", "votes", "chosen"))
    share, n_systems = look.total("votes") / n_predictions, n_predictions // look.total("n")
    value = level_values(size, votes, share, n_systems)
    different, code = np.unique(value, return_inverse=True)
    size, chosen = (np.bincount(code, part).astype(np.int64) for part in (size, chosen))
    lacking = look.missing["n"], look.missing["chosen"]
    ladder = make_ladder(Counts(different, different, size, chosen, *lacking), threshold, starts)
    rung = ladder.rung(value)
    at = Ladder(ladder.cuts, ladder.place[rung], ladder.band[rung], ladder.n_values, ladder.gap)
    return signal_of(name, column, at, levels=tuple(text))


def _refined(look: Look, rows: Any, threshold: float, starts: FloatArray) -> Counts:
    """Stretches of values, fine enough for the ladder: those with a cut are single values."""
    counts, inside = look.counts(), None
    while True:
        wanted = np.concatenate(wanted_stretches(counts, threshold))
        if len(counts.size) <= len(starts) + 1:
            wanted = np.arange(len(counts.size))
        wanted = np.unique(wanted[~counts.single[wanted]])
        if not len(wanted):
            return counts
        many, first = int(counts.size[wanted].sum()) > AT_ONCE, inside is None
        if inside is None:
            assert look.span is not None  # values that were counted singly need no further look
            inside = of_bins(in_bins(rows, *look.span, BINS), look.column(BIN)[wanted])
        found = inside
        if many or not first:
            n_bins = max(BINS // len(wanted), 2)
            found = in_spans(inside, counts.low[wanted], counts.high[wanted], n_bins)
        finer = _as_counts(_by(found, BIN if many else VALUE), look.missing)
        counts = _replaced(counts, wanted, finer)


def _as_counts(table: pa.Table, missing: Mapping[str, int]) -> Counts:
    """The stretches that a key tells apart."""
    size, chosen = (table[name].to_numpy().astype(np.int64) for name in ("n", "chosen"))
    lacking = missing["n"], missing["chosen"]
    return Counts(table["least"].to_numpy(), table["most"].to_numpy(), size, chosen, *lacking)


def _replaced(counts: Counts, wanted: IntArray, finer: Counts) -> Counts:
    """The stretches with some of them replaced by finer ones."""
    kept = np.delete(np.arange(len(counts.size)), wanted)
    parts = [
        np.concatenate([getattr(counts, name)[kept], getattr(finer, name)])
        for name in ("low", "high", "size", "chosen")
    ]
    order = np.argsort(parts[0])
    low, high, size, chosen = (part[order] for part in parts)
    return Counts(low, high, size, chosen, counts.n_missing, counts.chosen_missing)
