"""What comes from outside is checked here, once; the core trusts its arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from haystat.core.arguments import brief, checked_integer, checked_text, is_listed, is_unicode
from haystat.core.arrays import FloatArray, IntArray
from haystat.errors import (
    BadOption,
    BadScore,
    EmptyPool,
    HaystatError,
    LengthMismatch,
    PoolError,
    UnknownName,
)

ONLY_SYSTEM = "system"
LARGEST = 1e300  # the difference of larger scores would overflow
WEIGHT = "weight"  # the column of weights that have no name of their own
MOST_CLASSES = np.iinfo(np.int16).max
MOST_STRATA = 1 << 16  # that are cut on a score; the paper has 256


def as_array(what: str, values: Any, error: type[HaystatError] = PoolError) -> NDArray[Any]:
    """An array of any type; raises on lists within lists that differ in length, and on a mask."""
    try:
        result = np.asarray(values)
        n_masked = int(np.ma.getmaskarray(values).sum()) if np.ma.isMA(values) else 0
    except Exception as reason:  # numpy asks objects of other makers for their values
        raise error(f"{what} cannot be an array ({reason}); give one value for each") from None
    if n_masked:
        raise error(
            f"{n_masked} of {what} are masked; give every item a value, or drop these items"
        )
    return result


def checked_numbers(
    what: str, values: ArrayLike, error: type[HaystatError] = PoolError
) -> FloatArray:
    """An array of doubles; raises `error` on text, missing objects and ragged lists."""
    given = as_array(what, values, error)
    try:
        is_text = given.dtype.kind not in "biufO" or (
            given.dtype.kind == "O" and any(isinstance(value, str) for value in given.flat)
        )
        numbers = None if is_text else given.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as reason:
        raise error(f"{what} must be numbers: {reason}") from None
    if numbers is None:
        found = "texts" if given.dtype.kind in "OSUT" else given.dtype
        raise error(f"{what} must be numbers, not {found}; convert them to floats")
    return numbers


def checked_scores(name: str, values: ArrayLike, n_classes: int) -> FloatArray:
    """Scores of one system as doubles, (M,) or (M, C); raises on NaN, infinity and text."""
    scores = checked_numbers(f"scores of {name!r}", values, BadScore)
    if scores.ndim in (1, 2) and len(scores) == 0:
        raise EmptyPool("the pool has no items; give at least one score")
    if scores.ndim != 1 and n_classes == 0:
        raise BadScore(
            f"scores of {name!r} have shape {scores.shape}; give one predicted number an item, "
            "(M,); several systems go in a dict"
        )
    if scores.ndim != 1 and (scores.ndim != 2 or scores.shape[1] != n_classes):
        raise BadScore(
            f"scores of {name!r} have shape {scores.shape}; give one score an item, (M,), or one "
            f"an item and class, (M, {n_classes}); several systems go in a dict, and other classes "
            "than 0 and 1 are named by classes="
        )
    with np.errstate(invalid="ignore"):
        usable = scores.min() >= -LARGEST and scores.max() <= LARGEST
    if not usable:
        _raise_unusable(name, scores)
    return scores


def checked_systems(scores: Any, n_classes: int) -> dict[str, FloatArray]:
    """Scores of every system, of one length; a bare array belongs to a single unnamed system."""
    given = dict(scores) if isinstance(scores, Mapping) else {ONLY_SYSTEM: scores}
    if not given:
        raise BadOption("no system has scores; give at least one")
    for name in given:
        checked_text("the name of a system", name)
    result = {name: checked_scores(name, values, n_classes) for name, values in given.items()}
    first, size = next((name, len(values)) for name, values in result.items())
    for name, values in result.items():
        if len(values) != size:
            raise LengthMismatch(
                f"scores of {name!r} have {len(values)} entries, those of {first!r} {size}; give "
                "every system's score of every item"
            )
    return result


def _raise_unusable(name: str, scores: FloatArray) -> None:
    rows = scores.reshape(len(scores), -1)
    bad = np.flatnonzero(~np.all(np.abs(rows) <= LARGEST, axis=1))
    raise BadScore(
        f"{len(bad)} scores of {name!r} are NaN, infinite or beyond {LARGEST:g}, the first at "
        f"position {bad[0]}; drop these items or give them a finite score"
    )


def same_length(what: str, values: Sequence[Any] | NDArray[Any], size: int) -> None:
    """Raise unless `values` has one entry for every item of the pool."""
    shape = np.shape(values)
    if len(shape) != 1 or len(values) != size:
        given = f"{shape[0]} entries" if len(shape) == 1 else f"shape {shape}"
        raise LengthMismatch(f"{what} has {given}; the pool has {size} scores, give one for each")


def checked_columns(
    columns: Mapping[str, ArrayLike] | None, size: int
) -> dict[str, NDArray[np.generic]]:
    """Further facts of the items as arrays."""
    given = {} if columns is None else columns
    if not isinstance(given, Mapping):
        raise BadOption(f"columns are {brief(given)}; give a dict, {{name: one value an item}}")
    names = [checked_text("the name of a column", name) for name in given]
    result = {name: as_array(f"column {name!r}", given[name]) for name in names}
    for name, values in result.items():
        same_length(f"column {name!r}", values, size)
    return result


def checked_classes(classes: Sequence[Any]) -> tuple[Any, ...]:
    """The label values, texts or finite numbers; at least two, all different, in an order."""
    if isinstance(classes, str | bytes | Set | Mapping) or not is_listed(classes):
        raise BadOption(f"classes are {brief(classes)}; give a list, the negative first: [0, 1]")
    result = tuple(value.item() if isinstance(value, np.generic) else value for value in classes)
    for value in result:
        is_number = isinstance(value, int | float) and abs(value) <= LARGEST
        if not is_number and not (isinstance(value, str) and is_unicode(value)):
            raise BadOption(f"a class is {brief(value)}; classes are texts or finite numbers")
    if not 2 <= len(set(result)) == len(result) <= MOST_CLASSES:
        raise BadOption(
            f"classes are {list(result)[:20]}; give from 2 to {MOST_CLASSES} different labels"
        )
    return result


def checked_probabilities(values: ArrayLike, size: int, n_classes: int) -> FloatArray:
    """Prior p(y|x), (M, C); a one-dimensional array is p(y = 1|x)."""
    given = checked_numbers("probabilities", values)
    if given.ndim == 1 and n_classes == 2:
        given = np.stack([1 - given, given], axis=1)
    if given.shape != (size, n_classes):
        raise LengthMismatch(
            f"probabilities have shape {np.shape(values)}; the pool has {size} scores and "
            f"{n_classes} classes, give {(size, n_classes)}"
        )
    valid = np.all(given >= 0, axis=1) & np.isclose(given.sum(axis=1), 1)
    if not valid.all():
        row = int(np.argmin(valid))
        raise PoolError(
            f"probabilities are {given[row].tolist()} at position {row}; they must be at least 0 "
            "and sum to 1 for every item"
        )
    return given


def only_for_classes(**given: Any) -> None:
    """Raise when something is given that labels which are numbers do not have."""
    for name, value in given.items():
        if value is not None:
            raise BadOption(
                f"`{name}` are about classes, and classes=None says that labels are numbers; "
                "give predicted numbers as the scores"
            )


def checked_deviations(values: ArrayLike | None, size: int, numeric: bool) -> FloatArray | None:
    """Standard deviations of the items, (M,); raises on one that is negative or not finite."""
    if values is None:
        return None
    if not numeric:
        raise BadOption(
            "`deviations` are of labels that are numbers; give classes=None, or for classes give "
            "`probabilities`"
        )
    given = checked_numbers("deviations", values)
    same_length("deviations", given, size)
    usable = np.isfinite(given) & (given >= 0)
    if not usable.all():
        row = int(np.argmin(usable))
        raise PoolError(
            f"deviations have {given[row]} at position {row}; a standard deviation is finite and "
            "at least 0"
        )
    return given


def checked_cuts(strata: Any) -> int:
    """How many strata to cut."""
    return checked_integer("strata", strata, smallest=1, largest=MOST_STRATA)


def checked_seed(seed: Any) -> int:
    """The seed of the order of items."""
    return checked_integer("seed", seed, smallest=0)


def checked_parents(parents: ArrayLike) -> IntArray:
    """The parent of each node of a tree, as integers."""
    given = as_array("parents", parents)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise BadOption(
            f"parents have shape {given.shape} and type {given.dtype}; give one integer a node, "
            "-1 for the root"
        )
    return given.astype(np.int64)


def checked_names(what: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
    """Raise when `given` has an entry for a system that has no scores."""
    for name in given:
        if name not in known:
            raise UnknownName(
                f"{what} names the system {name!r}; scores are given for {list(known)}"
            )


def checked_weight(
    weight: ArrayLike | str | None, columns: dict[str, NDArray[Any]], size: int
) -> tuple[dict[str, NDArray[Any]], str | None]:
    """The columns with that of the weights, and its name; None if items all count alike."""
    if weight is None:
        return columns, None
    if isinstance(weight, str):
        if weight not in columns:
            raise UnknownName(
                f"no column {weight!r} to weigh by; the pool has {list(columns)}: give it with "
                "columns=, or the weights themselves"
            )
        name, given = weight, columns[weight]
    else:
        name, given = WEIGHT, np.asarray(weight)
        if name in columns:
            raise BadOption(f"there is a column {name!r} already; give weight={name!r} to use it")
    numbers = checked_numbers("weights", given)
    if numbers.shape != (size,):
        raise LengthMismatch(
            f"weights have shape {numbers.shape}; give one for each of {size} items"
        )
    if not np.all(np.isfinite(numbers)) or np.any(numbers < 0) or not np.any(numbers > 0):
        raise PoolError("weights are finite, at least 0 and not all 0; give 0 to leave out an item")
    return {**columns, name: numbers}, name
