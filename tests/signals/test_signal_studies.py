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


def test_signals_are_read_into_memory(table):
    with pytest.raises(BadOption, match=r"signals .* name no engine"):
        PoolFile(str(table), ("score",), signals=("old",), engine="duckdb")


def test_a_pool_behind_an_engine_refuses_signals(table):
    with pytest.raises(BadOption, match=r"signals .* are for pools in memory"):
        hs.open_pool(table, score="score", signals=["old"])
