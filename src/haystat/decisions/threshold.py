"""Where to cut a score: the threshold that meets a requirement, and what it costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from haystat.core.arguments import brief
from haystat.core.wording import label_count
from haystat.decisions.candidate_thresholds import LabelsBelow, Places
from haystat.decisions.certify import (
    Need,
    best_cut,
    best_f1,
    certified,
    checked_need,
    labels_to_rule_out,
    labels_to_settle,
    lower_band,
    ruled_out,
)
from haystat.decisions.threshold_draws import CutCounts, CutDraws, draws_of
from haystat.display.card import Bar, Card
from haystat.display.plots import plot_cuts
from haystat.display.shown import Shown
from haystat.errors import BadOption
from haystat.inference.estimate import Estimate, checked_level
from haystat.measures.base import Measure

MEASURES = ("precision", "recall", "f1", "false_positive_rate")


@dataclass(frozen=True)
class Point:
    """The pool cut at one threshold: items predicted positive, and (value, low, high) of each."""

    threshold: float
    n_predicted: int
    precision: tuple[float, float, float]
    recall: tuple[float, float, float]
    f1: tuple[float, float, float]
    false_positive_rate: tuple[float, float, float]

    def __str__(self) -> str:
        parts = (
            f"{name} {value:.3f} [{low:.3f}, {high:.3f}]"
            for name, (value, low, high) in (("precision", self.precision), ("recall", self.recall))
        )
        return f"{self.threshold:.6g} predicts {self.n_predicted:,} positive: {', '.join(parts)}"


@dataclass(frozen=True)
class ThresholdChoice(Shown):
    """The cut that meets a requirement with probability `level`, or why there is none.

    certified: the cut with its measures, None if no cut is certain; own: the cut that is in use,
    if the predictions are a cut of the score. shortfall: of the best F1, how much better another
    cut may be. labels_needed: how many would settle it, as far as one can tell; where a recall is
    certain, how many could rule out the positives that keep the cut below `higher`, which the model
    would take. curve: one record for each candidate cut, for a picture. n_known: labels that were
    known before the first question, beside the n_labels.
    """

    requirement: str
    level: float
    certified: Point | None
    own: Point | None
    n_labels: int
    shortfall: float | None = None
    labels_needed: int | None = None
    higher: float | None = None
    warnings: tuple[str, ...] = ()
    curve: list[dict[str, float]] = field(default_factory=list, repr=False)
    n_known: int = 0

    @property
    def threshold(self) -> float | None:
        """The cut itself: predict positive from this score on."""
        return None if self.certified is None else self.certified.threshold

    @property
    def sentence(self) -> str:
        """The answer in words."""
        if self.certified is None:
            return (
                f"No cut that finds at least 1% of the positives is certain to have a "
                f"{self.requirement}. {self._what_would_help()}"
            )
        if self.shortfall is not None:
            return (
                f"Cut at {self.certified}. With {self.level:.0%} probability no other cut has an "
                f"F1 higher by more than {self.shortfall:.3f}."
            )
        return (
            f"Cut at {self.certified}. With {self.level:.0%} probability it has a "
            f"{self.requirement}, all cuts having been looked at.{self._what_would_raise_it}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything but the curve, as JSON takes it."""
        return {
            "requirement": self.requirement,
            "level": self.level,
            "threshold": self.threshold,
            "certified": _point_dict(self.certified),
            "own": _point_dict(self.own),
            "labels": self.n_labels,
            "shortfall": self.shortfall,
            "labels_needed": self.labels_needed,
            "higher": self.higher,
            "sentence": self.sentence,
            "warnings": list(self.warnings),
        }

    def __str__(self) -> str:
        return self.sentence

    def plot(self, ax: Any = None) -> Any:
        """Draw precision and recall over all cuts, with their bands; returns the axes."""
        points = {"certified": self.certified, "in use": self.own}
        marks = {name: point.threshold for name, point in points.items() if point is not None}
        return plot_cuts(self.curve, marks, title=self._title, ax=ax)

    @property
    def _title(self) -> str:
        return f"Cut for {self.requirement}, {label_count(self.n_labels)}"

    def _card(self) -> Card:
        point = self.certified
        names = () if point is None else MEASURES
        bars = tuple(Bar(name.replace("_", " "), *getattr(point, name)) for name in names)
        own = () if self.own is None else (f"In use: {self.own}.",)
        return Card(
            self._title,
            lead="none is certain" if point is None else f"{point.threshold:.6g}",
            aside="" if point is None else f"predicts {point.n_predicted:,} positive",
            bars=bars,
            facts=(self.sentence, *own),
            warnings=self.warnings,
        )

    def _columns(self) -> dict[str, list[float]]:
        names = self.curve[0] if self.curve else ()
        return {name: [row[name] for row in self.curve] for name in names}

    @property
    def _what_would_raise_it(self) -> str:
        if self.higher is None:
            return ""
        return (
            f" The model would cut at {self.higher:.6g}; labels do not rule out yet that positives "
            f"below it break that. About {self.labels_needed:,} labels, drawn for a recall, would."
        )

    def _what_would_help(self) -> str:
        n_labels = self.n_labels + self.n_known
        if n_labels == 0:
            return "There are no labels yet: ask for some."
        if self.labels_needed is None:
            return "As far as the labels tell, no cut reaches it: more labels will hardly help."
        return (
            f"There are {n_labels:,} labels; about {self.labels_needed:,} would settle it, "
            "fewer if they are drawn for it: measure=hs.measures.Threshold(…), haystat new "
            "--measure threshold:precision=0.95."
        )


def choose_threshold(
    estimate: Callable[[Measure], Estimate],
    places: Places,
    below: LabelsBelow,
    system: str | None,
    *,
    level: float,
    precision: float | None = None,
    recall: float | None = None,
    f1: str | None = None,
    false_positive_rate: float | None = None,
) -> ThresholdChoice:
    """Certify one of the cuts of a pool, with so many labels below each.

    `estimate` is that of the evaluation, at this level.
    """
    level = checked_level(level)
    shares = {"precision": precision, "recall": recall, "false_positive_rate": false_positive_rate}
    if f1 is not None and not (isinstance(f1, str) and f1 == "best"):
        raise BadOption(f"f1 is {brief(f1)}; the only requirement of F1 is 'best'")
    if f1 is not None and any(value is not None for value in shares.values()):
        raise BadOption("a threshold has one requirement; give f1='best' alone")
    need = None if f1 is not None else checked_need(**shares)
    found = estimate(CutCounts(thresholds=tuple(places.cuts.tolist()), system=system))
    if not np.all(np.isfinite(found.values)):
        what = "best f1" if need is None else str(need)
        return ThresholdChoice(what, level, None, None, found.n_labels, warnings=found.warnings)
    draws = draws_of(found, places.cuts)
    own = None
    if places.own is not None:
        at = int(np.searchsorted(places.cuts, places.own))
        own = _point(draws, at, places, level)
    choice = (
        _best_f1(draws, places, level)
        if need is None
        else _certified(draws, need, places, below, level, found.n_labels + found.n_known)
    )
    curve = _curve(draws, places, level)
    if weighed := found.measure.removeprefix(CutCounts.name):
        choice = replace(choice, requirement=f"{choice.requirement},{weighed}")
    choice = replace(choice, n_labels=found.n_labels, n_known=found.n_known)
    return replace(choice, own=own, warnings=found.warnings, curve=curve)


def _certified(
    draws: CutDraws, need: Need, places: Places, below: LabelsBelow, level: float, n_labels: int
) -> ThresholdChoice:
    by_draws = certified(draws, need, level)
    at = best_cut(draws, need, by_draws & ruled_out(draws, need, below, level))
    if at is None:
        needed = labels_to_settle(draws, need, level, n_labels)
        needed = None if needed is None or needed > places.size else needed
        return ThresholdChoice(str(need), level, None, None, n_labels, labels_needed=needed)
    choice = ThresholdChoice(str(need), level, _point(draws, at, places, level), None, n_labels)
    hoped = best_cut(draws, need, by_draws)
    if hoped is None or hoped == at:
        return choice
    needed = labels_to_rule_out(draws, need, hoped, level)
    if needed is None or not n_labels < needed <= places.size:
        return choice
    return replace(choice, higher=float(draws.cuts[hoped]), labels_needed=needed)


def _best_f1(draws: CutDraws, places: Places, level: float) -> ThresholdChoice:
    at, shortfall = best_f1(draws, level)
    return ThresholdChoice("best f1", level, _point(draws, at, places, level), None, 0, shortfall)


def _point(draws: CutDraws, at: int, places: Places, level: float) -> Point:
    tail = draws.tail_share * (1 - level) / 2

    def told(name: str) -> tuple[float, float, float]:
        low, high = np.quantile(draws.of(name)[:, at], [tail, 1 - tail])
        return float(draws.value(name)[at]), float(low), float(high)

    n_predicted = int(places.n_predicted[at])
    return Point(float(draws.cuts[at]), n_predicted, *(told(name) for name in MEASURES))


def _curve(draws: CutDraws, places: Places, level: float) -> list[dict[str, float]]:
    """Precision and recall at every cut, with bands that hold at all cuts at once."""
    columns = {"threshold": draws.cuts, "n_predicted": places.n_predicted}
    # One half of the probability of missing to each side.
    both = 1 - draws.tail_share * (1 - level) / 2
    for name in ("precision", "recall"):
        values = draws.of(name)
        columns[name] = draws.value(name)
        columns[f"{name}_low"] = lower_band(values, both)
        columns[f"{name}_high"] = -lower_band(-values, both)
    rows = zip(*(column.tolist() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows if row[1] > 0]


def _point_dict(point: Point | None) -> dict[str, Any] | None:
    if point is None:
        return None
    found = {
        name: dict(zip(("value", "low", "high"), getattr(point, name), strict=True))
        for name in MEASURES
    }
    return {"threshold": point.threshold, "n_predicted": point.n_predicted, **found}
