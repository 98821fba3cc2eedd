"""The tail report of a study."""

from __future__ import annotations

from typing import Any

import numpy as np

from haystat.study.fold import Fold
from haystat.tail import cell_ends, label_counts, tail_report


def regions(fold: Fold, level: float = 0.95) -> list[dict[str, Any]]:
    """The pool along its score, with counts of labels and what may hide.

    The ends are those of the items that the study file holds, not of all items of the pool.
    """
    problem = fold.ledger.problem
    n_cells = len(problem.cells)
    index, cell = fold.pool.items.load_all()
    score = np.append(fold.pool.outputs(index).scores[:, 0], problem.cells.example.scores[:, 0])
    ends = cell_ends(score, np.append(cell, np.arange(n_cells)), n_cells)
    return tail_report(problem, label_counts(fold.ledger), ends, fold.pool.classes, level)
