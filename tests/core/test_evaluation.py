"""Ask, tell, estimate: order does not matter, replay is exact, small pools are exhausted."""

from __future__ import annotations

import numpy as np
import pytest

import haystat as hs
from haystat.designs import DESIGNS
from haystat.errors import NoSupport


def same(one, other):
    """Whether two estimates agree bit for bit."""
    return (
        one.values.tobytes() == other.values.tobytes()
        and one.terms.tobytes() == other.terms.tobytes()
        and (one.n_labels, one.n_draws) == (other.n_labels, other.n_draws)
    )


def truth_of(measure, pool, label):
    bound = hs.measures.resolve(measure).bind(pool.schema)
    outputs = pool.outputs(np.arange(len(pool)))
    return bound.value(bound.loss(outputs, label).mean(axis=0))


@pytest.fixture
def case(pool_of):
    return pool_of(300, seed=2)


@pytest.mark.parametrize("design", DESIGNS)
def test_answers_in_any_order_and_any_portions_give_the_same_numbers(case, design):
    pool, label = case
    results = []
    for order in ("forward", "backward", "one by one"):
        ev = hs.Evaluation(pool, "f1", design, random_state=5)
        for n in (30, 20):
            items = [query.item for query in ev.ask(n)]
            items = items[::-1] if order == "backward" else items
            portions = [[item] for item in items] if order == "one by one" else [items]
            for portion in portions:
                ev.tell({item: int(label[item]) for item in portion})
        results.append((ev.estimate(), [q.item for q in ev.ask(10)]))
    assert all(same(results[0][0], result[0]) for result in results)
    assert results[0][1] == results[1][1] == results[2][1]


@pytest.mark.parametrize("design", DESIGNS)
def test_answers_to_two_open_stages_may_come_in_any_order(case, design):
    pool, label = case
    results = []
    for first_first in (True, False):
        ev = hs.Evaluation(pool, "f1", design, random_state=5)
        stages = [[q.item for q in ev.ask(25)], [q.item for q in ev.ask(25)]]
        assert not set(stages[0]) & set(stages[1])
        for stage in stages if first_first else stages[::-1]:
            ev.tell({item: int(label[item]) for item in stage})
        results.append(ev.estimate())
    assert same(*results)


@pytest.mark.parametrize("design", [name for name in DESIGNS if name != "assisted"])
def test_every_answer_counts_and_a_stage_is_finished_after_those_before(case, design):
    pool, label = case
    ev = hs.Evaluation(pool, "f1", design, random_state=1)
    first, second = ([q.item for q in ev.ask(20)] for _ in range(2))
    assert [q.item for q in ev.pending] == first + second
    ev.tell({item: int(label[item]) for item in second})
    assert ev.estimate().n_labels == 20
    text = "20 of 40 questions are not answered yet"
    assert text in ev.estimate().warnings[-1]
    assert [q.item for q in ev.pending] == first
    ev.tell({item: int(label[item]) for item in first[1:]})
    assert ev.estimate().n_labels == 39
    assert not any("not answered" in warning for warning in ev.estimate().warnings)
    assert [record["finished"] for record in ev.history] == [False, False]
    ev.tell({first[0]: int(label[first[0]])})
    assert ev.estimate().n_labels == 40
    assert ev.pending == []
    assert [record["finished"] for record in ev.history] == [True, True]


def test_the_default_design_takes_every_label_and_says_what_it_waits_for(case):
    pool, label = case
    ev = hs.Evaluation(pool, "f1", random_state=1)
    first, second = ([q.item for q in ev.ask(20)] for _ in range(2))
    ev.tell({item: int(label[item]) for item in second})
    part = ev.estimate()
    assert part.n_labels == 20
    assert np.isfinite(part.value)
    assert "20 of 40 questions are not answered yet" in part.warnings[-1]
    with pytest.raises(NoSupport, match="finished stages"):
        _ = part.guaranteed_interval
    ev.tell({item: int(label[item]) for item in first})
    whole = ev.estimate()
    assert whole.n_labels == 40
    assert not any("not answered" in warning for warning in whole.warnings)


def test_a_query_names_the_users_item_and_its_draw(case):
    scores = case[0].scores[:, 0]
    pool = hs.Pool(scores, ids=np.array([f"pair-{i}" for i in range(len(scores))]), strata=8)
    queries = hs.Evaluation(pool, random_state=0).ask(5)
    assert all(query.item.startswith("pair-") for query in queries)
    assert len({query.key for query in queries}) == 5


@pytest.mark.parametrize("design", DESIGNS)
def test_a_saved_log_replays_bit_for_bit(case, design, tmp_path):
    pool, label = case
    ev = hs.Evaluation(pool, "f1", design, random_state=8)
    for n in (15, 25, 10):
        ev.tell({q.item: int(label[q.item]) for q in ev.ask(n)})
    open_stage = [q.item for q in ev.ask(10)]
    ev.tell({item: int(label[item]) for item in open_stage[:4]})
    ev.save(tmp_path / "log.jsonl")
    again = hs.Evaluation.load(tmp_path / "log.jsonl", pool)
    for covariance in ("sample", "paper"):
        one = ev.estimate(covariance=covariance)
        assert same(one, again.estimate(covariance=covariance))
    assert again.history == ev.history
    assert again.pending == ev.pending
    rest = {item: int(label[item]) for item in open_stage}
    for evaluation in (ev, again):
        evaluation.tell(rest)
    assert [q.key for q in ev.ask(12)] == [q.key for q in again.ask(12)]
    assert same(ev.estimate(), again.estimate())


def test_options_of_the_design_are_replayed(case, tmp_path):
    ev = hs.Evaluation(case[0], "f1", "adaptive", random_state=8, delta=0.25)
    ev.ask(5)
    ev.save(tmp_path / "log.jsonl")
    again = hs.Evaluation.load(tmp_path / "log.jsonl", case[0])
    assert again.design == hs.designs.Adaptive(delta=0.25)


def test_every_stage_has_its_own_randomness(pool_of):
    # So large a pool that the first stage hardly changes what the second can draw.
    pool, _ = pool_of(20_000)
    ev = hs.Evaluation(pool, "f1", "passive", random_state=0)
    first, second = (pool.stratum[[q.item for q in ev.ask(40)]] for _ in range(2))
    assert np.mean(first == second) < 0.6


@pytest.mark.parametrize("design", ["passive", "importance"])
def test_the_papers_covariance_is_the_plain_one_while_the_proposal_stands_still(
    case, oracle_of, design
):
    pool, label = case
    ev = hs.Evaluation(pool, "f1", design, random_state=0)
    ev.run(oracle_of(label), budget=60, batch_size=20)
    paper, plain = (ev.estimate(covariance=name) for name in ("paper", "sample"))
    share = (plain.n_draws - 1) / plain.n_draws
    np.testing.assert_allclose(paper.covariance, share * plain.covariance)


def test_the_same_answer_twice_changes_nothing(case):
    pool, label = case
    ev = hs.Evaluation(pool, "f1", random_state=0)
    answers = {q.item: int(label[q.item]) for q in ev.ask(20)}
    ev.tell(answers)
    before, n_events = ev.estimate(), len(ev.log.events)
    ev.tell(answers)
    ev.tell(dict(list(answers.items())[:3]))
    assert same(before, ev.estimate())
    assert len(ev.log.events) == n_events
    assert ev.n_labels == 20


def test_an_integer_seed_repeats_and_none_is_fresh(case):
    pool, _ = case

    def asked(random_state):
        return [q.item for q in hs.Evaluation(pool, random_state=random_state).ask(30)]

    assert asked(3) == asked(3) == asked(np.int64(3))
    assert asked(3) != asked(4)
    assert asked(None) != asked(None)
    assert asked(np.random.default_rng(1)) == asked(np.random.default_rng(1))
    rng = np.random.default_rng(1)
    assert asked(rng) != asked(rng)


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("measure", ["f1", "recall", "precision", "accuracy"])
@pytest.mark.parametrize("step", [1, 7])
def test_exhausting_a_small_pool_gives_the_exact_value(pool_of, design, measure, step):
    if (design, measure) == ("oasis", "accuracy"):
        pytest.skip("oasis is for F-measures")
    pool, label = pool_of(20, seed=3, strata=4)
    ev = hs.Evaluation(pool, measure, design, random_state=1)
    while queries := ev.ask(step):
        ev.tell({q.item: int(label[q.item]) for q in queries})
    estimate = ev.estimate()
    exact = truth_of(measure, pool, label)
    np.testing.assert_allclose(estimate.values, exact, rtol=1e-12)
    assert estimate.interval == (estimate.value, estimate.value)
    assert estimate.warnings == ()
    needs_all = measure != "precision" or design in ("passive", "stratified", "oasis")
    predicted = pool.outputs(np.arange(20)).predictions[:, 0]
    assert estimate.n_labels == (20 if needs_all else predicted.sum())


def test_precision_is_exact_once_all_predicted_positives_are_labelled(pool_of):
    pool, label = pool_of(60, seed=1, strata=4)
    predicted = pool.outputs(np.arange(60)).predictions[:, 0]
    needed = set(np.flatnonzero(predicted).tolist())
    ev = hs.Evaluation(pool, "precision", "stratified", random_state=1)
    while needed:
        needed -= {q.item for q in ev.ask(1)}
        ev.tell({q.item: int(label[q.item]) for q in ev.pending})
    assert ev.n_labels < 60
    estimate = ev.estimate()
    assert estimate.value == pytest.approx(label[predicted == 1].mean())
    assert estimate.interval == (estimate.value, estimate.value)


def test_run_spends_the_budget_and_stops_when_told(case, oracle_of):
    pool, label = case
    ev = hs.Evaluation(pool, "f1", random_state=0)
    assert ev.run(oracle_of(label), budget=45, batch_size=20).n_labels == 45
    assert ev.run(oracle_of(label), budget=45).n_labels == 45
    stopped = ev.run(oracle_of(label), 300, 20, until=lambda estimate: estimate.n_labels >= 80)
    assert stopped.n_labels == 85


def test_another_measure_reuses_the_labels(case, oracle_of):
    pool, label = case
    ev = hs.Evaluation(pool, ["f1", "accuracy"], "adaptive", random_state=0)
    ev.run(oracle_of(label), budget=60)
    joint = ev.estimate()
    assert ev.estimate("accuracy").value == pytest.approx(joint.values[1])
    assert ev.estimate("f1").std_error == pytest.approx(joint.std_errors[0])


def test_reuse_is_refused_where_the_draws_cannot_speak(case, oracle_of):
    pool, label = case
    ev = hs.Evaluation(pool, "precision", "adaptive", random_state=0)
    ev.run(oracle_of(label), budget=20)
    with pytest.raises(NoSupport, match="mix in uniform draws with delta"):
        ev.estimate("recall")
    mixed = hs.Evaluation(pool, "precision", "adaptive", random_state=0, delta=0.5)
    mixed.run(oracle_of(label), budget=200)
    low, high = mixed.estimate("recall").interval
    assert low <= truth_of("recall", pool, label)[0] <= high


def test_measures_of_several_classes_are_evaluated(oracle_of):
    rng = np.random.default_rng(0)
    label = rng.integers(3, size=90)
    scores = np.eye(3)[label] + rng.normal(0, 0.7, (90, 3))
    pool = hs.Pool(scores, strata=6, classes=(0, 1, 2))
    ev = hs.Evaluation(pool, "f1_macro", random_state=0)
    ev.run(oracle_of(label), budget=90, batch_size=15)
    assert ev.estimate().value == pytest.approx(truth_of("f1_macro", pool, label)[0])
