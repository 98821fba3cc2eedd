"""Ratios of gamma functions at counts, which are small where signals cut regions small.

Gamma(a + n) / Gamma(a) = a (a + 1) … (a + n - 1): gammaln takes many times as long as a few
products do. The derivative of its logarithm is the sum of 1 / (a + i).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, psi

from haystat.core.arrays import FloatArray, IntArray

MOST = 8  # factors; TINY**-MOST of models/curve.py is far from the largest number


@dataclass(frozen=True)
class Rising:
    """For counts n (A,): few are the columns with at most MOST of them, the largest counts first.

    reach has, for i = 0, 1, …, how many of these columns have a factor a + i; many are the others.
    """

    n: FloatArray
    few: IntArray
    reach: tuple[int, ...]
    many: IntArray

    @classmethod
    def of(cls, n: FloatArray) -> Rising:
        """Counts that are no whole numbers have no such product."""
        small = (n <= MOST) & (n == np.rint(n))
        few = np.flatnonzero(small & (n > 0))
        few = few[np.argsort(-n[few], kind="stable")]
        reach = tuple(int(np.sum(n[few] > i)) for i in range(MOST))
        return cls(n, few, tuple(k for k in reach if k > 0), np.flatnonzero(~small))

    def log(self, a: FloatArray) -> FloatArray:
        """log Gamma(a + n) - log Gamma(a) for a (G, A)."""
        found, base = np.zeros_like(a), a[:, self.few]
        product = np.ones_like(base)
        for i, k in enumerate(self.reach):
            product[:, :k] *= base[:, :k] + i
        found[:, self.few] = np.log(product)
        if len(self.many):
            rest = a[:, self.many]
            found[:, self.many] = gammaln(rest + self.n[self.many]) - gammaln(rest)
        return found

    def slope(self, a: FloatArray) -> FloatArray:
        """The derivative of `log` by a, (G, A)."""
        found, base = np.zeros_like(a), a[:, self.few]
        total = np.zeros_like(base)
        for i, k in enumerate(self.reach):
            total[:, :k] += 1 / (base[:, :k] + i)
        found[:, self.few] = total
        if len(self.many):
            rest = a[:, self.many]
            found[:, self.many] = psi(rest + self.n[self.many]) - psi(rest)
        return found
