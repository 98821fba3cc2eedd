"""Bets on "the measure is below tau", and where labels make them grow fastest.

Symbols as in betting.py, with m = tau B - A: the measure is below tau if and only if the sum M of m
over the pool is positive. The bets have an alternative in mind, in which the measure is `target`:
the label shares p that were expected, tilted to p' with p'_c proportional to p_c exp(theta m_c).
The cells of a set V are bet on; all others enter with their worst label, which lowers M by what
they would have added and takes out what they add to the variance of X. With rates h,

    mean of X = sum over V of U E'm + sum over others of U min m + what is known,
    variance of X = (sum of U h) (sum over V of U Var'm / h),

and bets grow by mean^2 / (2 variance) a draw where that is small: V is the set that makes it
largest. Rare labels far below a threshold have a large variance and a small mean, and are left
out. The variance is smallest where h is the standard deviation of m (Neyman).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.inference.guaranteed_interval import StageDraws

STEEPEST = 60.0  # of theta, beyond which a label that can be expected is certain
ROUNDING = 1e-9  # relative, of what X can lose


@dataclass(frozen=True)
class Alternative:
    """What is bet on: losses m (K, C) and their worst (K,), and the shares of labels (K, C).

    left (K,) items have not been drawn; known is the sum of m of the others that have a label.
    """

    m: FloatArray
    worst: FloatArray
    shares: FloatArray
    left: FloatArray
    known: float

    @classmethod
    def of(
        cls,
        numerator: FloatArray,
        denominator: FloatArray,
        tau: float,
        target: float,
        shares: FloatArray,
        left: IntArray,
        told: IntArray,
        silent: IntArray,
    ) -> Alternative:
        """The shares (K, C) of `left` items, tilted until the measure of all is `target`.

        told (K, C) are the labels there are, silent (K,) items were drawn and have none. Shares
        that make it less already stay as they are.
        """
        from scipy.optimize import brentq  # slow to import

        m = tau * denominator - numerator
        at_target = target * denominator - numerator
        fixed = float(np.sum(told * at_target))

        def tilted(theta: float) -> FloatArray:
            power = np.exp(theta * (m - m.max(axis=1, keepdims=True)))
            weight = shares * power
            return np.asarray(weight / weight.sum(axis=1, keepdims=True))

        def above(theta: float) -> float:
            return fixed + float(np.einsum("k,kc,kc->", left, tilted(theta), at_target))

        theta = 0.0
        if above(0.0) < 0:
            theta = STEEPEST if above(STEEPEST) < 0 else float(brentq(above, 0.0, STEEPEST))
        found = tilted(theta) if theta else shares
        worst = m.min(axis=1)
        known = float(np.sum(told * m) + silent @ worst)
        return cls(m, worst, found, left.astype(np.float64), known)

    @property
    def expected(self) -> FloatArray:
        """Mean of m of an item of each cell, (K,)."""
        return np.asarray(np.einsum("kc,kc->k", self.shares, self.m))

    @property
    def variance(self) -> FloatArray:
        """Variance of m of an item of each cell, (K,)."""
        deviation = self.m - self.expected[:, None]
        return np.asarray(np.einsum("kc,kc->k", self.shares, deviation**2))

    def seen(self, rates: FloatArray) -> tuple[BoolArray, float, float]:
        """The cells to bet on if they are drawn at rates (K,), mean of X, and sum of U Var / h."""
        drawn = (rates > 0) & np.isfinite(rates) & (self.left > 0)
        gain = np.where(drawn, self.left * (self.expected - self.worst), 0.0)
        cost = np.where(drawn, self.left * self.variance / np.where(drawn, rates, 1.0), 0.0)
        ratio = np.where(gain > 0, gain / np.maximum(cost, np.finfo(float).tiny), 0.0)
        order = np.argsort(-ratio, kind="stable")
        order = order[ratio[order] > 0]
        mean = self.known + float(self.left @ self.worst) + np.cumsum(gain[order])
        spread = np.cumsum(cost[order])
        inside = np.zeros(len(rates), dtype=bool)
        if not len(order) or not mean.max() > 0:
            return inside, 0.0, 0.0
        growth = np.where(mean > 0, mean**2 / np.maximum(spread, np.finfo(float).tiny), -1.0)
        best = int(np.argmax(growth))
        inside[order[: best + 1]] = True
        return inside, float(mean[best]), float(spread[best])


def wealth_below(
    draws: StageDraws,
    numerator: FloatArray,
    denominator: FloatArray,
    tau: float,
    target: float,
    enough: float = np.inf,
) -> float:
    """What bets on "below tau" make of 1, with `target` in mind; draws have shares.

    If the measure is not below tau, 1 is expected at most, whatever the shares are. The bets stop
    once they have made `enough`.
    """
    assert draws.shares is not None
    wealth, n_cells = 1.0, len(draws.size)
    drawn, told = np.zeros(n_cells, np.int64), np.zeros(numerator.shape, np.int64)
    for j, rates in enumerate(draws.rates):
        certain = np.isinf(rates[draws.cell])
        for part in (certain, ~certain):  # what was taken for certain came first
            inside = part & (draws.stage == j)
            cell, label = draws.cell[inside], draws.label[inside]
            if part is not certain and len(cell):
                silent = drawn - told.sum(axis=1)
                given = draws.shares[j], draws.size - drawn, told, silent
                bet = Alternative.of(numerator, denominator, tau, target, *given)
                wealth = _stage_wealth(bet, rates, cell, label, wealth, enough)
            np.add.at(drawn, cell, 1)
            np.add.at(told, (cell[label >= 0], label[label >= 0]), 1)
    return wealth


def _stage_wealth(
    bet: Alternative,
    rates: FloatArray,
    cell: IntArray,
    label: IntArray,
    wealth: float,
    enough: float,
) -> float:
    """What the bets of a stage make of wealth; cell, label (n,) in the order of the draws."""
    seen, mean, spread = bet.seen(rates)
    if not mean > 0:
        return wealth
    left, known = bet.left.copy(), bet.known
    guess = np.where(seen, bet.expected, bet.worst)
    drawn = np.where(np.isfinite(rates), rates, 0.0)
    gap = np.where(seen, (bet.worst - guess) / np.where(seen, rates, 1.0), 0.0)
    for k, c in zip(cell.tolist(), label.tolist(), strict=True):
        if wealth >= enough:
            break
        total = float(left @ drawn)
        found = bet.m[k, c] if c >= 0 else bet.worst[k]
        base = known + float(left @ guess)
        lowest = base + total * min(0.0, float(gap[left > 0].min()))
        loss = max(-lowest, ROUNDING * (abs(known) + float(left @ np.abs(bet.worst)) + 1.0))
        won = base + (total * (found - guess[k]) / rates[k] if seen[k] else 0.0)
        gain = mean * (mean + loss)
        wealth *= 1 + gain / (gain + total * spread) * max(won / loss, -1.0)
        left[k] -= 1
        known += found
    return wealth
