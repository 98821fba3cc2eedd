"""A pool's sketch: its cells and the first items of each, all that a study needs of the pool.

The sketch lives in the study file, so a study goes on where the pool is not. It is made from
anything that keeps the contract of a pool: items in memory today, a database tomorrow.
"""

from __future__ import annotations

import sqlite3
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from haystat.core.arrays import FloatArray, IntArray
from haystat.errors import NoSupport, StudyError, UnknownItem
from haystat.measures.base import Measure
from haystat.measures.outputs import Outputs, Schema
from haystat.pool.base import AnyPool, Order, View
from haystat.pool.between_cells import blocks_between
from haystat.pool.blocks import Blocks, cut
from haystat.pool.cells import Cells
from haystat.pool.known import Known
from haystat.pool.losses import CellLosses, MeanLosses, equal_losses
from haystat.pool.number_losses import NumberLosses
from haystat.pool.permanent_numbers import unit_numbers
from haystat.pool.problem import Problem
from haystat.pool.tree import Tree
from haystat.study.array_codec import decode_array, unpack
from haystat.study.sketch_codec import TREE, decode_cells, decode_outputs

PARTS = "SELECT name, content FROM sketch WHERE name IN ('pool', 'cells', 'losses')"


class CellDry(Exception):
    """A cell has no further candidates in the file; `n_kept` of them are there."""

    def __init__(self, cell: int, n_kept: int) -> None:
        super().__init__(cell, n_kept)
        self.cell, self.n_kept = cell, n_kept


class SketchPool:
    """The pool of a study, as far as its file knows it. Keeps the contract of a pool."""

    def __init__(
        self, connect: Callable[[], sqlite3.Connection], whole: Callable[[str], AnyPool]
    ) -> None:
        self._whole = whole  # the pool itself, to do something with
        parts = dict(connect().execute(PARTS))
        if not {"pool", "cells"} <= parts.keys():
            raise StudyError("the pool's sketch is missing; use a copy of the study")
        about = unpack(parts["pool"])
        self.size: int = about["size"]
        self.classes: tuple[Any, ...] = tuple(about["classes"])
        self.seed: int = about["seed"]
        self.fingerprint: str = about["fingerprint"]
        self.tree = Tree(*(decode_array(about["tree"][name]) for name in TREE))
        self.schema = Schema(
            self.size,
            tuple(about["systems"]),
            len(self.classes),
            decode_array(about["score_range"]),
            tuple(about["columns"]),
            tuple(about["class_names"]),
            about["scored"],
            **about.get("weight", {}),
        )
        self.items = Items(self.schema, connect, self.seed)
        self._cells = decode_cells(unpack(parts["cells"]), self.items)
        self._losses = unpack(parts["losses"]) if "losses" in parts else {}

    complete = False  # whether all items are at hand
    foreign = False  # whether items were drawn by what other systems say about them

    def __len__(self) -> int:
        return self.size

    def cells(self, measure: Measure) -> Cells:
        """The cells of the measure that the study was made for."""
        return self._cells

    def losses(self, measure: Measure, cells: Cells) -> CellLosses:
        """What the losses of the study's measure look like from the cells."""
        kept = self._losses
        if not kept:
            return equal_losses(measure, cells.example, len(self.classes))
        if "first" in kept:
            moments = {name: decode_array(kept[name]) for name in kept}
            if "square" not in kept:  # of files that version 0.1.0 wrote
                return MeanLosses.of(measure, moments["first"], moments["second"])
            return MeanLosses(measure, **moments)
        example, cell = decode_outputs(kept["example"]), decode_array(kept["example_cell"])
        return NumberLosses(measure, example, cell, decode_array(kept["deviation"]), self.outputs)

    def ordered(self, seed: int) -> Self:
        """The pool itself: its order was fixed when the study was made."""
        return self

    def with_known(self, known: Sequence[Known]) -> Self:
        """The pool itself: what was known when the study was made has cells of its own."""
        return self

    def candidates(self, cells: Cells) -> Order:
        """The items of each cell in the order in which they are asked about."""
        return self.items

    def outputs(self, index: IntArray) -> Outputs:
        """What the systems say about the items at these positions."""
        return self.items.outputs(index)

    def blocks(self, problem: Problem, measure: Measure) -> Blocks:
        """The items cut by the cells of a problem and by what a measure sees of them."""
        try:
            whole = self._whole(f"tell how many items of each cell {measure.name} tells apart")
        except StudyError as error:
            if self.items.n_kept == self.size:
                return cut(self, problem.cells, measure, len(self.classes))
            between = blocks_between(self, problem.cells, measure, len(self.classes))
            if between is None:
                raise NoSupport(str(error)) from None
            return between
        cells = whole.cells(problem.measure)
        blocks: Blocks = whole.blocks(replace(problem, cells=cells), measure)
        return blocks

    def seen_by(self, other: Any) -> View:
        """Another pool of the same items; it takes the pool itself to know which they are."""
        return self._whole("compare its items with those of another pool").seen_by(other)

    def specimens(self, cells: Cells) -> Iterator[Outputs]:
        """The items that are at hand: the candidates, a random part of every cell."""
        yield self.outputs(self.items.load_all()[0])

    def id_of(self, index: int) -> Any:
        """The user's id of the item at a position."""
        return self.items.ids[self.items.row_of[index]]

    def record_of(self, index: int) -> dict[str, Any]:
        """What to show to the person who labels the item."""
        return self.items.record(index)


@dataclass
class _Loaded:
    """Candidates read so far, of all cells, row by row."""

    cell: IntArray
    index: IntArray
    scores: FloatArray
    predictions: IntArray
    columns: dict[str, NDArray[Any]]


class Items:
    """The candidates of a study file, read chunk by chunk when they are needed."""

    def __init__(
        self, schema: Schema, connect: Callable[[], sqlite3.Connection], seed: int
    ) -> None:
        self.ids: list[Any] = []
        self.row_of: dict[int, int] = {}
        self._first_row: list[int] = []  # of each chunk
        self._shown: list[list[tuple[str, list[Any]]]] = []  # of each chunk, by column
        self._order: dict[int, list[int]] = {}
        n_systems = len(schema.systems)
        self._loaded = _Loaded(
            np.zeros(0, dtype=np.int64),
            np.zeros(0, dtype=np.int64),
            np.zeros((0, n_systems)),
            np.zeros((0, n_systems), dtype=np.int64),
            {name: np.zeros(0, dtype=object) for name in schema.columns},
        )
        self._connect = connect
        self._seed = seed
        self._u: dict[int, float] = {}  # of items whose id does not tell it

    def take(self, cell: int, rank: int) -> int:
        """The item of `cell` with the (rank + 1)-th smallest u."""
        run = self._order.setdefault(cell, [])
        while len(run) <= rank:
            if not self._load(cell, len(run)):
                raise CellDry(cell, len(run))
        return run[rank]

    def first(self, cell: int, n: int) -> tuple[IntArray, FloatArray]:
        """The n items of `cell` with the smallest u, fewer if the file has fewer; u in [0, 1)."""
        run = self._order.setdefault(cell, [])
        while len(run) < n and self._load(cell, len(run)):
            pass
        index = np.array(run[:n], dtype=np.int64)
        return index, self._shares(index)

    def prepare(self, n: Sequence[int]) -> Sequence[int]:
        """What there is has been written already."""
        return [len(self.first(cell, wanted)[0]) for cell, wanted in enumerate(n)]

    def _shares(self, index: IntArray) -> FloatArray:
        u = unit_numbers([self.ids[self.row_of[i]] for i in index.tolist()], self._seed)
        return np.array([self._u.get(i, own) for i, own in zip(index.tolist(), u, strict=True)])

    def forget(self, cell: int, n_kept: int) -> None:
        """Drop what was read of a cell beyond `n_kept`: the transaction that wrote it failed."""
        del self._order.get(cell, [])[n_kept:]

    @property
    def n_kept(self) -> int:
        """How many candidates the file holds."""
        (n,) = self._connect().execute("SELECT coalesce(sum(length), 0) FROM candidates").fetchone()
        return int(n)

    def load_all(self) -> tuple[IntArray, IntArray]:
        """Read every candidate: their positions and their cells, (n,)."""
        rows = self._connect().execute("SELECT cell, sum(length) FROM candidates GROUP BY cell")
        for cell, n in rows.fetchall():
            self.take(cell, n - 1)
        return self._loaded.index, self._loaded.cell

    def outputs(self, index: IntArray) -> Outputs:
        """What the systems say about items that were read."""
        rows, loaded = self._rows(index), self._loaded
        columns = {name: values[rows] for name, values in loaded.columns.items()}
        return Outputs(np.asarray(index), loaded.scores[rows], loaded.predictions[rows], columns)

    def record(self, index: int) -> dict[str, Any]:
        """The columns to show of an item that was read."""
        row = self.row_of[index]
        chunk = bisect_right(self._first_row, row) - 1
        row -= self._first_row[chunk]
        return {name: values[row] for name, values in self._shown[chunk]}

    def __getitem__(self, index: IntArray) -> IntArray:
        """Cell of each item, as an array of the whole pool would give it."""
        return self._loaded.cell[self._rows(index)]

    def _rows(self, index: IntArray) -> IntArray:
        given = np.asarray(index).tolist()
        try:
            return np.fromiter(map(self.row_of.__getitem__, given), np.int64, len(given))
        except KeyError as missing:
            raise UnknownItem(f"the study file does not hold the item at {missing}") from None

    def _load(self, cell: int, first: int) -> bool:
        """Read the chunk of a cell that begins at rank `first`; False if there is none."""
        query = "SELECT content FROM candidates WHERE cell = ? AND first = ?"
        try:
            row = self._connect().execute(query, (cell, first)).fetchone()
        except sqlite3.DatabaseError as error:
            if not str(getattr(error, "sqlite_errorname", "")).startswith("SQLITE_CORRUPT"):
                raise
            raise StudyError(f"the candidates of cell {cell} are damaged; use a copy") from None
        if row is None:
            return False
        chunk = unpack(row[0])
        index = decode_array(chunk["index"])
        self._u.update(zip(index.tolist(), chunk.get("u", ()), strict=False))
        start = len(self.ids)
        self.ids.extend(chunk["ids"])
        if any(len(values) != len(index) for _, values in chunk["records"]):
            raise ValueError(f"the columns to show of cell {cell} differ in length")
        self._first_row.append(start)
        self._shown.append(chunk["records"])
        self.row_of.update(zip(index.tolist(), range(start, start + len(index)), strict=True))
        old = self._loaded
        self._loaded = _Loaded(
            np.concatenate([old.cell, np.full(len(index), cell)]),
            np.concatenate([old.index, index]),
            np.concatenate([old.scores, decode_array(chunk["scores"])]),
            np.concatenate([old.predictions, decode_array(chunk["predictions"])]),
            {
                name: np.concatenate([old.columns[name], decode_array(values)])
                if start
                else decode_array(values)
                for name, values in chunk["columns"].items()
            },
        )
        self._order[cell].extend(index.tolist())
        return True
