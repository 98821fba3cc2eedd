"""Tiny pools with known labels, and the item-level view of what a design proposes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest

import haystat as hs
from haystat.designs.base import Batch
from haystat.designs.replacement import Proposal
from haystat.pool.problem import Problem, pose

REPLACEMENT = ("passive", "importance", "oasis", "adaptive", "adaptive_flat")


@dataclass(frozen=True)
class Tiny:
    """A labelled pool seen through one measure."""

    pool: hs.Pool
    label: np.ndarray
    problem: Problem

    @property
    def size(self) -> int:
        return len(self.label)

    @property
    def loss(self) -> np.ndarray:
        """Loss of every item under its label, (M, d)."""
        return self.problem.measure.loss(self.pool.outputs(np.arange(self.size)), self.label)

    @property
    def risk(self) -> np.ndarray:
        return self.loss.mean(axis=0)

    @property
    def cell(self) -> np.ndarray:
        return self.problem.cells.of_item.astype(np.int64)

    @property
    def truth(self) -> np.ndarray:
        """Items of each cell under each label, (K, C)."""
        counts = np.zeros((len(self.problem.cells), self.problem.n_classes), dtype=np.int64)
        np.add.at(counts, (self.cell, self.label), 1)
        return counts

    def labelled(self, known: Sequence[int]) -> np.ndarray:
        """The same of the items in `known` only, (K, C)."""
        counts = np.zeros((len(self.problem.cells), self.problem.n_classes), dtype=np.int64)
        index = np.array(sorted(known), dtype=np.int64)
        np.add.at(counts, (self.cell[index], self.label[index]), 1)
        return counts

    def probability(self, proposal: Proposal, known: Sequence[int]) -> np.ndarray:
        """What a proposal gives each item when the labels of `known` are in, (M,)."""
        result = proposal.unlabelled[self.cell]
        index = np.array(sorted(known), dtype=np.int64)
        result[index] = proposal.labelled[self.cell[index], self.label[index]]
        return result

    def batch(self, drawn: Sequence[int], probability: np.ndarray, known: Sequence[int]) -> Batch:
        """The finished stage that drew these items, repeats included."""
        item, count = np.unique(np.array(drawn, dtype=np.int64), return_counts=True)
        weight = 1 / (self.size * probability[item])
        return Batch(self.cell[item], self.label[item], count, weight, ~np.isin(item, list(known)))

    def sequences(self, n: int, probability: np.ndarray) -> Iterator[tuple[tuple[int, ...], float]]:
        """Every sequence of n draws that can happen, with its probability."""
        reachable = np.flatnonzero(probability > 0).tolist()
        for drawn in product(reachable, repeat=n):
            yield drawn, float(np.prod(probability[list(drawn)]))


def make_tiny(measure: Any = "f1", *, n_items: int = 6, **options: Any) -> Tiny:
    """Six items in three strata, two cells in the middle one, mistakes of both kinds."""
    scores = np.array([-2.0, -1.4, -0.6, -0.1, 0.7, 1.8])[:n_items]
    predictions = np.array([0, 0, 0, 1, 1, 1])[:n_items]
    label = np.array([0, 1, 0, 1, 0, 1])[:n_items]
    strata = np.array([0, 0, 1, 1, 2, 2])[:n_items]
    pool = hs.Pool(scores, predictions, strata=strata, **options)
    bound = hs.measures.resolve(measure).bind(pool.schema)
    return Tiny(pool, label, pose(pool, bound))


def make_pool(size: int = 400, seed: int = 0, strata: int = 8, **options: Any):
    """A pool whose scores are well calibrated logits, and its labels: a pair."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(-1.5, 1.5, size)
    label = (rng.random(size) < 1 / (1 + np.exp(-scores))).astype(int)
    return hs.Pool(scores, strata=strata, **options), label


def answer(label: np.ndarray):
    """An oracle for pools whose ids are positions."""
    return lambda items: [int(label[item]) for item in items]


@pytest.fixture(scope="session")
def tiny():
    return make_tiny


@pytest.fixture(scope="session")
def pool_of():
    return make_pool


@pytest.fixture(scope="session")
def oracle_of():
    return answer
