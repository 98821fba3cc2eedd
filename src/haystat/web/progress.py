"""How far a study is from the precision wanted, and whether people can stop."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from haystat.decisions.stopping import Width
from haystat.inference.estimate import Estimate

LEAST_LABELS = 30  # fewer may have missed all that is rare, however narrow the interval looks


@dataclass(frozen=True)
class Progress:
    """Where the interval stands against the width wanted.

    low, high: the interval that decides, which holds however often people look; the widest one
    where there are several. expected: labels still to come, None while that cannot be told.
    share: how far, from 0 to 1.
    """

    wanted: float
    width: float
    low: float
    high: float
    reached: bool
    expected: int | None
    share: float
    why: str


def progress(estimate: Estimate, wanted: float, n_open: int | None = None) -> Progress:
    """Progress of an estimate towards an interval no wider than `wanted`.

    n_open: items without a label that can change the value; when they have theirs it is exact.
    """
    rule, n = Width(wanted), estimate.n_labels
    width = rule.now(estimate)
    if math.isnan(width):
        unfinished = "The numbers appear once the first questions are answered."
        why = estimate.warnings[0] if estimate.n_labels and estimate.warnings else unfinished
        return Progress(wanted, math.nan, math.nan, math.nan, False, None, 0.0, why)
    ends = estimate.anytime_intervals
    low, high = ends[int(np.argmax(ends[:, 1] - ends[:, 0]))].tolist()
    exact = len(estimate.terms) == 0
    reached = exact or (rule.reached(estimate) and n >= LEAST_LABELS)
    expected = 0 if reached else _expected(rule, estimate, n_open)
    # Intervals narrow with the square root of the labels.
    share = 1.0 if reached else min(n / (n + expected), 0.99) if expected else 0.0
    why = _why(reached, exact, width, wanted)
    return Progress(wanted, width, low, high, reached, expected, share, why)


def _expected(rule: Width, estimate: Estimate, n_open: int | None) -> int | None:
    left = rule.labels_left(estimate)
    if left is None:
        return None
    left = max(left, LEAST_LABELS - estimate.n_labels, 1)
    return left if n_open is None else max(min(left, n_open), 1)


def _why(reached: bool, exact: bool, width: float, wanted: float) -> str:
    if exact:
        return "Every item that can change the value has its label, so the value is exact."
    kind = "The interval that stays valid however often you look"
    if reached:
        return f"{kind} is {width:.3f} wide, and {wanted:g} was wanted."
    if width <= wanted:
        return f"{kind} is narrow, but so few labels may have missed what is rare."
    return f"{kind} is {width:.3f} wide; {wanted:g} is wanted."
