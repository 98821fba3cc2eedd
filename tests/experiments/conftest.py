"""A small pool with rare positives, in memory and as files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import haystat as hs

SHARED_POOLS = Path(__file__).parents[3] / "shared" / "pools"


@dataclass(frozen=True)
class Data:
    """Scores and true labels of 600 items, 37 of them positive."""

    scores: np.ndarray
    labels: np.ndarray

    @property
    def pool(self) -> hs.Pool:
        return hs.Pool(self.scores, strata=16)


@pytest.fixture(scope="session")
def data() -> Data:
    rng = np.random.default_rng(7)
    scores = rng.normal(-2.5, 1.5, 600)
    labels = (rng.random(600) < 1 / (1 + np.exp(-2 * scores))).astype(int)
    return Data(scores, labels)


@pytest.fixture(scope="session")
def frame(data) -> pd.DataFrame:
    """The pool as a table with a second system and a column nobody needs."""
    other = data.scores + np.random.default_rng(1).normal(0, 1, len(data.scores))
    return pd.DataFrame(
        {
            "s": data.scores,
            "t": other,
            "hard_s": (data.scores >= 0).astype(int),
            "hard_t": (other >= 0).astype(int),
            "y": data.labels,
            "note": "nothing",
        }
    )


@pytest.fixture(scope="session")
def published():
    """A function from a file name to a published pool; skips the test where it is not there."""

    def find(name: str) -> Path:
        path = SHARED_POOLS / name
        if not path.exists():
            pytest.skip(f"the published pool {name} is not in {SHARED_POOLS}")
        return path

    return find
