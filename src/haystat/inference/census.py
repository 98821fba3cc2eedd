"""Once every item that can have a loss has its label, the measure is known."""

from __future__ import annotations

import numpy as np

from haystat.core.arrays import IntArray
from haystat.inference.estimate import Estimate
from haystat.measures.base import Measure
from haystat.measures.outputs import Outputs


def census(
    measure: Measure, outputs: Outputs, label: IntArray, level: float, *, size: int
) -> Estimate:
    """The measure on a pool of `size` items whose losses are all known; no error is left."""
    n = len(label)
    risk = measure.risk(outputs, label, np.full(n, 1.0 / size))
    with np.errstate(all="ignore"):
        values = np.atleast_1d(measure.value(risk))
        why = measure.undefined(risk)
    return Estimate(
        measure.name,
        measure.components,
        values,
        np.zeros((0, len(values))),
        level,
        n,
        n,
        measure.bounds,
        (why,) if why else (),
        {"risk": risk},
    )
