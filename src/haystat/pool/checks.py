"""What comes from outside is checked here, once; the core trusts its arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from haystat.errors import (
    BadOption,
    BadScore,
    DuplicateId,
    EmptyPool,
    LengthMismatch,
    PoolError,
    UnknownLabel,
    UnknownName,
)
from haystat.measures.outputs import FloatArray
from haystat.pool.order import keys_of

ONLY_SYSTEM = "system"


def by_system(values: Any) -> dict[str, Any]:
    """One entry a system; a bare array belongs to a single unnamed system."""
    return dict(values) if isinstance(values, Mapping) else {ONLY_SYSTEM: values}


def checked_scores(name: str, values: ArrayLike) -> FloatArray:
    """Scores of one system as doubles, (M,) or (M, C); raises on NaN, infinity and text."""
    try:
        scores = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadScore(f"scores of {name!r} must be numbers: {error}") from None
    if scores.ndim not in (1, 2):
        raise BadScore(f"scores of {name!r} have {scores.ndim} dimensions; give (M,) or (M, C)")
    if len(scores) == 0:
        raise EmptyPool("the pool has no items; give at least one score")
    finite = np.isfinite(scores)
    if not finite.all():
        rows = np.flatnonzero(~finite.reshape(len(scores), -1).all(axis=1))
        raise BadScore(
            f"{len(rows)} scores of {name!r} are NaN or infinite, the first at position "
            f"{rows[0]}; drop these items or give them a finite score"
        )
    return scores


def same_length(what: str, values: Sequence[Any] | NDArray[Any], size: int) -> None:
    """Raise unless `values` describes every item of the pool."""
    if len(values) != size:
        raise LengthMismatch(f"{what} has {len(values)} entries, the scores have {size}")


def checked_classes(classes: Sequence[Any]) -> tuple[Any, ...]:
    """The label values; at least two, all different."""
    result = tuple(value.item() if isinstance(value, np.generic) else value for value in classes)
    if len(result) < 2 or len(set(result)) != len(result):
        raise BadOption(f"classes are {list(result)}; give at least two different labels")
    return result


def class_indices(name: str, values: ArrayLike, classes: tuple[Any, ...]) -> NDArray[np.int16]:
    """Position in `classes` of each value; raises on a value that is none of them."""
    given = np.asarray(values)
    result = np.full(given.shape, -1, dtype=np.int16)
    for position, value in enumerate(classes):
        result[given == value] = position
    if np.any(result < 0):
        row = int(np.flatnonzero(result < 0)[0])
        raise UnknownLabel(
            f"{name} has {given[row].item()!r} at position {row}, which is not one of "
            f"{list(classes)}; add it to `classes` when you create the pool"
        )
    return result


def checked_probabilities(values: ArrayLike, size: int, n_classes: int) -> FloatArray:
    """Prior p(y|x), (M, C); a one-dimensional array is p(y = 1|x)."""
    given = np.asarray(values, dtype=np.float64)
    same_length("probabilities", given, size)
    if given.ndim == 1 and n_classes == 2:
        given = np.stack([1 - given, given], axis=1)
    if given.shape != (size, n_classes):
        raise LengthMismatch(f"probabilities have shape {given.shape}, not {(size, n_classes)}")
    if not (np.all(given >= 0) and np.allclose(given.sum(axis=1), 1)):
        raise PoolError("probabilities must be at least 0 and sum to 1 for every item")
    return given


def checked_ids(ids: ArrayLike | None, size: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The users' ids and their 64-bit keys; positions if none are given."""
    if ids is None:
        positions = np.arange(size)
        return positions, positions
    given = np.asarray(ids)
    same_length("ids", given, size)
    if np.issubdtype(given.dtype, np.floating):
        raise PoolError("ids are floating-point numbers; give integers or strings")
    keys = keys_of(given)
    repeated = np.sort(keys)
    if np.any(repeated[1:] == repeated[:-1]):
        _raise_duplicate(given)
    return given, keys


def _raise_duplicate(ids: NDArray[Any]) -> None:
    values, counts = np.unique(ids.astype(str), return_counts=True)
    worst = int(np.argmax(counts))
    raise DuplicateId(
        f"id {values[worst]!r} occurs {counts[worst]} times; ids must be unique, "
        f"{int((counts > 1).sum())} are not"
    )


def checked_names(what: str, given: Mapping[str, Any], known: Sequence[str]) -> None:
    """Raise when `given` has an entry for a system that has no scores."""
    for name in given:
        if name not in known:
            raise UnknownName(f"{what} names the system {name!r}; scores name {list(known)}")
