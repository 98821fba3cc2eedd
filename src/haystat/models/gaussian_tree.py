"""A model of a continuous oracle: Gaussian residuals in every stratum, shrunk along the tree.

What is modelled is the residual, label minus prediction, in units of the prior standard deviation
of its stratum. Every node has a mean and a mean square of these; they are those of the labels
under it and, counting as much as `strength` labels, those of its parent; above the root stands
the prior, 0 and 1. So a stratum without labels takes after its relatives, and one with many stands
for itself. Mean and mean square of a node belong to one mixture, so the variance is never
negative.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.pool.tree import Tree


@dataclass(frozen=True)
class GaussianTree:
    """Mean and standard deviation of the residuals of each stratum.

    deviation (S,) is the prior standard deviation, positive.
    """

    tree: Tree
    deviation: FloatArray
    strength: float = 4.0

    def start(self) -> FloatArray:
        """Number, sum and sum of squares of the standardised residuals seen, (S, 3)."""
        return np.zeros((len(self.deviation), 3))

    def observe(self, seen: FloatArray, stratum: IntArray, residual: FloatArray) -> FloatArray:
        """Add residuals (n,)."""
        seen = seen.copy()
        unit = residual / self.deviation[stratum]
        np.add.at(seen, stratum, np.stack([np.ones_like(unit), unit, unit**2], axis=1))
        return seen

    def moments(self, seen: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Posterior mean and standard deviation of a residual of each stratum, (S,) each."""
        tree = self.tree
        total = tree.totals(seen)
        node = np.zeros((len(tree.parent), 2))
        for v in range(len(tree.parent)):
            above = node[tree.parent[v]] if v else np.array([0.0, 1.0])
            node[v] = (total[v, 1:] + self.strength * above) / (total[v, 0] + self.strength)
        mean, square = node[tree.leaf].T
        deviation = np.sqrt(np.maximum(square - mean**2, 0.0))
        return mean * self.deviation, deviation * self.deviation
