"""Signals: other information about the items. It is not evaluated; it helps to find positives.

A signal is a number on any scale, a verdict or a category, and may be missing. All that is used of
it is its place t = -logit(rank), the rank being the share of the items that it puts higher, so that
its scale does not matter. The categories of a signal are put in the order in which the systems
predict them positive. Items whose places lie in the same bands, counted from where the predicted
positives end, have the same pattern, and cells are cut by pattern.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from haystat.core.arguments import brief, checked_text
from haystat.core.arrays import FloatArray, IntArray
from haystat.errors import BadOption, BadSignal
from haystat.pool import checks
from haystat.pool.fitted_signals import FittedSignal, checked_fitted
from haystat.pool.strata import renumber

Places = NDArray[np.float32]

MOST = 3  # coordinates; of more signals the less telling ones are taken together
#: where bands begin, in units of t from the place at which the predicted positives end
FINE = np.array([1.5, 0.0, -1.5, -3.0])
COARSE = np.array([1.0, -1.0, -4.0])
FINE_UP_TO = 2  # coordinates that have fine bands
FEWEST = 8  # items of a band; fewer go to the next one down
OTHERS = "others"


@dataclass(frozen=True)
class Signals:
    """What signals say about items: places (M, J), and the bands (M, J) in which they lie.

    A place is not a number where the signal is missing, and its band is 0 there. names are those
    of the signals, and coordinates those of the places: the signals, or some of them and the mean
    of the others. two_valued has one entry for each coordinate.
    """

    names: tuple[str, ...]
    coordinates: tuple[str, ...]
    two_valued: tuple[bool, ...]
    place: Places
    band: NDArray[np.int8]

    @cached_property
    def pattern(self) -> NDArray[np.int32]:
        """A number for each combination of bands, (M,)."""
        return _pattern(self.band)

    def of_cells(
        self, of_item: NDArray[np.int32], size: IntArray, example: IntArray
    ) -> CellSignals:
        """The same of cells (K,) of items, each with an example, that do not mix patterns."""
        total = [np.bincount(of_item, column, minlength=len(size)) for column in self.place.T]
        mean = np.stack(total, axis=1) / size[:, None]
        band = self.band[example].astype(np.int64)
        return CellSignals(self.coordinates, self.two_valued, mean, band)


@dataclass(frozen=True)
class CellSignals:
    """What signals say about cells: mean places (K, J), one a coordinate, and bands (K, J)."""

    coordinates: tuple[str, ...]
    two_valued: tuple[bool, ...]
    place: FloatArray
    band: IntArray

    @cached_property
    def pattern(self) -> IntArray:
        """A number for each combination of bands, (K,)."""
        return _pattern(self.band).astype(np.int64)

    def take(self, rows: IntArray) -> CellSignals:
        """Those of some of the cells."""
        return replace(self, place=self.place[rows], band=self.band[rows])


def _pattern(band: NDArray[np.integer]) -> NDArray[np.int32]:
    code = np.zeros(len(band), dtype=np.int64)
    for column in band.T:
        code = code * (int(column.max()) + 1) + column
    return renumber(code)


def checked_signals(
    given: Any, size: int, classes: Sequence[Any]
) -> tuple[dict[str, NDArray[Any]], dict[str, FittedSignal]]:
    """Signals as numbers with NaN where they are missing, or as texts, and those to be fitted.

    Raises on useless ones.
    """
    if given is None:
        return {}, {}
    if not isinstance(given, Mapping):
        raise BadOption(f"signals are {brief(given)}; give a dict, {{name: one value an item}}")
    names = [checked_text("the name of a signal", name) for name in given]
    to_fit = [name for name in names if hasattr(given[name], "fitted")]
    values = {name: _checked(name, given[name], size) for name in names if name not in to_fit}
    if names and len(classes) != 2:
        kind = f"{len(classes)} classes" if classes else "labels that are numbers"
        raise BadOption(
            f"signals {names} are given with {kind}; they help to find the positives of two "
            "classes, leave them out"
        )
    return values, {name: checked_fitted(name, given[name], size) for name in to_fit}


def _checked(name: str, values: Any, size: int) -> NDArray[Any]:
    what = f"signal {name!r}"
    masked = np.ma.getmaskarray(values) if np.ma.isMA(values) else None
    raw = checks.as_array(what, np.ma.getdata(values) if np.ma.isMA(values) else values, BadSignal)
    checks.same_length(what, raw, size)
    found = _texts(raw) if raw.dtype.kind in "USO" else None
    if found is None:
        found = checks.checked_numbers(what, _numbers(raw), BadSignal).astype(np.float64)
    if masked is not None:
        found = np.where(masked, "" if found.dtype.kind == "U" else np.nan, found)
    _raise_if_useless(what, found)
    return found


def _texts(raw: NDArray[Any]) -> NDArray[Any] | None:
    """Categories, "" where one is missing; None if these are no texts."""
    if raw.dtype.kind == "S":
        return np.char.decode(raw, "utf-8", "replace")
    if raw.dtype.kind == "U":
        return raw
    if not any(isinstance(value, str) for value in raw):
        return None
    return np.array(["" if _is_missing(value) else str(value) for value in raw])


def _numbers(raw: NDArray[Any]) -> NDArray[Any]:
    """Objects as numbers as far as they are missing ones."""
    if raw.dtype.kind != "O":
        return raw
    return np.array([np.nan if _is_missing(value) else value for value in raw])


def _is_missing(value: Any) -> bool:
    """None, NaN, and what pandas has for it."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def _raise_if_useless(what: str, values: NDArray[Any]) -> None:
    missing = values == "" if values.dtype.kind == "U" else np.isnan(values)
    if missing.all():
        raise BadSignal(f"{what} is missing for every item; leave it out")
    known = values[~missing]
    if known.dtype.kind == "f" and not np.isfinite(known).all():
        at = int(np.flatnonzero(np.isinf(values))[0])
        raise BadSignal(
            f"{what} is {values[at]} at position {at}; give a finite number, NaN if it is missing"
        )
    if not missing.any() and np.all(known == known[0]):
        raise BadSignal(f"{what} is {known[0]!s} for every item and tells nothing; leave it out")


def read_signals(
    values: Mapping[str, NDArray[Any]], predictions: NDArray[np.integer]
) -> Signals | None:
    """Signals of items of which the systems predict the classes (M, S); None if there are none."""
    if not values:
        return None
    predicted = predictions.mean(axis=1)
    place = {
        name: _upright(places(_ordered(v, predicted)), predicted) for name, v in values.items()
    }
    coordinates = _taken_together(place, predicted)
    share = float(np.clip(predicted.mean(), 0.5 / len(predicted), 1 - 0.5 / len(predicted)))
    starts = np.log1p(-share) - np.log(share) + (FINE if len(coordinates) <= FINE_UP_TO else COARSE)
    values_of = [np.unique(column[~np.isnan(column)]) for column in coordinates.values()]
    bands = [
        _bands(column, known, starts)
        for column, known in zip(coordinates.values(), values_of, strict=True)
    ]
    two_valued = tuple(len(known) == 2 for known in values_of)
    place_of = np.stack(list(coordinates.values()), axis=1)
    return Signals(tuple(place), tuple(coordinates), two_valued, place_of, np.stack(bands, axis=1))


def _ordered(values: NDArray[Any], predicted: FloatArray) -> FloatArray:
    """Numbers: of categories, the share of their items that is predicted positive."""
    if values.dtype.kind != "U":
        return values
    levels, code = np.unique(values, return_inverse=True)
    n = np.bincount(code)
    share = (np.bincount(code, predicted) + predicted.mean()) / (n + 1)
    share += np.arange(len(levels)) * 1e-12  # different levels stay apart
    return np.asarray(np.where(values == "", np.nan, share[code]))


def places(values: FloatArray) -> Places:
    """t = -logit(mid-rank) among the items that have the signal, (M,)."""
    from scipy.stats import rankdata  # takes half a second to import

    known = ~np.isnan(values)
    rank = (rankdata(-values[known]) - 0.5) / known.sum()
    place = np.full(len(values), np.nan, dtype=np.float32)
    place[known] = np.log1p(-rank) - np.log(rank)
    return place


def _upright(place: Places, predicted: FloatArray) -> Places:
    """The places, turned round if items that are predicted positive lie lower than the others.

    Bands are fine at the top. A verdict stays as it is: it may be about something else.
    """
    turned = _gap(place, predicted > 0.5) < 0 and len(np.unique(place[~np.isnan(place)])) > 2
    return -place if turned else place


def _taken_together(place: Mapping[str, Places], predicted: FloatArray) -> dict[str, Places]:
    """At most MOST coordinates: the signals that go with the predictions, the mean of the rest."""
    if len(place) <= MOST:
        return dict(place)
    chosen = predicted > 0.5
    gap = {name: abs(_gap(column, chosen)) for name, column in place.items()}
    first = sorted(place, key=lambda name: -gap[name])[: MOST - 1]
    rest = [np.nan_to_num(column) for name, column in place.items() if name not in first]
    mean = np.mean(rest, axis=0)
    return {name: place[name] for name in place if name in first} | {OTHERS: places(mean)}


def _gap(place: Places, chosen: NDArray[np.bool_]) -> float:
    """How much higher a signal puts the items that are predicted positive."""
    filled = np.nan_to_num(place)
    if not 0 < chosen.sum() < len(chosen):
        return 0.0
    return float(filled[chosen].mean() - filled[~chosen].mean())


def _bands(place: Places, values: Places, starts: FloatArray) -> NDArray[np.int8]:
    """The band of each place (M,): 0 where it is missing, then from the top down.

    values are those that it has; as few of them as there are bands have a band each.
    """
    few = len(values) <= len(starts) + 1
    starts = values[:0:-1].astype(np.float64) if few else starts
    band = np.ones(len(place), dtype=np.int8)
    for number, start in enumerate(starts, start=1):
        band[place < start] = number + 1
        if not few and np.sum(band == number) < FEWEST:
            band[band == number] = number + 1
    band[np.isnan(place)] = 0
    return band
