"""The problem that a design works on: a measure, seen from the cells of a pool."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.measures.base import Measure
from haystat.pool.base import AnyPool
from haystat.pool.cells import Cells
from haystat.pool.known import KnownCells
from haystat.pool.losses import CellLosses
from haystat.pool.tree import Tree


@dataclass(frozen=True)
class Problem:
    """What is fixed during an evaluation.

    stratum_size (S,) and stratum_prior (S, C) describe the strata, the leaves of `tree`. The
    oracle is "deterministic" (an item has one label) or "stochastic". known: labels from before.
    """

    size: int
    measure: Measure
    cells: Cells
    losses: CellLosses
    tree: Tree
    stratum_size: IntArray
    stratum_prior: FloatArray
    oracle: str = "deterministic"
    known: KnownCells | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes; one stands for all labels that are numbers."""
        return int(self.stratum_prior.shape[1])

    @property
    def open(self) -> BoolArray:
        """Cells whose items had no label beforehand, (K,)."""
        if self.known is None:
            return np.ones(len(self.cells), dtype=bool)
        return np.asarray(self.known.kind == 0)

    @property
    def numeric(self) -> bool:
        """Whether labels are numbers."""
        return self.n_classes == 1


def pose(pool: AnyPool, measure: Measure, oracle: str = "deterministic") -> Problem:
    """The problem a design works on: `measure`, bound to the pool, seen from its cells."""
    cells = pool.cells(measure)
    n_strata = pool.tree.n_strata
    size = np.bincount(cells.stratum, weights=cells.size, minlength=n_strata)
    prior = np.zeros((n_strata, cells.prior.shape[1]))
    np.add.at(prior, cells.stratum, cells.prior * cells.size[:, None])
    losses = pool.losses(measure, cells)
    stratum_size = size.astype(np.int64)
    prior /= size[:, None]
    return Problem(pool.size, measure, cells, losses, pool.tree, stratum_size, prior, oracle)
