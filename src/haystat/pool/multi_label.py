"""Multi-label problems as pools: an item that may have several labels is one yes or no for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from haystat.core.arguments import brief
from haystat.errors import BadOption, LengthMismatch
from haystat.pool.checks import as_array, checked_classes, checked_cuts, checked_numbers
from haystat.pool.predictions import checked_threshold
from haystat.pool.prior import natural_scale
from haystat.pool.strata import STRATIFIERS, assign, renumber

LABEL, ITEM = "label", "item"


def multi_label_arguments(
    scores: Mapping[str, ArrayLike],
    predictions: Mapping[str, ArrayLike] | None,
    threshold: float | Mapping[str, float] | None,
    ids: ArrayLike | None,
    strata: int,
    classes: Sequence[Any],
) -> dict[str, Any]:
    """What Pool takes: every label of every item, label by label, with strata of its own.

    So the model compares pairs with others of the same label: how often a score is right may
    differ from label to label.
    """
    if not isinstance(scores, Mapping) or not scores:
        raise BadOption(f"scores are {brief(scores)}; give a dict, {{label: one score an item}}")
    names = list(scores)
    if not all(isinstance(name, str) and name for name in names):
        raise BadOption(f"labels are {brief(names)}; name each with a text")
    columns = [checked_numbers(f"scores of {name!r}", scores[name]) for name in names]
    size = len(columns[0]) if columns[0].ndim == 1 else -1
    if any(column.shape != (size,) for column in columns) or not size:
        shapes = {name: column.shape for name, column in zip(names, columns, strict=True)}
        raise LengthMismatch(f"scores have shapes {shapes}; give every label one score an item")
    items = np.arange(size) if ids is None else as_array("ids", ids)
    if items.shape != (size,):
        raise LengthMismatch(f"ids have shape {items.shape}; give one for each of {size} items")
    if len(checked_classes(classes)) != 2:
        raise BadOption(
            f"classes are {brief(list(classes))}; an item has a label or not: give two, the "
            "negative first"
        )
    n_strata = max(checked_cuts(strata) // len(names), 1)
    found = _by_label("predictions", predictions, names)
    cuts = (
        _by_label("thresholds", threshold, names)
        if isinstance(threshold, Mapping)
        else dict.fromkeys(names, threshold)
    )
    predicted = [
        _predicted(name, column, found.get(name), checked_threshold(cuts.get(name)), classes)
        for name, column in zip(names, columns, strict=True)
    ]
    label = np.repeat(np.array(names, dtype=object), size)
    item = np.tile(items, len(names))
    pairs = zip(item.tolist(), label.tolist(), strict=True)
    return {
        "scores": np.concatenate(columns),
        "predictions": np.concatenate(predicted),
        "ids": [f"{one}/{name}" for one, name in pairs],
        "columns": {ITEM: item, LABEL: label},
        "strata": _strata(columns, n_strata),
        "classes": classes,
    }


def _by_label(what: str, given: Any, names: Sequence[str]) -> Mapping[str, Any]:
    """What is given for each label; nothing for those that are not named."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise BadOption(f"{what} are {brief(given)}; give a dict, {{label: …}}")
    unknown = [name for name in given if name not in names]
    if unknown:
        raise BadOption(f"{what} are for {brief(unknown)}, and the labels are {brief(names)}")
    return given


def _predicted(
    name: str,
    scores: NDArray[np.float64],
    given: ArrayLike | None,
    cut: float | None,
    classes: Sequence[Any],
) -> NDArray[Any]:
    """Hard predictions of one label: as given, or by its threshold."""
    if given is not None:
        found = as_array(f"predictions of {name!r}", given)
        if found.shape != scores.shape:
            raise LengthMismatch(
                f"predictions of {name!r} have shape {found.shape}; give one for each of "
                f"{len(scores)} items"
            )
        return found
    if cut is None:
        cut = 0.5 if scores.min() >= 0 and scores.max() <= 1 else 0.0
    said: NDArray[Any] = np.where(scores >= cut, classes[1], classes[0])
    return said


def _strata(columns: Sequence[NDArray[np.float64]], n_strata: int) -> NDArray[np.int32]:
    """Strata of each label for itself, numbered label by label."""
    parts, first = [], 0
    for column in columns:
        values = natural_scale(column)
        part = renumber(assign(values, STRATIFIERS["csf"](values, n_strata)))
        parts.append(part + first)
        first += int(part.max()) + 1
    return np.concatenate(parts)
