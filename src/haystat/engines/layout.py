"""How the rows of a pool are put into groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from haystat.engines.codes import fitting
from haystat.engines.columns import (
    STRATUM,
    WEIGHT,
    Columns,
    fact_name,
    prediction_name,
    score_name,
)
from haystat.engines.grid import Grid, with_reached
from haystat.engines.signals import (
    EngineSignal,
    band_name,
    place_name,
    signal_values,
    with_signals,
)
from haystat.engines.weights import HEAVY, KINDS, weight_code

PLACE = "hs_place"
LEVEL = "hs_before"  # of the probability of having been drawn before


@dataclass(frozen=True)
class Layout:
    """How rows are put into groups.

    ladders: the columns of ours that are located, each on its grid; the place of a row is the sum.
    Without any it is the stratum that a column gives.
    bins: (system, grid) of further thresholds that a measure looks at. thresholds: from which
    score a system predicts class 1, where no predictions are given. scales: whether each score is
    a probability. levels: whether rows have a level, and are told apart by it. weight_range: the
    smallest weight above 0 and the largest, where rows have weights.
    """

    columns: Columns
    classes: tuple[Any, ...]
    thresholds: tuple[float, ...]
    ladders: tuple[tuple[str, Grid], ...]
    probabilities: tuple[bool, ...]
    bins: tuple[tuple[int, Grid], ...] = ()
    signals: tuple[EngineSignal, ...] = ()
    levels: bool = False
    weight_range: tuple[float, float] | None = None

    @property
    def systems(self) -> range:
        """Numbers of the systems."""
        return range(len(self.columns.systems))

    @property
    def keys(self) -> list[str]:
        """Names of the columns that tell groups apart."""
        predictions = [prediction_name(i) for i in self.systems] if self.classes else []
        facts = [fact_name(i) for i in range(len(self.columns.facts))]
        level = [LEVEL] if self.levels else []
        heavy = [HEAVY] if self.weight_range else []
        return [PLACE, *predictions, *facts, *bin_names(self), *band_names(self), *level, *heavy]

    @property
    def sizes(self) -> dict[str, int]:
        """How many values the keys have that are whole numbers from 0.

        Engines group and look up rows by one number for all of these, which is faster.
        """
        found = {prediction_name(i): len(self.classes) for i in self.systems if self.classes}
        if self.ladders:
            found[PLACE] = 1 + sum(len(grid.edges) for _, grid in self.ladders)
        found |= {f"hs_bin{i}": 1 + len(grid.edges) for i, (_, grid) in enumerate(self.bins)}
        found |= {band_name(i): 1 + max(one.band) for i, one in enumerate(self.signals)}
        return fitting(found | ({HEAVY: KINDS.size} if self.weight_range else {}))

    def placed(self, table: Any, **further: Any) -> Any:
        """The rows under our names, with their keys and further columns."""
        further |= {
            place_name(i): signal_values(table, one.column, one.missing)
            for i, one in enumerate(self.signals)
        }
        further |= {LEVEL: table[LEVEL]} if self.levels else {}
        rows = self.columns.plain(table, self.classes, self.thresholds, **further)
        rows = with_signals(rows, self.signals)
        if self.weight_range is not None:
            rows = rows.mutate(**{HEAVY: weight_code(rows[WEIGHT], self.weight_range)})
        places = []
        for position, (column, grid) in enumerate(self.ladders):
            places.append(f"hs_place{position}")
            rows = with_reached(rows, column, grid, places[-1])
        for name, (system, grid) in zip(bin_names(self), self.bins, strict=True):
            rows = with_reached(rows, score_name(system), grid, name)
        total = rows[places[0]] if places else rows[STRATUM]
        for place in places[1:]:
            total = total + rows[place]
        return rows.mutate(**{PLACE: total}).drop(*places)


def bin_names(layout: Layout) -> list[str]:
    """Names of the columns that count the thresholds reached."""
    return [f"hs_bin{i}" for i in range(len(layout.bins))]


def band_names(layout: Layout) -> list[str]:
    """Names of the columns with the bands of signals."""
    return [band_name(i) for i in range(len(layout.signals))]
