"""Stages and labels: what the state of an evaluation is folded from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from haystat.core.arrays import BoolArray, FloatArray, IntArray

NO_ANSWER = -1  # the label index of an item about which nobody can tell


#: a class index, the shares of all classes, or a number
Label = int | float | tuple[float, ...]


@dataclass(frozen=True)
class Stage:
    """The draws of one stage: item positions, how often drawn, weights; all (n,).

    The first n_new rows are items that had not been asked about before. inclusion (K,), of a
    design without replacement, is the probability that an item of each cell was drawn by now.
    """

    item: IntArray
    count: IntArray
    weight: FloatArray
    n_new: int
    inclusion: FloatArray | None = None


#: the label of a question, None where it has lost it
Labels = Mapping[int, Label | None]


def stage_records(stages: Sequence[Stage], n_finished: int) -> list[dict[str, Any]]:
    """One record a stage: draws, new labels, whether it is finished."""
    return [
        {
            "stage": number,
            "draws": int(stage.count.sum()),
            "new_labels": stage.n_new,
            "largest_weight": float(stage.weight.max(initial=0.0)),
            "finished": number < n_finished,
        }
        for number, stage in enumerate(stages)
    ]


def label_array(labels: Sequence[Label], numeric: bool) -> IntArray:
    """Class indices as integers; numbers as doubles, NaN where there is no answer."""
    if numeric:  # NO_ANSWER is an integer, a number never is
        numbers = [label if isinstance(label, float) else np.nan for label in labels]
        return np.array(numbers, dtype=np.float64)
    return np.array(labels, dtype=np.int64)


def is_told(label: Label | None) -> bool:
    """Whether this is a label: -1.0 is a number, and -1 is none."""
    return label is not None and (type(label) is not int or label != NO_ANSWER)


def has_answer(label: IntArray) -> BoolArray:
    """Which labels of a finished stage are answers, (n,)."""
    if label.dtype.kind == "f":
        return ~np.isnan(label)
    return np.asarray(label != NO_ANSWER)
