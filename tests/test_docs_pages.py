"""The examples on the pages about what goes beyond classes and one system."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = (
    "method",
    "stochastic",
    "regression",
    "features",
    "several",
    "intervals",
    "plan",
    "compare",
    "threshold",
    "gate",
    "living",
    "worth",
    "signals",
    "known",
    "weight",
)


@pytest.mark.parametrize("page", PAGES)
def test_examples_of_a_page_run_one_after_the_other(page):
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "docs"}
    examples = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert examples
    for code in examples:
        exec(compile(code, f"docs/{page}.md", "exec"), names)


@pytest.mark.parametrize("page", PAGES)
def test_every_page_is_in_the_navigation_and_has_its_figures(page):
    assert f"{page}.md" in (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    assert "BENCH_" not in (DOCS / f"{page}.md").read_text(encoding="utf-8")


def test_every_test_that_shows_a_promise_exists():
    text = (DOCS / "promises.md").read_text(encoding="utf-8")
    assert "promises.md" in (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ") and "---" not in line]
    for row in (row for row in rows if row != "| Promise | Test |"):
        named = re.findall(r"`(tests/\S+\.py)::(\w+)`", row)
        assert named, row
        for path, name in named:
            assert f"def {name}(" in (DOCS.parent / path).read_text(encoding="utf-8"), name
