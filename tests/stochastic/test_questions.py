"""How a stochastic evaluation is asked and told: keys, repeats, soft answers, saved logs."""

from __future__ import annotations

import numpy as np
import pytest

import haystat as hs
from haystat.errors import (
    AnswerError,
    BadOption,
    ConflictingAnswer,
    UnknownItem,
    UnknownLabel,
)


def small(**options):
    """Three items, so that a stage of ten draws asks about each several times."""
    pool = hs.Pool([0.2, 0.6, 0.9], strata=1, **options)
    return hs.Evaluation(pool, "accuracy", "passive", oracle="stochastic", random_state=0)


def test_every_draw_is_a_question_with_a_key_of_its_own():
    ev = small()
    queries = ev.ask(10) + ev.ask(5)
    assert len({query.key for query in queries}) == 15
    assert {query.item for query in queries} == {0, 1, 2}
    assert ev.pending == queries
    again = [query for query in queries[:10] if query.item == queries[0].item]
    assert [query.key for query in again[:2]] == [f"0.{again[0].item}", f"0.{again[0].item}.2"]


@pytest.mark.parametrize("name", [lambda q: q, lambda q: q.key])
def test_answers_go_to_the_draw_that_is_named(name):
    ev = small()
    queries = ev.ask(10)
    labels = [i % 2 for i in range(10)]
    ev.tell({name(q): label for q, label in zip(queries[5:], labels[5:], strict=True)})
    assert ev.n_labels == 5
    assert ev.pending == queries[:5]
    ev.tell({name(q): label for q, label in zip(queries, labels, strict=True)})
    assert ev.n_labels == 10
    rows = ev.state.ledger.drawn_items()
    np.testing.assert_array_equal(rows.label, labels)
    np.testing.assert_array_equal(rows.item, [q.item for q in queries])


def test_an_item_names_its_question_only_if_there_is_one():
    ev = small()
    (query,) = ev.ask(1)
    ev.tell({query.item: 1})
    ev.tell({query.item: 1})
    with pytest.raises(ConflictingAnswer, match="was answered 1 and is now 0"):
        ev.tell({query.item: 0})
    queries = ev.ask(10)
    again = next(q for q in queries if q.item == query.item)
    with pytest.raises(AnswerError, match=r"by its key, one of \['0\..*nothing was recorded"):
        ev.tell({query.item: 0})
    ev.tell({again.key: 0})  # the same item, another draw, another answer
    assert ev.n_labels == 2
    with pytest.raises(ConflictingAnswer, match="was answered 0 and is now 1"):
        ev.tell({again: 1})
    never = hs.Query(query.item, "7.1")
    for name in (never, "7.1", "0.0.1", "00.1", 99):
        with pytest.raises(UnknownItem):
            ev.tell({name: 1})
    twice = {queries[0]: 0, queries[0].key: 1}
    if queries[0] == again:
        twice = {queries[1]: 0, queries[1].key: 1}
    with pytest.raises(AnswerError, match="answered twice"):
        ev.tell(twice)


def test_an_id_that_looks_like_a_key_is_no_trap():
    ev = small(ids=["0.1", "0.0", "x"])
    queries = ev.ask(6)
    assert {q.item for q in queries} == {"0.1", "0.0", "x"}
    with pytest.raises(AnswerError, match="both an item and the key"):
        ev.tell({"0.1": 1})
    ev.tell({query: 1 for query in queries})
    assert ev.pending == []


def test_a_deterministic_evaluation_takes_keys_and_queries_too():
    ev = hs.Evaluation(hs.Pool([0.2, 0.6, 0.9], strata=1), "accuracy", "passive", random_state=0)
    one, two, three = ev.ask(3)
    ev.tell({one: 1, two.key: 0, three.item: 1})
    assert ev.pending == []


def test_soft_answers_count_with_their_mean_loss():
    soft, hard = small(classes=("no", "yes")), small(classes=("no", "yes"))
    for ev in (soft, hard):
        ev.ask(40)
    rng = np.random.default_rng(0)
    chance = dict(zip([q.key for q in soft.pending], rng.random(40).tolist(), strict=True))
    forms = (lambda p: p, lambda p: [1 - p, p], lambda p: {"yes": p, "no": 1 - p}, np.float64)
    soft.tell({key: forms[i % 4](p) for i, (key, p) in enumerate(chance.items())})
    hard.tell({query: "yes" for query in hard.pending})
    item = np.array([int(q) for q in soft.state.ledger.drawn_items().item])
    wrong = np.where(item == 0, list(chance.values()), 1 - np.array(list(chance.values())))
    estimate = soft.estimate()
    assert estimate.value == pytest.approx(1 - wrong.mean())
    assert estimate.std_error == pytest.approx(wrong.std(ddof=1) / np.sqrt(40))
    assert hard.estimate().value == pytest.approx(1 - np.mean(item == 0))


@pytest.mark.parametrize("design", ["oasis", "adaptive", "adaptive_flat"])
def test_soft_answers_teach_the_model_in_parts(binary, design):
    ev = hs.Evaluation(binary.pool, "f1", design, oracle="stochastic", random_state=0)
    queries = ev.ask(50)
    share = {q: float(binary.share[q.item, 1]) for q in queries}
    ev.tell(share)
    weight = np.concatenate([stage.weight for stage in ev.state.ledger.stages])
    state = ev.state.ledger.state
    seen = state.seen if design != "oasis" else state.weight
    assert seen[:, 1].sum() == pytest.approx(weight @ np.array(list(share.values())))
    assert seen.sum() == pytest.approx(weight.sum())


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (1.2, AnswerError, "is no distribution over"),
        (-0.1, AnswerError, "is no distribution over"),
        (float("nan"), AnswerError, "is no distribution over"),
        ([0.5, 0.6], AnswerError, "probabilities are at least 0 and sum to 1"),
        ({0: 0.5}, AnswerError, "sum to 1"),
        ([0.2, 0.3, 0.5], UnknownLabel, "nor probabilities of them"),
        ({"cat": 1.0}, UnknownLabel, "nor probabilities of them"),
        ("1", UnknownLabel, "is not one of"),
        (["a", "b"], UnknownLabel, "is not one of"),
        (None, UnknownLabel, "is not one of"),
        (2, UnknownLabel, "is not one of"),
    ],
)
def test_answers_of_the_wrong_kind_are_refused(answer, error, message):
    ev = small()
    queries = ev.ask(4)
    with pytest.raises(error, match=message) as caught:
        ev.tell({queries[0]: 1, queries[1]: answer})
    assert "nothing was recorded" in str(caught.value)
    assert ev.n_labels == 0


def test_soft_answers_need_a_stochastic_oracle():
    ev = hs.Evaluation(hs.Pool([0.2, 0.6, 0.9], strata=1), "accuracy", "passive", random_state=0)
    (query,) = ev.ask(1)
    with pytest.raises(UnknownLabel, match=r"0\.5"):
        ev.tell({query: 0.5})


def test_a_saved_log_gives_the_same_numbers(binary, tmp_path):
    ev = hs.Evaluation(binary.pool, "f1", oracle="stochastic", random_state=3)
    oracle = binary.oracle(1)
    for _ in range(3):
        queries = ev.ask(40)
        labels = oracle([q.item for q in queries])
        ev.tell({q: label for q, label in zip(queries[::2], labels[::2], strict=True)}, "ann")
        ev.tell({q: 0.25 for q in queries[1::2]}, "bob")
    ev.ask(7)
    ev.save(tmp_path / "log")
    again = hs.Evaluation.load(tmp_path / "log", binary.pool)
    assert again.pending == ev.pending
    assert again.estimate().value == ev.estimate().value
    assert again.estimate().interval == ev.estimate().interval
    assert again.agreement() == ev.agreement() or np.isnan(ev.agreement().kappa)
    for one in (ev, again):
        one.tell({q: 0 for q in one.pending})
    assert [q.key for q in again.ask(9)] == [q.key for q in ev.ask(9)]


def test_designs_that_ask_once_are_refused():
    with pytest.raises(BadOption, match="stratified asks about an item once"):
        hs.Evaluation(hs.Pool([0.1, 0.9], strata=1), "f1", "stratified", oracle="stochastic")
