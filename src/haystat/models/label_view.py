"""The problem as the model of the labels sees it: which label is the event, and how cells lie.

With two classes the event is a positive label. With more it is a label that differs from the
prediction of the first system, and which other class it is has a distribution of its own for every
way in which items are predicted.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.models.curve import Curve, mid_ranks, minus_logit
from haystat.models.event_classes import base_of, corrected
from haystat.models.posterior import LabelModel
from haystat.models.ranks import (
    ORDERED,
    follow_joint_score,
    predicted_low,
    rank_correlation,
    ranks,
    sub_populations,
    uncut_size,
)
from haystat.models.regions import Regions
from haystat.models.settings import ModelSettings
from haystat.models.signals import hints_of
from haystat.pool.problem import Problem
from haystat.pool.signals import CellSignals

ASCENT = 4.0  # strata, the least mean length of an ascent; in a random order it is two
MASS = 0.5  # of the pool, from which the items of one cell are a mass


@dataclass(frozen=True)
class LabelView:
    """The model of the regions, the class (K,) that is no event in a cell, what an event may be.

    group (K,) numbers how cells are predicted; other (G, C) are pseudo-counts of the classes that
    an event of the group may have. parts are numberings of the cells (K,), by default the regions:
    labels that are spread evenly are so over the parts of each. plain is the view without given
    signals, where there are some: they may be worth nothing. Weights are in both.
    """

    model: LabelModel
    regions: Regions
    reference: IntArray
    group: IntArray
    other: FloatArray
    parts: tuple[IntArray, ...] = field(default=(), kw_only=True)
    plain: LabelView | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", self.parts or (self.regions.of_cell,))

    def events(self, labelled: IntArray) -> tuple[FloatArray, FloatArray]:
        """Labels of each region, and how many of them are events, (R,) each; labelled (K, C)."""
        n = labelled.sum(axis=1)
        quiet = labelled[np.arange(len(labelled)), self.reference]
        return self.regions.total(n), self.regions.total(n - quiet)

    def compared(self, labelled: IntArray) -> tuple[FloatArray, FloatArray]:
        """The same labels whatever the view, (R,) each: two views are held against each other."""
        return self.events(labelled)

    def classes_of_events(self, labelled: IntArray) -> FloatArray:
        """Pseudo-counts of the classes of events in each group after some labels, (G, C).

        An event stands for as many items as there are to a label in its region, for regions are
        not asked about alike; a group counts for its effective number of events (Kish). Events of
        all groups correct what is expected of each class.
        """
        found = labelled.astype(np.float64)
        found[np.arange(len(found)), self.reference] = 0.0
        n = self.regions.total(labelled.sum(axis=1))
        weight = (self.regions.size / np.maximum(n, 1))[self.regions.of_cell, None]
        stands, square = np.zeros_like(self.other), np.zeros_like(self.other)
        np.add.at(stands, self.group, weight * found)
        np.add.at(square, self.group, weight**2 * found)
        per_event = stands.sum(axis=1) / np.maximum(square.sum(axis=1), 1e-300)
        events = per_event[:, None] * stands
        return np.asarray(corrected(self.other, events) + events)

    def shares(self, event_share: FloatArray, labelled: IntArray) -> FloatArray:
        """Share of each class in each cell, (K, C), from the share of events (R,)."""
        event_share = event_share[self.regions.of_cell]
        total = self.classes_of_events(labelled)
        share = (total / total.sum(axis=1, keepdims=True))[self.group] * event_share[:, None]
        share[np.arange(len(share)), self.reference] += 1 - event_share
        return np.asarray(share)


def label_view(problem: Problem, settings: ModelSettings) -> LabelView:
    """What the model needs to know of a problem whose labels are classes."""
    if problem.n_classes > 2:
        return _more_classes(problem, settings)
    signals = problem.cells.signals
    view = _two_classes(problem, settings, signals)
    if signals is None or not signals.given:
        return view
    return replace(view, plain=_two_classes(problem, settings, signals.weights))


def _two_classes(
    problem: Problem, settings: ModelSettings, signals: CellSignals | None
) -> LabelView:
    """The view by these signals; without them, whether or not cells are cut by some."""
    rank, threshold = ranks(problem)
    size = problem.cells.size.astype(np.float64)
    low = predicted_low(problem)
    high = np.asarray(problem.cells.example.predictions.min(axis=1) == 1)
    series = series_of(problem)[problem.cells.stratum]
    group = np.column_stack([_groups(problem), series])
    # The same cells with and without signals: labels in a mass are no part of the evidence.
    mass = low & (uncut_size(problem) > MASS * problem.size)
    apart = _codes(np.column_stack([group, mass]))
    hints = None
    regions = Regions.along(rank, threshold, apart, size)
    parts: tuple[IntArray, ...] = ()
    if signals is not None:
        parts = (regions.of_cell, signals.pattern)
        apart = apart * (int(signals.pattern.max()) + 1) + signals.pattern
        regions = Regions.along(rank, threshold, apart, size)
        at = float(minus_logit(np.array([threshold]))[0])
        inside = low[regions.first] & ~mass[regions.first]
        hints = hints_of(signals, regions, at, inside, size, settings)
    first = regions.first
    curve = Curve.along(regions.place, group[first], low[first], high[first], settings, hints)
    far = None if problem.cells.far is None else problem.cells.far[first]
    model = LabelModel(curve, regions.size, mass[first], settings, far)
    reference = np.zeros(len(size), dtype=np.int64)
    other = np.array([[0.0, 1.0]])
    return LabelView(model, regions, reference, reference, other, parts=parts)


def _more_classes(problem: Problem, settings: ModelSettings) -> LabelView:
    cells, n_classes = problem.cells, problem.n_classes
    reference = cells.example.predictions[:, 0]
    event = 1 - cells.prior[np.arange(len(cells)), reference]
    size = cells.size.astype(np.float64)
    order = np.lexsort((cells.stratum, event))[::-1]
    expected = float(np.clip(size @ event, 0.5, problem.size - 0.5)) / problem.size
    kinds = _groups(problem)
    group = kinds[:, 0]
    regions = Regions.along(mid_ranks(order, cells.size), expected, _codes(kinds), size)
    everywhere = np.ones(len(regions.first), dtype=bool)
    curve = Curve.along(regions.place, kinds[regions.first], everywhere, ~everywhere, settings)
    model = LabelModel(curve, regions.size, ~everywhere, settings)
    claimed = np.zeros((int(group.max()) + 1, n_classes))
    np.add.at(claimed, group, cells.prior * size[:, None])
    possible = np.ones(claimed.shape, dtype=bool)
    possible[group, reference] = False
    return LabelView(model, regions, reference, group, base_of(claimed, possible))


def _groups(problem: Problem) -> IntArray:
    """How each cell is predicted, and of which sub-population it is if there are any, (K, m)."""
    predicted, groups = _codes(problem.cells.example.predictions), sub_populations(problem)
    return np.column_stack([predicted] if groups is None else [predicted, groups])


def _codes(rows: IntArray) -> IntArray:
    """Rows (K, m) that are alike have the same number, (K,)."""
    return np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)


def series_of(problem: Problem) -> IntArray:
    """The series of strata numbered by the score that each stratum is in, (L,).

    There is one if what the scores claim ascends, or if strata follow the mean of several systems.
    If it ascends several times over, as where strata are those of one label or country after
    another, each ascent is a series. Strata in no such order, whose ascents have a mean length of
    two, are a series each.
    """
    prior = problem.stratum_prior[:, 1]
    number = np.arange(len(prior))
    ordered = rank_correlation(number, prior) >= ORDERED or follow_joint_score(problem)
    if len(prior) < 3 or ordered:
        return np.zeros_like(number)
    series = np.concatenate([[0], np.cumsum(np.diff(prior) < 0)])
    tied = np.ptp(prior) == 0
    return number if tied or len(prior) < ASCENT * (series[-1] + 1) else series
