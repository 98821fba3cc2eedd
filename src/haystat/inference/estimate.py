"""Estimate: a value, how far off it may be, and what to know about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri

from haystat.core.arguments import checked_number
from haystat.core.arrays import FloatArray
from haystat.core.wording import label_count
from haystat.display.card import Bar, Card, number
from haystat.display.curves import CurveDisplay
from haystat.display.plots import plot_intervals
from haystat.display.shown import Shown
from haystat.errors import NoSupport
from haystat.inference.confidence_sequences import sequence_multiplier
from haystat.inference.guarantee import Guarantee
from haystat.inference.intervals import Region, band_multiplier, t_quantile
from haystat.inference.tails import Tails

MOST_SHOWN = 12  # components that are printed or drawn one by one


@dataclass(frozen=True, repr=False)
class Estimate(Shown):
    """What the labels say about a measure with m components.

    terms (n, m) carry its error: terms' terms is the covariance matrix; none (0, m) means that the
    value is exact. `bounds` are the smallest and largest value the measure can take. tails, where
    given, say on which side the error lies and in how many draws; without them intervals are the
    plain ones of the central limit theorem.
    """

    measure: str
    components: tuple[str, ...]
    values: FloatArray
    terms: FloatArray = field(repr=False)
    level: float
    n_labels: int
    n_draws: int
    bounds: tuple[float, float]
    warnings: tuple[str, ...] = ()
    details: dict[str, Any] = field(default_factory=dict, repr=False)
    tails: Tails | None = field(default=None, repr=False, kw_only=True)
    guarantee: Guarantee | None = field(default=None, repr=False, kw_only=True)
    #: whether the rows of the terms are the same draws whatever the measure
    by_draw: bool = field(default=True, repr=False, kw_only=True)

    @property
    def value(self) -> float | FloatArray:
        """The estimate: a number, or (m,) for several components."""
        return float(self.values[0]) if self.scalar else self.values

    @property
    def scalar(self) -> bool:
        return len(self.values) == 1

    @cached_property
    def std_errors(self) -> FloatArray:
        """Standard error of each component, (m,)."""
        return np.asarray(np.sqrt(np.einsum("nm,nm->m", self.terms, self.terms)))

    @property
    def std_error(self) -> float | FloatArray:
        """Standard error: a number, or (m,) for several components."""
        return float(self.std_errors[0]) if self.scalar else self.std_errors

    @cached_property
    def covariance(self) -> FloatArray:
        """Covariance matrix of the estimate, (m, m)."""
        return self.terms.T @ self.terms

    @property
    def intervals(self) -> FloatArray:
        """Lower and upper end for each component on its own, (m, 2)."""
        return self.around(t_quantile(self.level, self.n_draws))

    @property
    def interval(self) -> tuple[float, float] | FloatArray:
        """Confidence interval at `level`: (low, high), or (m, 2) for several components."""
        return self._one_or_all(self.intervals)

    @property
    def clt_intervals(self) -> FloatArray:
        """The paper's: values -+ Student's quantile times the standard errors, (m, 2)."""
        return replace(self, tails=None).around(t_quantile(self.level, self.n_draws))

    @property
    def anytime_intervals(self) -> FloatArray:
        """Intervals that hold at all times at once, however often one looks, (m, 2)."""
        return self.around(sequence_multiplier(self.level, self.n_draws))

    @property
    def watched_intervals(self) -> FloatArray:
        """Intervals for those who act as soon as one of them tells, (m, 2)."""
        return self.anytime_intervals

    @property
    def anytime_interval(self) -> tuple[float, float] | FloatArray:
        """Still right when one stops as soon as it is narrow enough.

        It is wider than `interval` for designs that draw with replacement; the default design has
        one credible interval for both.
        """
        return self._one_or_all(self.anytime_intervals)

    @cached_property
    def guaranteed_intervals(self) -> FloatArray:
        """Intervals that use no model and hold at every look, (m, 2).

        Only the default design records what they need, and only measures that are ratios of totals
        have them: NoSupport says so.
        """
        if len(self.terms) == 0:
            return self.intervals  # everything is known
        if self.guarantee is None:
            raise NoSupport(
                f"there is no guaranteed interval of {self.measure} from these labels: it needs "
                "finished stages of the default design; use Estimate.interval"
            )
        return self.guarantee.intervals(self.level)

    @property
    def guaranteed_interval(self) -> tuple[float, float] | FloatArray:
        """No model, valid at every look and number of labels: (low, high), or (m, 2)."""
        return self._one_or_all(self.guaranteed_intervals)

    @property
    def worth(self) -> FloatArray:
        """Labels drawn at random that would make intervals as narrow, (m,); NaN if unknown.

        Of the default design: n at which V (1 / n - 1 / M) is the squared error of the interval, V
        the variance of what one of the M items adds to the measure.
        """
        variance = self.details.get("item_variance", np.full(len(self.values), np.nan))
        low, high = self.intervals.T
        size = self.details.get("size", np.inf)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            error = (high - low) / 2 / ndtri((1 + self.level) / 2)  # 0 at a level of next to 0
            worth = np.minimum(variance / (error**2 + variance / size), size)
        return np.asarray(worth)

    @property
    def n_known(self) -> int:
        """Labels that were known before the first question, beside the n_labels."""
        return int(self.details.get("known", 0))

    @property
    def signals(self) -> dict[str, float]:
        """About how many labels each signal of the pool saved, {name: labels}; none without any."""
        return dict(self.details.get("signals", {}))

    @property
    def sweep(self) -> Any:
        """What a judge that has read the tail says about hidden positives; None without one.

        See haystat.inference.sweep.Sweep: the positives it was tested on, how many are still
        hidden at most, and the estimate that does not rest on it.
        """
        found = self.details.get("sweep")
        return None if found is None else replace(found, other=found.other.at(self.level))

    def at(self, level: float) -> Estimate:
        """The same estimate with intervals at another level."""
        return replace(self, level=checked_level(level))

    def region(self) -> Region:
        """Joint confidence region of all components: the paper's F-distributed ellipsoid."""
        return Region(self.values, self.covariance, self.n_draws, self.level)

    def band(self, random_state: int = 0) -> FloatArray:
        """Band that holds all components at once with probability `level`, (m, 2).

        The width in standard errors is simulated from the draws (multiplier bootstrap).
        """
        if self.n_draws < 2:
            return self.intervals
        return self.around(band_multiplier(self.terms, self.level, random_state))

    @property
    def _unknown(self) -> FloatArray:
        """Half-widths while the spread of the draws cannot be told, (m,)."""
        exact = len(self.terms) == 0
        return np.where(exact, 0.0, np.where(np.isnan(self.values), np.nan, np.inf))

    def _one_or_all(self, intervals: FloatArray) -> tuple[float, float] | FloatArray:
        if not self.scalar:
            return intervals
        low, high = intervals[0]
        return float(low), float(high)

    @property
    def sampled(self) -> FloatArray:
        """Draws of the components from a posterior, (S, m); none where there is no model."""
        return np.zeros((0, len(self.values)))

    @property
    def tail_share(self) -> float:
        """Of the draws that a level leaves out, the share that intervals do leave out."""
        return 1.0

    @property
    def point(self) -> float:
        """The quantile of the draws, counted from the worst, that the values are."""
        return 0.5

    def around(self, multiplier: float) -> FloatArray:
        """Intervals so many standard errors wide on either side, where draws are many, (m, 2)."""
        if self.tails is not None and np.isfinite(multiplier):
            return self.tails.intervals(self.values, multiplier)
        half = multiplier * self.std_errors if np.isfinite(multiplier) else self._unknown
        low, high = self.values - half, self.values + half
        return np.clip(np.stack([low, high], axis=1), *self.bounds)

    def to_dict(self, most: int | None = None) -> dict[str, Any]:
        """As JSON takes it, with all components or the first `most`.

        >>> import haystat as hs
        >>> ev = hs.Evaluation(hs.Pool([0.1, 0.2, 0.7, 0.9], strata=2), "accuracy", random_state=0)
        >>> ev.tell({query.item: int(query.item >= 2) for query in ev.ask(4)})
        >>> ev.estimate().to_dict()["components"][0]["value"]
        1.0
        """
        low, high = self.intervals.T
        worth = [value if np.isfinite(value) else None for value in self.worth.tolist()]
        numbers = (self.values, low, high, self.std_errors)
        columns = (self.components, *(part.tolist() for part in numbers), worth)
        names = ("name", "value", "low", "high", "std_error", "worth")
        rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        return {
            "measure": self.measure,
            "level": self.level,
            "labels": self.n_labels,
            **({"known": self.n_known} if self.n_known else {}),
            "draws": self.n_draws,
            "n_components": len(self.components),
            "components": rows[:most],
            "warnings": list(self.warnings),
            "bounds": [float(end) for end in self.bounds],
            **({"signals": self.signals} if self.signals else {}),
            **({} if self.sweep is None else {"sweep": self.sweep.to_dict()}),
        }

    @property
    def lead(self) -> int:
        """Which component stands for all where there is room for one."""
        return int(self.details.get("lead", 0))

    @property
    def curve_names(self) -> tuple[str, str] | None:
        """Of a curve, what the first and the second half of the components are; else None."""
        names: tuple[str, str] | None = self.details.get("curve")
        return names

    @property
    def thresholds(self) -> FloatArray:
        """Of a curve, where the score is cut, ascending, (L,); empty of other measures."""
        return np.asarray(self.details.get("thresholds", np.zeros(0)))

    def plot(self, ax: Any = None) -> Any:
        """Draw the values with their intervals, or the curve with its band; returns the axes."""
        if self.curve_names is not None:
            return CurveDisplay.from_estimate(self).plot(ax).ax_
        shown = slice(0, MOST_SHOWN)
        return plot_intervals(
            self.components[shown],
            self.values[shown],
            self.intervals[shown],
            title=f"{label_count(self.n_labels)}, {self.level:.0%} intervals",
            x_title=self.measure if self.scalar else "",
            ends=self.bounds if np.all(np.isfinite(self.bounds)) else None,
            ax=ax,
        )

    def __str__(self) -> str:
        about = f"at {self.level:.0%} from {label_count(self.n_labels)}"
        if self.scalar:
            low, high = self.intervals[0]
            return f"{self.measure} = {self.values[0]:.4g} [{low:.4g}, {high:.4g}] {about}"
        if self.curve_names is not None:
            return self._curve_text(about)
        width = max(map(len, self.components[:MOST_SHOWN]))
        rows = zip(self.components, self.values, self.intervals, strict=True)
        lines = [
            f"  {name:<{width}}  {value:.4g} [{low:.4g}, {high:.4g}]"
            for name, value, (low, high) in list(rows)[:MOST_SHOWN]
        ]
        left = len(self.values) - len(lines)
        lines += [f"  … and {left:,} more: to_frame() has all, plot() draws them"] if left else []
        return "\n".join([f"{self.measure} {about}", *lines])

    __repr__ = __str__

    def _curve_text(self, about: str) -> str:
        curve = CurveDisplay.from_estimate(self)
        heads = ("threshold", curve.x_name, curve.y_name)
        lines = [f"  {a:>10}  {b:>{len(heads[1])}}  {c}" for a, b, c in [heads, *curve.table()]]
        many = f"{self.measure} over {len(self.thresholds):,} thresholds {about}"
        return "\n".join([many, *lines, "  to_frame() has all, plot() draws them"])

    def _curve_card(self) -> Card:
        curve = CurveDisplay.from_estimate(self)
        return Card(
            f"{self.measure} over {len(self.thresholds):,} thresholds",
            picture=curve.svg(),
            heads=("threshold", curve.x_name, f"{curve.y_name}, {self.level:.0%} interval"),
            rows=tuple(curve.table()),
            facts=(f"{label_count(self.n_labels)}. to_frame() has all thresholds.",),
            warnings=self.warnings,
        )

    def _card(self) -> Card:
        if self.curve_names is not None:
            return self._curve_card()
        rows = zip(self.components, self.values, self.intervals, strict=True)
        bars = [Bar(name, float(value), *map(float, ends)) for name, value, ends in rows]
        low, high = self.intervals[0]
        left = len(bars) - MOST_SHOWN
        facts = [f"{label_count(self.n_labels)}, {self.level:.0%} intervals."]
        worth = worth_sentence(self.n_labels, float(self.worth[0]), self.n_known)
        facts += [worth] if worth else []
        facts += [f"{left:,} more components: to_frame(), plot()."] if left > 0 else []
        return Card(
            self.measure,
            number(float(self.values[0])) if self.scalar else "",
            f"{number(float(low))} to {number(float(high))}" if self.scalar else "",
            tuple(bars[:MOST_SHOWN]),
            self.bounds,
            facts=tuple(facts),
            warnings=self.warnings,
        )

    def _columns(self) -> dict[str, Any]:
        low, high = self.intervals.T
        if self.curve_names is not None:
            n = len(self.thresholds)
            columns: dict[str, Any] = {"threshold": self.thresholds}
            for name, half in zip(self.curve_names, (slice(0, n), slice(n, None)), strict=True):
                word = name.replace(" ", "_")
                columns |= {word: self.values[half]}
                columns |= {f"{word}_low": low[half], f"{word}_high": high[half]}
            return columns
        columns = {"component": list(self.components), "value": self.values}
        return columns | {"low": low, "high": high, "std_error": self.std_errors}


def without_width(terms: FloatArray) -> bool:
    """Whether the error terms are all zero up to rounding: the draws showed no spread."""
    return bool(np.all(np.abs(terms) < 1e-12))


def agreement_warnings(terms: FloatArray, tails: Tails | None) -> list[str]:
    """What to know about an interval if the draws showed no spread, up to rounding."""
    if not without_width(terms):
        return []
    if tails is None or not tails.possible.any():
        return [
            "Every draw agrees, so the interval has no width and knows nothing of items unlike "
            "those drawn. Label more before you rely on it."
        ]
    return [
        "Every draw agrees, so the width of the interval is what other labels would have changed. "
        "Label more before you rely on it."
    ]


def undefined_warning(why: str) -> str:
    """A measure that cannot be told, and what to do."""
    return f"{why}. Label more items."


def checked_level(level: float) -> float:
    """A confidence level, or an error."""
    return checked_number("level", level, 0.95, most=1)


def undefined_estimate(
    measure: str, components: tuple[str, ...], bounds: tuple[float, float], level: float, why: str
) -> Estimate:
    """No number yet, and the reason."""
    m = len(components)
    nothing = np.full(m, np.nan)
    return Estimate(measure, components, nothing, nothing[None], level, 0, 0, bounds, (why,))


def worth_sentence(n_labels: int, worth: float, n_known: int = 0) -> str:
    """What the labels were worth, in words; nothing where they say no more than random ones."""
    if not np.isfinite(worth) or not worth > n_labels + n_known:
        return ""
    rounded = float(f"{worth:.2g}")
    known = f"{n_known:,} that were known before"
    which = f"These {n_labels:,} labels{f' and the {known}' if n_known else ''}"
    which = which if n_labels or not n_known else f"The {label_count(n_known)} known before"
    return f"{which} say as much as about {rounded:,.0f} drawn at random."


def signals_sentence(saved: Mapping[str, float]) -> str:
    """What signals were worth, in words; nothing where there are none."""
    if not saved:
        return ""
    each = ", ".join(f"{name} {float(f'{labels:.2g}'):,.0f}" for name, labels in saved.items())
    return f"Labels that each signal saved, about: {each}."
