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
from haystat.measures.outputs import IntArray
from haystat.pool.base import AnyPool
from haystat.pool.cells import Cells, first_items
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
    if measure is problem.measure:
        own = np.arange(len(problem.cells))
        size = problem.cells.size.astype(np.float64)
        return Blocks(own, own, size, problem.losses, len(own))
    if isinstance(pool, SameItems):
        return _cut(pool.pool, pool.place, ledger, measure)
    if isinstance(pool, Pool):
        return _cut(pool, np.arange(pool.size), ledger, measure)
    return _same_facts(pool, ledger, measure)


def _cut(pool: Pool, place: IntArray, ledger: Ledger, measure: Measure) -> Blocks:
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
    return Blocks(cell, np.arange(len(code)), size, pool.losses(measure, both), len(code))


def _same_facts(pool: AnyPool, ledger: Ledger, measure: Measure) -> Blocks | None:
    """Blocks for a measure that knows no more about an item than its cell does."""
    known, needed = ledger.problem.measure.facts(), measure.facts()
    if known is None or needed is None or not set(needed) <= set(known):
        return None
    cells = ledger.problem.cells
    own = np.arange(len(cells))
    size = cells.size.astype(np.float64)
    return Blocks(own, own, size, pool.losses(measure, cells), len(own))


def weighted_alone(
    pool: AnyPool | SameItems, ledger: Ledger, measure: Measure, level: float
) -> Estimate:
    """Labels weighted by one over their inclusion, without help of the model."""
    rows = ledger.rows()
    return estimate_importance(rows, measure, pool.outputs(rows.item), level)
