"""OASIS's model of the oracle: an independent Beta in every stratum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haystat.core.arrays import FloatArray, IntArray


@dataclass(frozen=True)
class BetaStrata:
    """Shares of the labels per stratum under a prior that fades as draws arrive.

    prior (K, C); a stratum starts with `strength` pseudo-labels (2 in Marchant and Rubinstein
    2017), which count for strength / n after n draws from it.
    """

    prior: FloatArray
    strength: float = 2.0

    def start(self) -> FloatArray:
        """Draws seen per stratum and class, (K, C)."""
        return np.zeros_like(self.prior)

    def observe(
        self,
        drawn: FloatArray,
        stratum: IntArray,
        label: IntArray,
        weight: IntArray | FloatArray,
    ) -> FloatArray:
        """Add draws, repeats included."""
        drawn = drawn.copy()
        np.add.at(drawn, (stratum, label), weight)
        return drawn

    def label_share(self, drawn: FloatArray) -> FloatArray:
        """Posterior mean share of each class, (K, C)."""
        n_drawn = drawn.sum(axis=1, keepdims=True)
        posterior = drawn + self.strength * self.prior / np.maximum(n_drawn, 1)
        share: FloatArray = posterior / posterior.sum(axis=1, keepdims=True)
        return share
