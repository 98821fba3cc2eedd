"""A pool of predicted numbers with heavy-tailed errors, some of them large."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import haystat as hs


@dataclass(frozen=True)
class Numbers:
    """Predictions, the system's own deviations and the true labels of 4,000 items."""

    predicted: np.ndarray
    deviation: np.ndarray
    label: np.ndarray

    def pool(self, **options):
        return hs.Pool(self.predicted, classes=None, deviations=self.deviation, **options)

    def oracle(self, items):
        return self.label[np.array(items)]

    def truth(self, measure):
        error = self.label - self.predicted
        mse = np.mean(error**2)
        return {
            "mae": np.mean(np.abs(error)),
            "mse": mse,
            "rmse": np.sqrt(mse),
            "r2": 1 - mse / np.var(self.label),
        }[measure]

    def estimates(self, measure, design, n, repeats, **options):
        found = []
        for repeat in range(repeats):
            pool = self.pool(strata=32, seed=repeat)
            ev = hs.Evaluation(pool, measure, design, random_state=repeat, **options)
            found.append(ev.run(self.oracle, budget=n, batch_size=50))
        return found


@pytest.fixture(scope="session")
def numbers() -> Numbers:
    """Errors are Student t with 5 degrees of freedom, one in twenty of them ten times as large."""
    rng = np.random.default_rng(0)
    size = 4000
    predicted = rng.normal(100, 4, size)
    scale = np.exp(rng.normal(-0.5, 0.4, size)) * np.where(rng.random(size) < 0.05, 10, 1)
    # The system's own view is half right: it is off by a factor, and blurred.
    deviation = 2 * scale * np.exp(rng.normal(0, 0.3, size))
    label = predicted + scale * rng.standard_t(5, size)
    return Numbers(predicted, deviation, label)
