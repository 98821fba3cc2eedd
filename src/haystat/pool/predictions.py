"""Hard predictions: those given, or those that the scores imply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from haystat.core.arrays import FloatArray
from haystat.errors import BadOption, UnknownLabel
from haystat.pool import checks
from haystat.pool.prior import looks_like_probabilities, single_scores


def hard_predictions(
    given: Any, scores: Mapping[str, FloatArray], threshold: float | None, classes: tuple[Any, ...]
) -> list[NDArray[np.int16]]:
    """Predicted class index of each item by each system, S arrays (M,)."""
    predictions = _by_system(given, tuple(scores))
    threshold = checked_threshold(threshold)
    result = []
    for name, values in scores.items():
        if name in predictions:
            what = f"predictions of {name!r}"
            labels = checks.as_array(what, predictions[name])
            checks.same_length(what, labels, len(values))
            result.append(class_indices(what, labels, classes))
        else:
            result.append(implied_predictions(name, values, threshold, len(classes)))
    return result


def constant_scores(predictions: Any) -> dict[str, FloatArray]:
    """Scores that say nothing, for systems of which only predictions are known."""
    if predictions is None:
        raise BadOption("there is nothing to evaluate; give `scores`, `predictions` or both")
    given = predictions if isinstance(predictions, Mapping) else {checks.ONLY_SYSTEM: predictions}
    arrays = {name: checks.as_array(f"predictions of {name!r}", p) for name, p in given.items()}
    return {name: np.full(len(np.atleast_1d(values)), 0.5) for name, values in arrays.items()}


def implied_predictions(
    name: str, scores: FloatArray, threshold: float | None, n_classes: int
) -> NDArray[np.int16]:
    """The class with the largest score, or class 1 from the threshold on."""
    if n_classes > 2 and (scores.ndim == 1 or threshold is not None):
        raise BadOption(
            f"a threshold cannot tell {n_classes} classes apart; give `predictions` of {name!r}, "
            f"or scores of shape (M, {n_classes}) without a threshold"
        )
    if scores.ndim == 2 and threshold is None:
        return np.asarray(scores.argmax(axis=1), dtype=np.int16)
    if threshold is None:
        threshold = 0.5 if looks_like_probabilities(scores) else 0.0
    return np.asarray(single_scores(scores) >= threshold, dtype=np.int16)


def class_indices(what: str, values: NDArray[Any], classes: tuple[Any, ...]) -> NDArray[np.int16]:
    """Position in `classes` of each value; raises on a value that is none of them."""
    result = np.full(len(values), -1, dtype=np.int16)
    for position, value in enumerate(classes):
        result[values == value] = position
    if result.min() < 0:
        row = int(np.argmin(result))
        raise UnknownLabel(
            f"{what} has {values[row : row + 1].tolist()[0]!r} at position {row}, which is not "
            f"one of {list(classes)}; add it to `classes` when you create the pool"
        )
    return result


def _by_system(given: Any, systems: tuple[str, ...]) -> dict[str, ArrayLike]:
    if given is None:
        return {}
    if isinstance(given, Mapping):
        checks.checked_names("predictions", given, systems)
        return dict(given)
    if len(systems) > 1:
        raise BadOption(
            f"predictions are one array and there are {len(systems)} systems; give a dict with an "
            f"array for each of {list(systems)}"
        )
    return {systems[0]: given}


def checked_threshold(threshold: Any) -> float | None:
    """The score from which a prediction is positive, if it is given."""
    if threshold is None:
        return None
    value = checks.checked_numbers("threshold", threshold, BadOption)
    if value.ndim != 0 or not np.isfinite(value):
        raise BadOption(f"threshold is {threshold!r}; give one finite number")
    return float(value)
