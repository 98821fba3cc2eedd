"""Signals of a pool behind an engine: one pass for their range, two for the cuts of each.

The first counts the values in bins, the second looks into the bins that hold a cut. Ladders are
then those that hs.Pool makes (pool/signal_places.py), and further passes compare values with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ibis
import numpy as np
import pyarrow as pa

from haystat.core.arguments import brief, checked_text, several_names
from haystat.core.arrays import FloatArray, IntArray
from haystat.engines.columns import Columns, check_present, prediction_name
from haystat.engines.grid import step_function
from haystat.engines.quantiles import BIN, VALUE, in_spans
from haystat.engines.source import Source
from haystat.errors import BadOption, BadSignal
from haystat.pool.signal_places import Counts, Ladder, make_ladder, wanted_stretches
from haystat.pool.signals import MOST, level_values, starts_of, threshold_place

BINS = 1 << 14  # of the values of a signal, in one pass
AT_ONCE = 1 << 22  # rows whose values are counted one by one
MOST_LEVELS = 1 << 12  # of a category
CHOSEN, VOTES = "hs_chosen", "hs_votes"


@dataclass(frozen=True)
class EngineSignal:
    """A signal in a column: cuts (n,) of numbers, or levels, with place and band (n + 1,) or (n,).

    place counts in 1 / PARTS of t.
    """

    name: str
    column: str
    two_valued: bool
    place: tuple[int, ...]
    band: tuple[int, ...]
    cuts: tuple[float, ...] = ()
    levels: tuple[str, ...] | None = None


def place_name(position: int) -> str:
    """Our name of the place of a signal."""
    return f"hs_signal{position}"


def band_name(position: int) -> str:
    """Our name of the band of a signal."""
    return f"hs_band{position}"


def checked_signal_columns(given: Any) -> dict[str, str]:
    """{name: column}; raises on signals that an engine cannot have."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        given = {name: name for name in several_names("signals", given)}
    for name, column in given.items():
        if not isinstance(column, str):
            raise BadOption(
                f"signal {brief(name)} is {brief(column)}; behind an engine a signal is a column, "
                "and those that are fitted to labels are for hs.Pool"
            )
    if len(given) > MOST:
        raise BadOption(
            f"{len(given)} signals {list(given)} are given; an engine takes {MOST} at most, since "
            "the mean of further ones has no place in its passes: leave some out, or use hs.Pool"
        )
    return {checked_text("the name of a signal", name): c for name, c in given.items()}


def signal_values(table: Any, column: str) -> Any:
    """A signal as doubles or texts, null where it is missing."""
    values = table[column]
    if values.type().is_string():
        return values.nullif("")
    number = (values.cast("int64") if values.type().is_boolean() else values).cast("float64")
    if not values.type().is_floating():
        return number
    # As in Columns.is_usable: `isnan` cannot be relied on. NaN minus itself is no number.
    return ibis.ifelse(number - number == 0.0, number, ibis.null("float64"))


def with_signals(rows: Any, signals: Sequence[EngineSignal]) -> Any:
    """Rows that have the values of signals under the names of their places, with places and bands.

    The place of a missing value is 0, and so is its band.
    """
    for position, one in enumerate(signals):
        name, band = place_name(position), band_name(position)
        if one.levels is None:
            cuts = np.array(one.cuts)
            place, in_band = (step_function(rows[name], cuts, of) for of in (one.place, one.band))
            rows = rows.mutate(
                **{name: place.fill_null(0.0), band: in_band.fill_null(0.0).cast("int64")}
            )
            continue
        known = {"hs_level": list(one.levels), "hs_told": one.place, "hs_told_band": one.band}
        joined = rows.left_join(ibis.memtable(pa.table(known)), [(name, "hs_level")])
        told = {name: joined.hs_told.fill_null(0), band: joined.hs_told_band.fill_null(0)}
        rows = joined.mutate(**told).drop("hs_level", "hs_told", "hs_told_band")
    return rows


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
    n_systems = len(columns.systems)
    values = {place_name(i): signal_values(source.table, c) for i, c in enumerate(given.values())}
    plain = with_votes(source.table, columns, values, classes, thresholds)
    kinds = [source.table[column].type() for column in given.values()]
    with source.reading():
        ends = _ends(plain, kinds)
    n_predictions = ends["n"] * n_systems
    share = ends["votes"] / n_predictions
    threshold, starts = (
        threshold_place(ends["votes"], n_predictions),
        starts_of(len(given) + n_more),
    )
    found = []
    for i, (name, column) in enumerate(given.items()):
        rows = plain.select(
            **{VALUE: plain[place_name(i)], CHOSEN: plain[CHOSEN], VOTES: plain[VOTES]}
        )
        with source.reading():
            if kinds[i].is_string():
                found.append(_of_levels(rows, name, column, threshold, starts, share, n_systems))
                continue
            _refuse_useless(name, ends, i)
            if kinds[i].is_boolean():
                counts = _of_verdict(ends, i)
            else:
                span = ends[f"low{i}"], ends[f"high{i}"]
                counts = _counted(rows, span, _missing(ends, i), threshold, starts)
        ladder = make_ladder(counts, threshold, starts)
        found.append(signal_of(name, column, ladder, cuts=tuple(ladder.cuts.tolist())))
    return tuple(found)


def with_votes(
    table: Any,
    columns: Columns,
    further: Mapping[str, Any],
    classes: tuple[Any, ...],
    thresholds: Sequence[float],
) -> Any:
    """The rows with further columns, how many systems predict them positive, and if most do."""
    plain = columns.plain(table, classes, thresholds, **further)
    votes = plain[prediction_name(0)]
    for system in range(1, len(columns.systems)):
        votes = votes + plain[prediction_name(system)]
    # Doubles: some engines add up whole numbers with 128 bits.
    plain = plain.mutate(**{VOTES: votes.cast("float64")})
    most = 2 * plain[VOTES] > len(columns.systems)
    return plain.mutate(**{CHOSEN: most.cast("float64")})


def signal_of(name: str, column: str, ladder: Ladder, **further: Any) -> EngineSignal:
    """A signal that is told by a ladder; further: its cuts or levels."""
    place, band = tuple(ladder.place.tolist()), tuple(ladder.band.tolist())
    return EngineSignal(name, column, ladder.n_values == 2, place, band, **further)


def _check(source: Source, given: Mapping[str, str], classes: tuple[Any, ...]) -> None:
    """Raise unless all columns can be signals, and none is infinite."""
    schema = source.table.schema()
    if len(classes) != 2:
        kind = f"{len(classes)} classes" if classes else "labels that are numbers"
        raise BadOption(
            f"signals {list(given)} are given with {kind}; they help to find the positives of two "
            "classes, leave them out"
        )
    numbers = {}
    for name, column in given.items():
        check_present(column, schema)
        kind = schema[column]
        if not (kind.is_numeric() or kind.is_boolean() or kind.is_string()):
            raise BadSignal(f"signal {name!r} must be numbers or texts, not {kind}; convert it")
        if kind.is_floating():
            value = source.table[column].cast("float64")
            infinite = (value == float("inf")) | (value == float("-inf"))
            numbers[name] = infinite.fill_null(False).cast("int64").sum()
    if not numbers:
        return
    with source.reading():
        (found,) = source.table.aggregate(**numbers).to_pyarrow().to_pylist()
    for name in numbers:
        if found[name]:
            raise BadSignal(
                f"signal {name!r} is infinite in {found[name]} rows; give a finite number, NaN if "
                "it is missing"
            )


def _ends(plain: Any, kinds: Sequence[Any]) -> dict[str, Any]:
    """Rows, votes and chosen ones of everything, and of each signal; its range, or how many 1."""
    wanted = {"n": plain.count(), "votes": plain[VOTES].sum(), "chosen": plain[CHOSEN].sum()}
    for i, kind in enumerate(kinds):
        value = plain[place_name(i)]
        # Not `where`: an aggregate with a filter of its own takes longer.
        there = ibis.ifelse(value.isnull(), 0.0, plain[CHOSEN])
        wanted |= {f"n{i}": value.count(), f"chosen{i}": there.sum()}
        if not kind.is_string():
            wanted |= {f"low{i}": value.min(), f"high{i}": value.max()}
        if kind.is_boolean():
            wanted |= {f"true{i}": value.sum(), f"chosen_true{i}": (value * plain[CHOSEN]).sum()}
    (found,) = plain.aggregate(**wanted).to_pyarrow().to_pylist()
    return {
        name: value if name.startswith(("low", "high")) else int(value or 0)
        for name, value in found.items()
    }


def _missing(ends: Mapping[str, Any], position: int) -> tuple[int, int]:
    """Rows that lack a signal, and chosen ones."""
    return ends["n"] - ends[f"n{position}"], ends["chosen"] - ends[f"chosen{position}"]


def _of_verdict(ends: Mapping[str, Any], position: int) -> Counts:
    """The values of a signal that is true or false."""
    n, true = ends[f"n{position}"], ends[f"true{position}"]
    chosen = ends[f"chosen{position}"], ends[f"chosen_true{position}"]
    size, chosen_of = np.array([n - true, true]), np.array([chosen[0] - chosen[1], chosen[1]])
    there, value = size > 0, np.array([0.0, 1.0])
    parts = value[there], value[there], size[there], chosen_of[there]
    return Counts(*parts, *_missing(ends, position))


def _refuse_useless(name: str, ends: Mapping[str, Any], position: int) -> None:
    n, low, high = (ends[f"{kind}{position}"] for kind in ("n", "low", "high"))
    if n == 0:
        raise BadSignal(f"signal {name!r} is missing for every item; leave it out")
    if n == ends["n"] and low == high:
        raise BadSignal(
            f"signal {name!r} is {low!s} for every item and tells nothing; leave it out"
        )


def _of_levels(
    rows: Any,
    name: str,
    column: str,
    threshold: float,
    starts: FloatArray,
    share: float,
    n_systems: int,
) -> EngineSignal:
    """A signal of categories."""
    sums = {"n": rows.count(), "votes": rows[VOTES].sum(), "chosen": rows[CHOSEN].sum()}
    found = rows.group_by(VALUE).agg(**sums).limit(MOST_LEVELS + 2).to_pyarrow()
    known = sorted((one for one in found.to_pylist() if one[VALUE]), key=lambda one: one[VALUE])
    missing = [one for one in found.to_pylist() if not one[VALUE]]
    if not known:
        raise BadSignal(f"signal {name!r} is missing for every item; leave it out")
    if len(known) > MOST_LEVELS:
        raise BadSignal(
            f"signal {name!r} has more than {MOST_LEVELS} different texts, which an engine does "
            "not count; give a number, or texts of fewer kinds"
        )
    if len(known) == 1 and not missing:
        told = known[0][VALUE]
        raise BadSignal(f"signal {name!r} is {told} for every item and tells nothing; leave it out")
    size, votes, chosen = (
        np.array([one[kind] for one in known], dtype=np.int64) for kind in ("n", "votes", "chosen")
    )
    value = level_values(size, votes, share, n_systems)
    different, code = np.unique(value, return_inverse=True)
    size, chosen = (np.bincount(code, part).astype(np.int64) for part in (size, chosen))
    lacking = [int(sum(one[kind] for one in missing)) for kind in ("n", "chosen")]
    ladder = make_ladder(Counts(different, different, size, chosen, *lacking), threshold, starts)
    rung = ladder.rung(value)
    at = Ladder(ladder.cuts, ladder.place[rung], ladder.band[rung], ladder.n_values, ladder.gap)
    return signal_of(name, column, at, levels=tuple(one[VALUE] for one in known))


def _counted(
    rows: Any,
    ends: tuple[float, float],
    missing: tuple[int, int],
    threshold: float,
    starts: FloatArray,
) -> Counts:
    """Stretches of values, fine enough for the ladder: those with a cut are single values."""
    rows = rows.filter(rows[VALUE].notnull())
    whole = in_spans(rows, np.array(ends[:1]), np.array(ends[1:]), BINS)
    counts = _as_counts(whole, BIN, missing)
    while True:
        wanted = np.concatenate(wanted_stretches(counts, threshold))
        if len(counts.size) <= len(starts) + 1:
            wanted = np.arange(len(counts.size))
        wanted = np.unique(wanted[~counts.single[wanted]])
        if not len(wanted):
            return counts
        n_bins = max(BINS // len(wanted), 2)
        inside = in_spans(rows, counts.low[wanted], counts.high[wanted], n_bins)
        many = int(counts.size[wanted].sum()) > AT_ONCE
        counts = _replaced(counts, wanted, _as_counts(inside, BIN if many else VALUE, missing))


def _as_counts(rows: Any, key: str, missing: tuple[int, int]) -> Counts:
    """The stretches that a key tells apart."""
    value = rows[VALUE]
    sums = {"n": rows.count(), "c": rows[CHOSEN].sum(), "least": value.min(), "most": value.max()}
    table = rows.group_by(key).agg(**sums).to_pyarrow().sort_by("least")
    size, chosen = (table[name].to_numpy().astype(np.int64) for name in ("n", "c"))
    return Counts(table["least"].to_numpy(), table["most"].to_numpy(), size, chosen, *missing)


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
