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
from haystat.pool.signal_places import PARTS, Ladder, counts_of, make_ladder
from haystat.pool.strata import renumber

Places = NDArray[np.float32]

MOST = 3  # coordinates; of more signals the less telling ones are taken together
#: where bands begin, in units of t from the place at which the predicted positives end
FINE = np.array([1.5, 0.0, -1.5, -3.0])
COARSE = np.array([1.0, -1.0, -4.0])
FINE_UP_TO = 2  # coordinates that have fine bands
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
        return pattern_of(self.band)

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
    """What signals say about cells: mean places (K, J), one a coordinate, and bands (K, J).

    The last n_weights coordinates are sizes of weights, which nobody gave as signals
    (pool/weight_signals.py).
    """

    coordinates: tuple[str, ...]
    two_valued: tuple[bool, ...]
    place: FloatArray
    band: IntArray
    n_weights: int = 0

    @property
    def given(self) -> tuple[str, ...]:
        """The coordinates that are no weights."""
        return self.coordinates[: len(self.coordinates) - self.n_weights]

    @property
    def weights(self) -> CellSignals | None:
        """The weights alone; None if there are none."""
        if self.n_weights == 0:
            return None
        last = slice(-self.n_weights, None)
        return replace(
            self,
            coordinates=self.coordinates[last],
            two_valued=self.two_valued[last],
            place=self.place[:, last],
            band=self.band[:, last],
        )

    @cached_property
    def pattern(self) -> IntArray:
        """A number for each combination of bands, (K,)."""
        return pattern_of(self.band).astype(np.int64)

    def take(self, rows: IntArray) -> CellSignals:
        """Those of some of the cells."""
        return replace(self, place=self.place[rows], band=self.band[rows])


def pattern_of(band: NDArray[np.integer]) -> NDArray[np.int32]:
    """A number for each combination of bands (n, J), (n,)."""
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
    votes = predictions.sum(axis=1, dtype=np.int64)
    chosen = 2 * votes > predictions.shape[1]
    threshold = threshold_place(int(votes.sum()), predictions.size)
    starts = starts_of(len(values))
    numbers = {name: _ordered(v, votes, predictions.shape[1]) for name, v in values.items()}
    coordinates = {
        name: (v, make_ladder(counts_of(v, chosen), threshold, starts))
        for name, v in numbers.items()
    }
    if len(values) > MOST:
        mean = _mean_of_others(coordinates)
        ladder = make_ladder(counts_of(mean, chosen), threshold, starts)
        first = _most_telling(coordinates)
        coordinates = {name: coordinates[name] for name in first} | {OTHERS: (mean, ladder)}
    told = [told_of(*pair) for pair in coordinates.values()]
    place, band = (np.stack(parts, axis=1) for parts in zip(*told, strict=True))
    two_valued = tuple(ladder.n_values == 2 for _, ladder in coordinates.values())
    return Signals(tuple(values), tuple(coordinates), two_valued, place, band)


def threshold_place(n_positive: int, n_predictions: int) -> float:
    """t at which the predicted positives end."""
    share = np.clip(n_positive / n_predictions, 0.5 / n_predictions, 1 - 0.5 / n_predictions)
    return float(np.log1p(-share) - np.log(share))


def starts_of(n_signals: int) -> FloatArray:
    """Where bands begin, in t from the threshold."""
    return FINE if n_signals <= FINE_UP_TO else COARSE


def level_values(
    size: IntArray, votes: IntArray, share_of_all: float, n_systems: int
) -> FloatArray:
    """Numbers for the levels of a category, in the order of their names.

    Of the size items of each the systems predict votes positives; share_of_all of everything.
    """
    share = (votes / n_systems + share_of_all) / (size + 1)
    return np.asarray(share + np.arange(len(size)) * 1e-12)  # different levels stay apart


def _ordered(values: NDArray[Any], votes: IntArray, n_systems: int) -> FloatArray:
    """Numbers: of categories, the share of their items that is predicted positive."""
    if values.dtype.kind != "U":
        return values
    missing = values == ""
    levels, code = np.unique(values[~missing], return_inverse=True)
    total = np.bincount(code, votes[~missing], minlength=len(levels))
    share_of_all = int(votes.sum()) / (len(votes) * n_systems)
    share = level_values(np.bincount(code), total, share_of_all, n_systems)
    result = np.full(len(values), np.nan)
    result[~missing] = share[code]
    return result


def told_of(values: FloatArray, ladder: Ladder) -> tuple[Places, NDArray[np.int8]]:
    """Place and band of each item."""
    rung, missing = ladder.rung(values), np.isnan(values)
    place = np.where(missing, np.nan, ladder.place[rung] / PARTS).astype(np.float32)
    return place, np.where(missing, 0, ladder.band[rung]).astype(np.int8)


Coordinates = Mapping[str, tuple[FloatArray, Ladder]]


def _most_telling(coordinates: Coordinates) -> list[str]:
    """The signals that go with the predictions, one fewer than there may be coordinates."""
    first = sorted(coordinates, key=lambda name: -coordinates[name][1].gap)[: MOST - 1]
    return [name for name in coordinates if name in first]


def _mean_of_others(coordinates: Coordinates) -> FloatArray:
    """The mean place of all other signals."""
    first = _most_telling(coordinates)
    rest = [told_of(*pair)[0] for name, pair in coordinates.items() if name not in first]
    return np.asarray(np.mean(np.nan_to_num(rest).astype(np.float64), axis=0))
