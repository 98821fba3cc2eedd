"""Random pools of two systems, with every label known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from haystat.measures import Outputs, Schema


@dataclass(frozen=True)
class LabelledPool:
    schema: Schema
    outputs: Outputs
    label: np.ndarray

    @property
    def weight(self) -> np.ndarray:
        return np.full(len(self.label), 1 / len(self.label))

    def value(self, measure):
        """The measure, bound and evaluated on all labels."""
        bound = measure.bind(self.schema)
        return bound.value(bound.risk(self.outputs, self.label, self.weight))


def make_pool(n_classes: int = 2, size: int = 300, seed: int = 0) -> LabelledPool:
    """Labels are numbers if there are no classes."""
    rng = np.random.default_rng(seed)
    if n_classes == 0:
        return make_numbers(size, rng)
    label = rng.integers(n_classes, size=size)
    blurred = label[:, None] + rng.normal(0, 1.2, (size, 2))
    # Rounded, so that scores tie with each other and with thresholds.
    scores = np.round(1 / (1 + np.exp(-(blurred - 0.5))), 2)
    right = rng.random((size, 2)) < [0.7, 0.5]
    guess = rng.integers(n_classes, size=(size, 2))
    outputs = Outputs(
        index=np.arange(size),
        scores=scores,
        predictions=np.where(right, label[:, None], guess).astype(np.int16),
        columns={
            "country": rng.choice(np.array(["at", "ch", "de"]), size=size),
            "amount": np.where(rng.random(size) < 0.1, 0.0, rng.lognormal(0, 2, size)),
        },
    )
    score_range = np.stack([scores.min(axis=0), scores.max(axis=0)], axis=1)
    schema = Schema(size, ("a", "b"), n_classes, score_range, ("country", "amount"))
    return LabelledPool(schema, outputs, label)


def make_numbers(size: int, rng: np.random.Generator) -> LabelledPool:
    label = rng.normal(50, 3, size)
    scores = label[:, None] + rng.standard_t(3, (size, 2)) * np.array([1.0, 2.0])
    columns = {"country": rng.choice(np.array(["at", "ch", "de"]), size=size)}
    outputs = Outputs(np.arange(size), scores, np.zeros((size, 2), dtype=np.int16), columns)
    score_range = np.stack([scores.min(axis=0), scores.max(axis=0)], axis=1)
    return LabelledPool(Schema(size, ("a", "b"), 0, score_range, ("country",)), outputs, label)


@pytest.fixture(scope="session")
def pool_of():
    """Makes a random labelled pool: pool_of(n_classes, size, seed)."""
    return make_pool


@pytest.fixture(scope="session")
def two_classes() -> LabelledPool:
    return make_pool(2)


@pytest.fixture(scope="session")
def four_classes() -> LabelledPool:
    return make_pool(4)
