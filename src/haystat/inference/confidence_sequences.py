"""Confidence sequences: intervals that hold at all times at once, however often one looks."""

from __future__ import annotations

import numpy as np

TUNED_FOR = 500  # labels at which the sequence is narrowest


def sequence_multiplier(level: float, n: int) -> float:
    """Standard errors to go on either side after n labels; infinite without two of them.

    The asymptotic confidence sequence of Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (2024),
    sqrt(2 (n r + 1) / (n r) log(sqrt(n r + 1) / alpha)), with r such that it is narrowest at
    TUNED_FOR labels.
    """
    if n < 2:
        return np.inf
    alpha = 1 - level
    base = -2 * np.log(alpha)
    rho = (base + np.log(base + 1)) / TUNED_FOR
    grown = n * rho + 1
    return float(np.sqrt(2 * grown / (n * rho) * np.log(np.sqrt(grown) / alpha)))
