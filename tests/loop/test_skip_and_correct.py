"""Skips, corrections and several answers an item: the same in memory and in a study."""

from __future__ import annotations

import numpy as np
import pytest

import haystat as hs
from haystat.errors import AnswerError, BadOption, ConflictingAnswer, UnknownItem, UnknownName
from haystat.study import verify


@pytest.fixture(params=["memory", "study"])
def make(request, tmp_path):
    """An evaluation or a study of the same settings."""

    def made(pool, measure="accuracy", design="passive", **options):
        options = {"random_state": 0, **options}
        if request.param == "memory":
            return hs.Evaluation(pool, measure, design, **options)
        number = len(list(tmp_path.iterdir()))
        return hs.Study.create(tmp_path / f"{number}.haystat", pool, measure, design, **options)

    return made


def answers_for(queries, truth):
    """Answers by the questions themselves, so that repeats are told apart."""
    return {query: truth[query.item] for query in queries}


def same(one, other):
    return np.array_equal(one.values, other.values) and np.array_equal(
        one.intervals, other.intervals, equal_nan=True
    )


@pytest.mark.parametrize("oracle", ["deterministic", "stochastic"])
@pytest.mark.parametrize("labels", ["classes", "texts", "numbers"])
def test_a_corrected_answer_counts_as_if_it_had_been_the_first(make, pool_of, labels, oracle):
    pool, truth = pool_of(labels)
    measure = "mse" if labels == "numbers" else "accuracy"
    slip, right = (make(pool, measure, oracle=oracle) for _ in range(2))
    wrong = truth[0] + 7.0 if labels == "numbers" else None
    for ev in (slip, right):
        queries = ev.ask(20)
        given = answers_for(queries, truth)
        if ev is slip:
            other = (
                wrong
                if wrong is not None
                else next(c for c in pool.classes if c != truth[queries[3].item])
            )
            given[queries[3]] = other
        ev.tell(given)
    before = slip.estimate()
    with pytest.raises(ConflictingAnswer, match=r"use correct\(\)"):
        slip.tell({queries[3]: truth[queries[3].item]})
    slip.correct(queries[3], truth[queries[3].item], "a slip")
    assert same(slip.estimate(), right.estimate())
    assert not same(slip.estimate(), before)
    assert slip.ask(5) == right.ask(5)


@pytest.mark.parametrize("oracle", ["deterministic", "stochastic"])
@pytest.mark.parametrize("labels", ["classes", "numbers"])
def test_a_skipped_question_stands_for_what_nobody_can_tell(make, pool_of, labels, oracle):
    pool, truth = pool_of(labels)
    ev = make(pool, "mse" if labels == "numbers" else "accuracy", oracle=oracle)
    queries = ev.ask(10)
    ev.skip(queries[0], "torn page")
    ev.skip(queries[0])
    ev.tell(answers_for(queries[1:], truth))
    estimate = ev.estimate()
    assert (ev.n_labels, ev.pending, estimate.n_labels) == (9, [], 9)
    assert "skipped (1 of them)" in estimate.warnings[-1]
    with pytest.raises(ConflictingAnswer, match=r"correct\(item, None\)"):
        ev.skip(queries[1])
    ev.correct(queries[1], None, "on second thought")
    assert ev.n_labels == 8
    ev.tell({queries[0]: truth[queries[0].item]})  # it could be told after all
    assert ev.n_labels == 9
    with pytest.raises(UnknownItem, match="no answer to correct"):
        ev.correct(ev.ask(1)[0], truth[0])


def test_several_answers_settle_a_question_and_corrections_open_it_again(make, pool_of):
    pool, _ = pool_of("classes")
    ev = make(pool, answers_per_item=2, annotators=["ann", "bob", "cy"])
    first, *rest = ev.ask(4, "ann") if hasattr(ev, "path") else ev.ask(4)
    with pytest.raises(AnswerError, match="say who answers"):
        ev.tell({first: 1})
    with pytest.raises(UnknownName):
        ev.skip(first, annotator="dan")
    ev.tell(dict.fromkeys([first, *rest], 1), "ann")
    assert ev.n_labels == 0
    ev.tell(dict.fromkeys([first, *rest], 1), "bob")
    assert (ev.n_labels, ev.pending) == (4, [])
    assert ev.estimate().n_labels == 4
    ev.correct(first, 0, "a slip", "bob")
    assert ev.pending == [first]
    assert ev.pending_for("cy") == [first]
    assert ev.pending_for("ann") == []
    with pytest.raises(UnknownItem, match="no answer to correct"):
        ev.correct(first, 1, annotator="cy")
    ev.skip(first, "torn", "cy")
    assert ev.pending == [first]  # one each: nobody has the majority
    ev.correct(first, 0, annotator="cy")
    assert (ev.n_labels, ev.pending) == (4, [])
    assert {answer.item: answer.label for answer in ev.answers}[first.item] == 0
    assert ev.agreement().n_items == 4


def test_the_median_is_for_numbers(make, pool_of):
    pool, truth = pool_of("numbers")
    ev = make(pool, "mse", answers_per_item=3, disagreement="median")
    queries = ev.ask(3, "ann") if hasattr(ev, "path") else ev.ask(3)
    for who, off in (("ann", -1.0), ("bob", 0.0), ("cy", 50.0)):
        ev.tell({q: truth[q.item] + off for q in queries}, who)
    assert [answer.label for answer in ev.answers] == [float(truth[q.item]) for q in queries]
    with pytest.raises(BadOption, match="labels that are numbers"):
        make(pool_of("classes")[0], answers_per_item=3, disagreement="median")


def test_a_log_that_was_saved_holds_skips_and_corrections(pool_of, tmp_path):
    pool, truth = pool_of("classes")
    ev = hs.Evaluation(pool, "f1", random_state=0)
    queries = ev.ask(12)
    ev.tell(answers_for(queries[:10], truth), "ann")
    ev.skip(queries[10], "torn")
    ev.correct(queries[0], 1 - truth[queries[0].item], "a slip", "bob")
    ev.save(tmp_path / "log.jsonl")
    again = hs.Evaluation.load(tmp_path / "log.jsonl", pool)
    assert same(again.estimate(), ev.estimate())
    assert again.answers == ev.answers
    assert again.pending == ev.pending == [queries[11]]


@pytest.mark.parametrize("oracle", ["deterministic", "stochastic"])
@pytest.mark.parametrize("labels", ["classes", "texts", "numbers"])
def test_a_study_gives_what_an_evaluation_gives(pool_of, tmp_path, labels, oracle):
    pool, truth = pool_of(labels)
    measure = "mse" if labels == "numbers" else "accuracy"
    ev = hs.Evaluation(pool, measure, oracle=oracle, random_state=3)
    path = tmp_path / "a.haystat"
    with hs.Study.create(path, pool, measure, oracle=oracle, random_state=3) as study:
        for n in (15, 10):
            queries = ev.ask(n)
            assert [q.key for q in study.ask(n)] == [q.key for q in queries]
            for one in (ev, study):
                one.tell(answers_for(queries, truth))
        found = study.estimate()
    assert same(found, ev.estimate())
    with hs.Study.open(path) as again:
        assert same(again.estimate(), found)
    verdict = verify(path)
    assert verdict.ok, verdict.findings
    assert same(verdict.estimate, found)


def test_soft_answers_survive_the_file(pool_of, tmp_path):
    pool, _ = pool_of("classes")
    ev = hs.Evaluation(pool, "accuracy", oracle="stochastic", random_state=3)
    path = tmp_path / "a.haystat"
    with hs.Study.create(path, pool, "accuracy", oracle="stochastic", random_state=3) as study:
        queries = ev.ask(12)
        assert [q.key for q in study.ask(12)] == [q.key for q in queries]
        for one in (ev, study):
            one.tell({q: 0.25 for q in queries[:6]})
            one.tell({q: {0: 0.5, 1: 0.5} for q in queries[6:9]})
            one.tell({q: 1 for q in queries[9:]})
    with hs.Study.open(path) as again:
        assert same(again.estimate(), ev.estimate())
        assert again.answers[0].label == (0.75, 0.25)


def test_two_people_hold_a_question_that_takes_two_answers(pool_of, tmp_path):
    pool, _ = pool_of("classes")
    path = tmp_path / "a.haystat"
    with hs.Study.create(path, pool, random_state=0, answers_per_item=2) as study:
        mine, others = study.ask(3, "ann"), study.ask(3, "bob")
        assert mine == others
        assert study.ask(3, "cy") != mine
        study.tell(dict.fromkeys(mine, 1), "ann")
        assert study.held_by("bob") == others
        assert study.ask(3, "bob") == others
    assert verify(path).ok
