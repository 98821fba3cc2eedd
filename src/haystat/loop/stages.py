"""Stages and labels: what the state of an evaluation is folded from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from haystat.core.arrays import FloatArray, IntArray

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
