"""The estimate of the assisted design, and its several intervals."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtri, stdtrit

from haystat.estimation.result import Estimate, without_width
from haystat.estimation.sequences import sequence_multiplier
from haystat.estimation.strays import Strays
from haystat.measures.base import Measure
from haystat.measures.outputs import FloatArray

SMALLEST_FREEDOM = 8.0
MUCH_WIDER = 2.0  # how much wider labels alone would leave an interval before a warning is due
AGREES = "every label agrees with the model, so the interval rests on the model"
LARGEST_FREEDOM = 1e6


@dataclass(frozen=True)
class Shape:
    """How an error made of few large parts differs from a normal one, for each component (m,).

    lean is the third moment over the second: for equal Poisson counts, the weight of one of them.
    freedom is the number of such parts, the degrees of freedom of their variance (Satterthwaite).
    """

    lean: FloatArray
    freedom: FloatArray

    @classmethod
    def of(cls, second: FloatArray, third: FloatArray, fourth: FloatArray) -> Shape:
        """From the moments of the error."""
        lean = np.divide(third, second, out=np.zeros_like(second), where=second > 0)
        freedom = np.divide(second**2, fourth, out=np.full_like(second, np.inf), where=fourth > 0)
        return cls(lean, np.maximum(freedom, SMALLEST_FREEDOM))

    @classmethod
    def normal(cls, m: int) -> Shape:
        """The shape of a normal error."""
        return cls(np.zeros(m), np.full(m, np.inf))

    def quantile(self, level: float) -> FloatArray:
        """Two-sided Student quantiles, (m,)."""
        return np.asarray(stdtrit(np.minimum(self.freedom, LARGEST_FREEDOM), (1 + level) / 2))


@dataclass(frozen=True)
class StrayEffect:
    """What hidden strays do to the measure: each adds shift (d,) to the risk (d,).

    already is how many of them the risk counts in.
    """

    measure: Measure
    risk: FloatArray
    shift: FloatArray
    already: float

    def value(self, number: float) -> FloatArray:
        """The measure if this many are hidden, (m,)."""
        with np.errstate(all="ignore"):
            risk = self.risk + (number - self.already) * self.shift
            return np.atleast_1d(self.measure.value(risk))


@dataclass(frozen=True)
class Agreement:
    """values (m,) of the measure if all items without a label are as predicted.

    number of them are expected not to be, so that none is has the probability exp(-number).
    """

    values: FloatArray
    number: float

    def extend(self, intervals: FloatArray, level: float) -> FloatArray:
        """Intervals (m, 2) that hold these values too, unless they are unlikely."""
        if np.exp(-self.number) < (1 - level) / 2:
            return intervals
        low, high = intervals.T
        known = ~np.isnan(self.values)
        low = np.where(known, np.minimum(low, self.values), low)
        high = np.where(known, np.maximum(high, self.values), high)
        return np.stack([low, high], axis=1)


@dataclass(frozen=True)
class AssistedEstimate(Estimate):
    """An estimate whose error has two parts: chance, and strays that may hide.

    terms carry the first, shape how far it is from normal. strays says how many may hide, effect
    what they do, agreement what follows if nothing hides. The two parts are put together by squares
    of their one-sided distances (Zou and Donner 2008).
    """

    shape: Shape = field(default_factory=lambda: Shape.normal(1), repr=False)
    strays: Strays | None = field(default=None, repr=False)
    effect: StrayEffect | None = field(default=None, repr=False)
    agreement: Agreement | None = field(default=None, repr=False)

    @property
    def intervals(self) -> FloatArray:
        """Chance, and as many strays as the labels and a wide prior leave likely."""
        ends = None if self.strays is None else self.strays.posterior(self.level)
        return self._joined(self._reach(), ends)

    @property
    def intervals_if_falling(self) -> FloatArray:
        """Chance alone: no stray hides, the share of positives keeps falling with the score."""
        ends = None if self.effect is None else (0.0, self.effect.already)
        return self._joined(self._reach(), ends)

    @property
    def intervals_from_labels(self) -> FloatArray:
        """Chance, and as many strays as the labels cannot rule out: no prior at all."""
        ends = None if self.strays is None else self.strays.without_prior(self.level)
        return self._joined(self._reach(), ends)

    @property
    def anytime_intervals(self) -> FloatArray:
        """Chance by a confidence sequence; the posterior of strays does not mind peeking."""
        ends = None if self.strays is None else self.strays.posterior(self.level)
        multiplier = np.array(sequence_multiplier(self.level, self.n_labels))
        below, above = np.maximum(self._distances(multiplier), self._reach())
        return self._joined((below, above), ends)

    def _reach(self) -> tuple[FloatArray, FloatArray]:
        """How far chance goes below and above.

        What few large parts can do is Student's on the side they lean to, normal on the other.
        """
        lean, few = self.shape.lean, self._distances(self.shape.quantile(self.level))
        many = self._distances(np.asarray(ndtri((1 + self.level) / 2)))
        return np.where(lean > 0, many[0], few[0]), np.where(lean < 0, many[1], few[1])

    def _distances(self, multiplier: FloatArray) -> tuple[FloatArray, FloatArray]:
        """So many standard errors below and above.

        As for a Poisson count k, whose interval is k + z^2 / 2 -+ z sqrt(k + z^2 / 4).
        """
        if np.isinf(multiplier).any():
            return np.full_like(self.values, np.inf), np.full_like(self.values, np.inf)
        shift = multiplier**2 / 2 * self.shape.lean
        half = np.sqrt((multiplier * self.std_errors) ** 2 + shift**2)
        return half - shift, half + shift

    def _joined(
        self, reach: tuple[FloatArray, FloatArray], hidden: tuple[float, float] | None
    ) -> FloatArray:
        """Intervals of all components, (m, 2), in the range of the measure."""
        if np.isnan(self.values).all() or len(self.terms) == 0:
            return np.stack([self.values, self.values], axis=1)
        below, above = reach
        if hidden is not None and self.effect is not None:
            moved = np.stack([self.effect.value(number) for number in hidden])
            # Without strays the measure may be 0/0, which says nothing about where it lies.
            fewer, more = np.nan_to_num(moved - self.values)
            # That nothing hides at all, neither strays nor what the trend expects, is one case.
            below = np.hypot(below, np.maximum(-more, 0)) + np.maximum(-fewer, 0)
            above = np.hypot(above, np.maximum(more, 0)) + np.maximum(fewer, 0)
        ends = np.stack([self.values - below, self.values + above], axis=1)
        if self.agreement is not None:
            ends = self.agreement.extend(ends, self.level)
        return np.clip(ends, *self.bounds)

    def doubts(self) -> list[str]:
        """What the interval takes from the model rather than from labels, in words."""
        if self.strays is None or self.effect is None:
            return [AGREES] if without_width(self.terms) else []
        width = np.ptp(self.intervals, axis=1)
        alone = self.intervals_from_labels
        if not np.any(np.ptp(alone, axis=1) > MUCH_WIDER * width):
            return []
        widest = int(np.argmax(np.ptp(alone, axis=1) - width))
        most = min(self.strays.without_prior(self.level)[1], self.strays.n_hidden)
        step = abs(self.effect.value(self.effect.already + 1) - self.values)[widest]
        n_labels = self.strays.labels_to_exclude(float(width[widest] / max(step, 1e-300)))
        return [
            f"up to {most:,.0f} positives could hide among {self.strays.n_hidden:,.0f} items "
            "predicted negative, as far as labels tell; without the model the interval would be "
            f"[{alone[widest, 0]:.3g}, {alone[widest, 1]:.3g}]. About {n_labels:,} labels spread "
            "evenly over those items would settle it"
        ]
