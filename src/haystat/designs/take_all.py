"""Neyman's allocation where no item can be labelled twice.

In proportion to their sizes, small cells of large sizes get more labels than they have items. Such
cells are taken whole, and what is left of the labels goes to the others in proportion to their
sizes, until none gets more than it has (take-all strata; Cochran, Sampling Techniques, 1977, 5.8).
"""

from __future__ import annotations

import numpy as np

from haystat.core.arrays import FloatArray, IntArray


def at_most_once(sizes: FloatArray, n_items: IntArray, n: float) -> FloatArray:
    """How likely each item of a cell is among n labels, (K,): min(1, c sizes), c such that n are.

    sizes (K,) are those of the items of cells of n_items (K,).
    """
    reached = np.flatnonzero((sizes > 0) & (n_items > 0))
    order = reached[np.argsort(-sizes[reached], kind="stable")]
    size, items = sizes[order], n_items[order]
    others = np.cumsum((size * items)[::-1])[::-1]  # of this cell and those after it
    multiple = (n - (np.cumsum(items) - items)) / others  # if all cells before it are taken whole
    fits = np.flatnonzero(multiple * size <= 1)
    if len(fits) == 0:
        return np.asarray((sizes > 0).astype(np.float64))
    return np.asarray(np.minimum(multiple[fits[0]] * sizes, 1.0))
