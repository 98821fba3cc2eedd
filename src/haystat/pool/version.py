"""The next version of a pool: the same items scored anew, others that came, and what was drawn.

Items that had the same probability of being drawn in earlier versions are of one level. A cell of
the new version is cut by level, so that all its items were equally likely to have been drawn
before. Which of them were is then as good as random, whatever cells they lay in then, and what is
drawn from now on adds to that probability. What the labels were drawn by, the score before, is a
signal of the new version: else its model would take for alike what differs in both, the label and
the probability of having one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from haystat.core.arguments import brief
from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.errors import BadOption
from haystat.measures.base import Measure
from haystat.pool.cells import Before, Candidates, Cells, example_items
from haystat.pool.fingerprint import digest_of
from haystat.pool.memory import Pool
from haystat.pool.permanent_numbers import (
    as_shares,
    permanent_numbers,
    round_keys,
    unit_numbers,
)
from haystat.pool.strata import renumber

MOST_LEVELS = 64  # of inclusion probabilities that are kept apart
COARSER = 1.02  # by which levels are made wider until they are few enough
# Added to a seed for randomness of another kind.
THINNING, ORDER, AGAIN = 0x7468696E, 0x6F726465, 0x61676169
EARLIER = "earlier_score"  # the signal that the score of the version before is
STEP, MIDDLE = 0.125, 128  # of its place, and the number of the step at 0; 0 is no score


@dataclass(frozen=True)
class Drawn:
    """What was drawn before, by the positions of a pool.

    level (M,) of each item, inclusion (L,) of each level: how likely an item of it was to be among
    those at `item` (n,), which were drawn. again (m,) are those of them that are asked about anew,
    each with the probability `share`.
    """

    level: NDArray[np.integer[Any]]
    inclusion: FloatArray
    item: IntArray
    again: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    share: float = 0.0

    def asking_again(self, share: float, keys: IntArray, seed: int) -> Drawn:
        """With a random share of the drawn items to be asked about anew; keys (M,) of all items."""
        again = is_asked_again(keys[self.item], seed, share)
        return replace(self, again=self.item[again], share=share)

    @classmethod
    def of(
        cls,
        inclusion: FloatArray,
        drawn: BoolArray,
        keys: IntArray,
        seed: int,
        most: int = MOST_LEVELS,
    ) -> Drawn:
        """From the inclusion probability of each item and whether it was drawn, (M,) each.

        Where there are more than `most` different probabilities, neighbours take the smallest of
        them, and as many of their drawn items are put back at random as that takes.
        """
        values, number = np.unique(inclusion, return_inverse=True)
        lowered, level_of = levels_of(values, most)
        level, item = level_of[number.reshape(-1)], np.flatnonzero(drawn)
        kept = is_kept(lowered[level[item]] / inclusion[item], keys[item], seed)
        width = np.uint8 if len(lowered) <= 256 else np.int64
        return cls(level.astype(width), lowered, item[kept])


def is_asked_again(keys: IntArray, seed: int, share: float) -> BoolArray:
    """Which of some items with a label are asked about anew; keys (n,) are those of their ids."""
    return np.asarray(as_shares(permanent_numbers(keys, seed + AGAIN)) < share)


def is_kept(chance: FloatArray, keys: IntArray, seed: int) -> BoolArray:
    """Which of some drawn items stay so, each with a chance; keys (n,) are those of their ids."""
    u = permanent_numbers(keys, seed + THINNING) * 2.0**-63
    return np.asarray((chance >= 1) | (u < chance))


def levels_of(values: FloatArray, most: int) -> tuple[FloatArray, IntArray]:
    """The probability of each level, and the level of each of ascending probabilities (n,)."""
    used, level = np.unique(_lowered(values, most), return_inverse=True)
    return values[used], level.reshape(-1)


def _lowered(values: FloatArray, most: int) -> IntArray:
    """The position of the value that each of ascending values is lowered to."""
    ratio = 1.0
    while True:
        level = np.zeros(len(values), dtype=np.int64)
        first = 0
        for place, value in enumerate(values.tolist()):
            if value > values[first] * ratio:
                first = place
            level[place] = first
        if len(np.unique(level)) <= most:
            return level
        ratio *= COARSER


class VersionPool(Pool):
    """A pool some of whose items were drawn in earlier versions.

    apart (M,), where given, numbers kinds of items that the model is to tell apart. earlier (M,),
    where it is a signal, has steps of the place of the score before.
    """

    drawn: Drawn
    apart: IntArray | None
    earlier: NDArray[np.uint8] | None

    @classmethod
    def following(
        cls,
        pool: Pool,
        drawn: Drawn,
        seed: int,
        apart: IntArray | None = None,
        earlier: NDArray[np.uint8] | None = None,
    ) -> Self:
        """The pool with what was drawn before; seed is that of the order of its items.

        The order must not be one that items were drawn by before. The pool has `earlier` as a
        signal already (with_earlier).
        """
        result = cls.__new__(cls)
        result.__dict__.update({k: v for k, v in pool.__dict__.items() if k != "fingerprint"})
        result.drawn, result.seed, result.apart, result.earlier = drawn, seed, apart, earlier
        return result

    @cached_property
    def fingerprint(self) -> str:
        """Digest of all that draws depend on but the seed: also of what was drawn before."""
        drawn = self.drawn
        parts = (drawn.level, drawn.inclusion, drawn.item)
        return digest_of(super().fingerprint, (*parts, drawn.again) if drawn.share else parts)

    def cells(self, measure: Measure) -> Cells:
        """Group the items that `measure` cannot tell apart and that were equally likely before."""
        cells, n_levels = super().cells(measure), len(self.drawn.inclusion)
        code = cells.of_item.astype(np.int64) * n_levels + self.drawn.level
        if self.apart is not None:
            code = code * (int(self.apart.max()) + 1) + self.apart
        of_item = renumber(code)
        n_cells = int(of_item.max()) + 1
        example = example_items(of_item, n_cells, self._predictions)
        parent = cells.of_item[example].astype(np.int64)
        before = Before(
            np.bincount(of_item[self.drawn.item], minlength=n_cells),
            self.drawn.inclusion[self.drawn.level[example]],
        )
        return replace(
            cells,
            stratum=cells.stratum[parent],
            size=np.bincount(of_item, minlength=n_cells),
            prior=cells.prior[parent],
            example=self.outputs(example),
            of_item=of_item,
            signals=None if cells.signals is None else cells.signals.take(parent),
            before=before,
            apart=None if self.apart is None else self.apart[example],
        )

    def again_in(self, cells: Cells) -> IntArray:
        """Items of each cell that are asked about again, (K,)."""
        return np.bincount(cells.of_item[self.drawn.again], minlength=len(cells))

    def candidates(self, cells: Cells, seed: int | None = None) -> Any:
        """The items of each cell in the order asked about: first those drawn before."""
        return DrawnFirst(super().candidates(cells, seed), self, cells)


class DrawnFirst:
    """The order of a pool with the items in front that were drawn in earlier versions.

    Those of them that are asked about again come after the others.
    """

    def __init__(self, order: Candidates, pool: VersionPool, cells: Cells) -> None:
        self._order = order
        self._pool = pool
        self._front: dict[int, list[int]] = {}
        again = np.isin(pool.drawn.item, pool.drawn.again)
        ids = [pool.id_of(position) for position in pool.drawn.item.tolist()]
        item = pool.drawn.item[np.lexsort((unit_numbers(ids, pool.seed or 0), again))]
        for cell, position in zip(cells.of_item[item].tolist(), item.tolist(), strict=True):
            self._front.setdefault(cell, []).append(position)
        self._drawn = set(item.tolist())
        self._run: dict[int, tuple[list[int], int]] = {}  # items in order, and how far was looked
        self._size = cells.size

    def take(self, cell: int, rank: int) -> int:
        """The item of `cell` that comes after `rank` others."""
        run, looked = self._run.get(cell) or (list(self._front.get(cell, ())), 0)
        while len(run) <= rank:
            item = self._order.take(cell, looked)
            looked += 1
            if item not in self._drawn:
                run.append(item)
        self._run[cell] = run, looked
        return run[rank]

    def first(self, cell: int, n: int) -> tuple[IntArray, FloatArray]:
        """The first n items of `cell`, fewer if it has fewer; u in [0, 1)."""
        n, front = min(n, int(self._size[cell])), self._front.get(cell, [])
        found = self._order.first(cell, n + len(front))[0]
        rest = found[~np.isin(found, front)]
        item = np.concatenate([np.array(front, dtype=np.int64), rest])[:n]
        ids = [self._pool.id_of(position) for position in item.tolist()]
        return item, unit_numbers(ids, self._pool.seed or 0)

    def prepare(self, n: Sequence[int]) -> Sequence[int]:
        """A pass over items in memory is cheap enough when it is needed."""
        return n


def earlier_steps(old: Pool, new: Pool, place: IntArray) -> NDArray[np.uint8] | None:
    """Where the score before put the stratum of each item of the new pool, (M,), in steps.

    It is 0 where it had none. place (M,) is that of the items in the old pool, -1 where they are
    new. If the scores are the same, it is the score before those. None where it can tell nothing of
    two classes.
    """
    there = place >= 0
    if len(new.classes) != 2 or not there.any():
        return None
    steps = getattr(old, "earlier", None)
    if not np.array_equal(old.scores[place[there]], new.scores[there]):
        steps = stratum_steps(*old.claimed())[old.stratum]
    if steps is None:
        return None
    found = np.where(there, steps[place], np.uint8(0))
    return found if tells_something(found) else None


def stratum_steps(size: IntArray, claimed: FloatArray) -> NDArray[np.uint8]:
    """Steps of t = -logit(rank), at the middle of each stratum, (L,).

    Strata have a size and a positive share that their scores claim, by which they are ranked:
    strata need not have been cut from a score.
    """
    order = np.argsort(claimed, kind="stable")
    total, upto = int(size.sum()), np.cumsum(size[order])
    rank = np.empty(len(size))
    rank[order] = (total - upto + size[order] / 2) / total
    place = np.log1p(-rank) - np.log(rank)
    step = np.round(place / STEP).clip(1 - MIDDLE, MIDDLE - 1) + MIDDLE
    return np.asarray(step.astype(np.uint8))


def tells_something(steps: NDArray[np.integer[Any]]) -> bool:
    """Whether items of some steps can be told apart by them."""
    return len(np.unique(steps[steps > 0])) > 2


def with_earlier(pool: Pool, steps: NDArray[np.uint8] | None) -> Pool:
    """The pool with the score before as a signal, if it has steps (M,)."""
    if steps is None:
        return pool
    return pool.with_signal(**{EARLIER: np.where(steps > 0, steps.astype(np.float64), np.nan)})


def in_memory(pool: Any) -> Pool:
    """The pool, if all its items are in memory; else an error."""
    if not hasattr(type(pool), "class_scores"):
        raise BadOption(
            f"the pool is {brief(pool)}, a {type(pool).__name__}; this takes an hs.Pool, whose "
            "items are in memory; of pools behind an engine (hs.open_pool), next() and extend() "
            "take two"
        )
    found: Pool = pool
    return found


def order_seed(seed: int, number: int) -> int:
    """The seed of the order of items in a version: one that nothing was drawn by before."""
    first, second, *_ = round_keys(seed + ORDER * number)
    return (first << 31) ^ second
