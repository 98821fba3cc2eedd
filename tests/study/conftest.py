"""Small studies with known labels, and a clock that can be set."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import haystat as hs


class Clock:
    """A clock that stands still until somebody moves it."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, **length: float) -> None:
        self.now += timedelta(**length)


def make_case(size: int = 600, seed: int = 0, strata: int = 8, **options: Any):
    """A pool whose scores are calibrated probabilities, and the labels of its items by id."""
    rng = np.random.default_rng(seed)
    scores = 1 / (1 + np.exp(-rng.normal(-1.5, 1.5, size)))
    label = (rng.random(size) < scores).astype(int)
    pool = hs.Pool(scores, strata=strata, **options)
    return pool, {pool.id_of(i): int(label[i]) for i in range(size)}


@dataclass
class Case:
    """A study with the truth beside it."""

    study: hs.Study
    pool: hs.Pool
    label: dict[Any, int]
    clock: Clock

    @property
    def path(self) -> Path:
        return self.study.path

    def answer(self, n: int, annotator: str | None = None) -> list[Any]:
        """Ask and tell; the items."""
        items = [question.item for question in self.study.ask(n, annotator)]
        self.study.tell({item: self.label[item] for item in items}, annotator)
        return items


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(scope="session")
def make_pool():
    return make_case


@pytest.fixture
def make_study(tmp_path, clock):
    """A new study of a small pool; closed after the test."""
    studies = []

    def make(pool=None, name="study.haystat", measure="f1", design="adaptive", **options):
        pool, label = pool or make_case()
        options = {"random_state": 1, "clock": clock, **options}
        study = hs.Study.create(tmp_path / name, pool, measure, design, **options)
        studies.append(study)
        return Case(study, pool, label, clock)

    yield make
    for study in studies:
        study.close()


@pytest.fixture
def case(make_study):
    return make_study()


def same_estimate(one: hs.Estimate, other: hs.Estimate) -> bool:
    """Equal to the last bit."""
    return (
        np.array_equal(one.values, other.values, equal_nan=True)
        and np.array_equal(one.intervals, other.intervals, equal_nan=True)
        and (one.n_labels, one.n_draws) == (other.n_labels, other.n_draws)
        and one.warnings == other.warnings
    )


@pytest.fixture(scope="session")
def same():
    return same_estimate
