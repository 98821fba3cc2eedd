"""What holds for every format in the table."""

from __future__ import annotations

import json

import numpy as np
import pytest

import haystat as hs
from haystat.errors import AnswerError, FileError, HaystatError
from haystat.formats import FORMATS, make_tasks, read_replies, take_replies

TASKS = [name for name, form in FORMATS.items() if form.tasks]
ANSWERS = [name for name, form in FORMATS.items() if form.answers]
NAMES = ("no match", "match")


def label_studio(text, label_of):
    tasks = json.loads(text)
    for number, task in enumerate(tasks):
        mark = task["meta"]["haystat"]
        label = label_of[mark["item"]]
        result = {"from_name": "haystat_label", "value": {"choices": [NAMES[label or 0]]}}
        task["annotations"] = [
            {
                "completed_by": 1,
                "result": [] if label is None else [result],
                "was_cancelled": label is None,
                "updated_at": f"2026-01-01T00:00:{number:02d}Z",
                "lead_time": 1.5,
            }
        ]
    return json.dumps(tasks)


def prodigy(text, label_of):
    tasks = [json.loads(line) for line in text.splitlines()]
    for task in tasks:
        label = label_of[task["haystat"]["item"]]
        task |= {"answer": "ignore" if label is None else "accept", "_timestamp": 1767225600}
        task |= {"accept": [] if label is None else [label], "_annotator_id": "ann"}
    return "\n".join(json.dumps(task) for task in tasks)


def argilla(text, label_of):
    records = [json.loads(line) for line in text.splitlines()]
    for record in records:
        label = label_of[json.loads(record["metadata"]["haystat"])["item"]]
        answer = {"value": None if label is None else NAMES[label], "user_id": "u1"}
        record["responses"] = {
            "label": [answer | {"status": "discarded"} if label is None else answer]
        }
    return json.dumps(records)


#: the tool in few words: tasks in, answers out
TOOLS = {"label-studio": label_studio, "prodigy": prodigy, "argilla": argilla}


def test_every_tool_has_a_stand_in():
    assert set(TOOLS) == set(TASKS)


@pytest.fixture(params=TASKS)
def tool(request):
    return FORMATS[request.param], TOOLS[request.param]


@pytest.fixture
def tasks(people):
    return make_tasks(people, people.pending, NAMES, "Same person?")


def test_answers_find_their_way_back(tool, tasks, people, truth, tmp_path):
    form, answer = tool
    path = tmp_path / "answers.json"
    given = {**truth, tasks.questions[3].item: None}
    path.write_text(answer(form.tasks(tasks), given))
    taken = take_replies(people, form.replies(path, people.pool.classes))
    assert (taken.labels, taken.skips) == (9, 1)
    assert {answer.item: answer.label for answer in people.answers} == given


def test_the_same_file_again_changes_nothing(tool, tasks, people, truth, tmp_path):
    form, answer = tool
    path = tmp_path / "answers.json"
    path.write_text(answer(form.tasks(tasks), truth))
    take_replies(people, form.replies(path, people.pool.classes))
    n_entries = len(people.entries)
    taken = take_replies(people, form.replies(path, people.pool.classes))
    assert (taken.known, taken.labels) == (10, 0)
    assert len(people.entries) == n_entries


def test_tasks_are_blind(tool, tasks, people):
    text = tool[0].tasks(tasks)
    with people.reading() as fold:
        scores = fold.pool.outputs(np.array(list(fold.questions.index_of.values()))).scores.ravel()
    assert "score" not in text
    assert "predict" not in text
    assert not [score for score in scores.tolist() if f"{score!r}" in text]


def test_unanswered_tasks_hold_no_replies(tool, tasks, people, tmp_path):
    form, _ = tool
    path = tmp_path / "tasks.json"
    text = form.tasks(tasks)
    if form.name == "label-studio":  # its export has an empty list there
        text = json.dumps([{**task, "annotations": []} for task in json.loads(text)])
    path.write_text(text)
    assert form.replies(path, people.pool.classes) == []


def test_answers_about_another_pool_are_refused(tool, tasks, people, truth, tmp_path):
    form, answer = tool
    path = tmp_path / "answers.json"
    fingerprint = people.pool.fingerprint
    path.write_text(answer(form.tasks(tasks), truth).replace(fingerprint, "0123456789abcdef"))
    with pytest.raises(AnswerError, match="another pool"):
        take_replies(people, form.replies(path, people.pool.classes))
    assert people.answers == []


@pytest.mark.parametrize(
    "text", ["", "[1, 2]", '[{"a": 1}]', '{"a": 1}', "not JSON", "[", '{"annotations": []}', "\xff"]
)
@pytest.mark.parametrize("name", [name for name, form in FORMATS.items() if form.replies])
def test_other_files_are_refused_in_one_line_or_hold_nothing(name, text, people, tmp_path):
    path = tmp_path / ("other.csv" if name == "splink" else "other.json")
    path.write_text(text, encoding="latin-1")
    if text == "" and name != "splink":
        assert FORMATS[name].replies(path, people.pool.classes) == []
        return
    with pytest.raises(HaystatError) as caught:
        FORMATS[name].replies(path, people.pool.classes)
    assert "\n" not in str(caught.value)


def damaged(value):
    """The value with each of its parts replaced in turn by something else."""
    for other in (None, 17, "text", [], {}, [[1]]):
        yield other
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            for other in damaged(value[key]):
                copy = value.copy()
                copy[key] = other
                yield copy


def test_a_damaged_export_is_one_error_or_read(tool, tasks, people, truth, tmp_path):
    form, answer = tool
    text = answer(form.tasks(tasks), truth)
    first = json.loads(text)[0] if text.startswith("[") else json.loads(text.splitlines()[0])
    path = tmp_path / "damaged.json"
    n_refused = 0
    for entry in damaged(first):
        path.write_text(json.dumps([entry]))
        try:
            read_replies(form, path, people.pool.classes)
        except FileError:
            n_refused += 1
    assert n_refused > 10


def test_nameless_answers_that_differ_are_refused(people, tmp_path):
    path = tmp_path / "qrels"
    path.write_text("a 0 b 1\na 0 b 0\n")
    with pytest.raises(AnswerError, match="different answers"):
        take_replies(people, read_replies(FORMATS["trec"], path, people.pool.classes))


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_go_out_and_in_again(name, tmp_path):
    rng = np.random.default_rng(0)
    score = rng.random(40)
    ids = [f"q{n % 4} d{n}" if name == "trec" else f"{n}|{n + 50}" for n in range(40)]
    pool = hs.Pool(score, ids=ids, strata=4)
    label = dict(zip(ids, (rng.random(40) < score).astype(int).tolist(), strict=True))
    with (
        hs.Study.create(tmp_path / "one.haystat", pool, random_state=0) as one,
        hs.Study.create(tmp_path / "other.haystat", pool, random_state=0) as other,
    ):
        one.tell({question.item: label[question.item] for question in one.ask(20)})
        other.ask(20)
        path = tmp_path / "answers.csv"
        assert FORMATS[name].answers(one, path) == 20
        take_replies(other, FORMATS[name].replies(path, pool.classes))
        assert other.estimate().value == one.estimate().value
        assert other.n_labels == 20


def test_names_must_be_one_a_class(people):
    for names in (("one",), ("a", "a"), ("a", "")):
        with pytest.raises(HaystatError, match="2 different"):
            make_tasks(people, [], names)


def test_a_run_file_becomes_a_pool(tmp_path):
    path = tmp_path / "run.txt"
    path.write_text("301 Q0 FT-1 1 14.5 bm25\n301 Q0 FT-2 2 3.5 bm25\n\n302 Q0 FT-1 1 9 bm25\n")
    table = FORMATS["trec"].pool(path)
    assert table.ids.tolist() == ["301 FT-1", "301 FT-2", "302 FT-1"]
    assert table.show["query"].tolist() == ["301", "301", "302"]
    assert table.pool(strata=2).size == 3


@pytest.mark.parametrize("line", ["301 FT-1 1", "301 Q0 FT-1 1 high bm25"])
def test_a_damaged_run_file_is_refused(line, tmp_path):
    path = tmp_path / "run.txt"
    path.write_text(line)
    with pytest.raises(FileError, match=r"run\.txt"):
        FORMATS["trec"].pool(path)


def test_graded_relevance_is_read_for_two_classes_and_for_more(tmp_path):
    path = tmp_path / "qrels"
    path.write_text("1 0 a 2\n1 0 b 0\n1 0 c -1\n")
    read = FORMATS["trec"].replies
    assert [reply.label for reply in read(path, (0, 1))] == [1, 0, 0]
    assert [reply.label for reply in read(path, ("bad", "fair", "good"))] == ["good", "bad", "bad"]
    path.write_text("1 0 a 3\n")
    with pytest.raises(FileError, match="3 classes"):
        read(path, ("bad", "fair", "good"))
