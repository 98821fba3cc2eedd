"""The page about measures stays true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from haystat.measures import MEASURES

PAGE = (Path(__file__).parents[2] / "docs" / "measures.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("code", re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL))
def test_examples_run(code):
    exec(compile(code, "docs/measures.md", "exec"), {"__name__": "docs"})


@pytest.mark.parametrize("name", MEASURES)
def test_every_measure_is_on_the_page(name):
    assert f"`{name}`" in PAGE
