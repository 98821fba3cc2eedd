"""Weights as signals: how much an item counts may go with its label, as where fraud is of money.

Items that weigh more are asked about more often, so a model that takes heavy and light ones for
alike would take the share of positives among those it asked about for that of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from haystat.core.arrays import BoolArray
from haystat.measures.base import Measure
from haystat.measures.outputs import Outputs
from haystat.measures.weighted import WeightBin
from haystat.pool.signal_places import counts_of, make_ladder
from haystat.pool.signals import Signals, told_of

LEVELS = np.zeros(WeightBin.size)  # bands to spare: each power of two is one, as in the cells


def with_weights(
    signals: Signals | None,
    measure: Measure,
    blocks: Callable[[], Iterable[Outputs]],
    predictions: NDArray[np.integer],
    of_item: NDArray[np.int32],
) -> Signals | None:
    """Signals with the size of every weight in a measure as a further one.

    The blocks hold all items, predictions (M, S) are theirs, of_item (M,) are their cells. A weight
    of one size tells nothing, nor one that cells are not cut by; items without weight lack it.
    """
    bins = [fact for fact in measure.facts() or () if isinstance(fact, WeightBin)]
    chosen = 2 * predictions.sum(axis=1, dtype=np.int64) > predictions.shape[1]
    for one in bins:
        code = np.concatenate([one.codes(outputs) for outputs in blocks()])
        of_cell = np.zeros(int(of_item.max()) + 1, dtype=np.int64)
        of_cell[of_item] = code
        if len(np.unique(code[code > 0])) > 1 and np.array_equal(of_cell[of_item], code):
            signals = _with_weight(signals, one.column, code, chosen)
    return signals


def _with_weight(
    signals: Signals | None, column: str, code: NDArray[np.int64], chosen: BoolArray
) -> Signals:
    values = np.where(code > 0, code.astype(np.float64), np.nan)
    ladder = make_ladder(counts_of(values, chosen), 0.0, LEVELS)
    place, band = told_of(values, ladder)
    place, band = place[:, None], band[:, None]
    if signals is None:
        return Signals((), (column,), (False,), place, band, n_weights=1)
    return replace(
        signals,
        coordinates=(*signals.coordinates, column),
        two_valued=(*signals.two_valued, False),
        place=np.concatenate([signals.place, place], axis=1),
        band=np.concatenate([signals.band, band], axis=1),
        n_weights=signals.n_weights + 1,
    )
