"""Estimates of the default design from a ledger, also for measures it was not drawn for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from haystat.between_cells import blocks_between
from haystat.estimation.blocks import Blocks
from haystat.estimation.credible import credible_estimate
from haystat.estimation.guarantee import Guarantee, draws_of
from haystat.estimation.importance import estimate_importance
from haystat.estimation.posterior import Labels, Pools
from haystat.estimation.result import Estimate
from haystat.estimation.worth import variance_in_pools
from haystat.ledger import Ledger, stage_rng
from haystat.ledger_stochastic import StochasticLedger
from haystat.measures.base import Measure
from haystat.measures.outputs import IntArray
from haystat.pool.base import AnyPool
from haystat.pool.cells import Cells, first_items
from haystat.pool.memory import Pool
from haystat.response.threads import one_thread
from haystat.reuse import SameItems

MANY_OPEN = 0.1  # of the questions without an answer, from which an estimate says so
MOST_NAMED = 6  # stages, in a warning
POSTERIOR = 2**31  # in place of a stage's number, for the randomness of an estimate


def assisted_from(
    pool: AnyPool | SameItems, ledger: Ledger, measure: Measure, level: float
) -> Estimate:
    """`measure` from all labels of a ledger, by draws from the posterior of the others.

    A measure whose loss differs between the items of a cell (Brier), or that sees more than the
    cells do, of a pool that is not in memory, is estimated from the weighted labels alone: how the
    label goes with the loss inside a cell is not the model's to say.
    """
    if measure.facts() is None and ledger.n_finished:
        return weighted_alone(pool, ledger, measure, level)
    cut = blocks_of(pool, ledger, measure)
    if cut is None:
        return weighted_alone(pool, ledger, measure, level)
    blocks, block_of_item = cut
    item, label = ledger.told()
    cell = ledger.problem.cells.of_item[item].astype(np.int64)
    block = cell if block_of_item is None else block_of_item[item]
    order = np.lexsort((label, block))  # the same sums however a pool numbers its items
    item, label, cell, block = (part[order] for part in (item, label, cell, block))
    counts = np.zeros_like(ledger.state.labelled)
    np.add.at(counts, (cell, label), 1)
    labels = Labels(cell, label, block, pool.outputs(item), counts, ledger.declined)
    rng = stage_rng(ledger.seed, POSTERIOR)
    state = ledger.state
    with one_thread():
        pools = Pools.draw(state.view, state.modes, blocks, labels, rng)
        risks = pools.risks(measure, rng)
    doubts = (*pools.doubts(), *waiting(ledger))
    estimate = credible_estimate(measure, risks, level, len(item), doubts)
    variance = variance_in_pools(pools, measure, estimate.details["risk"])
    details = {**estimate.details, "item_variance": variance, "size": ledger.problem.size}
    return replace(estimate, guarantee=guarantee_of(ledger, measure), details=details)


def waiting(ledger: Ledger | StochasticLedger, n_alone: int = 0) -> list[str]:
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
    if not stages or not _same_facts(problem.measure, measure):
        return None
    drawn, inclusion = [], []
    for stage, label in stages:
        new = slice(0, stage.n_new)
        drawn.append((problem.cells.of_item[stage.item[new]].astype(np.int64), label[new]))
        inclusion.append(np.asarray(stage.inclusion))
    draws = draws_of(problem.cells.size, drawn, inclusion)
    return Guarantee(draws, measure, problem.cells.example, problem.n_classes)


def blocks_of(
    pool: AnyPool | SameItems, ledger: Ledger, measure: Measure
) -> tuple[Blocks, IntArray | None] | None:
    """The pool cut by the cells of the design and those of the measure, and where items are.

    The block of each item of the pool (M,); None where blocks are the design's cells.
    """
    problem = ledger.problem
    own = np.arange(len(problem.cells))
    if measure is problem.measure:
        return Blocks(own, own, problem.cells.size, problem.losses), None
    if isinstance(pool, SameItems):
        return _cut(pool.pool, pool.place, ledger, measure)
    if isinstance(pool, Pool):
        return _cut(pool, np.arange(pool.size), ledger, measure)
    if not _same_facts(problem.measure, measure):
        between = blocks_between(pool, problem, measure)
        return None if between is None else (between, None)
    losses = pool.losses(measure, problem.cells)
    return Blocks(own, own, problem.cells.size, losses), None


def _cut(pool: Pool, place: IntArray, ledger: Ledger, measure: Measure) -> tuple[Blocks, IntArray]:
    """Blocks of the items that lie in the same cell of both; place (M,) as in SameItems.

    A loss that varies inside a cell of the measure has another mean in each block.
    """
    cells = pool.cells(measure)
    pair = ledger.problem.cells.of_item.astype(np.int64) * len(cells) + cells.of_item[place]
    code, block, size = np.unique(pair, return_inverse=True, return_counts=True)
    of_item = np.empty(pool.size, dtype=np.int32)
    of_item[place] = block
    cell, row = np.divmod(code, len(cells))
    example = pool.outputs(first_items(of_item, len(code)))
    both = Cells(cells.stratum[row], size, cells.prior[row], example, of_item)
    return Blocks(cell, np.arange(len(code)), size, pool.losses(measure, both)), block


def _same_facts(known: Measure, needed: Measure) -> bool:
    """Whether a measure knows no more about an item than the cells of another do."""
    has, wants = known.facts(), needed.facts()
    return has is not None and wants is not None and set(wants) <= set(has)


def weighted_alone(
    pool: AnyPool | SameItems, ledger: Ledger, measure: Measure, level: float
) -> Estimate:
    """Labels weighted by one over their inclusion, without help of the model."""
    rows = ledger.rows()
    return estimate_importance(rows, measure, pool.outputs(rows.item), level)
