"""Several people: leases, skips, corrections, answers in any order."""

from __future__ import annotations

import numpy as np
import pytest

import haystat as hs
from haystat.designs import DESIGNS
from haystat.errors import BadOption, ConflictingAnswer, UnknownItem
from haystat.loop.ledger import Ledger
from haystat.loop.ledger_stochastic import StochasticLedger
from haystat.study import verify


def items_of(questions):
    return [question.item for question in questions]


def test_nobody_gets_what_another_one_holds(case):
    ann, bob = case.study.ask(5, "ann"), case.study.ask(5, "bob")
    nameless = [case.study.ask(3), case.study.ask(3)]
    everything = items_of([*ann, *bob, *nameless[0], *nameless[1]])
    assert len(set(everything)) == 16
    assert items_of(case.study.pending) == everything


def test_asking_again_gives_a_person_the_same_questions(case):
    first = case.study.ask(4, "ann")
    assert case.study.ask(4, "ann") == first
    case.study.tell({first[0].item: 1}, "ann")
    again = case.study.ask(4, "ann")
    assert again[:3] == first[1:]
    assert again[3] not in first
    assert case.study.held_by("ann") == again


def test_a_lease_that_ran_out_goes_to_the_next_who_asks(case):
    held = case.study.ask(3, "ann", lease="10m")
    case.clock.move(minutes=9)
    assert not set(items_of(case.study.ask(3, "bob"))) & set(items_of(held))
    case.clock.move(minutes=2)
    assert case.study.ask(3, "cleo") == held
    case.study.tell({question.item: 0 for question in held}, "ann")  # late, but an answer
    assert case.study.held_by("cleo") == []
    assert verify(case.path).ok


def test_asking_renews_a_lease(case):
    held = case.study.ask(2, "ann", lease="10m")
    case.clock.move(minutes=9)
    case.study.ask(2, "ann", lease="10m")
    case.clock.move(minutes=9)
    assert not set(items_of(case.study.ask(2, "bob"))) & set(items_of(held))


def test_questions_are_given_back(case):
    held = case.study.ask(3, "ann")
    case.study.release("ann", [held[0].item])
    assert case.study.ask(1, "bob") == held[:1]
    case.study.release("ann")
    assert case.study.ask(2, "bob") == held[:1] + held[1:2]
    case.study.release("nobody")
    with pytest.raises(BadOption, match="say whose"):
        case.study.release(None)


def test_a_known_item_is_never_asked_again(case):
    asked = []
    for k in range(12):
        asked += case.answer(20, f"person {k % 3}")
        case.clock.move(hours=2)
    assert len(asked) == len(set(asked)) == 240


@pytest.mark.parametrize("design", DESIGNS)
def test_every_answer_counts_and_their_order_does_not(make_study, same, design):
    results = []
    for name in ("forth", "back"):
        case = make_study(name=name, design=design)
        stages = [items_of(case.study.ask(15, who)) for who in ("ann", "bob", "cleo")]
        for stage in stages if name == "forth" else stages[::-1]:
            before = case.study.estimate().n_labels
            case.study.tell({item: case.label[item] for item in stage[1:]})
            assert case.study.estimate().n_labels == before + 14
            case.study.tell({stage[0]: case.label[stage[0]]})
        results.append(case.study.estimate())
        assert verify(case.path).ok
    assert same(*results)
    assert results[0].n_labels == 45


def test_two_open_files_see_each_others_work(case, same):
    with hs.Study.open(case.path, clock=case.clock) as other:
        mine, others = case.study.ask(10, "ann"), other.ask(10, "bob")
        assert not set(items_of(mine)) & set(items_of(others))
        other.tell({item: case.label[item] for item in items_of(mine)})
        case.study.tell({item: case.label[item] for item in items_of(others)})
        assert same(case.study.estimate(), other.estimate())
        assert other.n_labels == 20
        with pytest.raises(ConflictingAnswer, match="answered"):
            other.tell({others[0].item: 1 - case.label[others[0].item]})


def test_status_counts(case):
    case.answer(10, "ann")
    case.answer(5, "bob")
    held = case.study.ask(3, "bob")
    case.study.skip(held[0].item, "blurred", "bob")
    status = case.study.status()
    assert (status.labels, status.finished_labels, status.skipped) == (15, 15, 1)
    assert (status.pending, status.leased) == (2, 2)
    assert (status.stages, status.finished_stages) == (3, 2)
    assert status.annotators == {"ann": 10, "bob": 5}
    assert sum(status.labels_of.values()) == 15
    assert status.head == case.study.entries[-1].hash
    case.clock.move(hours=2)
    assert case.study.status().leased == 0


def test_a_skip_finishes_its_stage_and_is_told_in_the_warnings(case):
    items = items_of(case.study.ask(10))
    case.study.skip(items[0], "torn page", "ann")
    case.study.skip(items[0], "again")  # no second entry
    case.study.tell({item: case.label[item] for item in items[1:]})
    estimate = case.study.estimate()
    assert estimate.n_labels == 9
    assert "skipped (1 of them)" in estimate.warnings[-1]
    assert case.study.pending == []
    assert [entry.kind for entry in case.study.entries].count("skip") == 1
    assert items[0] not in case.answer(300)
    assert verify(case.path).ok


@pytest.mark.parametrize("design", DESIGNS)
def test_when_everything_is_skipped_there_is_no_estimate(make_study, design):
    case = make_study(design=design)
    for item in items_of(case.study.ask(3)):
        case.study.skip(item)
    assert "Nobody could label" in case.study.estimate().warnings[0]
    case.answer(10)
    assert case.study.estimate().n_labels == 10
    assert verify(case.path).ok


def test_a_skipped_item_may_be_answered_later(make_study, same):
    late, prompt = make_study(name="late"), make_study(name="prompt")
    items = items_of(late.study.ask(10))
    prompt.answer(10)
    late.study.skip(items[3])
    late.study.tell({item: late.label[item] for item in items if item != items[3]})
    assert late.study.estimate().n_labels == 9
    late.study.tell({items[3]: late.label[items[3]]})
    assert same(late.study.estimate(), prompt.study.estimate())
    assert late.answer(10) == prompt.answer(10)
    with pytest.raises(ConflictingAnswer, match="take that back"):
        late.study.skip(items[3])
    assert verify(late.path).ok


@pytest.mark.parametrize("design", DESIGNS)
def test_a_correction_counts_as_if_it_had_been_the_answer(make_study, same, design):
    """Where no stage was drawn in between; a stage drawn with the slip keeps its weights."""
    slip, right = (make_study(name=name, design=design) for name in ("slip", "right"))
    items = items_of(slip.study.ask(20))
    right.answer(20)
    answers = {item: slip.label[item] for item in items}
    slip.study.tell({**answers, items[4]: 1 - answers[items[4]]}, "ann")
    wrong = slip.study.estimate()
    slip.study.correct(items[4], answers[items[4]], "wrong key", "ann")
    assert same(slip.study.estimate(), right.study.estimate())
    assert not same(slip.study.estimate(), wrong)
    assert slip.answer(20) == right.answer(20)
    assert same(slip.study.estimate(), right.study.estimate())
    entry = next(e for e in slip.study.entries if e.kind == "correction")
    assert entry.data["was"] == 1 - entry.data["label"]
    slip.study.close()
    assert verify(slip.path).ok
    with hs.Study.open(slip.path) as again:
        assert same(again.estimate(), right.study.estimate())


@pytest.mark.parametrize("design", DESIGNS)
def test_weights_stay_when_an_old_answer_is_corrected(make_study, design):
    case = make_study(design=design)
    first = case.answer(15)
    for _ in range(4):
        case.answer(10)
    stages = [entry.data for entry in case.study.entries if entry.kind == "stage"]
    case.study.correct(first[2], 1 - case.label[first[2]])
    case.study.correct(first[3], None, "cannot tell after all")
    case.study.correct(first[3], case.label[first[3]])
    assert [e.data for e in case.study.entries if e.kind == "stage"] == stages
    case.answer(10)
    assert case.study.n_labels == 65
    estimate = case.study.estimate()
    case.study.close()
    verdict = verify(case.path)
    assert verdict.ok, verdict.findings
    assert verdict.estimate.value == estimate.value


def test_the_many_corrections_of_a_long_study_replay(make_study, make_pool):
    """More stages than states are kept, so that a correction folds from an older one."""
    case = make_study(make_pool(2000))
    items = [item for _ in range(150) for item in case.answer(2)]
    for item in (items[0], items[130], items[-1]):
        case.study.correct(item, 1 - case.label[item])
    case.answer(2)
    estimate = case.study.estimate()
    case.study.close()
    with hs.Study.open(case.path) as again:
        assert again.estimate().value == estimate.value
    assert verify(case.path).ok


def test_corrections_are_checked(case):
    items = items_of(case.study.ask(2))
    with pytest.raises(UnknownItem, match="no answer to correct"):
        case.study.correct(items[0], 1)
    case.study.tell({items[0]: 1})
    n_entries = len(case.study.entries)
    case.study.correct(items[0], 1)  # nothing changes
    assert len(case.study.entries) == n_entries


def test_notes_are_kept(case):
    item = case.study.ask(1)[0].item
    case.study.note("two birthdays", "ann", item)
    case.study.note("lunch")
    assert [e.data for e in case.study.entries if e.kind == "note"] == [
        {"text": "two birthdays", "item": item},
        {"text": "lunch"},
    ]


def test_a_stage_may_be_larger_than_what_is_asked_for(case):
    first = case.study.ask(1, "ann", stage=10)
    assert len(case.study.pending) == 10
    others = [case.study.ask(3, who, stage=10) for who in ("bob", "cleo", "dan")]
    everything = items_of([*first, *(question for part in others for question in part)])
    assert everything == items_of(case.study.pending)
    assert case.study.status().stages == 1
    with pytest.raises(BadOption, match="whole number"):
        case.study.ask(1, stage=0)


def test_operations_are_kept_together(make_study, same):
    together, apart = make_study(name="together"), make_study(name="apart")
    with together.study.together():
        for _ in range(4):
            together.answer(5, "ann")
            with pytest.raises(UnknownItem):
                together.study.tell({"nothing": 1})
        assert together.study.n_labels == 20
    for _ in range(4):
        apart.answer(5, "ann")
    assert same(together.study.estimate(), apart.study.estimate())
    kinds = [[entry.kind for entry in case.study.entries] for case in (together, apart)]
    assert kinds[0] == kinds[1]
    assert verify(together.path).ok


def test_of_operations_that_fail_together_nothing_is_kept(case, same):
    case.answer(10)
    before = case.study.estimate()

    def slip():
        with case.study.together():
            case.answer(10)
            raise KeyError

    with pytest.raises(KeyError):
        slip()
    assert case.study.n_labels == 10
    assert same(case.study.estimate(), before)
    case.answer(10)
    assert verify(case.path).ok


CALLS = {
    "ask": lambda study, item, who: study.ask(2, who),
    "tell": lambda study, item, who: study.tell({item: 1}, who),
    "skip": lambda study, item, who: study.skip(item, "torn", who),
    "correct": lambda study, item, who: study.correct(item, 0, "a slip", who),
    "note": lambda study, item, who: study.note("a remark", who),
    "release": lambda study, item, who: study.release(who, [item]),
}
NO_NAMES = [5, True, 2.5, b"ann", ["ann"], "", " \n", "a\0b", "x" * 201, "\ud800"]


@pytest.mark.parametrize("who", NO_NAMES, ids=ascii)
@pytest.mark.parametrize("call", CALLS)
def test_a_name_that_is_no_text_is_one_clear_error_and_leaves_the_study_whole(case, call, who):
    item = case.study.ask(3, "ann")[0].item
    if call == "correct":
        case.study.tell({item: 1}, "ann")
    n_entries = len(case.study.entries)
    with pytest.raises(BadOption, match="an annotator's name is text"):
        CALLS[call](case.study, item, who)
    with case.study.together(), pytest.raises(BadOption, match="an annotator's name is text"):
        CALLS[call](case.study, item, who)
    with hs.Study.open(case.path) as study:
        assert len(study.entries) == n_entries
    assert verify(case.path).ok


@pytest.mark.parametrize("who", [np.str_("ann"), "béa 🐈", "x" * 200, "o'neill\t\"; --"], ids=ascii)
def test_any_text_is_a_name(case, who):
    item = case.study.ask(1, who)[0].item
    case.study.tell({item: 1}, who)
    case.study.correct(item, 0, "a slip", who)
    case.study.note("a remark", who)
    with hs.Study.open(case.path) as study:
        assert study.status().annotators == {str(who): 1}
    assert verify(case.path).ok


def test_what_is_no_text_does_not_enter_the_journal(case):
    item = case.study.ask(1, "ann")[0].item
    for call in (
        lambda: case.study.note("half \ud83d"),
        lambda: case.study.skip(item, "half \ud83d"),
    ):
        with pytest.raises(BadOption, match="half of a surrogate pair"):
            call()
    case.study.note("NUL \0 is kept")
    with hs.Study.open(case.path) as study:
        assert study.entries[-1].data == {"text": "NUL \0 is kept"}
    assert verify(case.path).ok


def test_handing_out_does_not_go_through_what_was_answered(case, monkeypatch):
    """One slow person keeps a stage open; whoever asks then must not pay for all answers since."""
    case.study.ask(1, "slow")
    for _ in range(5):
        case.answer(10, "ann")
    seen = []
    for kind in (Ledger, StochasticLedger):
        monkeypatch.setattr(kind, "questions_of", lambda self, stage: seen.append(stage) or [])
    assert len(case.study.ask(3, "ann")) == 3
    assert seen == []


def test_a_question_that_is_open_again_stands_where_it_was_asked(make_study):
    people = ["ann", "bob", "cleo", "adjudicator"]
    case = make_study(answers_per_item=3, annotators=people, disagreement="adjudicator")
    items = items_of(case.study.ask(4, "ann"))
    for who in ("ann", "bob", "cleo"):
        case.study.tell(dict.fromkeys(items[1:3], 1), who)
    assert items_of(case.study.pending) == [items[0], items[3]]
    case.study.correct(items[1], 0, "a slip", "bob")
    assert items_of(case.study.pending) == [items[0], items[1], items[3]]
    with hs.Study.open(case.path, read_only=True) as again:
        assert items_of(again.pending) == items_of(case.study.pending)


def test_columns_are_those_of_the_item_whatever_chunk_it_is_in(make_study, make_pool):
    pool, label = make_pool(600)
    case = make_study((pool, label), show={"name": [f"item {i}" for i in range(600)]})
    for question in case.study.ask(400):
        assert question.record == {"name": f"item {question.item}"}
