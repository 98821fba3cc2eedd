"""Where a pool may be cut, and where it is cut now."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.errors import BadOption
from haystat.measures.outputs import Schema
from haystat.pool.base import AnyPool
from haystat.pool.between_cells import lowest_scores
from haystat.pool.problem import Problem

N_CUTS = 256


@dataclass(frozen=True)
class Places:
    """Candidate cuts (L,) of a system's score, ascending, in a pool of `size` items.

    n_predicted (L,) counts the items that each predicts positive, cell by cell if they are not at
    hand. own: the cut that its predictions are, among the candidates; None if they are none.
    """

    cuts: FloatArray
    n_predicted: IntArray
    own: float | None
    size: int


@dataclass(frozen=True)
class LabelsBelow:
    """Labels of items below each candidate cut, and how many of them are positive, (L,) each."""

    n: IntArray
    positive: FloatArray


@dataclass(frozen=True)
class InUse:
    """A system's threshold, None if its predictions are no cut of its score, and its positives."""

    system: str
    threshold: float | None
    n_predicted: int
    size: int

    def __str__(self) -> str:
        if not self.n_predicted:
            return f"{self.system}: none of {self.size:,} items predicted positive"
        cut = "predictions of its own" if self.threshold is None else f"cut at {self.threshold:.6g}"
        share = self.n_predicted / max(self.size, 1)
        return f"{self.system}: {cut}, {self.n_predicted:,} items predicted positive ({share:.2%})"


def places_of(pool: AnyPool, problem: Problem, system: str | None) -> Places:
    """Where to look for a threshold of a system; by default of the first."""
    column = checked_column(pool.schema, system)
    seen, predicted = _seen(pool, problem, column)
    if pool.complete:
        score, size = seen, np.ones(pool.size, dtype=np.int64)
        cuts = ranked_cuts(score)
    else:
        score, size = lowest_scores(pool, problem.cells)[:, column], problem.cells.size
        cuts = np.unique(score)
        if len(cuts) > N_CUTS:
            cuts = cuts[np.linspace(0, len(cuts) - 1, N_CUTS).astype(np.int64)]
    own = own_cut(seen, predicted)
    cuts = cuts if own is None else np.unique(np.append(cuts, own))
    reached = np.searchsorted(cuts, score, side="right")
    n_below = np.cumsum(np.bincount(reached, weights=size, minlength=len(cuts) + 1))[:-1]
    return Places(cuts, np.rint(pool.size - n_below).astype(np.int64), own, pool.size)


def labels_below(
    pool: AnyPool, item: IntArray, share: FloatArray, cuts: FloatArray, system: str | None
) -> LabelsBelow:
    """Of labelled items with their shares of the classes, (n,) and (n, 2), those below each cut."""
    column = checked_column(pool.schema, system)
    score = pool.outputs(item).scores[:, column]
    order = np.argsort(score)
    n = np.searchsorted(score[order], cuts, side="left")
    found = np.concatenate([[0.0], np.cumsum(share[order, 1])])
    return LabelsBelow(n, found[n])


def thresholds_in_use(pool: AnyPool, problem: Problem) -> list[InUse]:
    """Of every system of a pool of two classes: where it is cut, and what that predicts."""
    if len(pool.classes) != 2:
        return []
    found = []
    for column, system in enumerate(pool.schema.systems):
        score, predicted = _seen(pool, problem, column)
        if pool.complete:
            n_predicted = int(np.count_nonzero(predicted == 1))
        else:
            of_cell = problem.cells.example.predictions[:, column]
            n_predicted = int(problem.cells.size[of_cell == 1].sum())
        cut = own_cut(score, predicted) if pool.schema.scored else None
        found.append(InUse(system, cut, n_predicted, pool.size))
    return found


def checked_column(schema: Schema, system: str | None) -> int:
    """The column of a system whose score can be cut."""
    if schema.n_classes != 2 or not schema.scored:
        raise BadOption(
            "a threshold cuts the score of two classes; this pool has "
            + (f"{schema.n_classes} classes" if schema.scored else "predictions and no scores")
        )
    return schema.system_index(system)


def ranked_cuts(score: FloatArray) -> FloatArray:
    """Scores at ranks that are even on the logit scale, ascending: finest at both ends, (L,)."""
    n = len(score)
    at = np.linspace(-np.log(2 * n), np.log(2 * n), N_CUTS)
    rank = np.unique(np.clip((n / (1 + np.exp(-at))).astype(np.int64), 0, n - 1))
    place = n - 1 - rank
    return np.unique(np.partition(score, place)[place])


def own_cut(score: FloatArray, predicted: IntArray) -> float | None:
    """The lowest score predicted positive, if everything from it on is and nothing below."""
    positive = predicted == 1
    if not positive.any():
        return None
    lowest = float(score[positive].min())
    highest = score[~positive].max(initial=-np.inf)
    return lowest if highest < lowest else None


def _seen(pool: AnyPool, problem: Problem, column: int) -> tuple[FloatArray, IntArray]:
    """Scores and predictions of the items that are here, all of them if the pool is in memory."""
    seen = [*pool.specimens(problem.cells), *([] if pool.complete else [problem.cells.example])]
    return (
        np.concatenate([outputs.scores[:, column] for outputs in seen]),
        np.concatenate([outputs.predictions[:, column] for outputs in seen]),
    )
