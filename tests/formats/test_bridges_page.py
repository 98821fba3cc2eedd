"""The page about bridges: its worked example runs, its commands and options exist."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

import haystat as hs
from haystat.cli import app
from haystat.web.openapi import document

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "bridges.md").read_text(encoding="utf-8")


def test_the_example_with_unblocked_pairs_runs(tmp_path, monkeypatch, run):
    pytest.importorskip("splink", reason="pip install 'haystat[splink]'")
    monkeypatch.chdir(tmp_path)
    section = PAGE.partition("### Pairs that were never compared")[2].partition("\n## ")[0]
    blocks = re.findall(r"```(python|sh)\n(.*?)```", section, flags=re.DOTALL)
    assert [kind for kind, _ in blocks] == ["python", "sh", "python", "sh", "python"]
    names: dict[str, object] = {"__name__": "docs"}
    for kind, code in blocks:
        if kind == "python":
            exec(compile(code, "docs/bridges.md", "exec"), names)
            continue
        for line in code.replace("\\\n", " ").splitlines():
            command, _, target = line.partition(" > ")
            out = run(*shlex.split(command)[1:])
            if target:
                Path(target).write_text(out)
    with hs.Study.open("pairs.haystat") as study:
        assert study.pool.size == 300 * 299 // 2
        assert study.n_labels == 100
        low, high = study.estimate().interval
        blocked = names["pd"].read_parquet("predictions.parquet")
        good = blocked[blocked.match_probability >= 0.5]
        pairs = {frozenset(p) for p in zip(good.unique_id_l, good.unique_id_r, strict=True)}
        true = {frozenset(pair) for pair in names["true"]}
        assert low <= len(pairs & true) / len(true) <= high
    assert run("verify", "pairs.haystat")


def test_every_command_and_option_on_the_page_exists():
    commands = typer.main.get_command(app).commands
    lines = re.findall(r"^ *haystat .*$", PAGE.replace("\\\n", " "), flags=re.MULTILINE)
    assert len(lines) > 12
    for line in lines:
        words = line.split(">")[0].split()
        known = {name for option in commands[words[1]].params for name in option.opts}
        assert {word for word in words if word.startswith("--")} <= known, line


@pytest.mark.parametrize("place", ["bridges.md", "page.md", "serve", "openapi"])
def test_wherever_the_webhook_is_described_its_ban_is(place, run):
    if place == "serve":
        text = run("serve", "--help")
    elif place == "openapi":
        text = document()["paths"]["/api/label-studio"]["post"]["description"]
    else:
        text = (DOCS / place).read_text(encoding="utf-8")
    text = " ".join(text.split())
    assert "SSRF_PROTECTION_ENABLED=false" in text
    assert "no webhook" in text
