"""Quantiles and regions: how many standard errors to go."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import fdtri, stdtrit

from haystat.core.arrays import FloatArray

BAND_SIMULATIONS = 1000


def t_quantile(level: float, n_draws: int) -> float:
    """Two-sided Student quantile; infinite for fewer than two draws."""
    if n_draws < 2:
        return np.inf
    return float(stdtrit(n_draws - 1, (1 + level) / 2))


@dataclass(frozen=True)
class Region:
    """The ellipsoid (G - value)' covariance^-1 (G - value) <= radius.

    covariance is that of the estimate, Sigma / N of the paper, so that
    radius = (N - 1) k / (N - k) F(level; k, N - k).
    """

    value: FloatArray
    covariance: FloatArray
    n_draws: int
    level: float

    @property
    def radius(self) -> float:
        """Squared Mahalanobis distance at the border; infinite without enough draws."""
        k = len(self.value)
        if self.n_draws <= k:
            return np.inf
        quantile = fdtri(k, self.n_draws - k, self.level)
        return float((self.n_draws - 1) * k / (self.n_draws - k) * quantile)

    def contains(self, value: FloatArray) -> bool:
        """Whether a vector of true values lies inside.

        Where the covariance is singular, a value off its range is outside.
        """
        difference = np.asarray(value, dtype=np.float64) - self.value
        inverse = np.linalg.pinv(self.covariance, hermitian=True)
        explained = self.covariance @ inverse @ difference
        if not np.allclose(explained, difference, atol=1e-9):
            return False
        return bool(difference @ inverse @ difference <= self.radius)


def band_multiplier(terms: FloatArray, level: float, random_state: int) -> float:
    """Quantile of the largest standardised error over all components.

    Every draw's term (n, m) gets an independent normal factor, many times over.
    """
    deviation = np.sqrt(np.einsum("nm,nm->m", terms, terms))
    moving = deviation > 0
    if not moving.any():
        return 0.0
    standardised = terms[:, moving] / deviation[moving]
    rng = np.random.default_rng(random_state)
    factors = rng.standard_normal((BAND_SIMULATIONS, len(terms)))
    largest = np.abs(factors @ standardised).max(axis=1)
    return float(np.quantile(largest, level))
