"""Pools with known labels for the assisted design, and one run of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import haystat as hs
from haystat.designs.assisted import Assisted
from haystat.loop.ledger import Ledger
from haystat.pool.problem import pose


def make_pool(size: int = 400, seed: int = 0, centre: float = -1.5, **options: Any):
    """A pool whose scores are well calibrated logits, and its labels: a pair."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(centre, 1.5, size)
    label = (rng.random(size) < 1 / (1 + np.exp(-scores))).astype(int)
    return hs.Pool(scores, **{"strata": 8, **options}), label


def make_three(size: int = 300, seed: int = 0):
    """Three classes, strata without an order."""
    rng = np.random.default_rng(seed)
    chance = rng.dirichlet([2, 1, 1], size)
    label = np.array([rng.choice(3, p=p) for p in chance])
    pool = hs.Pool(chance, classes=(0, 1, 2), strata=rng.integers(5, size=size))
    return pool, label


def run_ledger(pool, measure, label, budgets, seed, design=None, order=None):
    """A ledger after stages of these sizes, answered from `label` (-1 where nobody can tell)."""
    problem = measure if hasattr(measure, "cells") else pose_for(pool, measure)
    order = pool.candidates(problem.cells, seed) if order is None else order
    ledger = Ledger(problem, design or Assisted(), order, seed)
    for n in budgets:
        stage = ledger.draw(n)
        if stage.n_new:
            ledger.add_stage(stage)
            new = stage.item[: stage.n_new].tolist()
            ledger.add_labels({item: int(label[item]) for item in new})
    return ledger


def pose_for(pool, measure):
    return pose(pool, hs.measures.resolve(measure).bind(pool.schema))


def truth_of(measure, pool, label):
    """The measure from all labels."""
    bound = hs.measures.resolve(measure).bind(pool.schema)
    outputs = pool.outputs(np.arange(len(pool)))
    return bound.value(bound.loss(outputs, label).mean(axis=0))


def oracle_of(label: np.ndarray):
    """An oracle for pools whose ids are positions."""
    return lambda items: [int(label[item]) for item in items]


@pytest.fixture(scope="session")
def pool_of():
    return make_pool


@pytest.fixture(scope="session")
def three_classes():
    return make_three


@pytest.fixture(scope="session")
def ledger_after():
    return run_ledger


@pytest.fixture(scope="session")
def truth():
    return truth_of


@pytest.fixture(scope="session")
def oracle():
    return oracle_of
