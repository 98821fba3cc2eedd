"""Several people: names, rules for disagreement, agreement."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

import haystat as hs
from haystat.errors import AnswerError, BadOption, ConflictingAnswer, UnknownName

POOL = hs.Pool(np.linspace(0.01, 0.99, 60), strata=4)
FOUR = hs.Pool(np.eye(4)[np.arange(60) % 4], classes=tuple("abcd"), strata=1)


def panel(pool=POOL, **options):
    ev = hs.Evaluation(pool, "accuracy", "passive", random_state=0, **options)
    return ev, ev.ask(12)


def test_majority_settles_as_soon_as_nobody_can_overturn_it():
    ev, queries = panel(answers_per_item=3)
    ev.tell({q: 1 for q in queries}, annotator="ann")
    assert ev.n_labels == 0
    ev.tell({q: int(i < 6) for i, q in enumerate(queries)}, annotator="bob")
    assert ev.n_labels == 6
    assert ev.pending == ev.pending_for("cy") == queries[6:]
    assert ev.pending_for("ann") == []
    ev.tell({q: int(i < 9) for i, q in enumerate(queries)}, annotator="cy")
    assert ev.pending == []
    label = {q.item: ev.state.ledger.label_of[q.item] for q in queries}
    assert list(label.values()) == [1] * 9 + [0] * 3


def test_a_tie_waits_for_one_more():
    ev, queries = panel(FOUR, answers_per_item=2)
    ev.tell({q: "a" for q in queries}, annotator="ann")
    ev.tell({q: "b" for q in queries}, annotator="bob")
    assert ev.pending == queries
    ev.tell({q: "c" for q in queries[:6]}, annotator="cy")
    assert ev.pending == queries
    ev.tell({q: "b" for q in queries}, annotator="dan")
    assert ev.pending == []
    assert set(ev.state.ledger.label_of.values()) == {1}


def test_the_adjudicator_decides_what_others_dispute():
    ev, queries = panel(annotators=["ann", "bob"], answers_per_item=2, disagreement="adjudicator")
    ev.tell({q: 1 for q in queries}, annotator="ann")
    assert ev.pending_for("adjudicator") == []
    ev.tell({q: i % 2 for i, q in enumerate(queries)}, annotator="bob")
    disputed = queries[::2]
    assert ev.pending == ev.pending_for("adjudicator") == disputed
    assert ev.pending_for("bob") == []
    ev.tell({q: 0 for q in disputed}, annotator="adjudicator")
    assert ev.pending == []
    assert [ev.state.ledger.label_of[q.item] for q in queries] == [0, 1] * 6


def test_names_and_rules_are_checked():
    ev, queries = panel(annotators=["ann", "bob"], answers_per_item=2)
    for name, error, message in (
        ("eve", UnknownName, r"no annotator 'eve'; the evaluation has \['ann', 'bob'\]"),
        ("adjudicator", UnknownName, "no annotator"),
        (None, AnswerError, "say who answers"),
    ):
        with pytest.raises(error, match=message) as caught:
            ev.tell({queries[0]: 1}, annotator=name)
        assert "nothing was recorded" in str(caught.value)
    with pytest.raises(UnknownName):
        ev.pending_for("eve")
    ev.tell({queries[0]: 1}, annotator="ann")
    ev.tell({queries[0]: 1}, annotator="ann")
    with pytest.raises(ConflictingAnswer, match="was answered 1 by ann and is now 0"):
        ev.tell({queries[0]: 0}, annotator="ann")
    with pytest.raises(BadOption, match="run"):
        ev.run(lambda items: items, budget=20)
    for options, message in (
        ({"answers_per_item": 0}, "answers_per_item is 0"),
        ({"answers_per_item": 2.0}, "answers_per_item"),
        ({"disagreement": "coin"}, "disagreement is 'coin'; it can be"),
        ({"annotators": ["ann"], "answers_per_item": 2}, "name at least as many"),
        ({"oracle": "stochastic", "answers_per_item": 2}, "every answer counts"),
    ):
        with pytest.raises(BadOption, match=message):
            hs.Evaluation(POOL, **options)


def test_without_a_panel_a_second_opinion_must_agree():
    ev, queries = panel()
    ev.tell({queries[0]: 1}, annotator="ann")
    ev.tell({queries[0]: 1}, annotator="bob")
    with pytest.raises(ConflictingAnswer, match="by ann"):
        ev.tell({queries[0]: 0}, annotator="cy")
    assert ev.agreement().share == 1.0


def test_kappa_is_scikit_learns():
    rng = np.random.default_rng(0)
    ev = hs.Evaluation(FOUR, "accuracy", "passive", random_state=0, answers_per_item=3)
    queries = ev.ask(40)
    truth = rng.integers(4, size=40)
    said = {}
    for name in ("ann", "bob", "cy"):
        label = np.where(rng.random(40) < 0.7, truth, rng.integers(4, size=40))
        said[name] = label
        ev.tell({q: "abcd"[c] for q, c in zip(queries, label, strict=True)}, annotator=name)
    found = ev.agreement()
    pairs = [("ann", "bob"), ("ann", "cy"), ("bob", "cy")]
    expected = {pair: cohen_kappa_score(said[pair[0]], said[pair[1]]) for pair in pairs}
    assert found.pairs == pytest.approx(expected)
    assert found.kappa == pytest.approx(np.mean(list(expected.values())))
    assert found.share == pytest.approx(np.mean([np.mean(said[a] == said[b]) for a, b in pairs]))
    assert (found.n_items, found.n_answers) == (40, 120)


def test_agreement_of_repeat_answers_needs_no_names():
    pool = hs.Pool([0.1, 0.9], strata=1)
    ev = hs.Evaluation(pool, "accuracy", "passive", oracle="stochastic", random_state=0)
    assert np.isnan(ev.agreement().share)
    queries = ev.ask(30)
    ev.tell({q: int(q.item == 1) for q in queries})
    found = ev.agreement()
    assert found.share == 1.0
    assert np.isnan(found.kappa)
    assert (found.n_items, found.n_answers) == (2, 30)


def test_a_saved_log_keeps_who_said_what(tmp_path):
    options = {"annotators": ["ann", "bob"], "answers_per_item": 2, "disagreement": "adjudicator"}
    ev, queries = panel(**options)
    ev.tell({q: 1 for q in queries}, annotator="ann")
    ev.tell({q: i % 2 for i, q in enumerate(queries)}, annotator="bob")
    ev.save(tmp_path / "log")
    again = hs.Evaluation.load(tmp_path / "log", POOL)
    assert again.pending_for("adjudicator") == queries[::2]
    assert again.agreement() == ev.agreement()
    again.tell({q: 0 for q in queries[::2]}, annotator="adjudicator")
    assert again.pending == []
