"""The page about judges: its first hour runs as it stands, its commands and options exist."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
import typer

from haystat.cli import app

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "judges.md").read_text(encoding="utf-8")


def test_the_first_hour_runs_and_says_what_the_page_says(tmp_path, monkeypatch, run):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "docs"}
    for kind, code in re.findall(r"```(python|sh)\n(.*?)```", PAGE, flags=re.DOTALL):
        if kind == "python":
            exec(compile(code, "docs/judges.md", "exec"), names)
        else:
            run(*shlex.split(code)[1:])
    rate, judge = names["rate"], names["judge"]
    assert rate.value == pytest.approx(0.025, abs=0.005)
    assert judge["precision"].value == pytest.approx(0.77, abs=0.03)
    low, high = judge["recall"].interval
    assert low < 0.86 < high
    assert high - low > 0.1
    assert names["each"].values.shape == (4,)
    low, high = names["difference"].interval
    assert low < high
    assert abs(names["change"]) < 4 * names["error"]
    found = json.loads(Path("estimate.json").read_text())
    assert found["metrics"]["n_labels"] == 200
    assert found["metrics"]["prevalence"] == rate.value


def test_every_command_and_option_on_the_page_exists():
    commands = typer.main.get_command(app).commands
    lines = re.findall(r"^ *haystat .*$", PAGE, flags=re.MULTILINE)
    assert len(lines) > 6
    for line in lines:
        words = line.split()
        known = {name for option in commands[words[1]].params for name in option.opts}
        assert {word for word in words if word.startswith("--")} <= known, line
    assert "judges.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
