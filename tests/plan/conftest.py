"""Pools to plan for."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import haystat as hs
from haystat import measures
from haystat.pool.problem import pose


@pytest.fixture(scope="package")
def scored():
    """Calibrated scores of 4,000 items and labels that follow them, 6% of them positive."""
    rng = np.random.default_rng(5)
    probability = expit(rng.normal(-4.5, 2.2, 4000))
    return probability, (rng.random(4000) < probability).astype(int)


@pytest.fixture(scope="package")
def pool(scored):
    return hs.Pool(scored[0])


@pytest.fixture(scope="package")
def problem(pool):
    return pose(pool, measures.resolve("f1").bind(pool.schema))
