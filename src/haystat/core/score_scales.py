"""Scales on which scores are cut into strata and thresholds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from haystat.core.arrays import FloatArray

SMALLEST = 1e-9  # probabilities are kept this far from 0 and 1
FAR = 50.0  # beyond which a score goes far: nobody claims odds of 5e21


def scale_name(low: float, high: float) -> str:
    """The scale of scores from `low` to `high`: probabilities as logits, others as they are.

    Scores that go far are cut by their order of magnitude, so that a few outliers, or -9999 for
    none, do not squeeze all others into one stratum.
    """
    if low >= 0 and high <= 1:
        return "logit"
    return "asinh" if max(-low, high) > FAR else "plain"


def logit(probability: FloatArray) -> FloatArray:
    """Logarithm of the odds, of probabilities kept away from 0 and 1."""
    odds = np.clip(probability, SMALLEST, 1 - SMALLEST)
    odds /= 1 - odds
    return np.log(odds, out=odds)


SCALES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "logit": logit,
    "asinh": lambda scores: np.arcsinh(scores),
    "plain": lambda scores: scores,
}
BACK: dict[str, Callable[[FloatArray], FloatArray]] = {
    "logit": lambda logits: 1 / (1 + np.exp(-logits)),
    "asinh": lambda values: np.sinh(values),
    "plain": lambda scores: scores,
}


def even_grid(low: float, high: float, n: int) -> FloatArray:
    """n scores from `low` up to `high`, in even steps on their scale, (n,)."""
    name = scale_name(low, high)
    first, last = SCALES[name](np.array([low, high], dtype=np.float64))
    grid = np.asarray(np.clip(BACK[name](np.linspace(first, last, n)), low, high))
    grid[0] = low  # which all items reach, whatever the rounding
    return grid
