"""The page about scale: its examples run, and its figures are filled in."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_examples_run_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # they write files
    text = (DOCS / "scale.md").read_text(encoding="utf-8")
    names: dict[str, object] = {"__name__": "docs"}
    examples = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(examples) == 3
    for code in examples:
        exec(compile(code, "docs/scale.md", "exec"), names)


def test_the_page_is_in_the_navigation_and_has_its_figures():
    assert "scale.md" in (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    assert "MEASURED" not in (DOCS / "scale.md").read_text(encoding="utf-8")
