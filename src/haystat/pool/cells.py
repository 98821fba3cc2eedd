"""Cells: the items of one stratum that the measure cannot tell apart, in the order of u."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from haystat.measures.base import Measure
from haystat.measures.outputs import FloatArray, IntArray, Outputs
from haystat.pool.strata import compact

DENSE_CODES = 1 << 22  # codes below this are renumbered by counting, above by sorting
FIRST_CANDIDATES = 1024  # items a cell keeps ready; more are fetched when it runs dry
EXCESS = 6.0  # standard deviations of slack when the smallest u are picked by a threshold


@dataclass(frozen=True)
class Cells:
    """K cells: stratum (K,), size (K,), prior label shares (K, C), an item that stands for each.

    of_item (M,) is the cell of each item of the pool.
    """

    stratum: IntArray
    size: IntArray
    prior: FloatArray
    example: Outputs
    of_item: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.size)


def cell_codes(stratum: IntArray, measure: Measure, outputs: Outputs) -> NDArray[np.int32]:
    """Cell of each item, numbered by stratum and then by the measure's signature."""
    signature = measure.signature(outputs)
    if signature is None:
        return stratum.astype(np.int32)
    signature = _renumber(signature)
    n_signatures = int(signature.max()) + 1
    return _renumber(stratum * n_signatures + signature).astype(np.int32)


def first_items(of_item: NDArray[np.int32], n_cells: int) -> IntArray:
    """Position of one item of each cell."""
    result = np.zeros(n_cells, dtype=np.int64)
    result[of_item[::-1]] = np.arange(len(of_item) - 1, -1, -1)
    return result


def _renumber(codes: IntArray) -> IntArray:
    codes = codes - codes.min()
    if int(codes.max()) < DENSE_CODES:
        return compact(codes, int(codes.max()) + 1)
    return np.unique(codes, return_inverse=True)[1]


class Candidates:
    """The items of each cell in the order of u, fetched as far as they are needed."""

    def __init__(self, cells: Cells, u: NDArray[np.int64]) -> None:
        self._of_item = cells.of_item
        self._size = cells.size
        self._u = u
        self._runs: dict[int, IntArray] = {}
        self._prepare(np.arange(len(cells)), FIRST_CANDIDATES)

    def take(self, cell: int, rank: int) -> int:
        """The item of `cell` with the (rank + 1)-th smallest u."""
        run = self._runs[cell]
        if rank >= len(run):
            self._prepare(np.array([cell]), 4 * (rank + 1))
            run = self._runs[cell]
        return int(run[rank])

    def _prepare(self, cells: IntArray, n_wanted: int) -> None:
        """Sort the n_wanted smallest u of each named cell."""
        share = (n_wanted + EXCESS * np.sqrt(n_wanted)) / self._size[cells]
        threshold = np.full(len(self._size), -1, dtype=np.int64)
        limit = float(2**63 - 1024)  # the largest double that fits in 63 bits
        threshold[cells] = np.minimum(share * 2.0**63, limit).astype(np.int64)
        threshold[cells[share >= 1]] = np.iinfo(np.int64).max
        item = np.flatnonzero(self._u <= threshold[self._of_item])
        cell = self._of_item[item]
        order = np.argsort(self._u[item], kind="stable")
        # Few cells fit 16 bits, which numpy sorts by counting.
        narrow = cell.astype(np.uint16) if len(self._size) <= 1 << 16 else cell
        order = order[np.argsort(narrow[order], kind="stable")]
        bounds = np.searchsorted(cell[order], [cells, cells + 1])
        for name, start, stop in zip(cells.tolist(), *bounds.tolist(), strict=True):
            if stop - start < min(n_wanted, self._size[name]):
                self._prepare(np.array([name]), 2 * n_wanted)
            else:
                self._runs[name] = item[order[start:stop]]
