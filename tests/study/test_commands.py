"""The commands of a study: the library again, in one line each."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import haystat as hs
from haystat import cli
from haystat.cli.label import label_keys
from haystat.cli.record import side_by_side

COMMANDS = "new ask tell label status estimate skip correct log verify merge export import".split()


@pytest.fixture
def haystat(monkeypatch, capsys):
    """Run the command line in this process: code, standard output, standard error."""

    def run(*arguments, stdin=""):
        monkeypatch.setattr(sys, "argv", ["haystat", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        code = 0
        try:
            cli.main()
        except SystemExit as error:
            code = error.code or 0
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    scores = 1 / (1 + np.exp(-rng.normal(-1.5, 1.5, 800)))
    frame = pd.DataFrame({"key": np.arange(1000, 1800), "s": scores})
    frame["t"] = np.clip(scores + rng.normal(0, 0.1, 800), 0, 1)
    frame["hard"] = (scores > 0.4).astype(int)
    frame["name_l"] = [f"name {i}" for i in range(800)]
    frame["name_r"] = [f"name {i - i % 2}" for i in range(800)]
    frame["colour"] = None
    frame["y"] = (rng.random(800) < scores).astype(int)
    return frame


@pytest.fixture
def pool_file(frame, tmp_path):
    path = tmp_path / "pool.parquet"
    frame.to_parquet(path)
    return path


@pytest.fixture
def study(haystat, pool_file, tmp_path):
    path = tmp_path / "s.haystat"
    columns = ("--id", "key", "--score", "s", "--show", "name_r,name_l,colour")
    code, _, err = haystat("new", path, pool_file, *columns, "--seed", 3, "--strata", 8)
    assert code == 0, err
    return path


@pytest.fixture
def truth(frame):
    return dict(zip(frame.key.tolist(), frame.y.tolist(), strict=True))


def filled(text, truth):
    """The CSV that `ask` prints, with its labels filled in."""
    rows = list(csv.DictReader(io.StringIO(text)))
    for row in rows:
        row["label"] = truth[int(row["item"])]
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def test_a_study_from_the_first_question_to_the_audit(haystat, study, truth, tmp_path, frame):
    code, asked, _ = haystat("ask", study, "-n", 30, "--annotator", "ann")
    assert code == 0
    assert asked.splitlines()[0] == "item,label,name_r,name_l,colour"
    (tmp_path / "batch.csv").write_text(filled(asked, truth))
    code, out, _ = haystat("tell", study, tmp_path / "batch.csv", "-a", "ann")
    assert (code, out.splitlines()[0]) == (0, "30 labels taken")
    code, out, _ = haystat("tell", study, "-", "-a", "ann", stdin=filled(asked, truth))
    assert out.startswith("30 known")
    code, out, _ = haystat("status", study, "--json")
    status = json.loads(out)
    assert status["labels"] == 30
    assert status["annotators"] == {"ann": 30}
    code, out, _ = haystat("estimate", study, "--json", "--level", 0.9)
    found = json.loads(out)
    options = {"ids": frame.key, "strata": 8, "seed": 3}
    ev = hs.Evaluation(hs.Pool({"s": frame.s}, **options), random_state=3)
    ev.tell({q.item: truth[q.item] for q in ev.ask(30)})
    assert found["components"][0]["value"] == ev.estimate().value
    assert (found["components"][0]["low"], found["level"]) == (
        ev.estimate(level=0.9).interval[0],
        0.9,
    )
    code, out, _ = haystat("estimate", study, "--measure", "precision,recall")
    assert (code, "precision" in out, "recall" in out) == (0, True, True)
    code, out, _ = haystat("log", study, "--last", 2)
    assert code == 0
    assert "answer" in out
    assert len(json.loads(haystat("log", study, "--json")[1])) == status["entries"]
    code, out, _ = haystat("verify", study)
    assert (code, "worked out again" in out, status["head"] in out) == (0, True, True)
    assert json.loads(haystat("verify", study, "--json")[1])["ok"]


def test_new_prints_json_and_takes_every_option(haystat, pool_file, tmp_path):
    path = tmp_path / "two.haystat"
    arguments = ["new", path, pool_file, "--score", "s", "--score", "t", "--prediction", "hard"]
    arguments += ["--prediction", "hard", "--column", "colour", "--measure", "f1,precision"]
    arguments += [
        "--design",
        "adaptive",
        "--option",
        "delta=0.1",
        "--threshold",
        0.3,
        "--candidates",
        500,
        "--json",
    ]
    code, out, err = haystat(*arguments)
    assert code == 0, err
    assert json.loads(out)["size"] == 800
    with hs.Study.open(path) as study:
        assert study.design == hs.designs.Adaptive(delta=0.1)
        assert study.estimate().components == ("s:f1", "s:precision", "t:f1", "t:precision")


@pytest.mark.parametrize("kind", ["csv", "feather", "jsonl"])
def test_every_pool_format_gives_the_same_study(haystat, study, frame, tmp_path, kind):
    path = tmp_path / f"pool.{kind}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "feather":
        frame.to_feather(path)
    else:
        frame.to_json(path, orient="records", lines=True, double_precision=15)
    other = tmp_path / "other.haystat"
    columns = ("--id", "key", "--score", "s", "--show", "name_r,name_l,colour")
    assert haystat("new", other, path, *columns, "--seed", 3, "--strata", 8)[0] == 0
    asked = [json.loads(haystat("ask", p, "-n", 12, "--json")[1]) for p in (study, other)]
    assert asked[0] == asked[1]
    record = asked[0][0]["record"]
    assert list(record) == ["name_r", "name_l", "colour"]
    assert record["colour"] is None


def test_pairs_skips_and_corrections(haystat, study, truth):
    items = [q["item"] for q in json.loads(haystat("ask", study, "-n", 4, "--json")[1])]
    code, out, _ = haystat("tell", study, f"{items[0]}=1", f"{items[1]}=0")
    assert (code, out.splitlines()[0]) == (0, "2 labels taken")
    code, out, _ = haystat("skip", study, items[2], "--reason", "torn", "--json")
    assert json.loads(out)["skips"] == 1
    code, out, _ = haystat("correct", study, f"{items[0]}=0", "--reason", "slip")
    assert (code, out.strip()) == (0, f"{items[0]} is now 0")
    code, _, err = haystat("tell", study, f"{items[1]}=1")
    assert (code, "--correct" in err) == (2, True)
    code, out, _ = haystat("tell", study, f"{items[1]}=1", "--correct")
    assert (code, out.splitlines()[0]) == (0, "1 corrections taken")
    haystat("tell", study, f"{items[3]}=1")
    assert "skipped (1 of them)" in haystat("estimate", study)[1]
    # a bracket is no style of the terminal
    assert "recall[0]" in haystat("estimate", study, "--measure", "recall_per_class")[1]
    assert haystat("correct", study, f"{items[0]}=", "--json")[0] == 0
    assert haystat("verify", study)[0] == 0
    kinds = [entry["kind"] for entry in json.loads(haystat("log", study, "--json")[1])]
    assert kinds.count("correction") == 3


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet", "feather"])
def test_answers_go_out_and_come_in(haystat, study, truth, tmp_path, pool_file, kind):
    asked = json.loads(haystat("ask", study, "-n", 12, "--json")[1])
    items = [question["item"] for question in asked]
    haystat("tell", study, "-a", "ann", *(f"{item}={truth[item]}" for item in items[1:]))
    haystat("skip", study, items[0], "--reason", "torn", "-a", "bob")
    file = tmp_path / f"answers.{kind}"
    assert haystat("export", study, "-o", file)[0] == 0
    twin = tmp_path / "twin.haystat"
    columns = ("--id", "key", "--score", "s", "--seed", 3, "--strata", 8)
    haystat("new", twin, pool_file, *columns)
    haystat("ask", twin, "-n", 12)
    code, out, err = haystat("import", twin, file, "--json")
    assert code == 0, err
    assert json.loads(out)["labels"] == 11
    answers = [json.loads(haystat("export", path, "--json")[1]) for path in (study, twin)]
    for rows in answers:
        rows.sort(key=lambda row: row["item"])
        for row in rows:
            del row["time"]
    assert answers[0] == answers[1]
    assert {row["annotator"] for row in answers[0]} == {"ann", "bob"}
    estimates = [json.loads(haystat("estimate", path, "--json")[1]) for path in (study, twin)]
    assert estimates[0] == estimates[1]


def test_exported_weights_give_the_estimate(haystat, pool_file, truth, frame, tmp_path):
    study = tmp_path / "weighted.haystat"
    columns = ("--id", "key", "--score", "s", "--seed", 3, "--strata", 8)
    haystat("new", study, pool_file, *columns, "--design", "adaptive")
    for _ in range(3):
        asked = json.loads(haystat("ask", study, "-n", 20, "--json")[1])
        haystat("tell", study, *(f"{q['item']}={truth[q['item']]}" for q in asked))
    rows = list(csv.DictReader(io.StringIO(haystat("export", study)[1])))
    with hs.Study.open(study) as opened:
        risk = opened.estimate().details["risk"]
        n_draws = opened.estimate().n_draws
    predicted = dict(zip(frame.key, frame.s >= 0.5, strict=True))
    hits = [row for row in rows if row["label"] == "1" and predicted[int(row["item"])]]
    assert sum(int(row["draws"]) for row in rows) == n_draws
    assert sum(float(row["weight"]) for row in hits) / n_draws == pytest.approx(risk[0])


def test_merge_takes_two_studies_together(haystat, pool_file, truth, tmp_path):
    study, other = tmp_path / "one.haystat", tmp_path / "other.haystat"
    columns = ("--id", "key", "--score", "s", "--strata", 8, "--design", "adaptive")
    for seed, path in enumerate((study, other)):
        haystat("new", path, pool_file, *columns, "--seed", seed)
        asked = json.loads(haystat("ask", path, "-n", 20, "--json")[1])
        haystat("tell", path, *(f"{q['item']}={truth[q['item']]}" for q in asked))
    code, out, _ = haystat("merge", study, other, "--json")
    assert (code, json.loads(out)["draws"] >= 40) == (0, True)
    code, _, err = haystat("merge", study, study)
    assert (code, "share a seed" in err) == (2, True)


def test_labels_are_given_in_the_terminal(haystat, study):
    keys = "1 0 u 1 s x 0 q".split()
    code, out, _ = haystat("label", study, "-a", "ann", "--batch", 5, stdin="\n".join(keys))
    assert code == 0
    assert "keys: 0 = 0, 1 = 1, u = undo, s = skip, q = quit" in out
    assert "no key 'x'" in out
    assert "4 answers." in out
    line = next(line for line in out.splitlines() if line.split()[:1] == ["name"])
    assert line.split()[1] == "name"
    shown = [line for line in out.splitlines() if "95%" not in line]  # but for the estimate
    assert "0.0" not in "".join(shown), "scores are hidden from the labeller"
    with hs.Study.open(study) as opened:
        assert [answer.label for answer in opened.answers] == [1, 1, None, 0]
        assert opened.status().leased == 0
        assert [e.kind for e in opened.entries][-5:].count("release") == 1
    code, out, _ = haystat("label", study, "-n", 2, "--json", stdin="1\n1\n1\n1\n")
    assert json.loads(out)["answers"] == 2
    assert haystat("verify", study)[0] == 0


def test_undo_may_turn_into_a_skip_and_back(haystat, study):
    keys = "u 1 u s u 0 q".split()
    assert haystat("label", study, "-a", "ann", stdin="\n".join(keys))[0] == 0
    with hs.Study.open(study) as opened:
        assert [answer.label for answer in opened.answers] == [0]
        kinds = [e.kind for e in opened.entries if e.kind in ("answer", "correction", "skip")]
        assert kinds == ["answer", "correction", "answer"]


def test_single_keys_work_in_a_real_terminal(study):
    parent, child = pty.openpty()
    script = "from haystat.cli import main; main()"
    command = [sys.executable, "-c", script, "label", str(study), "-n", "3", "-a", "ann"]
    process = subprocess.Popen(command, stdin=child, stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        os.write(parent, b"1")  # no newline: a key is taken as it is pressed
        time.sleep(0.2)
    process.kill()
    out, _ = process.communicate()
    os.close(child)
    os.close(parent)
    assert process.returncode == 0
    assert "3 answers" in out


def test_keys_of_labels():
    assert label_keys((0, 1)) == {"0": 0, "1": 1}
    assert label_keys(("no", "match")) == {"n": "no", "m": "match"}
    assert label_keys(("same", "other")) == {"1": "same", "2": "other"}
    assert label_keys(("non", "not")) == {"1": "non", "2": "not"}
    assert len(label_keys(tuple(range(10, 30)))) == 20


def test_pairs_of_fields_stand_side_by_side():
    record = {"name_l": "a", "age_left": 3, "age_right": None, "name_r": "b", "note": "x"}
    assert side_by_side(record) == [("name", "a", "b"), ("age", "3", "-")]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_every_command_has_an_example(haystat, command):
    code, out, _ = haystat(command, "--help")
    assert code == 0
    assert f"Example: haystat {command} " in out


@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_path_is_one_clear_line(haystat, command, tmp_path, study):
    missing = tmp_path / "missing.haystat"
    rest = {
        "new": (missing,),
        "tell": ("1=1",),
        "skip": ("1",),
        "correct": ("1=1",),
        "merge": (missing,),
        "import": (missing,),
    }
    first = tmp_path / "x.haystat" if command == "new" else missing
    options = ("--score", "s") if command == "new" else ()
    code, out, err = haystat(command, first, *rest.get(command, ()), *options)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert "missing.haystat" in err


def test_wrong_input_is_one_clear_line(haystat, study, pool_file, tmp_path):
    item = json.loads(haystat("ask", study, "-n", 1, "--json")[1])[0]["item"]
    (tmp_path / "bad.csv").write_text("thing,label\n1,1\n")
    (tmp_path / "bad.jsonl").write_text('{"item": 1,\n')
    (tmp_path / "not.haystat").write_text("hello")
    make = ("new", tmp_path / "n.haystat", pool_file)
    wrong = {
        (*make, "--score", "nope"): "no column 'nope' in",
        (*make, "--score", "s", "--id", "nope"): "no column 'nope' in",
        (*make, "--score", "s", "--show", "nope"): "no column 'nope' in",
        (*make, "--score", "name_l"): "must be numbers",
        (*make,): "--score",
        (*make, "--score", "s", "--measure", "f2"): "no measure 'f2'",
        (*make, "--score", "s", "--design", "magic"): "no design 'magic'",
        (*make, "--score", "s", "--option", "delta"): "name=value",
        (
            *make,
            "--score",
            "s",
            "--design",
            "adaptive",
            "--option",
            "delta=7",
        ): "must lie in [0, 1]",
        ("new", study, pool_file, "--score", "s"): "exists already",
        ("tell", study, f"{item}=cat"): "not one of [0, 1]",
        ("tell", study, "99=1"): "never asked",
        ("tell", study, "oops"): "neither item=label nor a file",
        ("tell", study, tmp_path / "bad.csv"): "no column 'item' in",
        ("import", study, tmp_path / "bad.jsonl"): "line 1 is not JSON",
        ("import", study, pool_file): "no column 'item' in",
        ("export", study, "-o", tmp_path / "x.docx"): "no known kind",
        ("ask", study, "-n", "0"): "at least 1",
        ("ask", study, "--lease", "soon"): "'90s', '30m'",
        ("estimate", study, "--measure", "nope"): "no measure 'nope'",
        ("estimate", study, "--level", "2"): "between 0 and 1",
        ("status", tmp_path / "not.haystat"): "not a haystat study",
        ("verify", tmp_path / "not.haystat"): "not a haystat study",
        ("correct", study, f"{item}=1"): "no answer to correct",
    }
    for arguments, expected in wrong.items():
        code, out, err = haystat(*arguments)
        assert code == 2, (arguments, err)
        assert out == ""
        assert expected in err, (arguments, err)
        assert len(err.splitlines()) == 1, (arguments, err)
    assert not (tmp_path / "n.haystat").exists()


def test_an_unknown_version_is_one_clear_line(haystat, study):
    import sqlite3

    with sqlite3.connect(study) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    for command in ("status", "verify", "ask"):
        code, _, err = haystat(command, study)
        assert code == 2
        assert "made by a newer haystat" in err
        assert len(err.splitlines()) == 1


def test_a_changed_journal_makes_verify_exit_with_one(haystat, study, truth):
    asked = json.loads(haystat("ask", study, "-n", 5, "--json")[1])
    haystat("tell", study, *(f"{q['item']}={truth[q['item']]}" for q in asked))
    content = study.read_bytes()
    text = f"[[{asked[0]['item']},{truth[asked[0]['item']]}]".encode()
    place = content.index(text) + len(text) - 2
    study.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
    code, out, _ = haystat("verify", study)
    assert code == 1
    assert out.startswith("entry 4: ")
    assert json.loads(haystat("verify", study, "--json")[1])["findings"][0]["entry"] == 4
    assert haystat("status", study)[0] == 2
