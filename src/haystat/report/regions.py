"""The pool along its score, cut into regions: items, labels, positives, and what may hide."""

from __future__ import annotations

from typing import Any

import numpy as np

from haystat.log import NO_ANSWER
from haystat.measures.outputs import FloatArray, IntArray
from haystat.report.tail import most_positives
from haystat.study.fold import Fold

N_REGIONS = 12


def regions(fold: Fold, level: float = 0.95) -> list[dict[str, Any]]:
    """Runs of strata from the lowest score to the highest, with their counts.

    The ends are those of the items that the study file holds, not of all items of the pool.
    """
    problem = fold.ledger.problem
    index, cell = fold.pool.items.load_all()
    score = np.append(fold.pool.outputs(index).scores[:, 0], problem.cells.example.scores[:, 0])
    cell = np.append(cell, np.arange(len(problem.cells)))
    mean = _mean_score(score, problem.cells.stratum[cell], problem.tree.n_strata)
    region_of = _region_of_stratum(mean, problem.stratum_size, _labels_of_strata(fold))
    region = region_of[problem.cells.stratum]
    n = int(region_of.max()) + 1
    size = np.bincount(region_of, weights=problem.stratum_size, minlength=n).astype(int)
    counts = _label_counts(fold, region, n)
    found = []
    for number in range(n):
        inside = score[region[cell] == number]
        entry: dict[str, Any] = {
            "from": float(inside.min()),
            "to": float(inside.max()),
            "items": int(size[number]),
            "labelled": int(counts[number].sum()),
            "by_class": {
                str(c): int(k) for c, k in zip(fold.pool.classes, counts[number], strict=True)
            },
        }
        if len(fold.pool.classes) == 2:
            positive, labelled = int(counts[number, 1]), int(counts[number].sum())
            most = most_positives(int(size[number]), labelled, positive, level)
            entry |= {"positives": positive, "may_hide": most - positive}
        found.append(entry)
    return found


def _region_of_stratum(mean: FloatArray, size: IntArray, labelled: IntArray) -> IntArray:
    """Region of each stratum, (S,): strata in the order of their mean score, cut into runs.

    Each run gets about the same of a third of items, a third of labels and a third of strata, so
    that neither the many items without labels nor the few with most of them are lumped together.
    """
    order = np.argsort(mean, kind="stable")
    share = size / size.sum() + labelled / max(labelled.sum(), 1) + 1 / len(size)
    before = np.cumsum(share[order]) - share[order] / 2
    run = np.minimum(before / share.sum() * N_REGIONS, N_REGIONS - 1).astype(np.int64)
    result = np.empty(len(size), dtype=np.int64)
    result[order] = np.unique(run, return_inverse=True)[1]
    return result


def _mean_score(score: FloatArray, stratum: IntArray, n_strata: int) -> FloatArray:
    count = np.bincount(stratum, minlength=n_strata)
    return np.bincount(stratum, weights=score, minlength=n_strata) / np.maximum(count, 1)


def _labels_of_strata(fold: Fold) -> IntArray:
    cells = fold.ledger.problem.cells
    index = np.array(list(fold.ledger.label_of), dtype=np.int64)
    n_strata = fold.ledger.problem.tree.n_strata
    return np.bincount(cells.stratum[cells.of_item[index]], minlength=n_strata)


def _label_counts(fold: Fold, region_of_cell: IntArray, n_regions: int) -> IntArray:
    """Labelled items by region and class, (R, C)."""
    counts = np.zeros((n_regions, len(fold.pool.classes)), dtype=np.int64)
    labels = fold.ledger.label_of
    told = [(i, label) for i, label in labels.items() if label != NO_ANSWER]
    if told:
        index, label = np.array(told, dtype=np.int64).T
        cell = fold.ledger.problem.cells.of_item[index]
        np.add.at(counts, (region_of_cell[cell], label), 1)
    return counts
