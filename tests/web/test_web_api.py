"""What is under /api: the same loop as the library's, for pages and other tools."""

from __future__ import annotations

import numpy as np
import pytest
from web_case import calling, make_study

import haystat as hs
from haystat.study import verify


def answer(caller, labels, n=10, who="ann", **more):
    """Ask for n questions and answer them truly; the items."""
    questions = caller.post("/api/ask", {"n": n, "annotator": who}).json()["questions"]
    given = [{"item": q["item"], "label": int(labels[q["item"]])} for q in questions]
    found = caller.post("/api/tell", {"answers": given, "annotator": who, **more})
    assert found.status_code == 200, found.text
    return [q["item"] for q in questions]


def test_estimate_is_that_of_the_library_on_the_same_journal(caller, study_file):
    path, labels = study_file
    for _ in range(5):
        answer(caller, labels)
    found = caller.get("/api/estimate").json()
    with hs.Study.open(path) as study:
        estimate = study.estimate()
    component = found["components"][0]
    assert component["value"] == estimate.value
    assert (component["low"], component["high"]) == estimate.interval
    assert found["labels"] == estimate.n_labels == 50
    assert verify(path).ok


def test_questions_are_blind_and_nobody_else_gets_them(caller):
    one = caller.post("/api/ask", {"n": 5, "annotator": "ann", "seat": "tab 1"}).json()["questions"]
    two = caller.post("/api/ask", {"n": 5, "annotator": "ann", "seat": "tab 2"}).json()["questions"]
    again = caller.post("/api/ask", {"n": 5, "annotator": "ann", "seat": "tab 1"}).json()[
        "questions"
    ]
    assert {q["item"] for q in one}.isdisjoint(q["item"] for q in two)
    assert again == one
    for question in one:
        assert set(question) == {"item", "key", "record"}
        assert set(question["record"]) == {"name_l", "name_r", "remark"}


def test_a_score_column_is_never_shown(tmp_path):
    rows = [f"{i},{(i * 37 % 100) / 100},{i % 2},text {i}" for i in range(200)]
    (tmp_path / "pool.csv").write_text("\n".join(["id,score,pred,text", *rows]))
    source = hs.study.PoolFile(
        str(tmp_path / "pool.csv"), ("score",), "id", ("pred",), show=("text", "score", "pred")
    )
    hs.Study.create(tmp_path / "s.haystat", source, random_state=0).close()
    with calling(tmp_path / "s.haystat") as caller:
        questions = caller.post("/api/ask", {"n": 3}).json()["questions"]
    assert [set(q["record"]) for q in questions] == [{"text"}] * 3


def test_a_score_column_is_never_shown_in_later_versions_either(tmp_path):
    def source(name, score):
        start = 0 if name == "jan.csv" else 200
        rows = [
            f"{i},{(i * 37 % 100) / 100},{(i * 31 % 100) / 100},text {i}"
            for i in range(start, start + 200)
        ]
        (tmp_path / name).write_text("\n".join(["id,jan,feb,text", *rows]))
        return hs.study.PoolFile(str(tmp_path / name), (score,), "id", show=("text", "jan", score))

    with hs.Study.create(tmp_path / "s.haystat", source("jan.csv", "jan"), random_state=0) as study:
        study.tell({question.item: 1 for question in study.ask(5)})
        study.extend(source("more.csv", "jan"), "more").close()
        study.next(source("jan.csv", "feb"), "feb").close()
    for name in ("s-more", "s-feb"):
        with calling(tmp_path / f"{name}.haystat") as caller:
            questions = caller.post("/api/ask", {"n": 3}).json()["questions"]
        assert [set(q["record"]) for q in questions] == [{"text"}] * 3
        assert hs.study.verify(tmp_path / f"{name}.haystat").ok


def test_the_order_inside_a_stage_tells_nothing_about_the_score(tmp_path):
    study, _ = make_study(tmp_path / "s.haystat", size=20_000)
    with study:
        drawn = [q.item for q in study.ask(200, "lib")]
        score = {i: study.pool.outputs(np.array([i])).scores[0, 0] for i in drawn}
    with calling(tmp_path / "s.haystat") as caller:
        asked = caller.post("/api/ask", {"n": 200, "annotator": "lib"}).json()["questions"]
    items = [q["item"] for q in asked]
    assert sorted(items) == sorted(drawn)
    assert items != drawn
    place = np.arange(200)
    rank = np.argsort(np.argsort([score[i] for i in items]))
    # A correlation of ranks has a standard error of 1 / sqrt(n - 1).
    assert abs(np.corrcoef(place, rank)[0, 1]) < 3 / np.sqrt(199)


def test_telling_is_all_or_nothing_and_may_be_repeated(caller, study_file):
    _, labels = study_file
    items = answer(caller, labels, 4)
    same = [{"item": items[0], "label": int(labels[items[0]])}]
    assert caller.post("/api/tell", {"answers": same, "annotator": "ann"}).json() == {
        "taken": [{"item": items[0], "outcome": "known"}]
    }
    fresh = caller.post("/api/ask", {"annotator": "ann"}).json()["questions"][0]["item"]
    wrong = [{"item": fresh, "label": 1}, {"item": items[0], "label": 1 - int(labels[items[0]])}]
    assert caller.post("/api/tell", {"answers": wrong, "annotator": "ann"}).status_code == 409
    assert caller.get("/api/status").json()["status"]["labels"] == 4
    unknown = [{"item": fresh, "label": 1}, {"item": 10**9, "label": 1}]
    assert caller.post("/api/tell", {"answers": unknown, "annotator": "ann"}).status_code == 404
    assert caller.get("/api/status").json()["status"]["labels"] == 4


def test_a_correction_keeps_both_answers(caller, study_file):
    path, labels = study_file
    (item,) = answer(caller, labels, 1)
    other = {"answers": [{"item": item, "label": 1 - int(labels[item])}], "annotator": "ann"}
    assert caller.post("/api/tell", other).status_code == 409
    taken = caller.post("/api/tell", {**other, "correct": True}).json()["taken"]
    assert taken == [{"item": item, "outcome": "corrected"}]
    with hs.Study.open(path) as study:
        assert [e.kind for e in study.entries][-1] == "correction"


def test_skip_note_and_release_are_in_the_journal(caller, study_file):
    path, _ = study_file
    questions = caller.post("/api/ask", {"n": 3, "annotator": "ann", "seat": "x"}).json()
    first = questions["questions"][0]["item"]
    gone = {"item": first, "annotator": "ann", "reason": "torn page"}
    assert caller.post("/api/skip", gone).json()["outcome"] == "recorded"
    note = {"item": first, "annotator": "ann", "text": "ask Bob"}
    assert caller.post("/api/note", note).status_code == 200
    assert caller.post("/api/release", {"annotator": "ann", "seat": "x"}).status_code == 200
    with hs.Study.open(path) as study:
        status = study.status()
        notes = [e.data for e in study.entries if e.kind == "note" and "item" in e.data]
        (skipped,) = [a for a in study.answers if a.label is None]
    assert (status.skipped, status.leased, status.pending) == (1, 0, 2)
    assert skipped.reason == "torn page"
    assert notes == [{"item": first, "text": "ask Bob"}]


def test_another_persons_answer_is_a_second_opinion_and_agreement_is_shown(tmp_path):
    study, labels = make_study(tmp_path / "s.haystat", second=0.5)
    study.close()
    with calling(tmp_path / "s.haystat") as caller:
        answer(caller, labels, 20, "ann")
        before = caller.get("/api/estimate").json()
        asked = caller.post("/api/ask", {"n": 10, "annotator": "bob"}).json()["questions"]
        given = [{"item": q["item"], "label": int(labels[q["item"]])} for q in asked]
        taken = caller.post("/api/tell", {"answers": given, "annotator": "bob"}).json()["taken"]
        outcomes = [told["outcome"] for told in taken]
        found = caller.get("/api/status").json()
        assert outcomes.count("second opinion") == 5
        assert found["agreement"]["items"] == 5
        assert found["agreement"]["share"] == 1.0
        assert found["status"]["annotators"] == {"ann": 20, "bob": 10}
        assert before["labels"] == 20
        (shared,) = [told["item"] for told in taken if told["outcome"] == "second opinion"][:1]
        changed = {"answers": [{"item": shared, "label": 1 - int(labels[shared])}]}
        caller.post("/api/tell", {**changed, "annotator": "bob", "correct": True})
        found = caller.get("/api/status").json()
        assert found["agreement"]["items"] == 5  # his newest opinion counts, once
        assert found["agreement"]["share"] == pytest.approx(0.8)
        assert found["status"]["labels"] == 30  # and what ann said still stands
    assert verify(tmp_path / "s.haystat").ok
    with calling(tmp_path / "s.haystat") as caller:  # a new server reads it from the journal
        assert caller.get("/api/status").json()["agreement"]["items"] == 5


def test_scores_are_shown_after_the_answer_if_the_study_says_so(tmp_path):
    make_study(tmp_path / "s.haystat", reveal=True)[0].close()
    with calling(tmp_path / "s.haystat") as caller:
        (question,) = caller.post("/api/ask", {"annotator": "ann"}).json()["questions"]
        given = {"answers": [{"item": question["item"], "label": 0}], "annotator": "ann"}
        (said,) = caller.post("/api/tell", given).json()["said"]
    assert 0 <= said["score"] <= 1
    assert said["prediction"] in ("0", "1")


def test_progress_says_when_to_stop_and_why(tmp_path):
    study, labels = make_study(tmp_path / "s.haystat", wanted=0.9)
    study.close()
    with calling(tmp_path / "s.haystat") as caller:
        answer(caller, labels, 10)
        first = caller.get("/api/status").json()["progress"]
        for _ in range(8):
            answer(caller, labels, 10)
        last = caller.get("/api/status").json()["progress"]
    assert not first["reached"]
    assert last["reached"]
    assert "0.9 was wanted" in last["why"]
    assert last["expected"] == 0


@pytest.mark.parametrize("path", ["/label", "/watch", "/explain", "/studies", "/new", "/report"])
def test_every_page_answers(caller, study_file, path):
    answer(caller, study_file[1], 40)
    found = caller.get(path)
    assert found.status_code == 200
    assert found.headers["content-type"].startswith("text/html")


def test_answers_report_and_study_can_be_taken_away(caller, study_file, tmp_path):
    _, labels = study_file
    answer(caller, labels, 30)
    rows = caller.get("/answers.csv").text.splitlines()
    assert rows[0] == "item,label,annotator,skipped,time,draws,weight"
    assert len(rows) == 31
    assert caller.get("/report?format=json").json()["status"]["labels"] == 30
    copy = tmp_path / "copy.haystat"
    copy.write_bytes(caller.get("/study.haystat").content)
    assert verify(copy).n_labels == 30
