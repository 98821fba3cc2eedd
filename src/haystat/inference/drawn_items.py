"""What was drawn and answered, as arrays: everything an estimate is made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haystat.core.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class DrawnItems:
    """One row for each item drawn in a stage, all (n,).

    stage counts from 0; count is how often the item was drawn in it; weight is p(x) / q(x) as
    fixed then; stratum is the item's; last_weight is p(x) / q(x) under the newest proposal,
    infinite where that would not draw the item. n_answers is given where it is not the number of
    different items.
    """

    item: IntArray
    stage: IntArray
    label: IntArray
    count: IntArray
    weight: FloatArray
    stratum: IntArray
    last_weight: FloatArray
    n_answers: int | None = None

    @property
    def n_draws(self) -> int:
        return int(self.count.sum())

    @property
    def n_labels(self) -> int:
        return len(np.unique(self.item)) if self.n_answers is None else self.n_answers
