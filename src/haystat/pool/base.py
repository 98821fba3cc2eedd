"""The contract of a pool: what an evaluation needs of it, wherever its items are kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol, Self, TypeVar

from haystat.core.arguments import brief
from haystat.core.arrays import FloatArray, IntArray
from haystat.errors import BadOption
from haystat.measures.base import Measure
from haystat.measures.outputs import Outputs, Schema
from haystat.pool.cells import Cells
from haystat.pool.known import Known
from haystat.pool.losses import CellLosses
from haystat.pool.tree import Tree


class Order(Protocol):
    """The items of each cell in the order in which they are asked about."""

    def take(self, cell: int, rank: int) -> int:
        """The item of `cell` with the (rank + 1)-th smallest u."""

    def first(self, cell: int, n: int) -> tuple[IntArray, FloatArray]:
        """The n items of `cell` with the smallest u, fewer if it has fewer; u in [0, 1)."""

    def prepare(self, n: Sequence[int]) -> Sequence[int]:
        """Make ready the first n (K,) items of each cell, in one pass instead of one a cell.

        Returns how many there are, which is fewer where a sketch has lost its source.
        """


class View(Protocol):
    """What an estimate needs of the items: what systems say about them."""

    @property
    def size(self) -> int:
        """Number of items."""

    @property
    def schema(self) -> Schema:
        """What a measure may know before it sees an item."""

    def outputs(self, index: IntArray) -> Outputs:
        """What the systems say about the items at these positions."""

    @property
    def complete(self) -> bool:
        """Whether all items are at hand."""

    @property
    def foreign(self) -> bool:
        """Whether these are outputs of other systems than those that the items were drawn by."""

    def specimens(self, cells: Cells) -> Iterator[Outputs]:
        """The items that are at hand, some at a time: all in memory, else those kept of each cell.

        cells are those that the items were drawn from.
        """

    def blocks(self, problem: Any, measure: Measure) -> Any:
        """The items cut by the cells of a problem and by what a measure sees of them: Blocks.

        Raises where the items are not at hand.
        """


class AnyPool(View, Protocol):
    """Items in memory, or a sketch of items that are somewhere else."""

    @property
    def classes(self) -> tuple[Any, ...]:
        """The label values."""

    @property
    def seed(self) -> int | None:
        """Seed of the order of the items inside their cells; None if it is not fixed."""

    @property
    def fingerprint(self) -> str:
        """Digest of all that draws depend on but the seed."""

    @property
    def tree(self) -> Tree:
        """The hierarchy of the strata."""

    def cells(self, measure: Measure) -> Cells:
        """Group the items that `measure`, bound to this pool, cannot tell apart."""

    def losses(self, measure: Measure, cells: Cells) -> CellLosses:
        """What the losses of `measure` look like from the cells."""

    def ordered(self, seed: int) -> Self:
        """The same pool in the order of this seed, unless it has one of its own."""

    def with_known(self, known: Sequence[Known]) -> Self:
        """The same pool, in which items with a known label have cells of their own."""

    def candidates(self, cells: Cells) -> Order:
        """The items of each cell in the order in which they are asked about."""

    def seen_by(self, other: Any) -> View:
        """Another pool of the same items, by the positions of this one; raises if it is not."""

    def id_of(self, index: int) -> Any:
        """The user's id of the item at a position."""


P = TypeVar("P", bound=AnyPool)


def checked_pool(pool: P) -> P:
    """Raise unless this is a pool."""
    if not all(hasattr(type(pool), name) for name in ("cells", "losses", "candidates", "outputs")):
        raise BadOption(
            f"the pool is {brief(pool)}, a {type(pool).__name__}; make one with hs.Pool, "
            "hs.Pool.from_frame or hs.open_pool"
        )
    return pool
