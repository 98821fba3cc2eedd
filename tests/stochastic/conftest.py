"""Pools whose answers are random, with p(y|x) known, and many evaluations of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pytest

import haystat as hs


@dataclass(frozen=True)
class Noisy:
    """Arguments of a pool, and the chance of each answer about each item, (M, C)."""

    arguments: dict
    share: np.ndarray

    @cached_property
    def pool(self):
        return self.with_seed(0)

    def with_seed(self, seed):
        """The pool with another order of the items of a cell."""
        return hs.Pool(**self.arguments, seed=seed)

    def oracle(self, seed):
        """Draws an answer each time it is asked."""
        rng = np.random.default_rng(seed)
        edges = np.cumsum(self.share, axis=1)

        def answer(items):
            below = edges[np.array(items)] < rng.random(len(items))[:, None]
            return below.sum(axis=1).tolist()

        return answer

    def truth(self, measure):
        """The measure under p(y|x), (m,)."""
        bound = hs.measures.resolve(measure).bind(self.pool.schema)
        outputs = self.pool.outputs(np.arange(self.pool.size))
        risk = sum(
            bound.risk(outputs, np.full(self.pool.size, c), share / self.pool.size)
            for c, share in enumerate(self.share.T)
        )
        return bound.value(risk)

    def estimates(self, measure, design, n, repeats, *, batch_size=50, **options):
        """One estimate from each of many evaluations with n answers."""
        found = []
        for repeat in range(repeats):
            pool = self.with_seed(repeat)
            ev = hs.Evaluation(
                pool, measure, design, oracle="stochastic", random_state=repeat, **options
            )
            found.append(ev.run(self.oracle([7, repeat]), budget=n, batch_size=batch_size))
        return found


@pytest.fixture(scope="session")
def binary() -> Noisy:
    """3,000 items, 6% positive answers, spread over many items."""
    rng = np.random.default_rng(3)
    scores = rng.normal(-3.0, 1.5, 3000)
    positive = 1 / (1 + np.exp(0.3 - 1.2 * scores))
    arguments = {"scores": scores, "predictions": (scores > -0.5).astype(int), "strata": 32}
    return Noisy(arguments, np.stack([1 - positive, positive], axis=1))


@pytest.fixture(scope="session")
def four() -> Noisy:
    """2,000 items of four classes, the last one rare."""
    rng = np.random.default_rng(4)
    logits = rng.normal(0, 1.5, (2000, 4)) + np.array([0.5, 0.5, 0.0, -2.5])
    share = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    blurred = np.exp(0.6 * logits)
    scores = blurred / blurred.sum(axis=1, keepdims=True)
    return Noisy({"scores": scores, "classes": (0, 1, 2, 3), "strata": 24}, share)
