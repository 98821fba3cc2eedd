from __future__ import annotations

import numpy as np
import pytest

import haystat as hs

SIZE = 120


def make_pool(labels):
    """A pool whose labels are classes or numbers, and what somebody knows about each item."""
    rng = np.random.default_rng(5)
    if labels == "numbers":
        scores = rng.normal(10, 3, SIZE).round(3)
        return hs.Pool(scores, classes=None, strata=4, seed=1), (scores + rng.normal(0, 1, SIZE))
    classes = {"classes": (0, 1), "texts": ("no", "maybe", "yes")}[labels]
    if len(classes) == 2:
        scores = rng.random(SIZE).round(4)
        truth = (rng.random(SIZE) < scores).astype(int)
    else:
        scores = rng.dirichlet(np.ones(3), SIZE).round(4)
        truth = np.array([rng.choice(3, p=row / row.sum()) for row in scores])
    return hs.Pool(scores, strata=4, classes=classes, seed=1), [classes[k] for k in truth]


@pytest.fixture
def pool_of():
    return make_pool
