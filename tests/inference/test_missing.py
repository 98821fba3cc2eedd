"""Answers that are there stand for those that are not: weights, estimates, warnings."""

from __future__ import annotations

import numpy as np
import pytest

import haystat as hs
from haystat.inference.nonresponse import raised_weights
from haystat.measures import F1

WEIGHTED = ["passive", "importance", "oasis", "adaptive", "stratified"]


def make_pool(size=600, seed=0):
    rng = np.random.default_rng(seed)
    score = 1 / (1 + np.exp(-rng.normal(-1, 2, size)))
    label = (rng.random(size) < score / 2).astype(int)  # a system that sees too many positives
    return hs.Pool(score, threshold=0.5, strata=6), score >= 0.5, label


@pytest.fixture(scope="module")
def cells():
    pool = make_pool()[0]
    return pool.cells(F1().bind(pool.schema))


def told(evaluation, label, n, answered):
    """Ask n questions, and answer those that `answered` picks."""
    queries = [query for query in evaluation.ask(n) if answered(query.item)]
    evaluation.tell({query: int(label[query.item]) for query in queries})


# --- weights


def raised(cells, rows):
    """rows: stage, cell, count, weight, answered."""
    stage, cell, count, weight, answered = map(np.array, zip(*rows, strict=True))
    return raised_weights(stage, cell, count, weight, answered, cells)


def test_without_open_draws_nothing_changes(cells):
    weight = np.random.default_rng(0).random(5)
    ones = np.ones(5, dtype=np.int64)
    found, n_alone = raised_weights(ones - 1, ones, ones, weight, ones > 0, cells)
    assert found is weight
    assert n_alone == 0


def test_answered_draws_of_a_cell_and_stage_carry_the_open_ones(cells):
    rows = [(0, 1, 1, 2.0, True), (0, 1, 2, 2.0, True), (0, 1, 3, 2.0, False), (0, 2, 2, 0.5, True)]
    weight, n_alone = raised(cells, rows)
    # Of eight draws five are answered; of the six in cell 1 it is three.
    np.testing.assert_allclose(weight, np.array([2.0 * 2, 2.0 * 2, 0.5]) * 5 / 8)
    assert n_alone == 0


def test_a_draw_whose_like_has_no_answer_goes_to_other_stages(cells):
    rows = [(0, 1, 1, 2.0, True), (0, 2, 1, 0.5, True), (1, 1, 1, 4.0, False), (1, 2, 1, 0.5, True)]
    weight, n_alone = raised(cells, rows)
    # Stage 1 counts half; so does the mass 4 of its open draw, which cell 1 of stage 0 carries.
    np.testing.assert_allclose(weight, [2.0 + 2.0, 0.5, 0.25])
    assert n_alone == 1


def test_a_cell_without_any_answer_goes_to_the_nearest_of_the_same_prediction(cells):
    said = cells.example.predictions[:, 0]
    lowest, *_, other = np.flatnonzero(said == said[0])[np.argsort(cells.stratum[said == said[0]])]
    near = next(k for k in np.flatnonzero(said == said[0]) if cells.stratum[k] == 1)
    across = np.flatnonzero(said != said[0])[0]
    rows = [(0, int(k), 1, 1.0, k != lowest) for k in (lowest, near, other, across)]
    weight, n_alone = raised(cells, rows)
    np.testing.assert_allclose(weight, np.array([2.0, 1.0, 1.0]) * 3 / 4)
    assert n_alone == 1


# --- estimates


@pytest.mark.parametrize("design", WEIGHTED)
def test_estimates_are_unbiased_when_a_fifth_of_the_questions_is_abandoned(design):
    """More often among predicted positives: without weights for that the mean would be off."""
    pool, predicted, label = make_pool()
    measure = "f1" if design == "oasis" else "accuracy"
    hits = np.sum(predicted & (label == 1))
    truth = 2 * hits / (predicted.sum() + label.sum())
    truth = truth if design == "oasis" else np.mean(predicted == label)
    values, n_labels = [], []
    for seed in range(60):
        rng = np.random.default_rng(1000 + seed)
        ev = hs.Evaluation(pool, measure, design, random_state=seed)
        for _ in range(5):
            told(ev, label, 20, lambda i, r=rng: r.random() > (0.45 if predicted[i] else 0.08))
        estimate = ev.estimate()
        values.append(estimate.value)
        n_labels.append(estimate.n_labels)
    error = np.mean(values) - truth
    assert abs(error) < 3 * np.std(values) / np.sqrt(len(values))
    assert 70 < np.mean(n_labels) < 90


@pytest.mark.parametrize("design", WEIGHTED)
def test_a_stage_that_nobody_has_begun_changes_no_number(design):
    pool, _, label = make_pool()
    ev = hs.Evaluation(pool, "f1", design, random_state=2)
    told(ev, label, 60, lambda _: True)
    before = ev.estimate()
    ev.ask(5)
    after = ev.estimate()
    for name in ("values", "intervals", "terms"):
        np.testing.assert_array_equal(getattr(before, name), getattr(after, name))


@pytest.mark.parametrize("design", WEIGHTED)
def test_answers_that_come_late_leave_no_trace(design):
    pool, _, label = make_pool()
    results = []
    for late in (False, True):
        ev = hs.Evaluation(pool, "f1", design, random_state=3)
        told(ev, label, 30, lambda i, late=late: not late or i % 5)
        if late:
            assert ev.estimate().n_labels < 30
            ev.tell({query: int(label[query.item]) for query in ev.pending})
        results.append(ev.estimate())
    assert repr(results[0].values) == repr(results[1].values)
    assert repr(results[0].intervals) == repr(results[1].intervals)


@pytest.mark.parametrize("covariance", ["sample", "paper"])
def test_numbers_of_a_stage_that_is_not_complete_count(covariance):
    rng = np.random.default_rng(0)
    score = rng.normal(size=400)
    label = score + rng.normal(size=400)
    ev = hs.Evaluation(hs.Pool(score, classes=None, strata=4), "mse", random_state=0)
    told(ev, label, 50, lambda _: True)
    queries = ev.ask(30)
    ev.tell({query: float(label[query.item]) for query in queries[:20]})
    estimate = ev.estimate(covariance=covariance)
    assert estimate.n_labels == 70
    assert np.isfinite(estimate.interval).all()
    assert "10 of 80 questions are not answered yet" in estimate.warnings[-1]


def test_soft_answers_of_a_stage_that_is_not_complete_count():
    pool, _, label = make_pool()
    chance = np.where(label == 1, 0.9, 0.2)
    values, rng = [], np.random.default_rng(0)
    for seed in range(30):
        ev = hs.Evaluation(pool, "accuracy", "passive", oracle="stochastic", random_state=seed)
        for _ in range(2):
            answered = [query for query in ev.ask(100) if rng.random() > 0.2]
            ev.tell({query: float(chance[query.item]) for query in answered})
        values.append(ev.estimate().value)
    predicted = pool.scores[:, 0] >= 0.5
    truth = np.mean(np.where(predicted, chance, 1 - chance))
    assert abs(np.mean(values) - truth) < 3 * np.std(values) / np.sqrt(len(values))


# --- what is said


def test_the_warning_grows_with_the_open_questions_and_names_their_stages():
    pool, _, label = make_pool()
    ev = hs.Evaluation(pool, "f1", "adaptive", random_state=4)
    told(ev, label, 30, lambda _: True)
    assert not any("not answered" in warning for warning in ev.estimate().warnings)
    for n_open in (10, 20):
        ev.tell({query: int(label[query.item]) for query in ev.ask(20)[:10]})
        (warning,) = (w for w in ev.estimate().warnings if "not answered" in w)
        assert f"{n_open} of {30 + 2 * n_open} questions are not answered yet" in warning
    assert "missing at random" in warning
    assert "of stage 1, 2)" in warning


def test_eighteen_labels_and_two_skips_of_forty_tasks_are_an_estimate(tmp_path):
    pool, _, label = make_pool()
    with hs.Study.create(tmp_path / "s.haystat", pool, "f1", "adaptive", random_state=0) as study:
        items = [question.item for question in study.ask(40, "ann")]
        study.tell({item: int(label[item]) for item in items[:18]}, "ann")
        for item in items[18:20]:
            study.skip(item, "cannot tell", "ann")
        estimate = study.estimate()
    assert np.isfinite([estimate.value, *estimate.interval]).all()
    assert estimate.n_labels == 18
    assert any("20 of 40 questions are not answered yet" in w for w in estimate.warnings)
