"""The items of two versions of a pool as one pool that the models of both have scored."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from haystat.core.arguments import brief, several_names
from haystat.core.arrays import FloatArray, IntArray
from haystat.errors import BadOption
from haystat.measures.outputs import Schema
from haystat.pool.items import Items, places_in
from haystat.pool.memory import Pool
from haystat.pool.prior import single_scores

BEFORE, AFTER = "before", "after"
BOTH, CAME, GONE = 0, 1, 2  # kinds of items


@dataclass(frozen=True)
class Union:
    """The items of two pools as one that two systems have scored; kind (M,) says whose they are.

    place_old and place_new (M,) are positions in the two pools, -1 where an item is not in it.
    weights has the column by which items count before and after, none where all count alike.
    """

    pool: Pool
    kind: IntArray
    place_old: IntArray
    place_new: IntArray
    weights: Mapping[str, str]

    @classmethod
    def of(cls, old: Items, new: Items, systems: tuple[str, str] | None) -> Union:
        """The items of the new pool, then those that are gone."""
        place = places_in(old, new)
        gone = np.setdiff1d(np.arange(len(old)), place)
        place_old = np.concatenate([place, gone])
        place_new = np.concatenate([np.arange(len(new)), np.full(len(gone), -1)])
        kind = np.where(place_new < 0, GONE, np.where(place_old < 0, CAME, BOTH))
        first, second = systems_of(tuple(old.scores), tuple(new.scores), systems)
        one, other = old.scores[first], new.scores[second]
        predicted = old.predictions[first][place_old], new.predictions[second][place_new]
        columns, weights = _columns(old, new, place_old, place_new)
        alike = len(set(weights.values())) == 1
        scores = {
            BEFORE: _filled(one, place_old, other, place_new),
            AFTER: _filled(other, place_new, one, place_old),
        }
        pool = Pool(
            scores,
            {
                BEFORE: np.where(place_old < 0, predicted[1], predicted[0]),
                AFTER: np.where(place_new < 0, predicted[0], predicted[1]),
            },
            ids=np.concatenate([new.ids, old.ids[gone]]),
            classes=old.classes,
            columns=columns,
            signals=_signals(scores, len(old.classes)),
            weight=weights[AFTER] if alike else None,
        )
        return cls(pool, kind, place_old, place_new, weights)


def weigh_alike(old: Schema, new: Schema) -> str | None:
    """The column by which items of two versions count, None if all count alike."""
    if (old.weight is None) == (new.weight is None):
        return new.weight
    which = ("first", "second") if new.weight is None else ("second", "first")
    raise BadOption(
        f"items of the {which[0]} version count by {old.weight or new.weight!r}, those of the "
        f"{which[1]} all alike; make both pools with the same weight"
    )


def systems_of(
    old: tuple[str, ...], new: tuple[str, ...], given: tuple[str, str] | None
) -> tuple[str, str]:
    """The system of each version that is compared."""
    if given is not None:
        named = several_names("systems", given)
        if len(named) == 2 and named[0] in old and named[1] in new:
            return named[0], named[1]
        raise BadOption(
            f"systems are {brief(given)}; name one of {list(old)} and one of {list(new)}"
        )
    if len(old) > 1 or len(new) > 1:
        raise BadOption(
            f"the versions have the systems {list(old)} and {list(new)}; say which two: "
            "systems=(…, …)"
        )
    return old[0], new[0]


def _signals(scores: Mapping[str, FloatArray], n_classes: int) -> dict[str, FloatArray] | None:
    """Both scores, which labels were drawn by: strata and curve follow the mean of them alone.

    A score with two values says what the predictions say.
    """
    if n_classes != 2:
        return None
    single = {f"score {name}": single_scores(value) for name, value in scores.items()}
    told = {name: value for name, value in single.items() if len(np.unique(value)) > 2}
    return told or None


def _columns(
    old: Items, new: Items, place_old: IntArray, place_new: IntArray
) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Columns that say the same of an item in both versions, and those of the weights.

    Weights that were changed are a column before and one after.
    """
    columns: dict[str, NDArray[Any]] = {}
    for name in [name for name in new.columns if name in old.columns]:
        before = _taken(old.columns[name], place_old, new.columns[name], place_new)
        after = _taken(new.columns[name], place_new, old.columns[name], place_old)
        if _same(before, after):
            columns[name] = after
    if old.weight is None or new.weight is None:
        return columns, {}
    if old.weight == new.weight and new.weight in columns:
        return columns, {BEFORE: new.weight, AFTER: new.weight}
    given = old.columns[old.weight], place_old, new.columns[new.weight], place_new
    weights = {BEFORE: f"{old.weight} before", AFTER: f"{new.weight} after"}
    columns[weights[BEFORE]], columns[weights[AFTER]] = (
        _taken(*given),
        _taken(*given[2:], *given[:2]),
    )
    return columns, weights


def _taken(
    values: NDArray[Any], place: IntArray, others: NDArray[Any], other_place: IntArray
) -> NDArray[Any]:
    """The values of all items; those that the version lacks have them from the other one."""
    missing = place < 0
    found = values[place]
    if missing.any():
        alike = found.dtype.kind == others.dtype.kind
        found = found.astype(np.result_type(found, others) if alike else object)
        found[missing] = others[other_place[missing]]
    return found


def _same(one: NDArray[Any], other: NDArray[Any]) -> bool:
    """Whether two columns hold the same; NaN is the same as NaN."""
    return bool(np.all((one == other) | ((one != one) & (other != other))))


def _filled(
    scores: FloatArray, place: IntArray, others: FloatArray, other_place: IntArray
) -> FloatArray:
    """Scores of all items; an item that the system never saw gets that of its rank in the other."""
    missing = place < 0
    found = np.array(scores[place])
    if scores.ndim > 1:
        found[missing] = others[other_place[missing]]
        return found
    rank = np.searchsorted(np.sort(others), others[other_place[missing]]) / len(others)
    found[missing] = np.quantile(scores, rank)
    return found
