"""Pools that change from one version to the next, with the truth beside them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import haystat as hs


@dataclass
class World:
    """Two versions of a pool: scores and ids of each, and the label of every item by its id."""

    scores: tuple[np.ndarray, np.ndarray]
    ids: tuple[np.ndarray, np.ndarray]
    label: dict[int, int]

    def pool(self, version, **options):
        options = {"strata": 32, "threshold": 0.0, **options}
        return hs.Pool(self.scores[version], ids=self.ids[version], **options)

    def oracle(self, items):
        return [self.label[item] for item in items]

    def answer(self, loop, n):
        queries = loop.ask(n)
        loop.tell({query: self.label[query.item] for query in queries})
        return [query.item for query in queries]

    def f1(self, version, items=None):
        """The truth, on some items of a version."""
        predicted = dict(zip(self.ids[version].tolist(), self.scores[version] >= 0, strict=True))
        items = list(predicted) if items is None else items
        hits = sum(predicted[i] and self.label[i] for i in items)
        both = sum(predicted[i] + self.label[i] for i in items)
        return 2 * hits / both


def build(size=3000, seed=0, noise=0.3, gone=0, came=0, shift=0.0):
    """The second version lacks the first `gone` items, has `came` others, and scores anew."""
    rng = np.random.default_rng(seed)
    first = rng.normal(-2.5, 1.5, size)
    new = rng.normal(-2.5 + shift, 1.5, came)
    everything = np.concatenate([first, new])
    label = (rng.random(size + came) < 1 / (1 + np.exp(-1.5 * everything))).astype(int)
    second = everything[gone:] + rng.normal(0, noise, size + came - gone)
    ids = np.arange(size), np.arange(gone, size + came)
    return World((first, second), ids, dict(enumerate(label.tolist())))


@pytest.fixture(scope="session")
def make_world():
    return build


@pytest.fixture
def world():
    return build(gone=300, came=200)
