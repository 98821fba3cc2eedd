"""Weights as signals: how much an item counts may go with its label, as where fraud is of money.

Items that weigh more are asked about more often, so a model that takes heavy and light ones for
alike would take the share of positives among those it asked about for that of all.
"""

from __future__ import annotations

import numpy as np

from haystat.core.arrays import IntArray
from haystat.measures.base import Measure
from haystat.measures.outputs import Outputs
from haystat.measures.weighted import WeightBin
from haystat.pool.signal_places import counts_of_parts, make_ladder
from haystat.pool.signals import CellSignals, told_of

LEVELS = np.zeros(WeightBin.size)  # bands to spare: each power of two is one, as in the cells


def with_weights(
    signals: CellSignals | None,
    measure: Measure,
    outputs: Outputs,
    size: IntArray,
    chosen: IntArray,
    first: IntArray,
) -> CellSignals | None:
    """Signals of cells with the size of every weight in a measure as a further one.

    outputs hold an item of each part of the pool, of size (A,) items, of which most systems predict
    chosen (A,) positive; first (K,) is a part of each cell. A weight of one size tells nothing, nor
    one that cells are not cut by; items without weight lack it.
    """
    if measure.grouping(outputs) is None:
        return signals
    for one in measure.facts() or ():
        if isinstance(one, WeightBin):
            code = one.codes(outputs)
            if len(np.unique(code[code > 0])) > 1:
                signals = _with_weight(signals, one.column, code, size, chosen, first)
    return signals


def _with_weight(
    signals: CellSignals | None,
    column: str,
    code: IntArray,
    size: IntArray,
    chosen: IntArray,
    first: IntArray,
) -> CellSignals:
    values = np.where(code > 0, code.astype(np.float64), np.nan)
    ladder = make_ladder(counts_of_parts(values, size, chosen), 0.0, LEVELS)
    at, within = told_of(values[first], ladder)
    place, band = at[:, None].astype(np.float64), within[:, None].astype(np.int64)
    if signals is None:
        return CellSignals((column,), (False,), place, band, n_weights=1)
    return CellSignals(
        (*signals.coordinates, column),
        (*signals.two_valued, False),
        np.concatenate([signals.place, place], axis=1),
        np.concatenate([signals.band, band], axis=1),
        signals.n_weights + 1,
    )
