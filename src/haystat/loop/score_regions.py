"""The pool along its score, and how many undetected positives each region may hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.errors import BadOption
from haystat.inference.undetected import most_positives
from haystat.loop.state import State
from haystat.pool.problem import Problem

N_REGIONS = 12


def score_regions(state: State, level: float) -> list[dict[str, Any]]:
    """The regions of the pool of an evaluation.

    Their ends are those of the items that are at hand, which need not be all of the pool.
    """
    problem, pool = state.ledger.problem, state.pool
    if state.ledger.soft or problem.numeric:
        raise BadOption("the regions of the score are for items that have one label each, a class")
    ends = np.repeat(problem.cells.example.scores[:, :1], 2, axis=1)
    for outputs in pool.specimens(problem.cells):
        cell = problem.cells.of_item[outputs.index]
        np.minimum.at(ends[:, 0], cell, outputs.scores[:, 0])
        np.maximum.at(ends[:, 1], cell, outputs.scores[:, 0])
    return regions(problem, state.ledger.label_counts(), ends, pool.classes, level)


def regions(
    problem: Problem,
    labelled: FloatArray,
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
