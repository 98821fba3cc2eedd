"""Cells: the items of one stratum that the measure cannot tell apart, in the order of u."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.measures.base import Measure
from haystat.measures.outputs import Outputs
from haystat.pool.ids import Ids
from haystat.pool.permanent_numbers import as_shares, permanent_numbers
from haystat.pool.signals import CellSignals, pattern_of
from haystat.pool.strata import renumber

FIRST_CANDIDATES = 1024  # items a cell keeps ready; more are fetched when it runs dry
EXCESS = 6.0  # standard deviations of slack when the smallest u are picked by a threshold
CHUNK = 1 << 15  # items whose u is held at a time


@dataclass(frozen=True)
class Before:
    """What was drawn before the evaluation began: how many items of each cell, and how likely.

    drawn (K,) items come first in the order of their cell; inclusion (K,) is the probability that
    an item of the cell was among them.
    """

    drawn: IntArray
    inclusion: FloatArray


@dataclass(frozen=True)
class Cells:
    """K cells: stratum (K,), size (K,), prior label shares (K, C), an item that stands for each.

    of_item (M,) is the cell of each item of the pool. known (K,), where given, is how the labels of
    the cell's items came to be known beforehand (pool/known.py), 0 where they are not: items with a
    known label have cells of their own. signals, where given, cut cells further (pool/signals.py).
    before is None unless labels were carried over from an earlier version. apart (K,), where given,
    numbers kinds of items whose labels may differ although their scores do not; far (K,) marks
    items that a key tells to be far from positive.
    """

    stratum: IntArray
    size: IntArray
    prior: FloatArray
    example: Outputs
    of_item: NDArray[np.int32]
    known: IntArray | None = None
    signals: CellSignals | None = None
    before: Before | None = None
    apart: IntArray | None = None
    far: BoolArray | None = None

    def __len__(self) -> int:
        return len(self.size)


def cell_codes(
    stratum: NDArray[np.int32], measure: Measure, blocks: Iterable[Outputs]
) -> NDArray[np.int32]:
    """Cell of each item, numbered by stratum and then by the measure's grouping.

    The blocks hold the items in the order of the pool.
    """
    codes: list[IntArray] = []
    for outputs in blocks:
        code = measure.grouping(outputs)
        if code is None:
            return stratum
        codes.append(code)
    signature = renumber(np.concatenate(codes))
    n_signatures = int(signature.max()) + 1
    n_codes = (int(stratum.max()) + 1) * n_signatures
    width = np.dtype(np.int32 if n_codes <= 1 << 31 else np.int64)
    return renumber(stratum.astype(width) * width.type(n_signatures) + signature)


def first_items(of_item: NDArray[np.int32], n_cells: int) -> IntArray:
    """Position of the first item of each cell."""
    result = np.zeros(n_cells, dtype=np.int64)
    result[of_item[::-1]] = np.arange(len(of_item) - 1, -1, -1)
    return result


def example_items(
    of_item: NDArray[np.int32], n_cells: int, predictions: NDArray[np.integer]
) -> IntArray:
    """Position of an item that stands for each cell: the first that is predicted like most of it.

    A measure may not tell predictions (M, S) apart. What a cell is said to be predicted must not
    depend on the order of the pool, since the model of the labels looks at it.
    """
    example = first_items(of_item, n_cells)
    mixed = np.zeros(n_cells, dtype=bool)
    for column in predictions.T:
        mixed[of_item[column != column[example][of_item]]] = True
    if mixed.any():
        rows = np.flatnonzero(mixed[of_item])
        like_most = rows[first_like_most(of_item[rows], predictions[rows], np.ones(len(rows)))]
        example[of_item[like_most]] = like_most
    return example


def first_like_most(
    cell: NDArray[np.integer], predictions: NDArray[np.integer], size: NDArray[Any]
) -> IntArray:
    """The first part of each cell that is predicted like most of its items, by cell.

    Parts (n,) lie in a cell, are predicted in one way, (n, S), and have a size. Of ways that are
    equally frequent the lowest counts.
    """
    way = pattern_of(predictions).astype(np.int64)
    code = renumber(cell.astype(np.int64) * (int(way.max()) + 1) + way)
    total, first = np.bincount(code, size), first_items(code, int(code.max()) + 1)
    order = np.lexsort((-total, cell[first]))  # stable, so that codes break ties
    return first[order[np.unique(cell[first][order], return_index=True)[1]]]


class Candidates:
    """The items of each cell in the order of u, found and sorted as far as they are needed.

    The first FIRST_CANDIDATES of every cell are found at once, in one pass over the pool; a cell
    that runs dry takes one more pass for itself.
    """

    def __init__(self, cells: Cells, ids: Ids, seed: int) -> None:
        self._of_item = cells.of_item
        self._size = cells.size
        self._ids = ids
        self._seed = seed
        self._sorted: dict[int, tuple[IntArray, NDArray[np.int64]]] = {}
        item, u = self._smallest(np.arange(len(cells)), FIRST_CANDIDATES)
        cell = self._of_item[item]
        # Few cells fit 16 bits, which numpy sorts by counting.
        order = np.argsort(cell.astype(np.uint16) if len(cells) <= 1 << 16 else cell, kind="stable")
        self._first_item, self._first_u = item[order], u[order]
        self._start = np.searchsorted(cell[order], np.arange(len(cells) + 1))

    def take(self, cell: int, rank: int) -> int:
        """The item of `cell` with the (rank + 1)-th smallest u."""
        return int(self._run(cell, rank + 1)[0][rank])

    def first(self, cell: int, n: int) -> tuple[IntArray, FloatArray]:
        """The n items of `cell` with the smallest u, fewer if it has fewer; u in [0, 1)."""
        item, u = self._run(cell, n)
        return item[:n], as_shares(u[:n])

    def prepare(self, n: Sequence[int]) -> Sequence[int]:
        """A pass over items in memory is cheap enough when it is needed."""
        return n

    def _run(self, cell: int, n: int) -> tuple[IntArray, NDArray[np.int64]]:
        """The beginning of a cell's order, at least n items of it if there are as many."""
        run = self._sorted.get(cell)
        if run is None:
            first = slice(self._start[cell], self._start[cell + 1])
            run = self._keep(cell, self._first_item[first], self._first_u[first])
        n_wanted = 4 * n
        while len(run[0]) < n and len(run[0]) < self._size[cell]:
            run = self._keep(cell, *self._smallest(np.array([cell]), n_wanted))
            n_wanted *= 2
        return run

    def _keep(
        self, cell: int, item: IntArray, u: NDArray[np.int64]
    ) -> tuple[IntArray, NDArray[np.int64]]:
        order = np.argsort(u, kind="stable")
        run = item[order], u[order]
        self._sorted[cell] = run
        return run

    def _smallest(self, cells: IntArray, n_wanted: int) -> tuple[IntArray, NDArray[np.int64]]:
        """Items of the named cells, about n_wanted each, with the smallest u; and their u.

        They come in the order of the pool. All u up to a threshold are taken, so what is
        returned for a cell is the beginning of its order, whatever its length.
        """
        threshold = np.full(len(self._size), -1, dtype=np.int64)
        threshold[cells] = thresholds(self._size[cells], n_wanted)
        items, numbers = [], []
        for start in range(0, len(self._of_item), CHUNK):
            limit = threshold[self._of_item[start : start + CHUNK]]
            row = np.flatnonzero(limit >= 0)
            u = permanent_numbers(self._ids.keys(start, start + CHUNK)[row], self._seed)
            small = np.flatnonzero(u <= limit[row])
            items.append(start + row[small])
            numbers.append(u[small])
        return np.concatenate(items), np.concatenate(numbers)


def thresholds(size: IntArray, n_wanted: int) -> NDArray[np.int64]:
    """u below which n_wanted of `size` items lie, but for a chance of one in a thousand million."""
    share = (n_wanted + EXCESS * np.sqrt(n_wanted)) / size
    largest_double = float(2**63 - 1024)
    threshold: IntArray = np.minimum(share * 2.0**63, largest_double).astype(np.int64)
    threshold[share >= 1] = np.iinfo(np.int64).max
    return threshold
