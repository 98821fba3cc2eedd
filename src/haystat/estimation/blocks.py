"""The pool cut so that design and measure both see uniform parts."""

from __future__ import annotations

from dataclasses import dataclass

from haystat.measures.outputs import FloatArray, IntArray
from haystat.pool.losses import CellLosses


@dataclass(frozen=True)
class Blocks:
    """Block b holds size[b] items of cell[b] of the design and row[b] of the losses; all (B,)."""

    cell: IntArray
    row: IntArray
    size: IntArray
    losses: CellLosses

    @property
    def mean_loss(self) -> FloatArray:
        """Mean loss of an item of each block under each label, (B, C, d)."""
        return self.losses.mean[self.row]
