"""The page about judges: its first hour runs as it stands, its commands and options exist."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

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
    ends = [f"{100 * end:.1f} %" for end in rate.interval]
    assert f"is {100 * rate.value:.1f} % ({ends[0]} to {ends[1]}" in PAGE
    for name in ("precision", "recall"):
        low, high = judge[name].interval
        assert f"{name} {judge[name].value:.2f} ({low:.2f} to {high:.2f}" in PAGE
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
