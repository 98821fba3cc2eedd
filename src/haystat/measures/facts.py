"""Discrete facts about an item that a loss may depend on; together they are its signature."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import ClassVar, Protocol

import numpy as np

from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.measures.outputs import Outputs

#: more combinations than this are no signature: they would make a cell of nearly every item
MOST_CODES = 1 << 31


class Fact(Protocol):
    """One fact: `codes` gives each item a whole number from 0 to `size` - 1.

    Facts are compared by value, so that measures that look at the same fact share it. of_score
    says that a score and nothing else decides, of_group that it tells sub-populations apart,
    settles that items which agree in it do not differ in what else the loss takes from there.
    """

    of_score: ClassVar[bool]
    of_group: ClassVar[bool]
    settles: ClassVar[bool]

    @property
    def size(self) -> int:
        """Number of codes."""

    def codes(self, outputs: Outputs) -> IntArray:
        """Code of each item, (n,)."""


@dataclass(frozen=True)
class PredictedClass:
    """The class that a system predicts."""

    of_score: ClassVar[bool] = False
    of_group: ClassVar[bool] = False
    settles: ClassVar[bool] = True
    system_index: int
    size: int

    def codes(self, outputs: Outputs) -> IntArray:
        """Code of each item, (n,)."""
        return outputs.predictions[:, self.system_index]


@dataclass(frozen=True)
class ScoreBin:
    """How many of the ascending thresholds a system's score reaches (score >= threshold)."""

    of_score: ClassVar[bool] = True
    of_group: ClassVar[bool] = False
    settles: ClassVar[bool] = True
    system_index: int
    thresholds: tuple[float, ...]

    @property
    def size(self) -> int:
        """Number of codes."""
        return len(self.thresholds) + 1

    @cached_property
    def grid(self) -> FloatArray:
        """The thresholds as an array, (L,)."""
        return np.asarray(self.thresholds)

    def codes(self, outputs: Outputs) -> IntArray:
        """Code of each item, (n,)."""
        score = outputs.scores[:, self.system_index]
        return np.searchsorted(self.grid, score, side="right")


@dataclass(frozen=True)
class ColumnEquals:
    """Whether a column of the pool has a value."""

    of_score: ClassVar[bool] = False
    of_group: ClassVar[bool] = True
    settles: ClassVar[bool] = True
    column: str
    value: object
    size: int = 2

    def codes(self, outputs: Outputs) -> IntArray:
        """Code of each item, (n,)."""
        return np.asarray(outputs.columns[self.column] == self.value).astype(np.int64)


@dataclass(frozen=True, eq=False)
class InMask:
    """Whether an item is in a set given as one boolean for each item of the pool."""

    of_score: ClassVar[bool] = False
    of_group: ClassVar[bool] = True
    settles: ClassVar[bool] = True
    mask: BoolArray
    size: int = 2

    def codes(self, outputs: Outputs) -> IntArray:
        """Code of each item, (n,)."""
        return self.mask[outputs.index].astype(np.int64)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, InMask) and np.array_equal(self.mask, other.mask)

    def __hash__(self) -> int:
        return hash((len(self.mask), int(np.count_nonzero(self.mask))))

    def __repr__(self) -> str:
        return f"InMask({np.count_nonzero(self.mask)} of {len(self.mask)} items)"


def encode(facts: Sequence[Fact], outputs: Outputs) -> IntArray | None:
    """One code for a combination of facts, in mixed radix, (n,); None if there are too many.

    Those of a score come last: items that are alike but for it are next to each other.
    """
    if prod(fact.size for fact in facts) > MOST_CODES:
        return None
    code = np.zeros(len(outputs), dtype=np.int64)
    for fact in in_order(facts):
        code *= fact.size
        code += fact.codes(outputs)
    return code


def groups(facts: Sequence[Fact]) -> tuple[Fact, ...]:
    """Those that tell sub-populations apart."""
    return tuple(fact for fact in facts if fact.of_group)


def in_order(facts: Iterable[Fact]) -> list[Fact]:
    """As they are encoded: first those that are not of a score."""
    return sorted(facts, key=lambda fact: fact.of_score)


def part_of(facts: Sequence[Fact], chosen: Sequence[Fact], code: IntArray) -> IntArray:
    """What a code (n,) of all facts says about the chosen ones alone: their code, (n,)."""
    part, weight = np.zeros_like(code), 1
    for fact in reversed(in_order(facts)):
        code, digit = np.divmod(code, fact.size)
        if fact in chosen:
            part += weight * digit
            weight *= fact.size
    return part


def union(parts: Iterable[tuple[Fact, ...] | None]) -> tuple[Fact, ...] | None:
    """All facts of several measures, each once; None if one of them has none."""
    facts: dict[Fact, None] = {}
    for part in parts:
        if part is None:
            return None
        facts.update(dict.fromkeys(part))
    return tuple(facts)
