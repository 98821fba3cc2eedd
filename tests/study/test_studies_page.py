"""The page about studies: its example runs, its commands exist."""

from __future__ import annotations

import re
from pathlib import Path

import typer

from haystat.cli import app
from haystat.loop.journal import KINDS

PAGE = (Path(__file__).parents[2] / "docs" / "studies.md").read_text(encoding="utf-8")


def test_the_example_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for code in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL):
        exec(compile(code, "docs/studies.md", "exec"), {"__name__": "docs"})
    assert "from 20 labels" in capsys.readouterr().out


def test_every_command_on_the_page_exists():
    commands = set(typer.main.get_command(app).commands)
    named = re.findall(r"(?:`|^    )haystat (\w+)", PAGE, flags=re.MULTILINE)
    assert len(named) > 10
    assert set(named) <= commands


def test_every_kind_of_entry_is_on_the_page():
    assert all(f"`{kind}`" in PAGE for kind in KINDS)
