"""How many strays may still hide: positives that lie where the score expects none.

Their number among all predicted negatives is lambda. Before any label it is half-Cauchy: a few
are likely, hundreds not ruled out. Labels found x of them, and a typical predicted negative was
labelled with probability P, so x is Poisson with mean lambda P.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

from haystat.measures.outputs import BoolArray, FloatArray

GRID = 2000
EXPECTED = 5.0  # strays that are counted in before any was found
EXPECTED_SHARE = 0.3  # of the cap of a label's weight, where that is less
SCALE = 5.0  # median of the prior number of strays
SCALE_SHARE = 0.05  # of all positives, where that is more


@dataclass(frozen=True)
class Strays:
    """What the labels say about strays, by cell (K,).

    stray are those among the labelled positives, negative the labelled negatives, hidden the
    items without a label; all zero outside the predicted negatives. rate (K,) is the model's share
    of strays, inclusion the probability P, n_positives about how many positives there are. sparse
    (K,) marks cells whose items are not much likelier to be labelled than usual.
    """

    stray: FloatArray
    negative: FloatArray
    hidden: FloatArray
    rate: FloatArray
    inclusion: float
    n_positives: float
    sparse: BoolArray

    @property
    def found(self) -> float:
        """x, the strays labelled in sparse cells; those labelled elsewhere stand for few."""
        return float(self.stray[self.sparse].sum())

    def expected(self, cap: float) -> float:
        """Hidden strays that no label speaks of, as many as one does well to count in.

        Most pools have some. Few enough are taken that a pool without any suffers little.
        """
        return min(EXPECTED, EXPECTED_SHARE * cap) * (1 - self.inclusion)

    def in_estimate(self, weights: FloatArray) -> float:
        """Hidden strays that weights (K, 2) of the labels stand for."""
        expected = self.rate * (self.hidden - (weights[:, 0] - 1) * self.negative)
        return max(float(np.sum(expected + (weights[:, 1] - 1) * self.stray)), 0.0)

    def posterior(self, level: float) -> tuple[float, float]:
        """Ends of the central interval for the number not labelled.

        It starts at 0 unless that is unlikely; beyond, the spread of the mean is all that counts.
        A posterior does not mind when one stops: it holds at that moment as at any other.
        """
        grid, weight = self._posterior
        total = np.cumsum(weight)
        tail = (1 - level) / 2
        low, high = np.interp([tail, 1 - tail], total / total[-1], grid)
        none = float(weight @ np.exp(-grid * (1 - self.inclusion)) / total[-1])
        return 0.0 if none >= tail else self._hidden(low), self._hidden(high)

    def without_prior(self, level: float) -> tuple[float, float]:
        """Ends of the exact Poisson interval, which trusts nothing but the labels."""
        tail, count = (1 - level) / 2, np.floor(self.found)
        low = chi2.ppf(tail, 2 * count) / 2 if count else 0.0
        high = chi2.ppf(1 - tail, 2 * count + 2) / 2
        return self._hidden(low / self._inclusion), self._hidden(high / self._inclusion)

    @property
    def n_hidden(self) -> float:
        """Items predicted negative without a label."""
        return float(self.hidden.sum())

    def labels_to_exclude(self, number: float, level: float = 0.95) -> int:
        """Labels, spread evenly and none a stray, that leave fewer than this many possible."""
        needed = -np.log((1 - level) / 2) * self.n_hidden / max(number, 1.0)
        return int(np.ceil(min(needed, self.n_hidden)))

    @property
    def _inclusion(self) -> float:
        return max(self.inclusion, 1e-12)

    def _hidden(self, number: float) -> float:
        return max(float(number) * (1 - self.inclusion), 0.0)

    @property
    def _posterior(self) -> tuple[FloatArray, FloatArray]:
        """Numbers on a grid of prior quantiles, and their posterior weight."""
        quantile = (np.arange(GRID) + 0.5) / GRID
        scale = max(SCALE, SCALE_SHARE * self.n_positives)
        grid = scale * np.tan(np.pi / 2 * quantile)
        mean = grid * self._inclusion
        fit = self.found * np.log(np.maximum(mean, 1e-300)) - mean
        return grid, np.exp(fit - fit.max())
