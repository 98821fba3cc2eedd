"""What Label Studio says by webhook: all or nothing, corrections, deletions."""

from __future__ import annotations

import json

import pytest

import haystat as hs
from haystat.study import verify
from haystat.web.webhook import annotations_in

PATH = "/api/label-studio"
CHOICE = {"from_name": "haystat_label", "type": "choices"}


def annotation(number, name, who="ann@x.org", **rest):
    """One that chooses a name, or none if it was cancelled."""
    result = [] if name is None else [{**CHOICE, "value": {"choices": [name]}}]
    cancelled = {"was_cancelled": True} if name is None else {}
    return {"id": number, "completed_by": {"email": who}, "result": result, **cancelled, **rest}


class Tool:
    """Label Studio as the server sees it."""

    def __init__(self, caller, path):
        self.caller, self.path = caller, path
        with hs.Study.open(path) as study:
            self.pool = study.pool.fingerprint
        questions = caller.post("/api/ask", {"n": 4, "annotator": "tool"}).json()["questions"]
        self.items = [question["item"] for question in questions]

    def task(self, item, pool=None):
        mark = {"item": item, "pool": pool or self.pool, "labels": {"no": 0, "yes": 1}}
        return {"id": 1, "meta": {"haystat": mark}}

    def post(self, **given):
        return self.caller.post(PATH, given)

    def says(self, item, number, name, action="ANNOTATION_CREATED", **rest):
        found = self.post(
            action=action, task=self.task(item), annotation=annotation(number, name, **rest)
        )
        assert found.status_code == 200, found.text
        return [told["outcome"] for told in found.json()["taken"]]

    def batch(self, *given):
        """Annotations of several tasks in one event: (item, number, name) each."""
        return self.post(
            action="ANNOTATIONS_CREATED",
            task=[self.task(item) for item, _, _ in given],
            annotation=[annotation(number, name) for _, number, name in given],
        )

    def deletes(self, *numbers):
        given = [{"id": number} for number in numbers]
        found = self.post(action="ANNOTATIONS_DELETED", annotations=given)
        assert found.status_code == 200, found.text
        return found.json()

    @property
    def answers(self):
        with hs.Study.open(self.path) as study:
            assert verify(self.path).ok
            return {a.item: (a.label, a.who) for a in study.answers}


@pytest.fixture
def tool(caller, study_file):
    return Tool(caller, study_file[0])


def test_label_studio_tells_what_people_annotate(tool):
    first, second, *_ = tool.items
    assert tool.says(first, 1, "yes") == ["recorded"]
    assert tool.says(first, 1, "no", action="ANNOTATION_UPDATED") == ["corrected"]
    assert tool.says(first, 2, "yes", who="bob@x.org") == ["second opinion"]
    assert tool.says(second, 3, None) == ["recorded"]
    assert tool.post(action="TASKS_DELETED", tasks=[{"id": 1}]).json()["taken"] == []
    assert tool.answers == {first: (0, "ann@x.org"), second: (None, "ann@x.org")}


def test_a_second_annotation_by_the_same_person_is_a_correction(tool):
    item = tool.items[0]
    assert tool.says(item, 1, "yes") == ["recorded"]
    assert tool.says(item, 2, "yes") == ["known"]
    assert tool.says(item, 3, "no") == ["corrected"]
    assert tool.answers == {item: (0, "ann@x.org")}
    assert tool.batch((item, 4, "yes"), (item, 5, "no")).status_code == 200
    assert tool.answers == {item: (0, "ann@x.org")}


def test_a_batch_is_taken_whole_or_not_at_all(tool):
    first, second, *_ = tool.items
    wrong = {
        "an unknown item": tool.batch((first, 1, "yes"), (10**6, 2, "yes")),
        "an unknown name": tool.batch((first, 1, "yes"), (second, 2, "perhaps")),
        "no task": tool.post(
            action="ANNOTATIONS_CREATED",
            task=[tool.task(first)],
            annotation=[annotation(1, "yes"), annotation(2, "yes")],
        ),
        "another pool": tool.post(
            action="ANNOTATIONS_CREATED",
            task=[tool.task(first), tool.task(second, "another")],
            annotation=[annotation(1, "yes"), annotation(2, "yes")],
        ),
        "a name that is too long": tool.post(
            action="ANNOTATIONS_CREATED",
            task=[tool.task(first), tool.task(second)],
            annotation=[annotation(1, "yes"), annotation(2, "yes", who="x" * 201)],
        ),
    }
    for what, reply in wrong.items():
        assert 400 <= reply.status_code < 500, (what, reply.text)
    assert tool.answers == {}
    assert tool.batch((first, 1, "yes"), (second, 2, "no")).status_code == 200
    assert tool.answers == {first: (1, "ann@x.org"), second: (0, "ann@x.org")}


def test_a_deleted_annotation_is_withdrawn_and_the_question_can_be_answered_again(tool):
    first, second, *_ = tool.items
    tool.says(first, 1, "yes")
    tool.says(second, 2, "no")
    assert tool.deletes(1)["taken"] == [{"item": first, "outcome": "withdrawn"}]
    assert tool.answers == {first: (None, "ann@x.org"), second: (0, "ann@x.org")}
    assert tool.says(first, 3, "no", who="bob@x.org") == ["recorded"]
    assert tool.answers[first] == (0, "bob@x.org")


def test_what_is_left_counts_when_an_annotation_is_deleted(tool):
    item = tool.items[0]
    tool.says(item, 1, "yes")
    tool.says(item, 2, "yes", who="bob@x.org")
    tool.says(item, 3, "no")
    assert tool.answers == {item: (0, "ann@x.org")}
    assert tool.deletes(3)["taken"] == [{"item": item, "outcome": "corrected"}]
    assert tool.answers == {item: (1, "ann@x.org")}
    assert tool.deletes(1)["taken"] == [{"item": item, "outcome": "corrected"}]
    assert tool.answers == {item: (1, "bob@x.org")}
    assert tool.deletes(2)["taken"] == [{"item": item, "outcome": "withdrawn"}]
    assert tool.answers == {item: (None, "bob@x.org")}


def test_an_answer_that_was_changed_elsewhere_is_kept(tool):
    item = tool.items[0]
    tool.says(item, 1, "yes")
    with hs.Study.open(tool.path) as study:
        study.correct(item, 0, "looked again", "chief")
    assert tool.deletes(1)["taken"] == [{"item": item, "outcome": "kept"}]
    assert tool.answers == {item: (0, "chief")}


def test_an_unknown_annotation_is_named_with_what_to_do(tool):
    item = tool.items[0]
    tool.says(item, 1, "yes")
    found = tool.deletes(99, 1)
    assert found["unknown"] == [99]
    assert "haystat correct STUDY ITEM=" in found["problem"]
    assert found["taken"] == [{"item": item, "outcome": "withdrawn"}]


def test_remarks_of_people_do_not_pass_for_annotations(tool, caller):
    item = tool.items[0]
    tool.says(item, 1, "yes")
    for text in ("label-studio", json.dumps({"label-studio": {"annotation": [1], "deleted": {}}})):
        assert caller.post("/api/note", {"text": text, "item": item}).status_code == 200
    with hs.Study.open(tool.path) as study:
        assert list(annotations_in(study.entries)) == [1]


@pytest.mark.parametrize(
    "given",
    [
        {"action": "ANNOTATION_CREATED"},
        {"action": "ANNOTATIONS_DELETED"},
        {"action": "ANNOTATIONS_DELETED", "annotations": [1]},
        {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": True}]},
        {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": [1]}]},
    ],
)
def test_an_event_that_is_none_is_refused(tool, given):
    assert tool.post(**given).status_code == 400


def test_a_task_of_another_pool_is_refused(tool):
    given = {"task": tool.task(tool.items[0], "another"), "annotation": annotation(1, "yes")}
    assert tool.post(action="ANNOTATION_CREATED", **given).status_code == 400
