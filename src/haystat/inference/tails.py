"""What carries the error of an estimate on each side: few heavy draws, or many light ones.

A draw moves the estimate by its step d = a (w z - c): a is the draw's share in the mean, w its
weight, z the influence of its loss, c the mean of w z. Steps below zero lower the estimate, steps
above raise it. The steps of a side are taken for finds of one size, s = sum |d|^3 / sum d^2, in
which a step counts by the variance that it carries; there are then sum d^2 / s^2 of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammainccinv, ndtr

from haystat.core.arrays import BoolArray, FloatArray

SIDES = (-1.0, 1.0)


@dataclass(frozen=True)
class Tails:
    """The error of m components below and above the estimate.

    square and cube (2, m) are the sums of d^2 and |d|^3 over the draws of a side; possible (2, m)
    is the step of one more find on that side, 0 where there can be none. bounds (m, 2) are the
    smallest and largest value of each component. ratio (m,) marks shares, quotients in [0, 1]
    whose denominator grows with every find.
    """

    square: FloatArray
    cube: FloatArray
    possible: FloatArray
    bounds: FloatArray
    ratio: BoolArray

    def intervals(self, values: FloatArray, multiplier: float) -> FloatArray:
        """Lower and upper ends around values (m,), (m, 2).

        multiplier says how many standard errors to go on either side where finds are many. The
        truth lies lower than the estimate if the lowering finds were too few or the raising ones
        too many; the two distances are put together by their squares (Zou and Donner 2008).
        """
        more = self._pressed(values, self.more(ndtr(-multiplier)))
        fewer = multiplier * np.sqrt(self.square)
        below, above = np.hypot(more, fewer[::-1])
        low, high = self.bounds.T
        ends = np.clip([values - below, values + above], low, high)
        return np.asarray(ends.T)

    def more(self, tail: float) -> FloatArray:
        """By how much the finds of a side may add up to more than was drawn, (2, m).

        The number of finds has the exact upper limit of a Poisson count with this tail
        probability (Garwood 1936), as weighted counts have it in Fay and Feuer (1997). Finds unlike
        those drawn, of which there were none, have the limit of a count of zero.
        """
        size = quotient(self.cube, self.square)
        count = quotient(self.square, size**2)
        seen = size * (gammainccinv(count + 1, tail) - count)
        return np.asarray(np.hypot(seen, -np.log(tail) * self.possible))

    def _pressed(self, values: FloatArray, reach: FloatArray) -> FloatArray:
        """What a reach (2, m) comes to in a share: finds also add to its denominator.

        With x more finds below, t / d becomes t / (d + x); with x more above, (t + x) / (d + x).
        Both leave room^2 / (room + reach) of the room between the value and its bound. Where no
        draw could make a find, as of true positives if no predicted one was drawn, none is ruled
        out, and the whole room is left to them.
        """
        room = np.stack([values, 1.0 - values])
        pressed = np.where(reach > 0, quotient(room * reach, room + reach), room)
        return np.where(self.ratio, pressed, reach)


def quotient(top: FloatArray, bottom: FloatArray) -> FloatArray:
    """Quotient, zero where the denominator is."""
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)


def self_weighted(total: FloatArray, square: FloatArray) -> FloatArray:
    """Sum of e^2 over sum of e: the size of a possible find, were finds as rare as they are big.

    A design draws an item in proportion to the chance that it moves the estimate, so its step is
    the larger the less likely the find. With chances in proportion to 1 / e the size that carries
    the variance, sum e^3 / sum e^2, becomes this.
    """
    return quotient(square, total)
