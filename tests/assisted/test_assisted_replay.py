"""The log of the assisted design: saved, corrected, incomplete, in a study."""

from __future__ import annotations

import numpy as np
import pytest

import haystat as hs
from haystat.assistance import assisted_from
from haystat.designs.assisted import Assisted
from haystat.errors import BadOption
from haystat.ledger import pose
from haystat.log import NO_ANSWER


def same(one, other):
    """Whether two estimates agree bit for bit."""
    return (
        one.values.tobytes() == other.values.tobytes()
        and one.terms.tobytes() == other.terms.tobytes()
        and one.intervals.tobytes() == other.intervals.tobytes()
        and one.anytime_intervals.tobytes() == other.anytime_intervals.tobytes()
    )


def ask_and_tell(ev, label, n):
    items = [query.item for query in ev.ask(n)]
    ev.tell({item: int(label[item]) for item in items})
    return items


def test_a_saved_evaluation_goes_on_bit_for_bit(tmp_path, pool_of):
    pool, label = pool_of(500)
    ev = hs.Evaluation(pool, "f1", "assisted", random_state=4, cap=0.02, uniform=(0.05, 0.2))
    for n in (20, 1, 30):
        ask_and_tell(ev, label, n)
    ev.ask(5)
    ev.save(tmp_path / "log")
    again = hs.Evaluation.load(tmp_path / "log", pool)
    assert again.design.cap == 0.02
    assert same(ev.estimate(), again.estimate())
    assert [q.item for q in ev.pending] == [q.item for q in again.pending]
    for one in (ev, again):
        one.tell({q.item: int(label[q.item]) for q in one.pending})
    assert [q.item for q in ev.ask(20)] == [q.item for q in again.ask(20)]
    assert same(ev.estimate("recall"), again.estimate("recall"))


def test_a_study_gives_the_numbers_of_an_evaluation(tmp_path, pool_of):
    pool, label = pool_of(500)
    ev = hs.Evaluation(pool, "f1", "assisted", random_state=4)
    study = hs.Study.create(tmp_path / "s", pool, measure="f1", design="assisted", random_state=4)
    for n in (20, 30):
        items = [question.item for question in study.ask(n)]
        assert items == ask_and_tell(ev, label, n)
        study.tell({item: int(label[item]) for item in items})
    assert same(ev.estimate(), study.estimate())
    assert same(ev.estimate("recall"), study.estimate("recall"))
    study.close()
    with hs.Study.open(tmp_path / "s") as again:
        assert same(ev.estimate(), again.estimate())
        assert [q.item for q in again.ask(10)] == [q.item for q in ev.ask(10)]


def test_a_correction_counts_as_if_the_answer_had_been_right_at_once(tmp_path, pool_of):
    """Of the labels, that is: items drawn before the correction stay drawn."""
    pool, label = pool_of(500)
    studies = []
    for name in ("slip", "plain"):
        path = tmp_path / name
        study = hs.Study.create(path, pool, measure="f1", design="assisted", random_state=4)
        items = [question.item for question in study.ask(30)]
        answers = {item: int(label[item]) for item in items}
        if name == "slip":
            answers[items[3]] = 1 - answers[items[3]]
        study.tell(answers)
        if name == "slip":
            study.correct(items[3], int(label[items[3]]))
        studies.append(study)
    one, other = studies
    assert same(one.estimate(), other.estimate())
    assert [q.item for q in one.ask(10)] == [q.item for q in other.ask(10)]


def test_a_correction_of_an_old_stage_moves_the_estimate_and_keeps_the_draws(tmp_path, pool_of):
    pool, label = pool_of(500)
    with hs.Study.create(tmp_path / "s", pool, measure="f1", design="assisted") as study:
        for _ in range(3):
            items = [question.item for question in study.ask(20)]
            study.tell({item: int(label[item]) for item in items})
        before, inclusion = study.estimate(), _inclusion(study)
        study.correct(items[0], 1 - int(label[items[0]]))
        assert study.estimate().value != before.value
        np.testing.assert_array_equal(_inclusion(study), inclusion)


def _inclusion(study):
    with study.reading() as fold:
        return fold.ledger.inclusion


def test_open_stages_do_not_share_items_and_count_when_they_are_finished(pool_of):
    pool, label = pool_of(500)
    ev = hs.Evaluation(pool, "f1", "assisted", random_state=1)
    stages = [[q.item for q in ev.ask(n)] for n in (20, 15, 10)]
    assert len({item for stage in stages for item in stage}) == 45
    ev.tell({item: int(label[item]) for item in stages[0] + stages[2]})
    assert ev.estimate().n_labels == 20
    alone = hs.Evaluation(pool, "f1", "assisted", random_state=1)
    ask_and_tell(alone, label, 20)
    assert same(alone.estimate(), ev.estimate())
    ev.tell({item: int(label[item]) for item in stages[1]})
    assert ev.estimate().n_labels == 45


def told_and_truth(measure, size=300, rate=(0.6, 0.02)):
    """What is hard for the system is hard for people; the truth about the others."""
    rng = np.random.default_rng(0)
    scores = 1 / (1 + np.exp(-rng.normal(-0.5, 1.5, size)))
    label = (rng.random(size) < scores).astype(int)
    lost = rng.random(size) < np.where(np.abs(scores - 0.5) < 0.25, *rate)
    pool = hs.Pool(scores, strata=8)
    problem = pose(pool, hs.measures.resolve(measure).bind(pool.schema))
    kept = np.flatnonzero(~lost)
    share = np.full(len(kept), 1 / len(kept))
    risk = problem.measure.risk(pool.outputs(kept), label[kept], share)
    return pool, problem, np.where(lost, NO_ANSWER, label), problem.measure.value(risk)[0]


@pytest.mark.parametrize("measure", ["accuracy", "f1"])
def test_at_the_end_the_estimate_is_exact_about_items_that_can_be_labelled(measure, ledger_after):
    pool, problem, told, exact = told_and_truth(measure)
    ledger = ledger_after(pool, problem, told, [150, 150], 1)
    estimate = assisted_from(pool, ledger, Assisted(), problem.measure, 0.95)
    assert estimate.value == pytest.approx(exact, rel=1e-12)
    assert estimate.n_labels == np.sum(told != NO_ANSWER)
    assert ledger.unanswered_share() == pytest.approx(np.mean(told == NO_ANSWER))


def test_items_out_of_reach_do_not_disturb_those_that_nobody_can_label(ledger_after):
    """Precision asks about predicted positives alone."""
    pool, problem, told, exact = told_and_truth("precision")
    early, late = (ledger_after(pool, problem, told, [20, n], 1) for n in (20, 280))
    assert np.any(late.inclusion == 0)
    estimate = assisted_from(pool, early, Assisted(), problem.measure, 0.95)
    assert abs(estimate.value - exact) < 4 * estimate.std_error
    estimate = assisted_from(pool, late, Assisted(), problem.measure, 0.95)
    assert estimate.value == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("measure", ["accuracy", "f1"])
def test_on_the_way_the_estimate_is_about_items_that_can_be_labelled(measure, ledger_after):
    pool, problem, told, exact = told_and_truth(measure)
    runs = []
    for seed in range(100):
        ledger = ledger_after(pool, problem, told, [60, 60], seed)
        estimate = assisted_from(pool, ledger, Assisted(), problem.measure, 0.95)
        runs.append((estimate.value, ledger.unanswered_share()))
    (value, share), (error, share_error) = np.mean(runs, axis=0), np.std(runs, axis=0) / 10
    assert abs(share - np.mean(told == NO_ANSWER)) < 4 * share_error
    assert abs(value - exact) < 4 * error


@pytest.mark.parametrize("step", [1, 50])
def test_one_label_at_a_time_is_as_good_as_fifty(pool_of, ledger_after, truth, step):
    pool, label = pool_of(400, centre=0.0)
    problem = pose(pool, hs.measures.resolve("accuracy").bind(pool.schema))
    values = []
    for seed in range(50):
        ledger = ledger_after(pool, problem, label, [step] * (50 // step), seed)
        values.append(assisted_from(pool, ledger, Assisted(), problem.measure, 0.95).value)
    miss = np.mean(values) - truth("accuracy", pool, label)[0]
    assert abs(miss) < 4 * np.std(values) / np.sqrt(len(values))


def test_a_stochastic_oracle_and_numbers_are_refused_with_a_way_out(pool_of):
    pool, _ = pool_of(50)
    with pytest.raises(BadOption, match=r"stochastic oracle .*'adaptive'"):
        hs.Evaluation(pool, "f1", "assisted", oracle="stochastic")
    numbers = hs.Pool(np.arange(50.0), classes=None)
    with pytest.raises(BadOption, match="numbers; use design='adaptive'"):
        hs.Evaluation(numbers, "mse", "assisted")


@pytest.mark.parametrize(
    "options",
    [
        {"uniform": (0, 0.3)},
        {"uniform": (0.1,)},
        {"uniform": 0.1},
        {"slope": float("nan")},
        {"uniform": (0.5, 0.3)},
        {"uniform": (0.5, 1.3)},
        {"slope_sd": 0},
        {"bend_sd": -1},
        {"rare": 0},
        {"dense": 0},
        {"by_cell": -0.1},
        {"by_cell": 1.1},
        {"cap": 0},
        {"cap": np.nan},
    ],
)
def test_options_out_of_range_are_refused_by_name(pool_of, options):
    pool, _ = pool_of(50)
    with pytest.raises(BadOption, match=next(iter(options))):
        hs.Evaluation(pool, "f1", "assisted", **options)
