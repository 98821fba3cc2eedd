"""Estimates from a stochastic oracle: exact draws, consistency, coverage, gain over passive."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import haystat as hs
from haystat import designs
from haystat.designs.base import Batch
from haystat.designs.importance import root_mean_square
from haystat.pool.problem import pose

DESIGNS = ("passive", "importance", "oasis", "adaptive", "adaptive_flat")
SHARE = np.array([0.1, 0.9, 0.3, 0.8, 0.4, 0.7])  # of positive answers about six items


@pytest.fixture(scope="module")
def six():
    scores = np.array([-2.0, -1.4, -0.6, -0.1, 0.7, 1.8])
    return hs.Pool(scores, np.array([0, 0, 0, 1, 1, 1]), strata=np.array([0, 0, 1, 1, 2, 2]))


def test_two_draws_of_a_cell_are_independent_and_uniform():
    """Also across stages, and although items are taken in the order of u."""
    found = Counter()
    for seed in range(1800):
        pool = hs.Pool([0.1, 0.1, 0.1], strata=1, seed=seed)
        ev = hs.Evaluation(pool, "accuracy", "passive", oracle="stochastic", random_state=seed)
        n = 2 if seed % 2 else 1
        pair = tuple(q.item for _ in range(3 - n) for q in ev.ask(n))
        found[pair] += 1
    assert len(found) == 9
    expected = 1800 / 9
    chi_square = sum((count - expected) ** 2 / expected for count in found.values())
    assert chi_square < 26.1  # 99.9% quantile with 8 degrees of freedom


@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.parametrize("measure", ["f1", "recall"])
def test_risk_estimate_is_unbiased_over_all_answers_of_two_stages(six, name, measure):
    bound = hs.measures.resolve(measure).bind(six.schema)
    problem, design = pose(six, bound, "stochastic"), designs.resolve(name)
    cell = problem.cells.of_item
    outputs = six.outputs(np.arange(6))
    loss = np.stack([bound.loss(outputs, np.full(6, y)) for y in (0, 1)], axis=1)  # (M, C, d)
    chance = np.stack([1 - SHARE, SHARE], axis=1)
    risk = np.einsum("ic,icd->d", chance, loss) / 6
    state = design.start(problem, np.random.default_rng(0))
    first = design.propose(problem, state).unlabelled[cell]
    assert first.sum() == pytest.approx(1)
    expected, total = np.zeros(bound.n_risk), 0.0
    for i in np.flatnonzero(first):
        for y in (0, 1):
            one = np.ones(1)
            batch = Batch(cell[[i]], np.array([y]), one, one / (6 * first[i]), one > 0)
            later = design.observe(problem, state, batch)
            second = design.propose(problem, later).unlabelled[cell]
            probability = first[i] * chance[i, y]
            total += probability * second.sum()
            own = loss[i, y] / (6 * first[i])
            covered = second > 0
            then = np.einsum("ic,icd->d", chance[covered], loss[covered]) / 6
            expected += probability * (own + then) / 2
    assert total == pytest.approx(1)
    np.testing.assert_allclose(expected, risk, atol=1e-12)


def test_the_floor_of_the_proposal_is_epsilon_over_stages_plus_one(six):
    """The floor is put among the squared influences, where it lifts some of them only."""
    problem = pose(six, hs.measures.resolve(["accuracy", "recall"]).bind(six.schema), "stochastic")
    state = designs.Adaptive().start(problem, np.random.default_rng(0))
    one = np.ones(1)
    for stage in range(4):
        share = state.model.label_share(state.seen)[problem.cells.stratum]
        risk = problem.losses.risk(share * problem.cells.size[:, None] / problem.size)
        square = problem.losses.sensitivity(risk)
        floor = np.sqrt(square[square > 0].min() * square.max())

        def by_floor(floor, share=share):
            mass = root_mean_square(problem, share, floor)
            return mass / (problem.cells.size @ mass)

        design = designs.Adaptive(epsilon=floor * (stage + 1))
        np.testing.assert_allclose(design.propose(problem, state).unlabelled, by_floor(floor))
        assert not np.allclose(by_floor(floor), by_floor(2 * floor), rtol=1e-3)
        state = design.observe(
            problem, state, Batch(np.array([1]), np.array([1]), one, one, one > 0)
        )


@pytest.mark.parametrize("design", DESIGNS)
def test_the_risk_is_consistent_and_its_error_honest(binary, design):
    """Recall's risk is a plain mean, so its error over its standard error is about normal."""
    truth = binary.truth("recall")[0]
    estimates = binary.estimates("recall", design, 2000, 12, batch_size=200)
    z = np.array([(e.value - truth) / e.std_error for e in estimates])
    assert np.all(np.abs(z) < 4.5)
    assert abs(z.mean()) < 4 / np.sqrt(len(z))
    assert all(e.n_labels == e.n_draws == 2000 for e in estimates)


@pytest.mark.parametrize(
    ("pool", "measure", "design"),
    [
        ("binary", "f1", "adaptive"),
        ("binary", "f1", "importance"),
        ("four", "accuracy", "adaptive"),
        ("four", "f1_macro", "adaptive"),
        ("four", "mcc", "passive"),
    ],
)
def test_intervals_cover_the_truth_and_errors_shrink(request, pool, measure, design):
    noisy = request.getfixturevalue(pool)
    truth = noisy.truth(measure)[0]
    repeats = 80
    few = noisy.estimates(measure, design, 200, repeats)
    many = noisy.estimates(measure, design, 800, repeats, batch_size=100)
    covered = np.mean([e.interval[0] <= truth <= e.interval[1] for e in many])
    # Three binomial standard errors below 95%.
    assert covered >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / repeats)
    square = lambda es: np.array([(e.value - truth) ** 2 for e in es])  # noqa: E731
    # Four times the answers: a quarter of the mean squared error, to within sampling error.
    assert 2.0 < square(few).mean() / square(many).mean() < 8.0


@pytest.mark.parametrize("measure", [["precision", "recall"], "f1_per_class"])
def test_regions_cover_vectors(request, measure):
    noisy = request.getfixturevalue("four" if measure == "f1_per_class" else "binary")
    truth = noisy.truth(measure)
    estimates = noisy.estimates(measure, "adaptive", 800, 80, batch_size=100)
    covered = np.mean([e.region().contains(truth) for e in estimates])
    assert covered >= 0.95 - 4 * np.sqrt(0.95 * 0.05 / 80)


def test_adaptive_beats_passive_on_a_rare_class(binary):
    truth = binary.truth("f1")[0]
    mse = {
        design: np.mean([(e.value - truth) ** 2 for e in binary.estimates("f1", design, 500, 60)])
        for design in ("passive", "adaptive")
    }
    assert mse["passive"] > 2 * mse["adaptive"]


def test_more_answers_than_items_are_fine(six):
    ev = hs.Evaluation(six, "accuracy", "passive", oracle="stochastic", random_state=0)
    estimate = ev.run(lambda items: [1] * len(items), budget=40, batch_size=20)
    assert estimate.n_labels == 40
    assert estimate.value == pytest.approx(0.5, abs=0.35)
    assert len(estimate.terms) > 0  # never exact: the next answer may differ


def test_labels_taken_for_f1_serve_recall_but_not_accuracy(binary):
    ev = hs.Evaluation(binary.pool, "recall", "adaptive", oracle="stochastic", random_state=0)
    ev.run(binary.oracle(0), budget=300)
    # Whether an item is drawn does not depend on its answers, so all of its labels are covered.
    for measure in ("precision", "accuracy"):
        assert np.isfinite(ev.estimate(measure).value)
    precise = hs.Evaluation(binary.pool, "precision", oracle="stochastic", random_state=0)
    precise.run(binary.oracle(0), budget=100)
    with pytest.raises(hs.errors.NoSupport, match="cannot estimate"):
        precise.estimate("recall")
