"""Labelling in a notebook: the session behind the widget, and the widget itself."""

from __future__ import annotations

import numpy as np
import pytest

import haystat as hs
from haystat.notebook.bundle import bundled
from haystat.notebook.session import Session, record_of

SCORES = np.random.default_rng(0).normal(-2, 1.5, 2000)
LABELS = (SCORES + np.random.default_rng(1).normal(0, 1, 2000) > 0).astype(int)
SHOW = {"name_l": [f"a{i}" for i in range(2000)], "name_r": [f"b{i}" for i in range(2000)]}


def evaluation(**options):
    return hs.Evaluation(hs.Pool(SCORES, **options), "f1", random_state=3)


def press(widget, **message):
    """What the script sends when somebody presses a key."""
    widget._handle_custom_msg(message, [])


def test_thirty_answers_in_the_widget_give_the_estimate_of_the_library():
    pytest.importorskip("anywidget")
    by_key, by_call = evaluation(), evaluation()
    widget = by_key.label(SHOW, names=["no", "yes"], question="Is it?", batch=10)
    assert (widget.prompt, widget.names, widget.hotkeys) == ("Is it?", ["no", "yes"], ["f", "j"])
    for _ in range(30):
        item = widget.view["question"]["item"]
        assert widget.view["question"]["record"] == {"name_l": f"a{item}", "name_r": f"b{item}"}
        press(widget, answer=int(LABELS[item]))
    for _ in range(3):
        by_call.tell({query.item: int(LABELS[query.item]) for query in by_call.ask(10)})
    assert by_key.n_labels == 30
    assert by_key.estimate().value == by_call.estimate().value
    assert widget.view["estimate"]["value"] == by_call.estimate().value


def test_back_and_another_answer_is_a_correction():
    session = Session(evaluation(), record_of(evaluation(), SHOW), "", [])
    first = session.current.item
    session.answer(0)
    second = session.current.item
    session.go(1)
    assert session.view()["question"]["item"] == first
    session.answer(1)
    assert session.view()["question"]["item"] == second
    assert [answer.label for answer in session.loop.answers] == [1]
    session.go(1)
    session.go(-1)
    assert session.current.item == second


def test_skips_are_recorded_and_open_questions_come_first():
    loop = evaluation()
    waiting = [query.item for query in loop.ask(3)]
    session = Session(loop, record_of(loop, None), "", [])
    assert session.current.item == waiting[0]
    session.skip("dark")
    session.answer(0)
    assert [(a.label, a.reason) for a in loop.answers] == [(None, "dark"), (0, "")]


def test_it_ends_when_every_item_has_its_label():
    loop = hs.Evaluation(hs.Pool([0.1, 0.6, 0.9], strata=2), "accuracy", "stratified")
    session = Session(loop, record_of(loop, None), "", [], batch=2)
    while session.current is not None:
        session.answer(1)
    assert session.view()["question"] is None
    assert loop.n_labels == 3


def test_a_study_shows_what_it_was_made_with(tmp_path):
    path = tmp_path / "s.haystat"
    with hs.Study.create(path, hs.Pool(SCORES), random_state=0, show=SHOW) as study:
        session = Session(study, record_of(study, None), "", [])
        item = session.current.item
        assert session.view()["question"]["record"] == {"name_l": f"a{item}", "name_r": f"b{item}"}
        session.answer(0)
        assert study.n_labels == 1


def test_functions_and_tables_say_what_to_show():
    pd = pytest.importorskip("pandas")
    loop = evaluation(ids=[f"i{n}" for n in range(2000)])
    assert record_of(loop, lambda item: {"id": item})("i7") == {"id": "i7"}
    table = pd.DataFrame({"score": SCORES})
    assert record_of(loop, table)("i7") == {"score": SCORES[7]}


def test_what_cannot_be_shown_or_named_is_refused():
    loop = evaluation()
    with pytest.raises(hs.HaystatError, match="2000 items"):
        record_of(loop, {"a": [1, 2]})
    with pytest.raises(hs.HaystatError, match="a table, a dict"):
        record_of(loop, 5)
    with pytest.raises(hs.HaystatError, match="3 names"):
        Session(loop, record_of(loop, None), "", ["a", "b", "c"])


def test_the_script_is_one_file_that_imports_nothing():
    script = bundled("widget")
    assert "showRecord" in script
    assert not [line for line in script.splitlines() if line.startswith(("import ", "export {"))]
    assert [line[:14] for line in script.splitlines() if line.startswith("export ")] == [
        "export default"
    ]
    assert "m_widget.render" in script


def test_without_the_extra_it_says_which(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "anywidget", None)
    with pytest.raises(hs.HaystatError, match=r"haystat\[notebook\]"):
        evaluation().label()
