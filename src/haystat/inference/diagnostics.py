"""How good the draws are: weights, distance from the best proposal, the best variance."""

from __future__ import annotations

from typing import Any

import numpy as np

from haystat.core.arrays import FloatArray
from haystat.inference.drawn_items import DrawnItems


def weight_summary(rows: DrawnItems) -> dict[str, Any]:
    """Effective sample size (Kish) and largest weight of the draws."""
    total = np.sum(rows.count * rows.weight)
    squares = np.sum(rows.count * rows.weight**2)
    return {
        "effective_sample_size": float(total**2 / squares) if squares > 0 else 0.0,
        "largest_weight": float(rows.weight.max()),
    }


def kl_divergence(optimal: FloatArray, proposal: FloatArray) -> float:
    """KL from the proposal to the optimal one, sum q* log(q* / q), over groups of equal items."""
    inside = optimal > 0
    with np.errstate(divide="ignore"):
        ratio = np.log(optimal[inside]) - np.log(proposal[inside])
    return float(np.sum(optimal[inside] * ratio))
