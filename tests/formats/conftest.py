"""A study of ten pairs of people."""

from __future__ import annotations

import pytest
from ten_people import ITEMS, LABELS, make_people_study


@pytest.fixture
def people(tmp_path):
    with make_people_study(tmp_path / "people.haystat") as study:
        study.ask(10, "tool", "1d")
        yield study


@pytest.fixture
def truth():
    return dict(zip(ITEMS, LABELS, strict=True))
