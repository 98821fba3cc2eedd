"""The estimate of the assisted design, and its several intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit, logit, ndtri

from haystat.estimation.result import Estimate
from haystat.estimation.sequences import sequence_multiplier
from haystat.estimation.strays import Strays
from haystat.measures.outputs import FloatArray

MARGIN = 1e-9  # by which values keep off the ends of their range on the logit scale


@dataclass(frozen=True)
class AssistedEstimate(Estimate):
    """An estimate whose error has two parts: chance, and strays that may hide.

    terms carry the first, which is taken as normal on the logit scale of a bounded measure.
    strays says how many may hide, moved(number) is the measure if so many do. The two parts are
    put together by squares of their one-sided distances (Zou and Donner 2008).
    """

    strays: Strays | None = None
    moved: Callable[[float], FloatArray] | None = field(default=None, repr=False)

    @property
    def intervals(self) -> FloatArray:
        """Chance, and as many strays as the labels and a wide prior leave likely."""
        ends = None if self.strays is None else self.strays.posterior(self.level)
        return self._joined(_two_sided(self.level), ends)

    @property
    def intervals_if_falling(self) -> FloatArray:
        """Chance alone: no stray hides, the share of positives keeps falling with the score."""
        return self._joined(_two_sided(self.level), None)

    @property
    def intervals_from_labels(self) -> FloatArray:
        """Chance, and as many strays as the labels cannot rule out: no prior at all."""
        ends = None if self.strays is None else self.strays.without_prior(self.level)
        return self._joined(_two_sided(self.level), ends)

    @property
    def interval_if_falling(self) -> tuple[float, float] | FloatArray:
        """Narrower than `interval`, if the share of positives keeps falling with the score."""
        return self._one_or_all(self.intervals_if_falling)

    @property
    def interval_from_labels(self) -> tuple[float, float] | FloatArray:
        """Wider than `interval`: what nothing but the labels would support."""
        return self._one_or_all(self.intervals_from_labels)

    @property
    def anytime_intervals(self) -> FloatArray:
        ends = None if self.strays is None else self.strays.at_any_time(self.level)
        return self._joined(sequence_multiplier(self.level, self.n_labels), ends)

    def _joined(self, multiplier: float, ends: tuple[float, float] | None) -> FloatArray:
        """Intervals of all components, (m, 2), in the range of the measure."""
        if np.isnan(self.values).all() or len(self.terms) == 0:
            return np.stack([self.values, self.values], axis=1)
        low, high = self.bounds
        bounded = np.isfinite(low) and np.isfinite(high)

        def up(value: FloatArray) -> FloatArray:
            if not bounded:
                return value
            share = np.clip((value - low) / (high - low), MARGIN, 1 - MARGIN)
            return np.asarray(logit(share))

        def down(value: FloatArray) -> FloatArray:
            return np.asarray(low + (high - low) * expit(value)) if bounded else value

        centre, half = up(self.values), multiplier * self.std_errors
        if bounded:
            share = np.clip((self.values - low) / (high - low), MARGIN, 1 - MARGIN)
            half = half / (share * (1 - share) * (high - low))
        below, above = half**2, half**2
        if ends is not None and self.moved is not None:
            both = np.stack([up(self.moved(number)) for number in ends]) - centre
            below = below + np.maximum(-both.min(axis=0), 0) ** 2
            above = above + np.maximum(both.max(axis=0), 0) ** 2
        return np.stack([down(centre - np.sqrt(below)), down(centre + np.sqrt(above))], axis=1)


def _two_sided(level: float) -> float:
    return float(ndtri((1 + level) / 2))
