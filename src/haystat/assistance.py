"""Estimates of the default design from a ledger, also for measures it was not drawn for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from haystat.designs.base import Problem
from haystat.estimation.credible import credible_estimate
from haystat.estimation.guarantee import Guarantee, draws_of
from haystat.estimation.importance import estimate_importance
from haystat.estimation.posterior import Labels, Pools
from haystat.estimation.result import Estimate
from haystat.ledger import Ledger, stage_rng
from haystat.measures.base import Measure
from haystat.measures.outputs import IntArray
from haystat.pool.base import View
from haystat.pool.blocks import Blocks
from haystat.pool.losses import equal_losses
from haystat.response.threads import one_thread

MANY_OPEN = 0.1  # of the questions without an answer, from which an estimate says so
MOST_NAMED = 6  # stages, in a warning
POSTERIOR = 2**31  # in place of a stage's number, for the randomness of an estimate


def assisted_from(pool: View, ledger: Ledger, measure: Measure, level: float) -> Estimate:
    """`measure` from all labels of a ledger, by draws from the posterior of the others.

    The draws depend on labels and design alone; how they lie inside the cells, where the measure
    sees more than the design, has a randomness of its own.
    """
    if not _model_tells(ledger, measure):
        return weighted_alone(pool, ledger, measure, level)
    with one_thread():
        item, pools = ledger.once("posterior", lambda: draw_pools(ledger))
        blocks = blocks_of(pool, ledger.problem, measure)
        rng = stage_rng(ledger.seed, POSTERIOR + 1)
        risks = pools.risks(measure, blocks, pool.outputs(item), rng)
    doubts = (*pools.doubts(), *waiting(ledger))
    estimate = credible_estimate(measure, risks, level, len(item), doubts)
    return replace(estimate, guarantee=guarantee_of(ledger, measure))


def draw_pools(ledger: Ledger) -> tuple[IntArray, Pools]:
    """The labelled items, and draws of the labels of the others."""
    state, cells = ledger.state, ledger.problem.cells
    item, label = ledger.told()
    cell = cells.of_item[item].astype(np.int64)
    counts = np.zeros_like(state.labelled)
    np.add.at(counts, (cell, label), 1)
    labels = Labels(cell, label, counts, ledger.declined)
    rng = stage_rng(ledger.seed, POSTERIOR)
    return item, Pools.draw(state.view, state.modes, cells.size, labels, rng)


def _model_tells(ledger: Ledger, measure: Measure) -> bool:
    """Whether the model can stand in for labels: the loss is the same for items that look alike.

    Of a measure whose loss differs between the items of a cell (Brier) it is not the model's to
    say how the label goes with the loss; such a one is estimated from weighted labels.
    """
    known = measure is ledger.problem.measure and measure.facts() is not None
    return known or measure.signature(ledger.problem.cells.example) is not None


def waiting(ledger: Ledger, n_alone: int = 0) -> list[str]:
    """What to know about questions that were asked and not answered, if they are many.

    Stages after the last one with an answer have only begun. n_alone: open draws for which other
    stages or cells stand in.
    """
    n_stages = max(ledger.counted, default=-1) + 1
    unanswered = ledger.unanswered[:n_stages]
    n_open, n_asked = sum(unanswered), sum(stage.n_new for stage in ledger.stages[:n_stages])
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


def guarantee_of(ledger: Ledger, measure: Measure) -> Guarantee | None:
    """What the draws of the finished stages can promise, for a measure that the cells know."""
    problem, stages = ledger.problem, ledger.finished()
    if not stages or not same_facts(problem.measure, measure):
        return None
    drawn, inclusion = [], []
    for stage, label in stages:
        new = slice(0, stage.n_new)
        drawn.append((problem.cells.of_item[stage.item[new]].astype(np.int64), label[new]))
        inclusion.append(np.asarray(stage.inclusion))
    draws = draws_of(problem.cells.size, drawn, inclusion)
    return Guarantee(draws, measure, problem.cells.example, problem.n_classes)


def blocks_of(pool: View, problem: Problem, measure: Measure) -> Blocks:
    """The pool cut by the cells of the design and those of the measure."""
    cells = problem.cells
    if measure is problem.measure or same_facts(problem.measure, measure):
        own = np.arange(len(cells))
        losses = problem.losses
        if measure is not problem.measure:
            losses = equal_losses(measure, cells.example, problem.n_classes)
        return Blocks(own, np.zeros_like(own), cells.size, losses)
    found: Blocks = pool.blocks(problem, measure)
    return found


def same_facts(known: Measure, needed: Measure) -> bool:
    """Whether a measure knows no more about an item than the cells of another do."""
    has, wants = known.facts(), needed.facts()
    return has is not None and wants is not None and set(wants) <= set(has)


def weighted_alone(pool: View, ledger: Ledger, measure: Measure, level: float) -> Estimate:
    """Labels weighted by one over their inclusion, without help of the model."""
    rows = ledger.rows()
    return estimate_importance(rows, measure, pool.outputs(rows.item), level)
