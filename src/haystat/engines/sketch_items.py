"""A sketch in memory: items by number, and more of them from the source when they run out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from haystat.core.arrays import FloatArray, IntArray
from haystat.engines.layout import Layout
from haystat.engines.passes import own_u
from haystat.engines.sketch import Sketch
from haystat.errors import UnknownItem
from haystat.measures.outputs import Outputs
from haystat.pool.cells import thresholds
from haystat.pool.permanent_numbers import as_shares

RANK_BITS, ATOM_BITS = 32, 22
TAG_BITS = RANK_BITS + ATOM_BITS  # below the tag
RANKS, ATOMS = (1 << RANK_BITS) - 1, (1 << ATOM_BITS) - 1

#: the sketch with all items up to a limit (A,), of which so many (A,) were hoped for
Fetch = Callable[[Sketch, IntArray, IntArray], Sketch]


@dataclass
class SketchItems:
    """A sketch, and the way to more of its items.

    An item's number is made of the tag of the sketch, its atom, and its rank by u in that: so it
    is the same in every process, and stays when more items are fetched.
    """

    layout: Layout
    sketch: Sketch
    tag: int
    fetch: Fetch
    has_more: bool = True  # whether items that are not here can be fetched

    def __post_init__(self) -> None:
        self._start = self.sketch.start()

    def index(self, atom: IntArray, rank: IntArray) -> IntArray:
        """The numbers of items."""
        base = self.tag << TAG_BITS
        return np.asarray(base + (atom.astype(np.int64) << RANK_BITS) + rank)

    def run(self, atom: int) -> tuple[IntArray, NDArray[np.int64]]:
        """Numbers and u of the items of an atom that are here."""
        rows = slice(self._start[atom], self._start[atom + 1])
        u = self.sketch.items.u[rows]
        return self.index(np.full(len(u), atom), np.arange(len(u))), u

    def grow(self, atoms: IntArray, limit: int, n_wanted: int) -> None:
        """Fetch the items of some atoms up to a limit."""
        limits = self.sketch.atoms.limit.copy()
        limits[atoms] = np.maximum(limits[atoms], limit)
        hoped = np.zeros_like(limits)
        if len(atoms) == 1:
            hoped[atoms] = n_wanted
        self.raise_to(limits, hoped)

    def raise_to(self, limits: IntArray, hoped: IntArray) -> None:
        """Fetch the items of all atoms up to limits (A,)."""
        self.sketch = self.fetch(self.sketch, limits, hoped)
        self._start = self.sketch.start()

    def rows(self, index: IntArray) -> IntArray:
        """Rows of the candidates with these numbers; fetched if they are not here yet."""
        atom, rank = atoms_of(index), np.asarray(index) & RANKS
        if len(atom) and (atom.max() >= len(self.sketch.atoms) or np.any(rank < 0)):
            raise UnknownItem("no item of that number in the pool; was it made by another pool?")
        missing = rank >= np.diff(self._start)[atom]
        for one in np.unique(atom[missing]).tolist():
            n = int(rank[atom == one].max()) + 1
            size = self.sketch.atoms.size[one]
            if n > size:
                raise UnknownItem("no item of that number in the pool; was it made by another?")
            self.grow(np.array([one]), int(thresholds(np.array([size]), n)[0]), n)
        return np.asarray(self._start[atom] + rank)

    def row(self, index: int) -> int:
        """Row of one candidate; the same as `rows`, without arrays."""
        atom = (index >> RANK_BITS) & ATOMS
        row = self._start.item(atom) + (index & RANKS)
        return row if row < self._start.item(atom + 1) else int(self.rows(np.array([index]))[0])

    def outputs(self, index: IntArray) -> Outputs:
        """What the systems say about items."""
        rows, atom, atoms = self.rows(index), atoms_of(index), self.sketch.atoms
        facts = {name: values[atom] for name, values in atoms.facts.items()}
        items, weight = self.sketch.items, self.layout.columns.weight
        if weight is not None and items.weight is not None:
            facts[weight] = items.weight[rows]
        return Outputs(np.asarray(index), items.scores[rows], atoms.predictions[atom], facts)

    def examples(self) -> Outputs:
        """An item of each atom."""
        n_atoms = len(self.sketch.atoms)
        return self.outputs(self.index(np.arange(n_atoms), np.zeros(n_atoms, dtype=np.int64)))


def atoms_of(index: IntArray) -> IntArray:
    """The atoms of items."""
    return (np.asarray(index) >> RANK_BITS) & ATOMS


class CellOf:
    """The cell of each item, as an array of the whole pool would give it."""

    def __init__(self, of_atom: IntArray) -> None:
        self.of_atom = of_atom

    def __getitem__(self, index: IntArray) -> IntArray:
        return np.asarray(self.of_atom[atoms_of(index)])


class MergedOrder:
    """The items of each cell in the order of u, merged from the atoms of the cell."""

    def __init__(self, held: SketchItems, of_atom: IntArray, size: IntArray) -> None:
        self._held = held
        self._size = size
        order = np.argsort(of_atom, kind="stable")
        cuts = np.searchsorted(of_atom[order], np.arange(1, len(size)))
        self._atoms = np.split(order, cuts)
        self._runs: dict[int, tuple[IntArray, NDArray[np.int64]]] = {}

    def take(self, cell: int, rank: int) -> int:
        """The item of `cell` with the (rank + 1)-th smallest u."""
        return int(self._run(cell, rank + 1)[0][rank])

    def first(self, cell: int, n: int) -> tuple[IntArray, FloatArray]:
        """The n items of `cell` with the smallest u, fewer if it has fewer; u in [0, 1)."""
        item, u = self._run(cell, n)
        return item[:n], as_shares(own_u(u[:n]))

    def prepare(self, n: Sequence[int]) -> Sequence[int]:
        """Fetch the first n (K,) items of all cells that lack some, in one pass."""
        here = [len((self._runs.get(cell) or self._merge(cell))[0]) for cell in range(len(n))]
        if not self._held.has_more:
            return [min(pair) for pair in zip(n, here, strict=True)]
        short = [c for c, wanted in enumerate(n) if here[c] < min(wanted, self._size[c])]
        limits = self._held.sketch.atoms.limit.copy()
        for cell in short:
            limit = thresholds(self._size[cell : cell + 1], int(n[cell]))[0]
            limits[self._atoms[cell]] = np.maximum(limits[self._atoms[cell]], limit)
        if short:
            self._held.raise_to(limits, np.zeros_like(limits))
            for cell in short:
                self._merge(cell)
        return n

    def _run(self, cell: int, n: int) -> tuple[IntArray, NDArray[np.int64]]:
        run = self._runs.get(cell) or self._merge(cell)
        n_wanted = 4 * n
        size = int(self._size[cell])
        while len(run[0]) < min(n, size):
            limit = int(thresholds(np.array([size]), n_wanted)[0])
            self._held.grow(self._atoms[cell], limit, min(n, size))
            run = self._merge(cell)
            n_wanted *= 2
        return run

    def _merge(self, cell: int) -> tuple[IntArray, NDArray[np.int64]]:
        """All items of a cell up to the smallest limit of its atoms: the beginning of its order."""
        atoms = self._atoms[cell]
        runs = [self._held.run(atom) for atom in atoms.tolist()]
        index, u = (np.concatenate(parts) for parts in zip(*runs, strict=True))
        limit = self._held.sketch.atoms.limit[atoms].min()
        order = np.argsort(u, kind="stable")
        order = order[: np.searchsorted(u[order], limit, side="right")]
        self._runs[cell] = index[order], u[order]
        return self._runs[cell]
