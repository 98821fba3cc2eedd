"""What an Evaluation refuses: its error, its message, and that nothing was recorded."""

from __future__ import annotations

import json

import numpy as np
import pytest

import haystat as hs
from haystat.designs import DESIGNS
from haystat.errors import (
    AnswerError,
    BadOption,
    BudgetError,
    ConflictingAnswer,
    HaystatError,
    LogError,
    UnknownItem,
    UnknownLabel,
    UnknownName,
)


@pytest.fixture
def case(pool_of):
    return pool_of(100, seed=2)


@pytest.fixture
def asked(case):
    """An evaluation with an open stage, and the answers to it."""
    pool, label = case
    ev = hs.Evaluation(pool, "f1", random_state=0)
    return ev, {q.item: int(label[q.item]) for q in ev.ask(10)}


def refuses(ev, answers, error, message):
    """`tell` raises this and leaves everything as it was."""
    before = len(ev.entries), ev.n_labels, ev.pending
    with pytest.raises(error, match=message) as caught:
        ev.tell(answers)
    assert isinstance(caught.value, HaystatError)
    assert "nothing was recorded" in str(caught.value) or error is UnknownItem
    assert (len(ev.entries), ev.n_labels, ev.pending) == before


@pytest.mark.parametrize("label", [2, -1, "1", None, 0.5, float("nan"), [1], np.float64(3)])
def test_tell_rejects_a_label_outside_the_classes(asked, label):
    ev, answers = asked
    bad = dict(answers)
    bad[list(answers)[-1]] = label
    refuses(ev, bad, UnknownLabel, r"is not one of \[0, 1\]; add it to `classes`")


def test_tell_takes_labels_of_any_numeric_type(asked):
    ev, answers = asked
    kinds = (np.int8, float, bool, np.float32, int)
    ev.tell({item: kinds[i % 5](label) for i, (item, label) in enumerate(answers.items())})
    assert ev.n_labels == 10


def test_tell_rejects_an_item_that_was_never_asked(asked):
    ev, answers = asked
    other = next(item for item in range(100) if item not in answers)
    refuses(ev, answers | {other: 1}, UnknownItem, f"item {other} was never asked about")


@pytest.mark.parametrize("item", [100, -1, "3", 2.5, None])
def test_tell_rejects_an_item_that_does_not_exist(asked, item):
    ev, answers = asked
    refuses(ev, answers | {item: 1}, UnknownItem, "was never asked about")


def test_tell_rejects_a_conflicting_answer(asked):
    ev, answers = asked
    ev.tell(answers)
    item, label = next(iter(answers.items()))
    refuses(
        ev, {item: 1 - label}, ConflictingAnswer, f"was answered {label} and is now {1 - label}"
    )


def test_one_bad_answer_spoils_the_whole_call(asked):
    ev, answers = asked
    some = dict(list(answers.items())[:5])
    ev.tell(some)
    first = next(iter(some))
    refuses(ev, answers | {first: 1 - some[first]}, ConflictingAnswer, "now")
    assert ev.n_labels == 5


@pytest.mark.parametrize("n", [0, -3, 2.5, "5", None, True])
def test_ask_wants_a_positive_whole_number(case, n):
    with pytest.raises(BadOption, match="whole number of labels, at least 1"):
        hs.Evaluation(case[0], random_state=0).ask(n)


def test_more_labels_than_items_are_refused(case, oracle_of):
    pool, label = case
    ev = hs.Evaluation(pool, random_state=0)
    with pytest.raises(BudgetError, match="101 labels wanted, but the pool has 100 items"):
        ev.ask(101)
    with pytest.raises(BudgetError, match=r"budget of 500 labels.*give at most 100"):
        ev.run(oracle_of(label), budget=500)
    assert ev.entries == []


@pytest.mark.parametrize("design", hs.designs.DESIGNS)
@pytest.mark.parametrize("option", ["covariance", "stage_weights"])
def test_an_estimate_refuses_options_that_there_are_not(case, design, option):
    ev = hs.Evaluation(case[0], design=design, random_state=0)
    with pytest.raises(BadOption, match=f"{option} is 'nope'"):
        ev.estimate(**{option: "nope"})


def test_an_oracle_must_answer_every_item(case):
    with pytest.raises(AnswerError, match="1 labels for 20 items"):
        hs.Evaluation(case[0], random_state=0).run(lambda items: [1], budget=50, batch_size=20)


@pytest.mark.parametrize("design", DESIGNS)
def test_estimate_before_any_label_is_undefined_with_a_reason(case, design):
    ev = hs.Evaluation(case[0], "f1", design, random_state=0)
    for _ in range(2):
        estimate = ev.estimate()
        assert np.isnan(estimate.value)
        assert np.all(np.isnan(estimate.interval))
        assert (estimate.n_labels, estimate.n_draws) == (0, 0)
        assert "Ask for labels" in estimate.warnings[0]
        ev.ask(3)


@pytest.mark.parametrize("random_state", [-1, 1.5, "seed", [1]])
def test_other_random_states_are_refused(case, random_state):
    with pytest.raises(BadOption, match="an integer from 0, a Generator or None"):
        hs.Evaluation(case[0], random_state=random_state)


def test_names_and_options_are_checked_when_the_evaluation_is_made(case):
    pool, _ = case
    with pytest.raises(UnknownName, match="did you mean 'adaptive'"):
        hs.Evaluation(pool, design="adaptve")
    with pytest.raises(UnknownName, match="did you mean 'recall'"):
        hs.Evaluation(pool, "recal")
    with pytest.raises(BadOption, match="delta"):
        hs.Evaluation(pool, delta=1.5)
    with pytest.raises(BadOption, match="epsilon"):
        hs.Evaluation(pool, epsilon=0)
    with pytest.raises(BadOption, match="gamma"):
        hs.Evaluation(pool, gamma=3)
    with pytest.raises(BadOption, match="go with the name"):
        hs.Evaluation(pool, design=hs.designs.Adaptive(), delta=0.1)
    with pytest.raises(BadOption, match="F-measures"):
        hs.Evaluation(pool, "accuracy", "oasis")
    with pytest.raises(BadOption, match="oracle"):
        hs.Evaluation(pool, oracle="guess")
    with pytest.raises(BadOption, match="level"):
        hs.Evaluation(pool).estimate(level=95)


EDGES = {
    "one item": ([0.7], None, [1]),
    "one negative item": ([0.2], None, [0]),
    "twenty items": (np.linspace(-2, 2, 20), None, [0, 1] * 10),
    "all scores equal": (np.full(20, 0.3), None, [0, 0, 0, 1] * 5),
    "all scores zero": (np.zeros(20), None, [0, 0, 0, 1] * 5),
    "all scores one": (np.ones(20), None, [0, 0, 0, 1] * 5),
    "scores are labels": ([0.0, 1.0] * 10, None, [0, 0, 0, 1] * 5),
    "a class never seen": (np.linspace(-2, 2, 20), None, [0] * 20),
    "only positives": (np.linspace(-2, 2, 20), None, [1] * 20),
    "predictions all 0": (np.linspace(-2, 2, 20), [0] * 20, [0, 1] * 10),
    "never wrong": (np.linspace(-2, 2, 20), None, [0] * 10 + [1] * 10),
}


@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("measure", ["f1", "recall", "precision", "accuracy"])
def test_odd_pools_end_at_the_exact_value_or_say_why_not(edge, design, measure):
    if (design, measure) == ("oasis", "accuracy"):
        pytest.skip("oasis is for F-measures")
    scores, predictions, label = EDGES[edge]
    pool = hs.Pool(scores, predictions, strata=4)
    ev = hs.Evaluation(pool, measure, design, random_state=0)
    while queries := ev.ask(min(3, len(pool))):
        ev.tell({q.item: label[q.item] for q in queries})
        partial = ev.estimate()
        low, high = partial.interval
        assert np.isnan(partial.value) or 0 <= low <= partial.value <= high <= 1
        assert not np.isnan(partial.value) or partial.warnings
    assert ev.ask(1) == []
    outputs = pool.outputs(np.arange(len(pool)))
    bound = hs.measures.resolve(measure).bind(pool.schema)
    exact = bound.value(bound.loss(outputs, np.array(label)).mean(axis=0))
    estimate = ev.estimate()
    np.testing.assert_allclose(estimate.values, exact)
    if np.isnan(exact[0]):
        assert f"{measure} is undefined" in estimate.warnings[0]
    else:
        assert estimate.interval == (estimate.value, estimate.value)


@pytest.fixture
def saved(asked, tmp_path):
    ev, answers = asked
    ev.tell(answers)
    path = tmp_path / "log.jsonl"
    ev.save(path)
    return path


def test_a_log_cut_anywhere_is_refused(saved, case):
    whole = saved.read_bytes()
    line_ends = np.cumsum([len(line) for line in whole.splitlines(keepends=True)])[:-1]
    for length in [0, 1, 40, *range(0, len(whole) - 1, 97), len(whole) - 2, *line_ends]:
        saved.write_bytes(whole[:length])
        with pytest.raises(LogError, match=r"cut short|damaged|not a haystat log"):
            hs.Evaluation.load(saved, case[0])


@pytest.mark.parametrize("content", [b"", b"3\n", b"[]\n{}\n", b"\x80\x81\n", b'{"haystat": 99}\n'])
def test_a_file_that_is_no_log_is_refused(saved, case, content):
    saved.write_bytes(content)
    with pytest.raises(LogError, match=r"damaged|not a haystat log"):
        hs.Evaluation.load(saved, case[0])


def test_a_log_of_an_unknown_entry_is_refused(saved, case):
    lines = saved.read_text().splitlines()
    lines[1] = json.dumps({**json.loads(lines[1]), "kind": "verdict"})
    saved.write_text("\n".join(lines) + "\n")
    with pytest.raises(LogError, match="entry 1 is a 'verdict', which is unknown"):
        hs.Evaluation.load(saved, case[0])


def test_a_log_of_another_pool_is_refused(saved, case):
    scores = case[0].scores[:, 0]
    others = {
        "scores": hs.Pool(scores + 1, strata=8),
        "strata": hs.Pool(scores, strata=5),
        "seed": hs.Pool(scores, strata=8, seed=1),
        "ids": hs.Pool(scores, strata=8, ids=np.arange(100) + 7),
        "predictions": hs.Pool(scores, np.zeros(100, int), strata=8),
        "probabilities": hs.Pool(scores, strata=8, probabilities=np.full(100, 0.5)),
        "tree": hs.Pool(scores, strata=8, branching=3),
        "classes": hs.Pool(scores, strata=8, classes=("no", "yes")),
    }
    for pool in others.values():
        with pytest.raises(LogError, match="belongs to another pool"):
            hs.Evaluation.load(saved, pool)
    hs.Evaluation.load(saved, hs.Pool(scores, strata=8))


def test_a_log_of_another_measure_or_design_is_refused(saved, case):
    with pytest.raises(LogError, match="was made with measure 'f1', not 'recall'"):
        hs.Evaluation.load(saved, case[0], measure="recall")
    with pytest.raises(LogError, match="was made with design 'assisted', not 'passive'"):
        hs.Evaluation.load(saved, case[0], design="passive")


class Share(hs.measures.Accuracy):
    """A measure that no table knows."""


@pytest.mark.parametrize("measure", [hs.measures.Recall(positive=0), Share()])
def test_a_measure_that_no_table_knows_must_be_given_again(case, tmp_path, measure):
    ev = hs.Evaluation(case[0], measure, random_state=0)
    ev.tell({q.item: int(case[1][q.item]) for q in ev.ask(20)})
    ev.save(tmp_path / "log.jsonl")
    if type(measure) is Share:
        with pytest.raises(LogError, match="was an object of your own; give it again"):
            hs.Evaluation.load(tmp_path / "log.jsonl", case[0])
    else:
        hs.Evaluation.load(tmp_path / "log.jsonl", case[0])
    again = hs.Evaluation.load(tmp_path / "log.jsonl", case[0], measure=measure)
    assert again.estimate().value == ev.estimate().value


def test_a_log_of_the_first_format_is_refused_by_its_version(saved, case):
    lines = saved.read_text().splitlines()
    lines[0] = json.dumps({**json.loads(lines[0]), "haystat": 1})
    saved.write_text("\n".join(lines) + "\n")
    with pytest.raises(LogError, match=r"format 1, of haystat 0\.1\.0"):
        hs.Evaluation.load(saved, case[0])


def test_a_failed_save_leaves_the_old_file(saved, case, monkeypatch):
    before = saved.read_bytes()
    ev = hs.Evaluation.load(saved, case[0])
    ev.ask(5)
    monkeypatch.setattr("haystat.loop.journal_file.asdict", lambda entry: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        ev.save(saved)
    assert saved.read_bytes() == before
