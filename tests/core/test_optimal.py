"""Prop. 2 against numerical optimisation, and the appendix on zero total variance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize

import haystat as hs
from haystat import designs
from haystat.designs.importance import root_mean_square
from haystat.designs.optimal import divergence, optimal_proposal, total_variance
from haystat.designs.replacement import Proposal
from haystat.pool.problem import pose

RNG = np.random.default_rng(0)
MEASURES = ["f1", "recall", "accuracy", ["precision", "recall"]]


def influences(pool):
    """|J loss| of every item under its label, (M,), and J R, at the true risk."""
    jacobian = pool.problem.measure.jacobian(pool.risk)
    return np.linalg.norm(pool.loss @ jacobian.T, axis=1), jacobian @ pool.risk


def smallest(objective, n):
    """Minimum of a function over the simplex, from a start inside it."""
    solution = optimize.minimize(
        lambda z: objective(np.exp(z) / np.exp(z).sum()),
        np.zeros(n),
        method="BFGS",
        options={"gtol": 1e-10},
    )
    return solution.fun, np.exp(solution.x) / np.exp(solution.x).sum()


@pytest.mark.parametrize("measure", MEASURES)
def test_optimal_proposal_is_the_numerical_optimum_over_items(tiny, measure):
    pool = tiny(measure)
    norm, shift = influences(pool)
    optimum = optimal_proposal(pool.problem, pool.truth)
    probability = optimum.probability[pool.cell, pool.label]
    assert probability.sum() == pytest.approx(1)
    moving = np.flatnonzero(norm)
    value, best = smallest(
        lambda q: np.sum(norm[moving] ** 2 / q) / 36 - shift @ shift, len(moving)
    )
    np.testing.assert_allclose(probability[moving], best, atol=1e-4)
    assert optimum.total_variance == pytest.approx(value, abs=1e-8)
    v_total = norm.sum() / 6
    assert optimum.total_variance == pytest.approx(max(v_total**2 - shift @ shift, 0), abs=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
def test_importance_with_the_true_response_is_the_numerical_optimum_over_cells(tiny, measure):
    """Labels random given the cell: the best proposal that is constant on cells."""
    pool = tiny(measure, probabilities=np.array([0.2, 0.2, 0.3, 0.6, 0.7, 0.7]))
    problem = replace(pool.problem, oracle="stochastic")
    share, size = problem.cells.prior, problem.cells.size
    risk = problem.losses.risk(share * size[:, None] / problem.size)
    square = np.sum(problem.losses.sensitivity(risk) * share, axis=1)

    def variance(cell_mass):
        return np.sum(size**2 * square / cell_mass) / problem.size**2

    _, best = smallest(variance, len(size))
    design = designs.Importance()
    proposal = design.propose(problem, design.start(problem, RNG))
    np.testing.assert_allclose(proposal.unlabelled * size, best, atol=1e-4)
    mass = root_mean_square(problem, share, 0.0) * size
    np.testing.assert_allclose(proposal.unlabelled * size, mass / mass.sum(), rtol=1e-6)


@pytest.mark.parametrize("measure", MEASURES)
def test_importance_that_knows_the_labels_is_optimal(tiny, measure):
    label = np.array([0, 1, 0, 1, 0, 1])
    scores = np.array([-2.0, -1.4, -0.6, -0.1, 0.7, 1.8])
    pool = hs.Pool(
        scores, [0, 0, 0, 1, 1, 1], probabilities=label.astype(float), strata=np.arange(6)
    )
    known = replace(tiny(measure), pool=pool, label=label)
    known = replace(known, problem=pose(pool, hs.measures.resolve(measure).bind(pool.schema)))
    design = designs.Importance()
    proposal = design.propose(known.problem, design.start(known.problem, RNG))
    nothing = np.zeros_like(known.truth)
    best = optimal_proposal(known.problem, known.truth)
    assert divergence(known.problem, proposal, known.truth, nothing) == pytest.approx(0, abs=1e-7)
    reached = total_variance(known.problem, proposal, known.truth, nothing)
    assert reached == pytest.approx(best.total_variance, abs=1e-7)


def test_adaptive_is_optimal_once_every_label_is_in(tiny):
    pool = tiny("f1")
    design = designs.Adaptive()
    state = design.start(pool.problem, RNG)
    uniform = np.full(6, 1 / 6)
    state = design.observe(pool.problem, state, pool.batch(range(6), uniform, ()))
    proposal = design.propose(pool.problem, state)
    assert divergence(pool.problem, proposal, pool.truth, pool.truth) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("known", [(), (1, 4), (0, 1, 2, 3)])
def test_divergence_and_variance_match_sums_over_items(tiny, known):
    pool = tiny("f1")
    design = designs.Adaptive()
    state = design.start(pool.problem, RNG)
    if known:
        uniform = np.full(6, 1 / 6)
        state = design.observe(pool.problem, state, pool.batch(known, uniform, ()))
    proposal = design.propose(pool.problem, state)
    probability = pool.probability(proposal, known)
    norm, shift = influences(pool)
    best = norm / norm.sum()
    moving = norm > 0
    expected = np.sum(best[moving] * np.log(best[moving] / probability[moving]))
    labelled = pool.labelled(known)
    assert divergence(pool.problem, proposal, pool.truth, labelled) == pytest.approx(expected)
    assert expected > 0
    variance = np.sum(norm[moving] ** 2 / probability[moving]) / 36 - shift @ shift
    given = total_variance(pool.problem, proposal, pool.truth, labelled)
    assert given == pytest.approx(variance)
    assert given > optimal_proposal(pool.problem, pool.truth).total_variance


def test_a_proposal_that_misses_a_loss_is_infinitely_far_off(tiny):
    pool = tiny("f1")
    n_cells, nothing = len(pool.problem.cells), np.zeros_like(pool.truth)
    proposal = Proposal(np.zeros(n_cells), np.zeros((n_cells, 2)))
    assert divergence(pool.problem, proposal, pool.truth, nothing) == np.inf
    assert total_variance(pool.problem, proposal, pool.truth, nothing) == np.inf


def test_every_proposal_is_optimal_when_no_item_moves_the_measure():
    pool = hs.Pool([0.1, 0.9, 0.8], strata=2)
    problem = pose(pool, hs.measures.resolve("accuracy").bind(pool.schema))
    truth = np.zeros((len(problem.cells), 2), dtype=int)
    truth[np.arange(len(truth)), problem.cells.example.predictions[:, 0]] = problem.cells.size
    optimum = optimal_proposal(problem, truth)
    assert optimum.total_variance == 0
    np.testing.assert_allclose(optimum.probability, 1 / 3)


@pytest.fixture(scope="module")
def knowing():
    """A pool of which the true response is known: probabilities equal to the labels."""
    rng = np.random.default_rng(5)
    scores = rng.normal(size=300)
    label = (scores + rng.normal(0, 0.8, 300) > 1).astype(int)
    predictions = (scores > 0.9).astype(int)
    # Strata are pure, so that a cell's prior is the truth.
    strata = 2 * (scores > 0) + label
    pool = hs.Pool(scores, predictions, probabilities=label.astype(float), strata=strata)
    return pool, label, predictions


def simulated(pool, label, measure, n_draws, repeats):
    """Estimates of `measure` by static importance sampling from the true response."""
    bound = hs.measures.resolve(measure).bind(pool.schema)
    problem = pose(pool, bound)
    design = designs.Importance()
    proposal = design.propose(problem, design.start(problem, RNG))
    probability = proposal.unlabelled[problem.cells.of_item]
    assert probability.sum() == pytest.approx(1)
    loss = (
        bound.loss(pool.outputs(np.arange(len(label))), label) / (len(label) * probability)[:, None]
    )
    counts = np.random.default_rng(6).multinomial(n_draws, probability / probability.sum(), repeats)
    return np.array([bound.value(risk)[0] for risk in counts @ loss / n_draws])


def test_recall_cannot_beat_the_bound_of_the_appendix(knowing):
    """n Var = 4 G^2 (1 - G)^2: exactly by Prop. 2, and in simulation."""
    pool, label, predictions = knowing
    recall = (label * predictions).sum() / label.sum()
    bound = 4 * recall**2 * (1 - recall) ** 2
    problem = pose(pool, hs.measures.resolve("recall").bind(pool.schema))
    truth = np.zeros((len(problem.cells), 2), dtype=int)
    np.add.at(truth, (problem.cells.of_item, label), 1)
    assert optimal_proposal(problem, truth).total_variance == pytest.approx(bound)
    n_draws, repeats = 4000, 4000
    estimates = simulated(pool, label, "recall", n_draws, repeats)
    assert n_draws * estimates.var() == pytest.approx(bound, rel=4 * np.sqrt(2 / repeats))


def test_accuracy_with_the_true_response_has_no_variance(knowing):
    pool, label, predictions = knowing
    problem = pose(pool, hs.measures.resolve("accuracy").bind(pool.schema))
    truth = np.zeros((len(problem.cells), 2), dtype=int)
    np.add.at(truth, (problem.cells.of_item, label), 1)
    assert optimal_proposal(problem, truth).total_variance == pytest.approx(0, abs=1e-12)
    estimates = simulated(pool, label, "accuracy", 1000, 200)
    np.testing.assert_allclose(estimates, np.mean(label == predictions), atol=1e-4)
