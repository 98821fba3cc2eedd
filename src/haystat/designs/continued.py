"""The default design where items were drawn before: labels of an earlier version count on.

Cells are such that their items were equally likely to have been drawn before (pool/version.py), so
that a stage brings inclusion from there to what the new version wants: the larger of both. Cells of
one region then differ in their inclusion, and more labels lie where it is high. A label of a cell
with inclusion p stands for (1 - p) / p items without one; the share of a region is the weighted
mean, and counts for as many labels as have its variance (Kish's effective sample size). Where all
cells of a region have the same inclusion, that is the plain count.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.designs.assisted import Assisted, AssistedState
from haystat.designs.base import Batch, Design
from haystat.designs.clocks import Start
from haystat.designs.watch import Watch
from haystat.errors import BadOption
from haystat.inference.estimate import Estimate
from haystat.inference.guarantee import Guarantee, rates_between
from haystat.inference.guaranteed_interval import StageDraws
from haystat.inference.sample import Sample
from haystat.measures.base import Measure
from haystat.models.label_view import LabelView
from haystat.models.regions import Regions
from haystat.pool.base import View
from haystat.pool.cells import Before
from haystat.pool.problem import Problem


@dataclass(frozen=True)
class WeightedView(LabelView):
    """A view whose cells were drawn from with different probabilities, inclusion (K,)."""

    inclusion: FloatArray

    def events(self, labelled: IntArray) -> tuple[FloatArray, FloatArray]:
        """Effective labels of each region, and events among them, (R,) each; labelled (K, C)."""
        n = labelled.sum(axis=1)
        quiet = labelled[np.arange(len(labelled)), self.reference]
        return effective_counts(self.regions, n, n - quiet, self.inclusion)

    def compared(self, labelled: IntArray) -> tuple[FloatArray, FloatArray]:
        """Plain counts: effective numbers depend on how a view cuts regions."""
        return super().events(labelled)


def effective_counts(
    regions: Regions, n: IntArray, events: IntArray, inclusion: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Labels of each region that would say as much, and events among them, (R,) each.

    n labels, `events` of them events, and inclusion by cell, (K,) each.
    """
    p = np.maximum(inclusion, np.finfo(float).tiny)
    weight = np.where(n > 0, (1 - np.minimum(p, 1.0)) / p, 0.0)
    # Weights matter but for a factor; without one, products of 1e300 would overflow.
    largest = np.zeros(len(regions.first))
    np.maximum.at(largest, regions.of_cell, weight)
    weight = weight / np.where(largest > 0, largest, 1.0)[regions.of_cell]
    sum_weight, sum_square = regions.total(weight * n), regions.total(weight**2 * n)
    known = sum_square > 0
    divisor = np.where(known, sum_square, 1.0)
    effective = np.where(known, sum_weight**2 / divisor, regions.total(n))
    mean = regions.total(weight * events) / np.where(known, sum_weight, 1.0)
    return effective, np.where(known, effective * mean, regions.total(events))


@dataclass(frozen=True)
class Continued(Assisted):
    """The default design from where an earlier version left off."""

    def start(self, problem: Problem, rng: np.random.Generator) -> AssistedState:
        return self._seen(super().start(problem, rng), before_of(problem).inclusion)

    def observe(self, problem: Problem, state: AssistedState, batch: Batch) -> AssistedState:
        assert batch.inclusion is not None  # every stage of this design has it
        return super().observe(problem, self._seen(state, batch.inclusion), batch)

    def estimate(
        self, pool: View, sample: Sample, measure: Measure, level: float, **options: str
    ) -> Estimate:
        again: Any = copy.copy(sample)
        last = again.stages[sample.counted[-1]] if sample.counted else None
        if last is not None:
            again.state = self._seen(sample.state, last.inclusion)
        estimate = super().estimate(pool, again, measure, level, **options)
        if estimate.guarantee is None:
            return estimate
        return replace(estimate, guarantee=guarantee_after(again, estimate.guarantee))

    def covers(self, problem: Problem) -> BoolArray:
        """Also what was within reach before, of which labels were carried over."""
        before = before_of(problem).inclusion > 0
        return np.asarray(super().covers(problem) | before[:, None])

    def _before(self, problem: Problem) -> tuple[FloatArray, Start | None]:
        before = before_of(problem)
        return before.inclusion, Start.at(before.drawn, before.inclusion)

    def _seen(self, state: AssistedState, inclusion: FloatArray) -> AssistedState:
        plain = None if state.plain is None else self._seen(state.plain, inclusion)
        return replace(state, view=seen_view(state.view, inclusion), plain=plain)


def seen_view(view: LabelView, inclusion: FloatArray) -> WeightedView:
    """A view, and the one without signals, of cells that were drawn from with inclusion (K,)."""
    parts = {field.name: getattr(view, field.name) for field in fields(LabelView)}
    if view.plain is not None:
        parts["plain"] = seen_view(view.plain, inclusion)
    return WeightedView(**parts, inclusion=inclusion)


@dataclass(frozen=True)
class ContinuedWatch(Watch, Continued):
    """The design for an alarm from where an earlier version left off."""


def guarantee_after(sample: Sample, guarantee: Guarantee) -> Guarantee:
    """What the draws of this version can promise; labels from before count as they are.

    They are put into cells of their own, which were drawn whole and for certain before the first
    stage of this version, so that nothing is said about how they were drawn.
    """
    draws, before = guarantee.draws, before_of(sample.problem)
    n_cells = len(before.drawn)
    inclusion = [np.asarray(stage.inclusion) for stage, _ in sample.finished()]
    rates = np.pad(rates_between(inclusion), ((0, 0), (0, n_cells)))
    # Stages of what was carried over, and of it what is asked about again.
    old = np.array([bool(np.all(stage <= before.inclusion)) for stage in inclusion])
    rates[old, :n_cells], rates[0, n_cells:] = 0.0, np.inf
    from_before = old[draws.stage]
    return replace(
        guarantee,
        draws=StageDraws(
            np.concatenate([draws.size - before.drawn, before.drawn]),
            np.where(from_before, 0, draws.stage),
            np.where(from_before, draws.cell + n_cells, draws.cell),
            draws.label,
            rates,
        ),
        example=guarantee.example.take(np.tile(np.arange(n_cells), 2)),
    )


def continued(design: Design) -> Design:
    """The same design from where an earlier version left off, or an error."""
    if isinstance(design, Continued):
        return design
    kinds: dict[type, type[Continued]] = {Assisted: Continued, Watch: ContinuedWatch}
    kind = kinds.get(type(design))
    if kind is None:
        raise BadOption(
            f"design {design} cannot go on from labels of an earlier version; use the default, "
            "design='assisted'"
        )
    given: Any = design
    return kind(**{field.name: getattr(given, field.name) for field in fields(given)})


def before_of(problem: Problem) -> Before:
    """What was drawn before."""
    assert problem.cells.before is not None  # the design is made for such problems alone
    return problem.cells.before
