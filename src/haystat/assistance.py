"""Estimates of the assisted design from a ledger, also for measures it was not drawn for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from haystat.designs.assisted import Assisted
from haystat.estimation.assisted import Blocks, estimate_assisted
from haystat.estimation.importance import estimate_importance
from haystat.estimation.result import Estimate
from haystat.estimation.sample import sample_of, strays_of
from haystat.ledger import Ledger
from haystat.measures.base import Measure
from haystat.pool.base import AnyPool
from haystat.pool.memory import Pool
from haystat.reuse import SameItems


def assisted_from(
    pool: AnyPool | SameItems, ledger: Ledger, design: Assisted, measure: Measure, level: float
) -> Estimate:
    """`measure` from the finished stages of an assisted ledger.

    A measure that sees more than the cells do, of a pool that is not in memory, is estimated from
    the weighted labels alone.
    """
    blocks = blocks_of(pool, ledger, measure)
    if blocks is None:
        return weighted_alone(pool, ledger, measure, level)
    state = ledger.state
    sample = sample_of(ledger.problem, design, state, ledger.inclusion, ledger.unlabelled)
    part = sample.size / ledger.problem.cells.size
    blocks = replace(blocks, size=blocks.size * part[blocks.cell])
    item, label = ledger.known()
    cell = ledger.problem.cells.of_item[item].astype(np.int64)
    labels = cell, label, pool.outputs(item)
    return estimate_assisted(sample, blocks, measure, labels, level, strays_of(sample, state))


def blocks_of(pool: AnyPool | SameItems, ledger: Ledger, measure: Measure) -> Blocks | None:
    """The pool cut by the cells of the design and those of the measure."""
    problem = ledger.problem
    own = np.arange(len(problem.cells))
    if measure is problem.measure:
        return Blocks(own, own, problem.cells.size, problem.losses, len(own))
    if isinstance(pool, SameItems):
        cells = pool.pool.cells(measure)
        losses, row_of = pool.pool.losses(measure, cells), cells.of_item[pool.place]
    elif isinstance(pool, Pool):
        cells = pool.cells(measure)
        losses, row_of = pool.losses(measure, cells), cells.of_item
    else:
        return _same_facts(pool, ledger, measure)
    pair = problem.cells.of_item.astype(np.int64) * len(cells) + row_of
    code, size = np.unique(pair, return_counts=True)
    return Blocks(code // len(cells), code % len(cells), size, losses, len(cells))


def _same_facts(pool: AnyPool, ledger: Ledger, measure: Measure) -> Blocks | None:
    """Blocks for a measure that knows no more about an item than its cell does."""
    known, needed = ledger.problem.measure.facts(), measure.facts()
    if known is None or needed is None or not set(needed) <= set(known):
        return None
    cells = ledger.problem.cells
    own = np.arange(len(cells))
    return Blocks(own, own, cells.size, pool.losses(measure, cells), len(own))


def weighted_alone(
    pool: AnyPool | SameItems, ledger: Ledger, measure: Measure, level: float
) -> Estimate:
    """Labels weighted by one over their inclusion, without help of the model."""
    rows = ledger.rows()
    inclusion = ledger.inclusion[ledger.problem.cells.of_item[rows.item]]
    weight = len(rows.item) / (pool.size * inclusion)
    return estimate_importance(
        replace(rows, weight=weight), measure, pool.outputs(rows.item), level
    )
