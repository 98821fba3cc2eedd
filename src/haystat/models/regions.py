"""Cells of nearly the same rank, taken together: what the model of the labels tells apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.models.curve import minus_logit

#: width of a region in units of t, from how far from the threshold on
WIDTHS = ((0.0, 0.2), (2.0, 0.5), (6.0, 1.0))


@dataclass(frozen=True)
class Regions:
    """Where cells belong: of_cell (K,); first (R,) is a cell of each, place (R,) its mean place.

    A place is the distance from the threshold in units of t.
    """

    of_cell: IntArray
    first: IntArray
    place: FloatArray
    size: FloatArray

    @classmethod
    def along(
        cls, rank: FloatArray, threshold_rank: float, apart: IntArray, size: FloatArray
    ) -> Regions:
        """Cells of one number in apart (K,) that lie close; rank (K,) is their mid-rank."""
        t = minus_logit(rank)
        anchor = float(np.clip(minus_logit(np.array([threshold_rank]))[0], t.min(), t.max()))
        place = t - anchor
        key = np.column_stack([apart, stretches(place)])
        _, first, of_cell = np.unique(key, axis=0, return_index=True, return_inverse=True)
        of_cell = of_cell.reshape(-1)
        none = cls(of_cell, first, np.zeros(len(first)), np.zeros(len(first)))
        total = none.total(size)
        return cls(of_cell, first, none.total(size * place) / total, total)

    def total(self, of_cells: FloatArray | IntArray) -> FloatArray:
        """Sums over the cells of each region, (R,)."""
        total = np.bincount(self.of_cell, weights=of_cells, minlength=len(self.first))
        return np.asarray(total, dtype=np.float64)


def stretches(place: FloatArray) -> IntArray:
    """The number of the stretch that each place (K,) lies in, counted from the threshold."""
    distance, number = np.abs(place), np.zeros(len(place))
    ends = [*(start for start, _ in WIDTHS[1:]), np.inf]
    for (start, width), end in zip(WIDTHS, ends, strict=True):
        number += np.ceil(np.clip(distance - start, 0, end - start) / width)
    return np.asarray(np.where(place < 0, -number, number), dtype=np.int64)
