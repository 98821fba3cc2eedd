"""A study that cannot be written: the server says so, and the page keeps the answers."""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager

import pytest
from test_web_browser import item_on, press, saved, wait_for_question
from web_case import calling, make_study, serving

import haystat as hs
from haystat.study import store, verify


@contextmanager
def locked(path):
    """Somebody else writes and does not come to an end."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.rollback()
        connection.close()


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    monkeypatch.setattr(store, "BUSY_SECONDS", 0.2)


def setting(caller, text):
    """Set something in the server's connection."""
    (room,) = caller.client.app.state.study_folder._rooms.values()
    return room.study._store.connection().execute(f"PRAGMA {text}").fetchone()


def asked(caller, n):
    return [q["item"] for q in caller.post("/api/ask", {"n": n}).json()["questions"]]


def told(caller, item, label=0):
    return caller.post("/api/tell", {"answers": [{"item": item, "label": label}]})


def test_a_locked_study_is_503_and_the_answer_can_be_sent_again(study_file):
    with calling(study_file[0]) as caller:
        items = asked(caller, 5)
        with locked(study_file[0]):
            for item in items:
                found = told(caller, item)
                assert found.status_code == 503, found.text
                assert int(found.headers["retry-after"]) > 0
                assert "locked by another process" in found.json()["error"]
            assert caller.post("/api/skip", {"item": items[0]}).status_code == 503
            assert caller.post("/api/ask", {}).status_code == 503
        assert [told(caller, item).json()["taken"][0]["outcome"] for item in items] == [
            "recorded"
        ] * 5
    assert verify(study_file[0]).ok


def test_a_full_disk_is_507_and_what_was_acknowledged_is_there(study_file):
    with calling(study_file[0]) as caller:
        items = asked(caller, 150)
        (pages,) = setting(caller, "page_count")
        setting(caller, f"max_page_count = {pages}")
        statuses = [told(caller, item).status_code for item in items]
        assert set(statuses) == {200, 507}
        refused = told(caller, items[-1])
        assert int(refused.headers["retry-after"]) > 0
        assert "disk is full" in refused.json()["error"]
        kept = {item for item, status in zip(items, statuses, strict=True) if status == 200}
        with hs.Study.open(study_file[0], read_only=True) as study:
            assert {answer.item for answer in study.answers} == kept
        setting(caller, "max_page_count = 1000000")
        assert all(told(caller, item).status_code == 200 for item in items)
    with hs.Study.open(study_file[0]) as study:
        assert study.n_labels == 150
    assert verify(study_file[0]).ok


def test_a_study_that_is_read_only_is_503(study_file):
    with calling(study_file[0]) as caller:
        (item,) = asked(caller, 1)
        setting(caller, "query_only = ON")
        assert told(caller, item).status_code == 503
        setting(caller, "query_only = OFF")
        assert told(caller, item).status_code == 200


def test_a_name_that_is_taken_is_still_409(study_file, caller):
    folder = study_file[0].parent
    (folder / "pool.csv").write_text("id,score\n" + "".join(f"{i},{i / 99}\n" for i in range(99)))
    wish = {"name": "pairs", "file": "pool.csv", "score": "score", "id": "id"}
    assert caller.post("/api/studies", wish).status_code == 409


def not_saved(page, text):
    page.wait_for_function(
        "text => document.getElementById('unsaved').textContent === text", arg=text
    )


@pytest.mark.xdist_group("browser")
def test_the_page_keeps_what_could_not_be_saved_and_says_so(study_file, open_page):
    path, labels = study_file
    with serving(path) as address:
        page = open_page(address)
        wait_for_question(page)
        given = {}
        with locked(path):
            for _ in range(5):
                item = item_on(page)
                given[item] = int(labels[item])
                press(page, "j" if labels[item] else "f")
            not_saved(page, "5 answers not saved yet")
            page.wait_for_function(
                "() => document.getElementById('line').textContent.includes('locked')"
            )
            page.reload()
            not_saved(page, "5 answers not saved yet")
            text = "The next questions come when your answers are saved."
            page.wait_for_function(
                "text => document.getElementById('record').textContent.includes(text)", arg=text
            )
        saved(page)
        not_saved(page, "")
        wait_for_question(page)
    with hs.Study.open(path) as study:
        assert {answer.item: answer.label for answer in study.answers} == given
    assert verify(path).ok
    open_page.may_complain = True  # the browser notes every reply with 503 by itself


@pytest.mark.xdist_group("browser")
def test_a_new_tab_sends_what_a_closed_one_could_not(study_file, open_page):
    path, labels = study_file
    with serving(path) as address:
        page = open_page(address)
        wait_for_question(page)
        item = item_on(page)
        with locked(path):
            press(page, "j" if labels[item] else "f")
            not_saved(page, "1 answer not saved yet")
            other = page.context.new_page()
            page.close()
        other.goto(address)
        wait_for_question(other)
        saved(other)
    with hs.Study.open(path) as study:
        assert {answer.item: answer.label for answer in study.answers} == {item: int(labels[item])}
    open_page.may_complain = True


@pytest.mark.xdist_group("browser")
def test_answers_kept_for_one_study_are_not_sent_to_another_of_its_name(tmp_path, open_page):
    """On the same address: a folder was made anew."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    first, _ = make_study(tmp_path / "one" / "pairs.haystat")
    second, _ = make_study(tmp_path / "two" / "pairs.haystat")
    first.close()
    second.close()
    with serving(first.path) as address:
        page = open_page(address)
        wait_for_question(page)
        item = item_on(page)
        with locked(first.path):
            press(page, "f")
            not_saved(page, "1 answer not saved yet")
            page.goto("about:blank")
    port = int(address.rsplit(":", 1)[1])
    with serving(second.path, port=port):
        page.goto(address)
        wait_for_question(page)
        assert page.text_content("#unsaved") == ""
    with serving(first.path, port=port):
        page.goto(address)
        wait_for_question(page)
        saved(page)
    answered = []
    for study in (first, second):
        with hs.Study.open(study.path) as again:
            answered.append([answer.item for answer in again.answers])
    assert answered == [[item], []]
    open_page.may_complain = True
