"""haystat export, import and pool with other tools."""

from __future__ import annotations

import json

import pytest
from ten_people import make_people_study

PREDICTIONS = "match_probability,unique_id_l,unique_id_r,first_l,first_r\n" + "".join(
    f"{(n * 37 % 100) / 100},{n},{n + 500},Ann{n},Anne{n}\n" for n in range(60)
)


@pytest.fixture
def study(tmp_path):
    path = tmp_path / "people.haystat"
    make_people_study(path).close()
    return path


def test_questions_go_to_a_tool_and_answers_come_back(study, tmp_path, run, truth):
    tasks, config = tmp_path / "tasks.json", tmp_path / "ui.xml"
    options = ("--to", "label-studio", "-n", 10, "-o", tasks, "--config", config, "--json")
    assert run("export", study, *options)["tasks"] == 10
    assert "<Choices" in config.read_text()
    done = json.loads(tasks.read_text())
    for task in done:
        label = str(truth[task["meta"]["haystat"]["item"]])
        result = {"from_name": "haystat_label", "value": {"choices": [label]}}
        task["annotations"] = [{"completed_by": 1, "result": [result]}]
    tasks.write_text(json.dumps(done))
    assert run("import", study, tasks, "--from", "label-studio", "--json")["labels"] == 10
    assert "10 known" in run("import", study, tasks, "--from", "label-studio")


def test_exporting_again_gives_the_same_questions_until_they_are_answered(study, tmp_path, run):
    texts = []
    for name in ("one.json", "two.json"):
        run("export", study, "--to", "prodigy", "-n", 4, "-o", tmp_path / name)
        texts.append((tmp_path / name).read_text())
    assert texts[0] == texts[1]


def test_plain_tables_need_no_tool(study, tmp_path, run):
    out = tmp_path / "answers.csv"
    assert run("export", study, "-o", out, "--json")["answers"] == 0
    assert run("import", study, out, "--json")["labels"] == 0


def test_predictions_of_splink_become_a_study(tmp_path, run):
    source, pool, study = (tmp_path / n for n in ("pred.csv", "pool.parquet", "s.haystat"))
    source.write_text(PREDICTIONS)
    found = run("pool", source, "--from", "splink", "-o", pool, "--json")
    assert found["items"] == 60
    show = ("--show", ",".join(found["show"]))
    run("new", study, pool, "--id", found["id"], "--score", found["score"], *show, "--seed", 1)
    questions = run("ask", study, "-n", 5, "--json")
    assert {"first_l", "first_r", "unique_id_l"} <= questions[0]["record"].keys()
    run("tell", study, *(f"{question['item']}=0" for question in questions))
    labels = tmp_path / "labels.csv"
    assert run("export", study, "--to", "splink", "-o", labels, "--json")["answers"] == 5
    header = labels.read_text().splitlines()[0]
    assert header == "unique_id_l,unique_id_r,clerical_match_score,haystat_weight"


def test_the_next_command_is_printed(tmp_path, run):
    source = tmp_path / "pred.csv"
    source.write_text(PREDICTIONS)
    text = run("pool", source, "--from", "splink", "-o", tmp_path / "pool.csv")
    assert "haystat new study.haystat" in text


@pytest.mark.parametrize("command", ["export", "import", "pool", "report"])
def test_help_has_an_example(command, run):
    assert f"Example: haystat {command}" in run(command, "--help")


def test_wrong_input_is_one_line_and_exit_2(study, tmp_path, run):
    nothing, text = tmp_path / "nothing.json", tmp_path / "text.json"
    text.write_text("not JSON")
    out = tmp_path / "out.json"
    assert "no file" in run("import", study, nothing, "--from", "label-studio", code=2)
    assert "not JSON" in run("import", study, text, "--from", "label-studio", code=2)
    assert "--out FILE" in run("export", study, "--to", "prodigy", code=2)
    config = ("--config", tmp_path / "c.xml")
    assert "no --config" in run("export", study, "--to", "prodigy", "-o", out, *config, code=2)
    names = ("--names", "one")
    assert "2 different" in run("export", study, "--to", "prodigy", "-o", out, *names, code=2)
    assert "no study" in run("export", nothing, "--to", "prodigy", "-o", out, code=2)
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n")
    bad = (tmp_path / "bad.csv", "--from", "splink", "-o", tmp_path / "p.csv")
    assert "unique_id_l" in run("pool", *bad, code=2)
    assert "no known kind" in run("pool", text, "--from", "splink", "-o", out, code=2)
    assert not out.exists()
