"""The contract of a model of the oracle: the share of each label in each stratum, p(y | k)."""

from __future__ import annotations

from typing import Any, Protocol

from haystat.core.arrays import FloatArray, IntArray
from haystat.pool.tree import Tree


class ResponseModel(Protocol):
    """Three pure functions; what a model has seen is a value of its own kind."""

    def start(self) -> Any:
        """What it has seen before the first label."""

    def observe(
        self, seen: Any, stratum: IntArray, label: IntArray, weight: IntArray | FloatArray
    ) -> Any:
        """What it has seen after further labels (n,), each of which counts by its weight."""

    def label_share(self, seen: Any) -> FloatArray:
        """Share of each class among what has no label yet in each stratum, (S, C)."""


class MakeModel(Protocol):
    """A model for strata: their hierarchy, mean prior (S, C) and items (S,).

    A model that is fitted step by step stops when less than `tolerance` of the items changes label.
    """

    def __call__(
        self, tree: Tree, prior: FloatArray, size: IntArray, tolerance: float
    ) -> ResponseModel: ...
