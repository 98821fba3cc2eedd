"""The first hits of cells in the order of their times, compiled."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True)
def merge_hits(time, rate, left, gaps, n):  # type: ignore[no-untyped-def]  # pragma: no cover
    """The first n hits of cells that are next hit at `time`, ascending, and have `left` items.

    Returns positions and times. A heap of the cells by their next hit; a sorted list is one.
    """
    n_cells = len(time)
    time, left = time.copy(), left.copy()
    heap = np.arange(n_cells)
    position, when = np.empty(n, np.int64), np.empty(n)
    n_hits, n_gaps = 0, 0
    while n_hits < n and n_cells > 0 and time[heap[0]] < np.inf:
        cell = heap[0]
        position[n_hits], when[n_hits] = cell, time[cell]
        n_hits += 1
        left[cell] -= 1
        if left[cell] > 0:
            time[cell] += gaps[n_gaps] / (rate[cell] * left[cell])
            n_gaps += 1
        else:
            time[cell] = np.inf
        parent, child = 0, 1
        while child < n_cells:  # sift the cell down to its new place
            if child + 1 < n_cells and time[heap[child + 1]] < time[heap[child]]:
                child += 1
            if time[cell] <= time[heap[child]]:
                break
            heap[parent] = heap[child]
            parent, child = child, 2 * child + 1
        heap[parent] = cell
    return position[:n_hits], when[:n_hits]
