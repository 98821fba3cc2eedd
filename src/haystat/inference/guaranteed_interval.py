"""The guaranteed interval: no model, valid at every look and at every sample size.

For a measure that is a ratio of totals, sum A / sum B, and a fixed tau, "the measure is at most
tau" is a statement about a total, which bets on the draws can refute (betting.py). The interval
holds what has not been refuted so far. It is a confidence sequence: whatever the labels are, the
chance that it ever excludes the truth is at most 1 - level, however often one looks and whatever
one decides on the way. Guesses of the labels make it narrow if they are good and never invalid.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from haystat.core.arrays import BoolArray, FloatArray, IntArray

#: grids of tau, each a refinement of the one before, and the share of alpha spent on it
GRIDS = ((32, 0.03), (256, 0.07), (2048, 0.9))
#: growth of the labels after which the guesses are made anew, where none are given
GROWTH = 1.25
#: groups of neighbouring cells with the same losses whose labels are pooled for a guess
N_GROUPS = 8


@dataclass(frozen=True)
class StageDraws:
    """n draws in J stages from a pool of K cells and C classes, in the order they were made.

    size (K,) items of each cell; stage, cell, label (n,), label -1 where nobody could answer: such
    an item may have any label.

    rates (J, K): how likely each undrawn item of a cell was to be the next, relative to the others,
    all through the stage; it may depend on earlier stages. Infinite: taken first and for certain.
    Zero: not drawn in this stage.

    shares (J, K, C): guesses of the label shares made before the stage; None: from earlier labels.

    repeated (n,), for draws with replacement only: whether the item had been drawn before. rates
    are then the probabilities of each item of a cell that has no label yet.
    """

    size: IntArray
    stage: IntArray
    cell: IntArray
    label: IntArray
    rates: FloatArray
    shares: FloatArray | None = None
    repeated: BoolArray | None = None


def guaranteed_interval(
    draws: StageDraws, numerator: FloatArray, denominator: FloatArray, level: float
) -> tuple[float, float]:
    """Lowest and highest value of sum A / sum B that the draws have not refuted.

    numerator, denominator (K, C): A and B of an item by its cell and label; B is not negative,
    and A is zero where B is. NaN where the ratio is undefined whatever the labels are.

    >>> zeros, ones = np.zeros(100, int), np.ones(100, int)
    >>> draws = StageDraws(np.array([1000]), zeros, zeros, ones, rates=np.ones((1, 1)))
    >>> low, high = guaranteed_interval(draws, np.array([[0.0, 1.0]]), np.ones((1, 2)), 0.95)
    >>> round(low, 2), high
    (0.96, 1.0)
    """
    low, high = logical_bounds(draws, numerator, denominator)
    if not low < high or len(draws.cell) == 0:
        return low, high
    bets = Bets(draws, numerator, denominator)
    ends = bets.end(1, low, high, 1 - level), bets.end(-1, low, high, 1 - level)
    return min(ends), max(ends)  # in this order but for a chance of 1 - level


def logical_bounds(
    draws: StageDraws, numerator: FloatArray, denominator: FloatArray
) -> tuple[float, float]:
    """Smallest and largest value that the items without a label allow."""
    new = np.ones(len(draws.cell), bool) if draws.repeated is None else ~draws.repeated
    answered = new & (draws.label >= 0)
    cell, label = draws.cell[answered], draws.label[answered]
    left = draws.size - np.bincount(cell, minlength=len(draws.size))
    known = numerator[cell, label].sum(), denominator[cell, label].sum()
    return (
        _extreme(1.0, left, known, numerator, denominator),
        _extreme(-1.0, left, known, numerator, denominator),
    )


def _extreme(
    sign: float,
    left: IntArray,
    known: tuple[float, float],
    numerator: FloatArray,
    denominator: FloatArray,
) -> float:
    """Smallest (sign 1) or largest (sign -1) ratio over all labels of what is left.

    Dinkelbach's iteration: the labels with the smallest sum of A - tau B give the next tau.
    """
    rows = np.arange(len(left))
    worst = np.argmax(denominator, axis=1)
    tau = np.nan
    while True:
        below = known[1] + left @ denominator[rows, worst]
        if below == 0:
            return tau
        new = float((known[0] + left @ numerator[rows, worst]) / below)
        if not np.isnan(tau) and sign * (new - tau) >= 0:
            return tau
        tau = new
        worst = np.argmin(sign * (numerator - tau * denominator), axis=1)


class Bets:
    """Bets on draws: on "the measure is above tau" (sign 1) or "below tau" (sign -1), any tau."""

    def __init__(self, draws: StageDraws, numerator: FloatArray, denominator: FloatArray) -> None:
        # Here, not above: numba takes a quarter of a second to import.
        from haystat.inference.betting import FRACTIONS, N_NODES, stage_tables, trace

        draws = _in_order(draws)
        if draws.shares is None:
            draws = _with_guesses(draws, numerator, denominator)
        losses = _floats(numerator), _floats(denominator)
        nothing = replace(draws, cell=draws.cell[:0], label=draws.label[:0], repeated=None)
        self.range = logical_bounds(nothing, *losses)
        repeated = np.zeros(len(draws.cell)) if draws.repeated is None else draws.repeated
        sample = (*map(_integers, (draws.stage, draws.cell, draws.label)), repeated.astype(bool))
        rates, shares = _floats(draws.rates), _floats(draws.shares)
        hat = np.stack([np.einsum("jkc,kc->jk", shares, loss) for loss in losses], axis=2)
        replacement = draws.repeated is not None
        inputs = (_integers(draws.size), *sample, replacement, rates, hat, *losses)
        *path, unknown = trace(*inputs)
        nodes = np.linspace(*self.range, N_NODES)
        stages = (nodes, rates, shares, hat, unknown, *losses)
        self._inputs = {
            sign: (*sample, rates, *losses, *path, nodes, *stage_tables(sign, *stages), FRACTIONS)
            for sign in (1, -1)
        }

    def wealth(self, tau: float, sign: int, enough: float = np.inf) -> tuple[float, float]:
        """Largest and last wealth, from 1; the bets stop once they have made `enough`.

        tau lies in `range`, what is possible before there are labels.
        If the measure is not above (below) tau, the largest exceeds 1 / alpha with probability
        alpha at most.
        """
        from haystat.inference.betting import wager

        largest, last = wager(tau, sign, enough, *self._inputs[sign])
        return float(largest), float(last)

    def end(self, sign: int, low: float, high: float, alpha: float) -> float:
        """The lower end (sign 1) or the upper end (sign -1) of the interval.

        Each grid is searched outside in, from where the one before it stopped, up to the first
        tau that is not refuted. So the end passes the truth only if on one of the grids the tau
        next to the truth was refuted: one test a grid, and their alphas add up to half of alpha.
        """
        end, limit = (low, high) if sign > 0 else (high, low)
        for n_steps, share in GRIDS:
            enough = 2 / (alpha * share)
            for tau in _grid(*self.range, n_steps)[::sign]:
                if sign * (tau - end) <= 0:
                    continue
                if sign * (tau - limit) >= 0 or self.wealth(tau, sign, enough)[0] < enough:
                    break
                end = float(tau)
        return end


def _floats(array: FloatArray | None) -> FloatArray:
    """A copy in the one layout that the kernels are compiled for."""
    return np.array(array, dtype=np.float64, order="C")


def _integers(array: IntArray) -> IntArray:
    """A copy in the one layout that the kernels are compiled for."""
    return np.array(array, dtype=np.int64, order="C")


def _grid(low: float, high: float, n_steps: int) -> FloatArray:
    """Values between low and high, closer together near both: standard errors are smaller there."""
    return low + (high - low) * np.sin(np.linspace(0, np.pi / 2, n_steps + 1)) ** 2


def _in_order(draws: StageDraws) -> StageDraws:
    """What was taken for certain comes first in its stage."""
    certain = np.isinf(draws.rates[draws.stage, draws.cell])
    order = np.lexsort((~certain, draws.stage))
    repeated = None if draws.repeated is None else draws.repeated[order]
    return replace(
        draws,
        stage=draws.stage[order],
        cell=draws.cell[order],
        label=draws.label[order],
        repeated=repeated,
    )


def _with_guesses(draws: StageDraws, numerator: FloatArray, denominator: FloatArray) -> StageDraws:
    """The same draws with shares from the labels of earlier stages; long stages are split.

    A group of cells has the shares of its labels and one more, which is spread like the labels of
    all cells with the same losses.
    """
    group = _groups(numerator, denominator)
    starts, n_classes = _split(draws), numerator.shape[1]
    stage = np.searchsorted(starts, np.arange(len(draws.cell)), side="right") - 1
    seen = np.zeros((len(starts) + 1, group.max() // N_GROUPS + 1, N_GROUPS, n_classes))
    answered = draws.label >= 0
    side, part = np.divmod(group[draws.cell[answered]], N_GROUPS)
    np.add.at(seen, (stage[answered] + 1, side, part, draws.label[answered]), 1)
    counts = np.cumsum(seen[:-1], axis=0)
    prior = counts.sum(axis=2, keepdims=True) + 1 / n_classes
    guess = counts + prior / prior.sum(axis=3, keepdims=True)
    guess /= guess.sum(axis=3, keepdims=True)
    shares = guess.reshape(len(starts), -1, n_classes)[:, group]
    return replace(draws, stage=stage, rates=draws.rates[draws.stage[starts]], shares=shares)


def _groups(numerator: FloatArray, denominator: FloatArray) -> IntArray:
    """Group of each cell, (K,): N_GROUPS runs of cells for each kind of losses."""
    losses = np.concatenate([numerator, denominator], axis=1)
    side = np.unique(losses, axis=0, return_inverse=True)[1].reshape(-1)
    order = np.argsort(side, kind="stable")
    n_cells = np.bincount(side)
    rank = np.empty(len(side), dtype=np.int64)
    rank[order] = np.arange(len(side)) - np.repeat(np.cumsum(n_cells) - n_cells, n_cells)
    return np.asarray(side * N_GROUPS + rank * N_GROUPS // n_cells[side])


def _split(draws: StageDraws) -> IntArray:
    """First draws of the stages, cut wherever the number of draws has grown by GROWTH."""
    n = len(draws.cell)
    grown = np.unique(GROWTH ** np.arange(np.log(max(n, 2)) / np.log(GROWTH)) // 1).astype(np.int64)
    changes = np.flatnonzero(np.diff(draws.stage)) + 1
    return np.unique(np.concatenate([[0], grown[grown < n], changes]))
