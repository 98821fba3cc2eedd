"""An estimate by draws from a posterior, and its credible intervals."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtri

from haystat.core.arrays import FloatArray
from haystat.inference.confidence_sequences import sequence_multiplier
from haystat.inference.estimate import Estimate, undefined_warning
from haystat.measures.base import Measure

USUAL = 0.95  # level of an interval
ROUNDING = 1e-12  # by which the ends of an interval allow for rounding


@dataclass(frozen=True, repr=False)
class CredibleEstimate(Estimate):
    """An estimate whose error is told by draws (S, m) of the measure from a posterior.

    Draws in which a component is undefined (0/0) are left out for that component. Its intervals
    leave out `tail_share` of the draws that their level would, and its values are their quantile
    `point`, counted from the worst. lower_is_better is the measure's.
    """

    draws: FloatArray = field(default_factory=lambda: np.zeros((0, 1)), repr=False)
    tail_share: float = 1.0
    point: float = 0.5
    lower_is_better: bool | None = None

    @property
    def intervals(self) -> FloatArray:
        """Equal-tailed credible intervals: quantiles of the draws, (m, 2)."""
        tail = self.tail_share * (1 - self.level) / 2
        known = ~np.isnan(self.values)
        ends = np.full((len(known), 2), np.nan)
        if known.any():
            ends[known] = np.nanquantile(self.draws[:, known], [tail, 1 - tail], axis=0).T
        slack = ROUNDING * np.maximum(1.0, np.abs(ends))
        return np.asarray(np.clip(ends + slack * [-1.0, 1.0], *self.bounds))

    @property
    def anytime_intervals(self) -> FloatArray:
        """The same: a posterior does not mind when one looks."""
        return self.intervals

    @property
    def watched_intervals(self) -> FloatArray:
        """Stretched about the estimate as a confidence sequence is wider than an interval, (m, 2).

        A sequence goes m standard errors. An end of the usual interval lies z standard deviations
        of the draws from the estimate, z that of the draws it leaves out: on the worse side it is
        moved by m / z. On the better side, to which the prior does not lean, that the draws are too
        sure has to be allowed for: there z is that of the level. At whatever level: the outermost
        draws are too few to tell levels apart.
        """
        drawn, nominal = (-ndtri(share * (1 - USUAL) / 2) for share in (self.tail_share, 1.0))
        low = nominal if self.lower_is_better is not False else drawn
        high = nominal if self.lower_is_better is not True else drawn
        n_labels = self.n_labels + self.n_known
        stretch = sequence_multiplier(self.level, n_labels) / np.array([low, high])
        values = self.values[:, None]
        return np.asarray(values + stretch * (self.at(USUAL).intervals - values))

    @property
    def sampled(self) -> FloatArray:
        """Draws of the components from the posterior, (S, m)."""
        return self.draws

    def band(self, random_state: int = 0) -> FloatArray:
        bounds = np.tile(self.bounds, (len(self.values), 1))
        return credible_band(self.values, self.intervals, self.draws, self.level, bounds)


def credible_band(
    values: FloatArray, intervals: FloatArray, draws: FloatArray, level: float, bounds: FloatArray
) -> FloatArray:
    """All intervals made wider by one factor, until they hold `level` of the draws at once."""
    low, high = intervals.T
    below, above = values - low, high - values
    error = draws - values
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(error < 0, -error / below, error / above)
    widest = np.max(np.nan_to_num(reach, nan=0.0, posinf=0.0), axis=1)
    factor = max(float(np.quantile(widest, level)), 1.0)
    ends = np.stack([values - factor * below, values + factor * above], axis=1)
    return np.asarray(np.clip(ends, bounds[:, :1], bounds[:, 1:]))


def credible_estimate(
    measure: Measure,
    risks: FloatArray,
    level: float,
    n_labels: int,
    warnings: tuple[str, ...],
    tail_share: float = 1.0,
    point: float = 0.5,
) -> CredibleEstimate:
    """The estimate from draws of the risk (S, d): a quantile of the measure's values.

    point is counted from the worst value; a measure without a better side has its median.
    """
    draws = measure.values(risks)
    draws = np.where(np.isfinite(draws), np.clip(draws, *measure.bounds), np.nan)
    undefined = np.isnan(draws).mean(axis=0) >= 1 / 2
    if undefined.any():
        why = measure.undefined(np.median(risks, axis=0))
        why = why or f"{measure.name} is undefined in most of what is possible"
        warnings = (undefined_warning(why), *warnings)
    draws[:, undefined] = np.nan
    known = np.where(undefined, 0.0, draws)
    rank = counted_up(point, measure.lower_is_better)
    values = np.where(undefined, np.nan, np.nanquantile(known, rank, axis=0))
    deviation = np.nan_to_num(known - np.nanmean(known, axis=0))
    return CredibleEstimate(
        measure.name,
        measure.components,
        values,
        np.where(undefined, np.nan, deviation / np.sqrt(len(draws))),
        level,
        n_labels,
        n_labels,
        measure.bounds,
        warnings,
        {"risk": np.median(risks, axis=0)},
        draws=np.where(undefined, np.nan, draws),
        tail_share=tail_share,
        point=point,
        lower_is_better=measure.lower_is_better,
    )


def counted_up(point: float, lower_is_better: bool | None) -> float:
    """The quantile `point`, counted from the worst value, as one counted from the lowest."""
    sides = {None: 0.5, False: point, True: 1 - point}
    return sides[lower_is_better]
