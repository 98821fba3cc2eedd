"""Signals of a pool behind an engine: how rows are told apart by columns that help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import ibis
import numpy as np
import pyarrow as pa

from haystat.core.arguments import brief, checked_text, several_names
from haystat.core.arrays import IntArray
from haystat.engines.columns import Columns, prediction_name
from haystat.engines.grid import step_function
from haystat.engines.small_tables import small_table
from haystat.errors import BadOption
from haystat.pool.signal_places import Ladder
from haystat.pool.signals import MOST

CHOSEN, VOTES = "hs_chosen", "hs_votes"


@dataclass(frozen=True)
class EngineSignal:
    """A signal in a column: cuts (n,) of numbers, or levels, with place and band (n + 1,) or (n,).

    place counts in 1 / PARTS of t. missing: whether some rows may lack the signal.
    """

    name: str
    column: str
    two_valued: bool
    place: tuple[int, ...]
    band: tuple[int, ...]
    cuts: tuple[float, ...] = ()
    levels: tuple[str, ...] | None = None
    missing: bool = True

    @cached_property
    def place_of_band(self) -> IntArray | None:
        """The place of each band, 0 being that of a missing signal; None if a band has several."""
        told = set(zip(self.band, self.place, strict=True))
        if len(told) > len(set(self.band)):
            return None
        place = np.zeros(max(self.band) + 1, dtype=np.int64)
        place[list(self.band)] = self.place
        return place


def place_name(position: int) -> str:
    """Our name of the place of a signal."""
    return f"hs_signal{position}"


def band_name(position: int) -> str:
    """Our name of the band of a signal."""
    return f"hs_band{position}"


def placed_name(position: int) -> str:
    """Our name of the sum of the places of a signal."""
    return f"hs_placed{position}"


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


def signal_values(table: Any, column: str, missing: bool = True) -> Any:
    """A signal as doubles or texts, null where it is missing."""
    values = table[column]
    if values.type().is_string():
        return values.nullif("")
    number = (values.cast("int64") if values.type().is_boolean() else values).cast("float64")
    if not values.type().is_floating() or not missing:
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
            if one.missing:
                place, in_band = place.fill_null(0.0), in_band.fill_null(0.0)
            rows = rows.mutate(**{name: place, band: in_band.cast("int16")})
            continue
        known = {"hs_level": list(one.levels), "hs_told": one.place, "hs_told_band": one.band}
        joined = rows.left_join(small_table(rows, pa.table(known)), [(name, "hs_level")])
        told = {name: joined.hs_told.fill_null(0), band: joined.hs_told_band.fill_null(0)}
        rows = joined.mutate(**told).drop("hs_level", "hs_told", "hs_told_band")
    return rows


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
    if len(columns.systems) == 1:
        return plain.mutate(**{CHOSEN: plain[VOTES]})
    most = 2 * plain[VOTES] > len(columns.systems)
    return plain.mutate(**{CHOSEN: most.cast("float64")})


def signal_of(name: str, column: str, ladder: Ladder, **further: Any) -> EngineSignal:
    """A signal that is told by a ladder; further: its cuts or levels."""
    place, band = tuple(ladder.place.tolist()), tuple(ladder.band.tolist())
    return EngineSignal(name, column, ladder.n_values == 2, place, band, **further)
