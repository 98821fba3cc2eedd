"""The bridge to Label Studio.

data/label_studio_export.json was exported by a real Label Studio that had imported our tasks and
config, and in which a person annotated through the API: one task twice, one corrected, one
cancelled.
"""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

import haystat as hs
from haystat.errors import ConflictingAnswer, FileError
from haystat.formats import FORMATS, make_tasks, take_replies

FORM = FORMATS["label-studio"]
EXPORT = Path(__file__).parent / "data" / "label_studio_export.json"


@pytest.fixture
def exported(people):
    """The tasks of the real export, as if they had been made from this study."""
    tasks = json.loads(EXPORT.read_text())
    for task in tasks:
        task["meta"]["haystat"]["pool"] = people.pool.fingerprint
    return tasks


@pytest.fixture
def replies(tmp_path, people):
    """What our reader finds in some tasks."""

    def replies(tasks):
        path = tmp_path / "export.json"
        path.write_text(json.dumps(tasks))
        return FORM.replies(path, people.pool.classes)

    return replies


def annotation(name, who=2, time="2030-01-01T00:00:00Z", **rest):
    result = [{"from_name": "haystat_label", "type": "choices", "value": {"choices": [name]}}]
    return {"completed_by": who, "updated_at": time, "result": result, **rest}


def test_the_study_has_the_answers_of_a_real_export(people, exported, replies, truth):
    taken = take_replies(people, replies(exported))
    assert (taken.labels, taken.skips) == (9, 1)
    answers = {answer.item: answer for answer in people.answers}
    for number, (item, label) in enumerate(truth.items()):
        assert answers[item].label == (None if number == 9 else label)
        assert answers[item].who == "label-studio-1"
    assert people.status().pending == 0
    assert people.estimate().n_labels == 9


def test_our_tasks_are_those_of_the_real_export(people, exported):
    given = json.loads(FORM.tasks(make_tasks(people, people.pending, ["no match", "match"])))
    known = {task["meta"]["haystat"]["item"]: task for task in exported}
    for task in given:
        item = task["meta"]["haystat"]["item"]
        assert task["data"] == known[item]["data"]
        assert task["meta"]["haystat"]["labels"] == known[item]["meta"]["haystat"]["labels"]


def test_the_time_people_took_is_kept(people, exported, replies):
    take_replies(people, replies(exported), source="export.json")
    (note,) = [entry.data for entry in people.entries if entry.kind == "note"]
    text = json.loads(note["text"])
    assert len(text["seconds"]) == 10
    assert ["left|9|right|109", "label-studio-1", 3.5] in text["seconds"]


def test_annotators_who_agree_are_one_answer(people, exported, replies):
    for task in exported:
        if task["meta"]["haystat"]["item"] == "left|0|right|100":
            task["annotations"].append(annotation("match", {"id": 7, "email": "bob@example.org"}))
    taken = take_replies(people, replies(exported))
    assert taken.labels == 9
    (note,) = [entry.data for entry in people.entries if entry.kind == "note"]
    assert ["bob@example.org", 1] in json.loads(note["text"])["several_answers"][0][1]


def test_annotators_who_disagree_are_refused_unless_told_how(people, exported, replies):
    disputed = "left|0|right|100"
    for task in exported:
        if task["meta"]["haystat"]["item"] == disputed:
            task["annotations"].append(annotation("no match", who=2))
    with pytest.raises(ConflictingAnswer, match=r"left\|0\|right\|100.*--disagreement"):
        take_replies(people, replies(exported))
    assert people.answers == []
    for task in exported:
        if task["meta"]["haystat"]["item"] == disputed:
            task["annotations"].append(annotation("no match", who=3))
    take_replies(people, replies(exported), disagreement="majority")
    assert {a.item: a.label for a in people.answers}[disputed] == 0


@pytest.mark.parametrize("rule", ["majority", "skip"])
def test_a_tie_is_nobodys_answer(people, exported, replies, rule):
    exported[0]["annotations"] = [annotation("match", 1), annotation("no match", 2)]
    take_replies(people, replies(exported[:1]), disagreement=rule)
    (answer,) = people.answers
    assert answer.label is None
    assert "answers differ" in answer.reason


def test_a_skip_yields_to_a_label(people, exported, replies):
    exported[0]["annotations"] = [
        annotation("match", 1) | {"was_cancelled": True, "result": []},
        annotation("match", 2),
    ]
    taken = take_replies(people, replies(exported[:1]))
    assert (taken.labels, taken.skips) == (1, 0)


def test_the_newest_answer_of_a_person_counts(people, exported, replies):
    exported[0]["annotations"] = [
        annotation("match", 1, "2030-01-02T00:00:00Z"),
        annotation("no match", 1, "2030-01-01T00:00:00Z"),
    ]
    take_replies(people, replies(exported[:1]))
    assert people.answers[0].label == 1


def test_a_submission_without_a_choice_is_no_answer(exported, replies):
    exported[0]["annotations"] = [annotation("match") | {"result": []}]
    assert replies(exported[:1]) == []


def test_a_choice_that_we_did_not_offer_is_refused(exported, replies):
    exported[0]["annotations"] = [annotation("maybe")]
    with pytest.raises(FileError, match="'maybe', which is not one of"):
        replies(exported)


def test_the_short_export_is_refused_with_a_hint(replies):
    with pytest.raises(FileError, match="as JSON, not JSON-MIN"):
        replies([{"id": 1, "haystat_label": "match"}])


def test_the_config_shows_pairs_side_by_side_with_a_key_a_class(people):
    tasks = make_tasks(people, people.pending, ["no", "yes"], 'Same "person" & <all>?')
    root = ElementTree.fromstring(FORM.config(tasks))
    assert root.find("Header").get("value") == 'Same "person" & <all>?'
    assert [table.get("value") for table in root.iter("Table")] == ["$left", "$right"]
    keys = {choice.get("value"): choice.get("hotkey") for choice in root.iter("Choice")}
    assert keys == {"no": "1", "yes": "2"}
    shown = {element.get("name") for element in root.iter() if element.get("name")}
    assert root.find("Choices").get("toName") in shown
    data = json.loads(FORM.tasks(tasks))[0]["data"]
    wanted = {e.get("value").removeprefix("$") for e in root.iter() if e.tag in ("Table", "Text")}
    assert wanted <= data.keys()


def test_an_item_with_nothing_to_show_shows_its_id(tmp_path):
    with hs.Study.create(tmp_path / "s.haystat", hs.Pool([0.1, 0.9], strata=1)) as study:
        tasks = make_tasks(study, study.ask(1))
    root = ElementTree.fromstring(FORM.config(tasks))
    assert root.find("Text").get("value") == "$item"
    assert [choice.get("hotkey") for choice in root.iter("Choice")] == ["0", "1"]
