"""The tail report: the pool along its score, and how many positives may hide in each region."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from haystat.designs.base import Problem
from haystat.estimation.hiding import most_positives
from haystat.ledger import Ledger
from haystat.log import NO_ANSWER
from haystat.measures.outputs import FloatArray, IntArray

N_REGIONS = 12


def tail_report(
    problem: Problem,
    labelled: IntArray,
    ends: FloatArray,
    classes: Sequence[Any],
    level: float = 0.95,
) -> list[dict[str, Any]]:
    """Runs of strata from the lowest score to the highest, with their counts.

    labelled (K, C) counts labels by cell and class, ends (K, 2) are the lowest and highest score
    of each cell. Of two classes, `may_hide` is the largest number of unlabelled positives that the
    labels of the region do not contradict.
    """
    stratum = problem.cells.stratum
    n_labels = np.bincount(stratum, weights=labelled.sum(axis=1), minlength=problem.tree.n_strata)
    middle = _mean(ends.mean(axis=1), stratum, problem.tree.n_strata)
    region_of = _regions(middle, problem.stratum_size, n_labels)
    region = region_of[stratum]
    found = []
    for number in range(int(region_of.max()) + 1):
        inside = region == number
        size, counts = int(problem.cells.size[inside].sum()), labelled[inside].sum(axis=0)
        entry: dict[str, Any] = {
            "from": float(ends[inside, 0].min()),
            "to": float(ends[inside, 1].max()),
            "items": size,
            "labelled": int(counts.sum()),
            "by_class": {str(c): int(k) for c, k in zip(classes, counts, strict=True)},
        }
        if len(classes) == 2:
            positive = int(counts[1])
            most = most_positives(size, int(counts.sum()), positive, level)
            entry |= {"positives": positive, "may_hide": most - positive}
        found.append(entry)
    return found


def label_counts(ledger: Ledger) -> IntArray:
    """Labels by cell and class, (K, C), also those of stages that are not finished."""
    counts = np.zeros((len(ledger.problem.cells), ledger.problem.n_classes), dtype=np.int64)
    told = [(i, label) for i, label in ledger.label_of.items() if label != NO_ANSWER]
    if told:
        index, label = np.array(told, dtype=np.int64).T
        np.add.at(counts, (ledger.problem.cells.of_item[index], label), 1)
    return counts


def cell_ends(score: FloatArray, cell: IntArray, n_cells: int) -> FloatArray:
    """Lowest and highest score of each cell, from items that are known, (K, 2)."""
    low, high = np.full(n_cells, np.inf), np.full(n_cells, -np.inf)
    np.minimum.at(low, cell, score)
    np.maximum.at(high, cell, score)
    return np.stack([low, high], axis=1)


def _regions(middle: FloatArray, size: IntArray, labelled: IntArray) -> IntArray:
    """Region of each stratum, (S,): strata in the order of their score, cut into runs.

    Each run gets about the same of a third of items, a third of labels and a third of strata, so
    that neither the many items without labels nor the few with most of them are lumped together.
    """
    order = np.argsort(middle, kind="stable")
    share = size / size.sum() + labelled / max(labelled.sum(), 1) + 1 / len(size)
    before = np.cumsum(share[order]) - share[order] / 2
    run = np.minimum(before / share.sum() * N_REGIONS, N_REGIONS - 1).astype(np.int64)
    result = np.empty(len(size), dtype=np.int64)
    result[order] = np.unique(run, return_inverse=True)[1]
    return result


def _mean(value: FloatArray, group: IntArray, n_groups: int) -> FloatArray:
    count = np.bincount(group, minlength=n_groups)
    return np.bincount(group, weights=value, minlength=n_groups) / np.maximum(count, 1)
