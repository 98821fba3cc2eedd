"""Signals in studies, on the command line and in reports: the numbers of an evaluation."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import haystat as hs
from haystat.cli import app
from haystat.errors import BadOption
from haystat.study import PoolFile

SIZE = 3000
RUNNER = CliRunner()


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(2)
    label = (rng.random(SIZE) < 0.05).astype(int)
    seen = rng.random(SIZE) < 0.8
    old = rng.normal(-3, 1, SIZE) + 4 * label
    old[:100] = np.nan
    kind = rng.choice(["a", "b"], SIZE)
    score = rng.normal(-3, 1, SIZE) + 5 * label * seen
    return pd.DataFrame({"score": score, "old": old, "kind": kind, "label": label})


@pytest.fixture
def table(frame, tmp_path):
    path = tmp_path / "pool.parquet"
    frame.to_parquet(path)
    return path


def answers(queries, frame):
    return {query.item: int(frame.label[query.item]) for query in queries}


def test_a_study_has_the_numbers_of_an_evaluation(frame, tmp_path):
    pool = hs.Pool.from_frame(frame, score="score", signals=["old", "kind"], threshold=0.0, seed=1)
    evaluation = hs.Evaluation(pool, "f1", random_state=7)
    with hs.Study.create(tmp_path / "s.haystat", pool, "f1", random_state=7) as study:
        for _ in range(3):
            asked, same = study.ask(40), evaluation.ask(40)
            assert [query.item for query in asked] == [query.item for query in same]
            study.tell(answers(asked, frame))
            evaluation.tell(answers(same, frame))
    with hs.Study.open(tmp_path / "s.haystat") as study:
        found, expected = study.estimate(), evaluation.estimate()
    assert found.value == expected.value
    assert tuple(found.interval) == tuple(expected.interval)
    assert found.signals == expected.signals
    assert set(found.signals) == {"old", "kind"}


def test_the_command_line_takes_signals_and_says_what_they_were_worth(frame, table, tmp_path):
    study = tmp_path / "s.haystat"
    names = ["--score", "score", "--signal", "old,kind", "--threshold", "0", "--seed", "3"]
    made = RUNNER.invoke(app, ["new", str(study), str(table), *names])
    assert made.exit_code == 0, made.output
    with hs.Study.open(study) as opened:
        opened.tell(answers(opened.ask(150), frame))
    shown = RUNNER.invoke(app, ["estimate", str(study)])
    assert "Labels that each signal saved, about: old " in shown.output.replace("\n", " ")
    told = json.loads(RUNNER.invoke(app, ["estimate", str(study), "--json"]).output)
    assert set(told["signals"]) == {"old", "kind"}
    report = tmp_path / "report.html"
    assert RUNNER.invoke(app, ["report", str(study), "--out", str(report)]).exit_code == 0
    assert "Labels that each signal saved" in report.read_text(encoding="utf-8")


def test_an_engine_gives_the_numbers_of_memory(frame, tmp_path):
    """From a file, and from a sketch of it that holds the signals."""
    table, sketch = tmp_path / "pool.parquet", tmp_path / "pool.sketch"
    frame.assign(id=np.arange(SIZE)).to_parquet(table)
    columns = ["--id", "id", "--score", "score", "--signal", "old", "--signal", "kind"]
    options = ["--threshold", "0", "--seed", "3"]
    asked = ["sketch", str(table), "-o", str(sketch), *columns, *options]
    written = RUNNER.invoke(app, asked)
    assert written.exit_code == 0, written.output
    calls = {
        "memory": [str(table), *columns, *options],
        "duckdb": [str(table), *columns, *options, "--engine", "duckdb"],
        "sketch": [str(sketch), "--seed", "3"],
    }
    found = {}
    for name, call in calls.items():
        study = tmp_path / f"{name}.haystat"
        made = RUNNER.invoke(app, ["new", str(study), *call])
        assert made.exit_code == 0, made.output
        with hs.Study.open(study) as opened:
            queries = opened.ask(150)
            opened.tell(answers(queries, frame))
            estimate = opened.estimate()
        found[name] = [query.item for query in queries], estimate.value, estimate.signals
    assert found["memory"] == found["duckdb"] == found["sketch"]


def test_signals_that_are_fitted_are_for_memory(table):
    for kind in ("signal_text", "signal_features"):
        with pytest.raises(BadOption, match=r"fitted to .* name no engine"):
            PoolFile(str(table), ("score",), engine="duckdb", **{kind: ("old",)})


def test_a_sketch_has_its_signals_already(tmp_path):
    with pytest.raises(BadOption, match="name them to haystat sketch"):
        PoolFile(str(tmp_path / "pool.sketch"), (), signals=("old",))
