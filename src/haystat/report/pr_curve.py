"""Precision and recall over thresholds, from labels that were collected for something else."""

from __future__ import annotations

from typing import Any

import numpy as np

from haystat.core.arrays import FloatArray
from haystat.errors import HaystatError, NoSupport
from haystat.loop.estimates import estimate_state
from haystat.loop.state import State
from haystat.measures.curves import PRCurve

N_THRESHOLDS = 60


def pr_curve(state: State, system: str, level: float) -> dict[str, Any]:
    """Points of the curve with intervals, or a reason why there are none.

    Where the labels cannot speak about low thresholds, because items below the operating point
    were drawn only for their positives, the curve begins at the operating point.
    """
    if len(state.pool.classes) != 2:
        return _none(system, "precision-recall curves are for two classes")
    scores, operating = _labelled_scores(state, system), _operating_point(state, system)
    if len(scores) == 0:
        return _none(system, "no question is answered yet")
    reason = ""
    for lowest in (-np.inf, operating):
        grid = _grid(scores[scores >= lowest])
        if len(grid) == 0:
            return _none(system, "no label lies above the operating point")
        try:
            measure = PRCurve(system=system, thresholds=grid.tolist())
            estimate = estimate_state(state, measure, level)
        except NoSupport as error:
            reason = str(error)
            continue
        except HaystatError as error:
            return _none(system, str(error))
        points = _points(grid, estimate.values, estimate.intervals)
        if not points:
            return _none(system, "no positive item is among the labels yet")
        return {
            "system": system,
            "points": points,
            "from": None if lowest == -np.inf else float(operating),
            "level": level,
        }
    return _none(system, reason)


def _none(system: str, reason: str) -> dict[str, Any]:
    return {"system": system, "points": [], "reason": reason}


def _labelled_scores(state: State, system: str) -> FloatArray:
    item, _ = state.ledger.told()
    return state.pool.outputs(item).scores[:, state.pool.schema.system_index(system)]


def _operating_point(state: State, system: str) -> float:
    """The lowest score from which on everything is predicted positive."""
    column = state.pool.schema.system_index(system)
    cells = state.ledger.problem.cells
    parts = [*state.pool.specimens(cells), cells.example]
    score = np.concatenate([part.scores[:, column] for part in parts])
    positive = np.concatenate([part.predictions[:, column] for part in parts]) == 1
    highest_negative = score[~positive].max(initial=-np.inf)
    above = score[positive & (score > highest_negative)]
    return float(above.min(initial=np.inf))


def _grid(scores: FloatArray) -> FloatArray:
    """Thresholds at scores that were labelled, evenly spread over them."""
    return (
        np.unique(np.quantile(scores, np.linspace(0, 1, N_THRESHOLDS), method="nearest"))
        if (len(scores))
        else scores
    )


def _points(grid: FloatArray, values: FloatArray, intervals: FloatArray) -> list[dict[str, Any]]:
    n = len(grid)
    return [
        {
            "threshold": float(grid[i]),
            "precision": float(values[i]),
            "precision_low": float(intervals[i, 0]),
            "precision_high": float(intervals[i, 1]),
            "recall": float(values[n + i]),
            "recall_low": float(intervals[n + i, 0]),
            "recall_high": float(intervals[n + i, 1]),
        }
        for i in range(n)
        if np.isfinite(values[i]) and np.isfinite(values[n + i])
    ]
