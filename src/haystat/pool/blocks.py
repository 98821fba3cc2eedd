"""The pool cut so that the design of an evaluation and another measure both see uniform parts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.measures.base import Measure
from haystat.measures.outputs import Outputs
from haystat.pool.base import View
from haystat.pool.cells import Cells
from haystat.pool.losses import CellLosses, MeanLosses, equal_losses


@dataclass(frozen=True)
class Blocks:
    """Block b holds size[b] items of cell[b] of the design, with one signature; all (B,).

    They are in the order of cell and signature. losses are those of the measure, by block.
    """

    cell: IntArray
    signature: IntArray
    size: IntArray
    losses: CellLosses

    @property
    def mean_loss(self) -> FloatArray:
        """Mean loss of an item of each block under each label, (B, C, d)."""
        return self.losses.mean

    def of_items(self, cell: IntArray, signature: IntArray) -> IntArray:
        """The block of items of these cells and signatures, (n,)."""
        n_codes = int(max(self.signature.max(initial=0), signature.max(initial=0))) + 1
        return np.searchsorted(self.cell * n_codes + self.signature, cell * n_codes + signature)


def cut(view: View, cells: Cells, measure: Measure, n_classes: int) -> Blocks:
    """Blocks of items that are all at hand; the measure groups them."""
    found: list[tuple[IntArray, ...]] = []
    for outputs in view.specimens(cells):
        code = np.asarray(measure.grouping(outputs))
        pair = np.stack([cells.of_item[outputs.index].astype(np.int64), code])
        kind, first, size = np.unique(pair, axis=1, return_index=True, return_counts=True)
        found.append((*kind, size, outputs.index[first]))
    cell, code, size, example = (np.concatenate(part) for part in zip(*found, strict=True))
    kind, first, block = np.unique(
        np.stack([cell, code]), axis=1, return_index=True, return_inverse=True
    )
    total = np.bincount(block.ravel(), size).astype(np.int64)
    like = view.outputs(example[first])
    found_blocks = blocks_like(kind[0], kind[1], total, like, measure, n_classes)
    if measure.signature(like) is not None:
        return found_blocks
    return replace(found_blocks, losses=_mean_losses(view, cells, measure, n_classes, found_blocks))


def _mean_losses(
    view: View, cells: Cells, measure: Measure, n_classes: int, blocks: Blocks
) -> MeanLosses:
    """Mean losses of blocks whose items differ in their loss; nobody asks for their spread."""
    mean = np.zeros((len(blocks.size), n_classes, measure.n_risk))
    for outputs in view.specimens(cells):
        cell = cells.of_item[outputs.index].astype(np.int64)
        block = blocks.of_items(cell, np.asarray(measure.grouping(outputs)))
        for label in range(n_classes):
            loss = measure.loss(outputs, np.full(len(outputs), label))
            np.add.at(mean[:, label], block, loss)
    return MeanLosses(measure, mean / blocks.size[:, None, None], np.zeros((0, 0, 0)))


def refined(
    finer: Cells,
    cells: Cells,
    known: Measure,
    measure: Measure,
    n_classes: int,
    mean: FloatArray | None = None,
) -> Blocks:
    """Blocks from cells that know what both the design's measure and another one see of an item.

    mean (K, C, d) is the mean loss of the finer cells, where their items differ in it.
    """
    place = {kind: row for row, kind in enumerate(_kinds(cells, known))}
    cell = np.array([place[kind] for kind in _kinds(finer, known)], dtype=np.int64)
    code = np.asarray(measure.grouping(finer.example))
    order = np.lexsort((code, cell))
    example = finer.example.take(order)
    blocks = blocks_like(cell[order], code[order], finer.size[order], example, measure, n_classes)
    if mean is None:
        return blocks
    return replace(blocks, losses=MeanLosses(measure, mean[order], np.zeros((0, 0, 0))))


def _kinds(cells: Cells, known: Measure) -> list[tuple[Any, ...]]:
    """What tells cells of a measure apart, and what is told of a finer cell."""
    columns = [cells.stratum, np.asarray(known.grouping(cells.example))]
    columns += [] if cells.signals is None else list(cells.signals.band.T)
    columns += [] if cells.before is None else [cells.before.inclusion]
    return list(zip(*(column.tolist() for column in columns), strict=True))


def blocks_like(
    cell: IntArray,
    signature: IntArray,
    size: IntArray,
    example: Outputs,
    measure: Measure,
    n_classes: int,
) -> Blocks:
    """Blocks with an item that stands for each."""
    return Blocks(cell, signature, size, equal_losses(measure, example, n_classes))
