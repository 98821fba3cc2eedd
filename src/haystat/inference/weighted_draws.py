"""Estimates from weighted draws, with a word about questions that are still open."""

from __future__ import annotations

from dataclasses import replace

from haystat.inference.estimate import Estimate, undefined_estimate
from haystat.inference.importance import estimate_importance
from haystat.inference.sample import Sample
from haystat.inference.stratified import estimate_stratified
from haystat.measures.base import Measure
from haystat.pool.base import View

MANY_OPEN = 0.1  # of the questions without an answer, from which an estimate says so
MOST_NAMED = 6  # stages, in a warning


def weighted(
    pool: View, sample: Sample, measure: Measure, level: float, **options: str
) -> Estimate:
    """The mean of weighted losses; options as in estimate_importance."""
    rows, measure = sample.drawn_items(), sample.measure_of(measure)
    if len(rows.item) == 0:
        return unanswered(measure, level)
    outputs = pool.outputs(rows.item)
    return told(estimate_importance(rows, measure, outputs, level, **options), sample)


def stratified(pool: View, sample: Sample, measure: Measure, level: float) -> Estimate:
    """The mean of losses of items that were all equally likely to be drawn."""
    rows, measure = sample.drawn_items(), sample.measure_of(measure)
    if len(rows.item) == 0:
        return unanswered(measure, level)
    outputs, size = pool.outputs(rows.item), sample.problem.stratum_size
    return told(estimate_stratified(rows, measure, outputs, level, stratum_size=size), sample)


def unanswered(measure: Measure, level: float) -> Estimate:
    """No number yet."""
    why = "No question is answered yet. Ask for labels and tell them."
    return undefined_estimate(measure.name, measure.components, measure.bounds, level, why)


def told(estimate: Estimate, sample: Sample) -> Estimate:
    """The estimate with a word about open questions, if they are many."""
    doubts = waiting(sample, sample.n_alone)
    return replace(estimate, warnings=(*estimate.warnings, *doubts)) if doubts else estimate


def waiting(sample: Sample, n_alone: int = 0) -> list[str]:
    """What to know about questions that were asked and not answered, if they are many.

    Stages after the last one with an answer have only begun. n_alone: open draws for which other
    stages or cells stand in.
    """
    n_stages = max(sample.counted, default=-1) + 1
    unanswered = sample.unanswered[:n_stages]
    n_open, n_asked = sum(unanswered), sum(sample.n_asked_in[:n_stages])
    if n_open <= MANY_OPEN * n_asked:
        return []
    stages = [str(number) for number, n in enumerate(unanswered) if n]
    named = ", ".join(stages[:MOST_NAMED]) + (", …" if len(stages) > MOST_NAMED else "")
    beside = "; where a stage has no answer alike, other stages or the nearest stratum stand in"
    return [
        f"{n_open} of {n_asked} questions are not answered yet and are taken as missing at random "
        f"among items alike{beside if n_alone else ''}. Answer them (they are of stage {named}), "
        "or skip those that nobody can answer."
    ]
