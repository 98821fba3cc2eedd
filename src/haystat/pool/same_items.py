"""Another pool of the same items: what systems that came later say about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from haystat.core.arguments import brief
from haystat.core.arrays import IntArray
from haystat.errors import PoolError, UnknownItem
from haystat.measures.base import Measure
from haystat.measures.outputs import Outputs, Schema
from haystat.pool.blocks import Blocks, cut
from haystat.pool.cells import Cells

BLOCK = 1 << 16  # items whose outputs are held at a time


@dataclass(frozen=True)
class SameItems:
    """A pool of the same items as another one: place (M,) is where each of its items is here."""

    pool: Any
    place: IntArray

    complete = True  # whether all items are at hand
    foreign = True  # whether items were drawn by what other systems say about them

    @property
    def size(self) -> int:
        """Number of items."""
        return int(self.pool.size)

    def outputs(self, index: IntArray) -> Outputs:
        """What the systems of this pool say about the items at these positions of the other."""
        outputs: Outputs = self.pool.outputs(self.place[index])
        return outputs

    @property
    def schema(self) -> Schema:
        """What a measure may know before it sees an item."""
        schema: Schema = self.pool.schema
        return schema

    def blocks(self, problem: Any, measure: Measure) -> Blocks:
        """The items cut by the cells of a problem and by what a measure sees of them."""
        return cut(self, problem.cells, measure, len(self.pool.classes))

    def specimens(self, cells: Cells) -> Iterator[Outputs]:
        """All items, some at a time, by their positions in the other pool."""
        for start in range(0, self.size, BLOCK):
            index = np.arange(start, min(start + BLOCK, self.size))
            yield replace(self.outputs(index), index=index)


def same_items(old: Any, new: Any) -> SameItems:
    """The new pool seen from the positions of the old; raises where their items differ."""
    if not (hasattr(new, "ids") and hasattr(new, "classes")):
        raise PoolError(f"the pool is {brief(new)}; give an hs.Pool of the same items")
    if old.classes != new.classes:
        raise PoolError(
            f"the pool has the classes {list(new.classes)}, and labels were taken in terms of "
            f"{list(old.classes)}; make it with the same classes"
        )
    if new is old or (old.size == new.size and np.array_equal(old.ids, new.ids)):
        return SameItems(new, np.arange(old.size))
    try:
        place = np.array([new.index_of(item) for item in old.ids.tolist()], dtype=np.int64)
    except UnknownItem as missing:
        raise PoolError(f"the pool lacks an item that could be drawn: {missing}") from None
    if new.size != old.size:
        raise PoolError(
            f"the pool has {new.size} items, {new.size - old.size} of which could not be drawn; "
            f"give it the {old.size} items of the evaluation"
        )
    return SameItems(new, place)
