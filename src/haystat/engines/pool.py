"""EnginePool: the items to sample from, behind an engine. Keeps the contract of hs.Pool."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from haystat.core.arguments import checked_path
from haystat.core.arrays import FloatArray, IntArray
from haystat.display.card import card_html
from haystat.engines.all_items import all_items
from haystat.engines.checks import Summary
from haystat.engines.fingerprint import digest_of
from haystat.engines.grid import threshold_grid
from haystat.engines.labels import labels_of_cells
from haystat.engines.layout import Layout
from haystat.engines.moments import binned_losses, binned_number_losses
from haystat.engines.outside import near_and_far
from haystat.engines.passes import Groups, RowOrder, read_groups
from haystat.engines.records import Lookup
from haystat.engines.settings import Settings
from haystat.engines.sketch import (
    Sketch,
    cell_signals,
    empty_items,
    fetched,
    make_atoms,
    mean_prior,
    plain_id,
)
from haystat.engines.sketch_file import write_pool
from haystat.engines.sketch_items import TAG_BITS, CellOf, MergedOrder, SketchItems
from haystat.engines.source import Source
from haystat.engines.strata import Cut
from haystat.errors import BadOption, PoolError, UnknownItem
from haystat.measures.base import Measure
from haystat.measures.combine import Several
from haystat.measures.facts import InMask, ScoreBin
from haystat.measures.outputs import Outputs, Schema
from haystat.measures.weighted import WeightBin
from haystat.pool import prior
from haystat.pool.base import Order
from haystat.pool.between_cells import blocks_between
from haystat.pool.blocks import Blocks, refined
from haystat.pool.cells import Cells, first_like_most, thresholds
from haystat.pool.items import Items
from haystat.pool.known import Known
from haystat.pool.losses import CellLosses, equal_losses
from haystat.pool.shown import score_card
from haystat.pool.signals import pattern_of
from haystat.pool.strata import renumber
from haystat.pool.tree import Tree
from haystat.pool.weight_signals import with_weights

Bins = tuple[ScoreBin, ...]


MOST_TAGS = 255  # sets of thresholds besides none, which are part of an item's number


class EnginePool:
    """Items in files or a database, seen through a sketch. Made by hs.open_pool.

    Draws, estimates and the order of items are those of hs.Pool over the same data and seed.
    """

    complete = False  # whether all items are at hand
    foreign = False  # whether items were drawn by what other systems say about them

    def __init__(
        self,
        source: Source | None,
        summary: Summary,
        layout: Layout,
        cut: Cut,
        settings: Settings,
        lookup: Lookup,
        sketch: Sketch | None = None,
    ) -> None:
        self.source = source
        self.summary = summary
        self.layout = layout
        self.cut = cut
        self.settings = settings
        self.lookup = lookup
        self._all: dict[Bins, SketchItems] = {}
        self._by_tag: dict[int, SketchItems] = {}
        self._numbers_of: dict[int, tuple[int, dict[Any, int]]] = {}
        if sketch is not None:
            self._all[()] = self._held((), layout, sketch)
        self.size = self._counted()
        self.classes = settings.classes
        self.seed = settings.seed
        self.systems = layout.columns.systems
        weight = layout.columns.weight
        further = () if weight is None or weight in layout.columns.facts else (weight,)
        self.schema = Schema(
            self.size,
            self.systems,
            len(self.classes),
            summary.score_range,
            (*layout.columns.facts, *further),
            tuple(str(label) for label in self.classes),
            scored=bool(layout.columns.scores),
            weight=weight,
        )
        if weight is not None:
            self.schema = replace(self.schema, light=self.held.sketch.groups.light())

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        where = "a sketch" if self.source is None else f"{self.source.name}, {self.source.engine}"
        return f"EnginePool({self.size} items in {where}, systems {list(self.systems)})"

    def _repr_html_(self) -> str:
        where = "A sketch." if self.source is None else f"{self.source.name}, {self.source.engine}."
        return card_html(score_card(self, where))

    @property
    def has_more(self) -> bool:
        """Whether items that are not candidates can be fetched."""
        return self.source is not None

    @property
    def held(self) -> SketchItems:
        """The sketch without thresholds of a curve, made when it is asked for.

        The next version of a pool needs another one.
        """
        if () not in self._all:
            self._all[()] = self._held((), self.layout, self._sketched(self.layout))
        return self._all[()]

    @cached_property
    def n_strata(self) -> int:
        """Number of strata."""
        return int(self.held.sketch.atoms.stratum.max()) + 1

    @cached_property
    def tree(self) -> Tree:
        """The hierarchy of the strata."""
        return self.settings.tree(self.n_strata)

    def cells(self, measure: Measure) -> Cells:
        """Group the items that `measure`, bound to this pool, cannot tell apart."""
        held = self._held_for(measure)
        atoms = held.sketch.atoms
        examples = held.examples()
        signature = measure.grouping(examples)
        code = atoms.stratum
        if atoms.bands is not None:
            pattern = pattern_of(atoms.bands).astype(np.int64)
            code = renumber(code * (int(pattern.max()) + 1) + pattern).astype(np.int64)
        if signature is not None:
            signature = renumber(signature).astype(np.int64)
            code = code * (int(signature.max()) + 1) + signature
        parts = renumber(code).astype(np.int64)
        n_cells = int(parts.max()) + 1
        size = np.zeros(n_cells, dtype=np.int64)
        np.add.at(size, parts, atoms.size)
        first = first_like_most(parts, atoms.predictions, atoms.size)
        example = held.outputs(held.index(first, np.zeros_like(first)))
        of_item = cast(NDArray[np.int32], CellOf(parts))
        shares = mean_prior(self.classes, held.layout, held.sketch, parts, size)
        signals = cell_signals(held.layout.signals, held.sketch, parts, size, first)
        if len(self.classes) == 2:
            most = 2 * atoms.predictions.sum(axis=1) > len(self.systems)
            chosen = atoms.size * most
            signals = with_weights(signals, measure, examples, atoms.size, chosen, first)
        cells = Cells(atoms.stratum[first], size, shares, example, of_item, signals=signals)
        outside = near_and_far(held.sketch)
        if outside is None:
            return cells
        near, far = (kind[first] for kind in outside)
        return replace(cells, apart=near.astype(np.int64), far=far)

    def losses(self, measure: Measure, cells: Cells) -> CellLosses:
        """What the losses of `measure` look like from the cells."""
        parts, held = of_atom(cells), self._held_for(measure)
        if not self.classes:
            spread = self.summary.spread
            return binned_number_losses(measure, held, parts, cells.size, spread, self.outputs)
        if measure.signature(cells.example) is not None:
            return equal_losses(measure, cells.example, len(self.classes))
        return binned_losses(measure, held, parts, cells.size, len(self.classes))

    def ordered(self, seed: int) -> Self:
        """The pool itself: its order was fixed when it was opened."""
        return self

    def with_known(self, known: Sequence[Known]) -> Self:
        """The pool itself, if no labels are known."""
        if known:
            raise BadOption(
                "known labels are for pools in memory: hs.Pool, hs.Pool.from_frame, or a file "
                "without an engine"
            )
        return self

    def candidates(self, cells: Cells) -> Order:
        """The items of each cell in the order in which they are asked about."""
        return MergedOrder(self._of(cells.example.index), of_atom(cells), cells.size)

    def items(self, measure: Measure) -> Items:
        """All items, one by one, if they fit into memory: one pass."""
        return all_items(self, measure)

    def label_counts(self, measure: Measure, cells: Cells, column: str) -> IntArray:
        """Items of each cell under each label, (K, C), from known labels in a column: one pass."""
        return labels_of_cells(self, measure, cells, column)

    def blocks(self, problem: Any, measure: Measure) -> Blocks:
        """The items cut by the cells of a problem and by what a measure sees of them: one pass."""
        joint = Several((problem.measure, measure))
        try:
            finer = self.cells(joint)
        except PoolError:
            between = blocks_between(self, problem.cells, measure, len(self.classes))
            if between is None:
                raise
            return between
        n_classes, mean = len(self.classes), None
        if measure.signature(finer.example) is None:  # what items count is not what others do
            held, parts = self._held_for(joint), of_atom(finer)
            mean = binned_losses(measure, held, parts, finer.size, n_classes).mean
        return refined(finer, problem.cells, problem.measure, measure, n_classes, mean)

    def seen_by(self, other: Any) -> Self:
        """The pool itself: other systems' scores are opened together with these."""
        if other is not self:
            raise BadOption(
                "systems that came later are compared on pools in memory; open all systems' "
                "scores as one pool: hs.open_pool(…, score=(…, …))"
            )
        return self

    def specimens(self, cells: Cells) -> Iterator[Outputs]:
        """The items that are at hand: the candidates, a random part of every cell."""
        yield self.outputs(self.kept_items(cells))

    def kept_items(self, cells: Cells) -> IntArray:
        """All items of these cells that are here: the first of each by u."""
        held = self._of(cells.example.index)
        runs = [held.run(atom)[0] for atom in range(len(held.sketch.atoms))]
        return np.concatenate(runs)

    def outputs(self, index: IntArray) -> Outputs:
        """What the systems say about items."""
        return self._of(index).outputs(index)

    def id_of(self, index: int) -> Any:
        """The user's id of an item."""
        tag = index >> TAG_BITS
        held = self._by_tag[tag] if tag else self.held
        return held.sketch.items.id.item(held.row(index))  # quicker than an element of numpy

    def index_of(self, item: Any) -> int:
        """The item with this id, provided that it is among the candidates."""
        value = plain_id(item)
        for held in {(): self.held, **self._all}.values():
            found = self._numbers(held).get(value) if type(value) in (int, str) else None
            if found is not None:
                return found
        raise UnknownItem(
            f"no item {item!r} among the candidates of the pool of {self.size}; ids look like "
            f"{plain_id(self.held.sketch.items.id[0])!r}"
        )

    def records(self, index: IntArray) -> Mapping[str, Sequence[Any]]:
        """The columns to show of some items."""
        held = self._of(index)
        return self.lookup.records(held.sketch.items.id[held.rows(index)])

    def with_seed(self, seed: int) -> EnginePool:
        """The same pool in another order: one more pass."""
        settings = replace(self.settings, seed=seed)
        known = self.held.sketch
        nothing = np.full(len(known.atoms), -1, dtype=np.int64)
        atoms = replace(known.atoms, limit=nothing)
        blank = replace(known, atoms=atoms, items=empty_items(len(self.systems)))
        parts = self.summary, self.layout, self.cut, settings, self.lookup
        return EnginePool(self.source, *parts, self._first_items(self.layout, blank, seed))

    def save(self, path: str | Path) -> None:
        """Write the sketch as one file, whole or not at all; hs.open_pool reads it again."""
        write_pool(self, checked_path("the file to write", path))

    @cached_property
    def fingerprint(self) -> str:
        """Digest of all that draws depend on but the seed."""
        return digest_of(self)

    def sketch_of(self, measure: Measure) -> Sketch:
        """The sketch that cells of a measure are made of."""
        return self._held_for(measure).sketch

    def layout_of(self, measure: Measure) -> Layout:
        """How rows are put into the groups of that sketch."""
        return self._held_for(measure).layout

    def claimed(self) -> tuple[IntArray, FloatArray]:
        """Size of each stratum, and the positive share that its scores claim, (L,) each."""
        atoms = self.held.sketch.atoms
        size = np.zeros(self.n_strata, dtype=np.int64)
        np.add.at(size, atoms.stratum, atoms.size)
        sketch, stratum = self.held.sketch, atoms.stratum
        share = mean_prior(self.classes, self.layout, sketch, stratum, size)
        return size, prior.rounded(share[:, 1])

    def _held_for(self, measure: Measure) -> SketchItems:
        facts = measure.facts() or ()
        own = self.layout.columns.weight
        other = [f.column for f in facts if isinstance(f, WeightBin) and f.column != own]
        if other:
            raise BadOption(
                f"items are weighted by column {other[0]!r}, and behind an engine the weight is "
                "named when the pool is opened: hs.open_pool(…, weight=…)"
            )
        if any(isinstance(fact, InMask) for fact in facts):
            raise BadOption(
                "a mask has one entry for each item in memory; of a pool behind an engine name a "
                "column: Within(measure, column=…, equals=…)"
            )
        bins = tuple(fact for fact in facts if isinstance(fact, ScoreBin))
        if not bins:
            return self.held
        if bins not in self._all:
            grids = tuple((b.system_index, threshold_grid(b.grid)) for b in bins)
            layout = replace(self.layout, bins=grids)
            self._all[bins] = self._held(bins, layout, self._sketched(layout))
        return self._all[bins]

    def _counted(self) -> int:
        """Number of items."""
        sketch = self._all[()].sketch if self._all else None
        return self.summary.size if sketch is None else int(sketch.atoms.size.sum())

    def _sketched(self, layout: Layout) -> Sketch:
        """Count the groups of a layout and fetch the first items of each atom."""
        source = self._source("the items of a measure with thresholds")
        groups = self._groups(layout)
        if int(groups.size.sum()) != self.summary.size:
            raise PoolError(
                f"rows of {source.name} have changed since they were counted: of "
                f"{self.summary.size}, {int(groups.size.sum())} are found; put the file back as it "
                "was, or open the pool again"
            )
        atoms, atom_of = make_atoms(layout, groups, self.cut)
        sketch = Sketch(atoms, groups, atom_of, empty_items(len(layout.systems)))
        return self._first_items(layout, sketch, self.settings.seed)

    def _groups(self, layout: Layout) -> Groups:
        """The groups of rows: one pass."""
        return read_groups(self._source("the items of a measure with thresholds"), layout)

    def _first_items(self, layout: Layout, sketch: Sketch, seed: int) -> Sketch:
        """The sketch with the first items of each atom."""
        n_wanted = np.full(len(sketch.atoms), self.settings.candidates)
        limit = thresholds(sketch.atoms.size, self.settings.candidates)
        return self._fetched(layout, sketch, limit, n_wanted, seed)

    def _fetched(
        self, layout: Layout, sketch: Sketch, limit: IntArray, n_wanted: IntArray, seed: int
    ) -> Sketch:
        """The sketch with all items up to a limit (A,)."""
        source = self._source("further items of a cell")
        return fetched(source, layout, sketch, limit, n_wanted, self._order(seed))

    @property
    def row_order(self) -> RowOrder:
        """The order of the items of each cell."""
        return self._order(self.settings.seed)

    def _order(self, seed: int) -> RowOrder:
        return RowOrder(seed)

    def _held(self, bins: Bins, layout: Layout, sketch: Sketch) -> SketchItems:
        def fetch(known: Sketch, limit: IntArray, n_wanted: IntArray) -> Sketch:
            return self._fetched(layout, known, limit, n_wanted, self.settings.seed)

        # The tag must be the same in every process, so that a saved log can be folded again.
        tag = 0 if not bins else zlib.crc32(repr(bins).encode()) % MOST_TAGS + 1
        while bins and tag in self._by_tag:  # two curves may have one number by chance
            tag = tag % MOST_TAGS + 1
            if len(self._by_tag) > MOST_TAGS:
                raise BadOption(f"a pool serves {MOST_TAGS} sets of thresholds; open it again")
        held = SketchItems(layout, sketch, tag, fetch, self.has_more)
        self._by_tag[tag] = held
        return held

    def _of(self, index: IntArray) -> SketchItems:
        tag = int(index[0]) >> TAG_BITS if len(index) else 0
        return self._by_tag[tag] if tag else self.held

    def _numbers(self, held: SketchItems) -> dict[Any, int]:
        """The numbers of all candidates by id."""
        items = held.sketch.items
        known = self._numbers_of.get(held.tag, (-1, {}))
        if known[0] != len(items):
            rank = np.arange(len(items)) - held.sketch.start()[items.atom]
            index = held.index(items.atom.astype(np.int64), rank)
            known = len(items), dict(zip(items.id.tolist(), index.tolist(), strict=True))
            self._numbers_of[held.tag] = known
        return known[1]

    def _source(self, what: str) -> Source:
        if self.source is None:
            raise PoolError(
                f"{what} are not in the sketch, and its source is not here; put it back, or open "
                "the pool where its rows are"
            )
        return self.source


def of_atom(cells: Cells) -> IntArray:
    """The cell of each atom, (A,), of cells that an engine's pool made."""
    return cast(CellOf, cells.of_item).of_atom
