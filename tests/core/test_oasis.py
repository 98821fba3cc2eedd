"""OASIS against its formulas, worked out per stratum."""

from __future__ import annotations

import numpy as np
import pytest

from haystat import designs
from haystat.errors import BadOption
from haystat.models.beta_strata import BetaStrata

RNG = np.random.default_rng(0)


def optimal_strata(pool, share, value):
    """Share of each stratum for F1 = value: p sqrt(E |influence|^2), the mean over its items.

    An item predicted negative moves F1 by -F/2 if it is positive; one predicted positive by 1 - F
    if it is positive and by -F/2 if not.
    """
    mass = np.zeros(3)
    for item in range(pool.size):
        positive = share[pool.pool.stratum[item]]
        if pool.pool.outputs(np.array([item])).predictions[0, 0]:
            square = (1 - value) ** 2 * positive + (value / 2) ** 2 * (1 - positive)
        else:
            square = (value / 2) ** 2 * positive
        mass[pool.pool.stratum[item]] += square / 2  # two items a stratum
    mass = np.sqrt(mass)
    return mass / mass.sum()


def test_first_proposal_is_the_optimum_under_the_prior(tiny):
    pool = tiny("f1")
    design = designs.Oasis(epsilon=0.1)
    proposal = design.propose(pool.problem, design.start(pool.problem, RNG))
    share = pool.problem.stratum_prior[:, 1]
    predicted = np.array([0, 0, 0, 1, 1, 1])
    true_positive = (share[pool.pool.stratum] * predicted).sum()
    value = true_positive / ((2 * share.sum() + predicted.sum()) / 2)
    strata = optimal_strata(pool, share, value)
    expected = 0.9 * strata[pool.pool.stratum] / 2 + 0.1 / 6
    np.testing.assert_allclose(pool.probability(proposal, ()), expected)


def test_later_proposals_follow_the_draws_and_the_running_estimate(tiny):
    pool = tiny("f1")
    design = designs.Oasis(epsilon=0.1, strength=3.0)
    state = design.start(pool.problem, RNG)
    first = pool.probability(design.propose(pool.problem, state), ())
    drawn = [1, 3, 3, 3, 4, 5]
    state = design.observe(pool.problem, state, pool.batch(drawn, first, ()))
    weight = 1 / (6 * first[drawn])
    hit = np.array([0, 1, 1, 1, 0, 1])  # true positives among the draws
    value = (weight @ hit) / (weight @ np.array([0.5, 1, 1, 1, 0.5, 1]))
    # The prior of a stratum counts for `strength` labels, divided by the draws from it.
    positives, draws = np.array([1.0, 3, 1]), np.array([1, 3, 2])
    prior = pool.problem.stratum_prior[:, 1]
    share = (positives + 3 * prior / draws) / (draws + 3 / draws)
    strata = optimal_strata(pool, share, value)
    expected = 0.9 * strata[pool.pool.stratum] / 2 + 0.1 / 6
    proposal = design.propose(pool.problem, state)
    np.testing.assert_allclose(pool.probability(proposal, set(drawn)), expected)


def test_beta_model_starts_at_its_prior_and_tends_to_the_draws():
    prior = np.array([[0.9, 0.1], [0.4, 0.6]])
    model = BetaStrata(prior)
    np.testing.assert_allclose(model.label_share(model.start()), prior)
    drawn = model.observe(model.start(), np.array([0, 0]), np.array([0, 1]), np.array([300, 100]))
    share = model.label_share(drawn)
    np.testing.assert_allclose(share[0], [0.75, 0.25], atol=1e-4)
    np.testing.assert_allclose(share[1], prior[1])


@pytest.mark.parametrize("epsilon", [0, -0.1, 1.5])
def test_oasis_needs_some_uniform_draws(epsilon):
    with pytest.raises(BadOption, match="epsilon"):
        designs.Oasis(epsilon=epsilon)
