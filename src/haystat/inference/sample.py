"""What an estimate is made from: the draws of an evaluation and what was answered."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol, TypeVar

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.inference.drawn_items import DrawnItems
from haystat.measures.base import Measure
from haystat.pool.problem import Problem

T = TypeVar("T")


class DrawnStage(Protocol):
    """The draws of one stage."""

    @property
    def item(self) -> IntArray: ...
    @property
    def n_new(self) -> int: ...
    @property
    def inclusion(self) -> FloatArray | None: ...


class Sample(Protocol):
    """Draws and answers; a ledger is one. `state` is the design's, after the finished stages."""

    problem: Problem
    seed: int
    state: Any
    n_finished: int

    @property
    def any_label(self) -> bool:
        """Whether some item has a label."""

    @property
    def counted(self) -> list[int]:
        """Stages that the estimate uses."""

    @property
    def unanswered(self) -> list[int]:
        """Open questions of each stage."""

    @property
    def n_asked_in(self) -> list[int]:
        """Questions of each stage."""

    @property
    def n_alone(self) -> int:
        """Open draws for which other stages or cells stand in."""

    @property
    def declined(self) -> IntArray:
        """Items that nobody can label, by cell, (K,)."""

    def drawn_items(self) -> DrawnItems:
        """All answered draws as arrays; their weights stand for the open ones as well."""

    def measure_of(self, measure: Measure) -> Measure:
        """The measure that reads the labels of `drawn_items`."""

    def told(self) -> tuple[IntArray, IntArray]:
        """All items that have a label, and their labels."""

    def finished(self) -> Sequence[tuple[DrawnStage, IntArray]]:
        """The finished stages, with the labels of their rows."""

    def once(self, name: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives, worked out anew only when something has changed."""


def stage_rng(seed: int, stage: int) -> np.random.Generator:
    """Randomness of a stage: from the seed and its number alone, so that nothing is stored."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(stage,)))
