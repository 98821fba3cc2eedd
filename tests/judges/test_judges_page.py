"""The page about judges: its first hour runs as it stands, its commands and options exist."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import typer

import haystat as hs
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
            for line in code.splitlines():
                run(*shlex.split(line)[1:])
    rate, judge = names["rate"], names["judge"]
    assert rate.value == pytest.approx(0.025, abs=0.001)
    assert rate.interval == pytest.approx((0.024, 0.039), abs=0.001)
    assert judge.values[0] == pytest.approx(0.77, abs=0.01)
    low, high = judge.intervals[1]
    assert (low, high) == pytest.approx((0.63, 1), abs=0.01)
    assert low < 0.86 < high
    assert names["each"].values.shape == (4,)
    assert names["difference"].value == pytest.approx(0.34, abs=0.01)
    change = names["change"].change
    assert (change.value, change.low, change.high) == pytest.approx(
        (0.001, -0.009, 0.035), abs=1e-3
    )
    grades, helps = names["grades"], names["helps"]
    lines = [json.loads(line)["results"] for line in Path("graded.jsonl").read_text().splitlines()]
    wrong = [
        abs(said["score"] - true) for (said, _), true in zip(lines, grades.values(), strict=True)
    ]
    assert len(helps) == 2000
    for path, true in (("grades", np.mean(np.array(wrong) == 0)), ("numbers", np.mean(wrong))):
        with hs.Study.open(f"{path}.haystat") as study:
            low, high = study.estimate().intervals[0]
        assert low < true < high
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
