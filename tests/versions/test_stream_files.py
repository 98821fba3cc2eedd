"""A stream in files, on the command line: items that are added, windows, the alarm."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import norm
from typer.testing import CliRunner

import haystat as hs
from haystat.cli import app
from haystat.errors import BadOption, HaystatError
from haystat.study import PoolFile, Study, verify

PER_DAY = 1200


class Days:
    """Files of successive days; recall falls on the day `fall`."""

    def __init__(self, folder, fall=99):
        self.folder, self.fall, self.label = folder, fall, {}
        self.rng = np.random.default_rng(4)

    def write(self, day):
        label = (self.rng.random(PER_DAY) < 0.03).astype(int)
        at = norm.ppf(0.9 if day < self.fall else 0.4)
        scores = self.rng.normal(np.where(label == 1, at, -3.6), 1.0)
        ids = [f"{day}-{n}" for n in range(PER_DAY)]
        self.label.update(zip(ids, label.tolist(), strict=True))
        lines = [f"{i},{s!r},{day},item {i}" for i, s in zip(ids, scores.tolist(), strict=True)]
        path = self.folder / f"{day}.csv"
        path.write_text("\n".join(["id,score,day,name", *lines]) + "\n")
        return path.name

    def answer(self, path, n):
        with Study.open(path) as study:
            for question in study.ask(n):
                assert question.record == {"name": f"item {question.item}"}
                study.tell({question: self.label[question.item]})


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def command(*words, code=0):
        result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
        assert result.exit_code == code, result.output
        return result.output

    return command


def begin(run, days, *options):
    given = ("--id", "id", "--score", "score", "--threshold", "0", "--show", "name")
    given += ("--column", "day", "--measure", "recall", "--strata", "24", "--seed", "1")
    run("new", "s.haystat", days.write(0), *given, *options)
    days.answer("s.haystat", 60)


def test_files_of_days_are_added_and_old_ones_leave_the_window(run, tmp_path):
    days, path = Days(tmp_path), "s.haystat"
    begin(run, days)
    for day in (1, 2, 3):
        options = ("--window", "day=2") if day == 1 else ()
        made = run("next", path, days.write(day), "--add", *options, "--json")
        made, path = json.loads(made), f"s-v{day + 1}.haystat"
        assert made["size"] == 2 * PER_DAY
        days.answer(path, 40)
    with Study.open(path) as study:
        assert {str(answer.item).partition("-")[0] for answer in study.answers} == {"2", "3"}
        source = PoolFile.recorded(study.settings["source"], study.path)
        assert [file.name for file in source.paths] == ["2.csv", "3.csv"]
        assert source.window == ("day", 2.0)
    assert verify(path).ok


def test_files_and_a_window_make_the_pool_of_their_rows(tmp_path):
    days = Days(tmp_path)
    files = [str(tmp_path / days.write(day)) for day in range(3)]
    given = {"score": ("score",), "id": "id", "columns": ("day",), "show": ("name",)}
    source = PoolFile(files[0], **given, more=tuple(files[1:]), window=("day", 2))
    pool, records = source.read()
    whole = [PoolFile(file, **given).read()[0] for file in files]
    assert pool.ids.tolist() == [*whole[1].ids.tolist(), *whole[2].ids.tolist()]
    np.testing.assert_array_equal(pool.scores, np.concatenate([whole[1].scores, whole[2].scores]))
    wanted = np.array([PER_DAY + 5, 3, 2 * PER_DAY - 1, 0])
    assert records(wanted) == {"name": [f"item {i}" for i in pool.ids[wanted].tolist()]}


def test_what_cannot_be_added_is_said(run, tmp_path):
    days = Days(tmp_path)
    begin(run, days)
    second = days.write(1)
    (tmp_path / "odd.csv").write_text("id,score,day,name\n1,0.5,1,x\n")
    refused = [
        ((second, "--window", "day=2"), "--add"),
        ((second, "--add", "--window", "day"), "day=30"),
        ((second, "--add", "--window", "week=2"), "--column"),
        ((second, "--add", "--threshold", "1"), "leave out"),
        ((second, "--add", "--window", "day=0"), "the window has length"),
        ((second, "--add", "--score", "other"), "--score, and rename the columns of 1.csv"),
        (("0.csv", "--add"), r"0-0.*0\.csv holds new items only: was it added before"),
        (("odd.csv", "--add"), "'id' is text in"),
    ]
    for words, why in refused:
        with pytest.raises(HaystatError, match=why):
            run("next", "s.haystat", *words)
    with pytest.raises(BadOption, match="ids"):
        PoolFile("a.csv", ("score",), more=("b.csv",))
    given = {"more": ("b.csv",), "engine": "duckdb", "unblocked": ("r.csv",)}
    with pytest.raises(BadOption, match="not to pairs some of which were not blocked"):
        PoolFile("a.csv", ("score",), id="id", **given)


def test_a_window_over_text_names_the_file(tmp_path):
    days = Days(tmp_path)
    first, second = (str(tmp_path / days.write(day)) for day in range(2))
    text = (tmp_path / "1.csv").read_text().replace(",1,item", ",tuesday,item")
    (tmp_path / "1.csv").write_text(text)
    with pytest.raises(BadOption, match=r"column 'day' is string in .*1\.csv"):
        hs.open_pool([first, second], id="id", score="score", window=("day", 3))


def test_a_file_out_of_the_window_is_noted_and_one_that_is_gone_says_what_to_do(run, tmp_path):
    days = Days(tmp_path)
    days.write(0)
    (tmp_path / "0.csv").rename(tmp_path / "late.csv")
    begin(run, days)
    run("next", "s.haystat", days.write(5), "--add", "--window", "day=9", "--name", "b")
    late = run("next", "s-b.haystat", "late.csv", "--add", "--window", "day=2", "--name", "c")
    assert "no row of late.csv is in the window day=2" in " ".join(late.split())
    came = run("next", "s-b.haystat", days.write(6), "--add", "--window", "day=2", "--name", "d")
    assert "no row of" not in came
    (tmp_path / "5.csv").unlink()
    with pytest.raises(FileNotFoundError, match="version before; put it back"):
        run("next", "s-b.haystat", "6.csv", "--add")
    with pytest.raises(FileNotFoundError, match=r"no file 7\.csv$"):
        run("next", "s.haystat", "7.csv", "--add")


def test_the_alarm_of_a_study_is_that_of_its_days(run, tmp_path):
    days, path = Days(tmp_path, fall=2), "s.haystat"
    begin(run, days, "--design", "watch", "--option", "below=0.8")
    alarm, raised = hs.Alarm("recall", below=0.8, days=20), False
    with Study.open(path) as study:
        alarm.look(study)
    for day in range(1, 9):
        name = f"day {day}"
        run("next", path, days.write(day), "--add", "--window", "day=3", "--name", name)
        path = f"s-{name}.haystat"
        days.answer(path, 60)
        with Study.open(path) as study:
            raised = alarm.look(study).raised
        if raised:
            break
    assert raised
    assert day >= 2
    words = ("alarm", path, "--below", "0.8", "--days", "20")
    found = json.loads(run(*words, "--json", code=1))
    assert found["raised"]
    assert [look["version"] for look in found["looks"]][:2] == ["v1", "day 1"]
    np.testing.assert_allclose(
        [look["evidence"] for look in found["looks"]], [look.evidence for look in alarm.looks]
    )
    assert "Alarm that recall has fallen below 0.8: the highest evidence is" in run(*words, code=1)
    assert "No alarm" in run("alarm", "s.haystat", "--below", "0.8")
