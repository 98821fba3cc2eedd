"""Pools drawn from the model's own prior: the interval must then cover at its level."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom, chisquare

import haystat as hs
from haystat.designs.assisted import Assisted
from haystat.models.label_view import label_view
from haystat.pool.problem import pose

SIZE, PREDICTED, REPEATS = 2000, 200, 100
LOOKS = (100, 300)
MEASURES = ["f1", "precision", "recall"]


def prior_pool(seed):
    """Labels by the model: curve, scatter, hidden positives and wrong predictions from priors."""
    rng, settings = np.random.default_rng(seed), Assisted()
    predicted = (np.arange(SIZE) >= SIZE - PREDICTED).astype(int)
    pool = hs.Pool(np.linspace(0, 1, SIZE), predicted, strata=20)
    problem = pose(pool, hs.measures.resolve("f1").bind(pool.schema))
    view = label_view(problem, settings)
    model, region = view.model, view.regions.of_cell
    curve = model.curve
    assert not model.mass.any()
    state = rng.integers(len(settings.bend_sds))
    bend_sd = np.array(settings.bend_sds)[[state]]
    precision = curve.precision(bend_sd, np.ones(1), settings)[0]
    trend = expit(curve.basis @ rng.normal(curve.mean, precision**-0.5))
    positive = model.size * trend
    true = positive[curve.high].sum() + 0.5
    errors = min((PREDICTED + 1 - true) / true, 10) + 0.01
    median = settings.hidden * np.sqrt(errors) * max(positive.sum(), 1)
    hidden = median * np.exp(settings.hidden_sd * rng.normal())
    rate = min(hidden / (SIZE - PREDICTED), 0.3)
    wrong = min(settings.wrong * np.exp(settings.wrong_sd * rng.normal()), 0.9)
    below, above = rate * curve.low, wrong * curve.high
    share = np.clip(below + (1 - below - above) * trend, 1e-10, 1 - 1e-10)
    items = settings.shapes[state] / (share * (1 - share)) + settings.concentrations[state]
    share = rng.beta(items * share, items * (1 - share))
    return pool, (rng.random(SIZE) < share[region[problem.cells.of_item]]).astype(int)


def ranks_of(draws, exact, rng):
    """Place of the truth among the draws, (m,); ties in random order."""
    ties = np.abs(draws - exact) <= 1e-12
    return np.mean((draws < exact) & ~ties, axis=0) + rng.random() * np.mean(ties, axis=0)


@pytest.fixture(scope="module")
def ranks():
    """Of the truth in every pool, (repeats, looks, measures)."""
    found = []
    for seed in range(REPEATS):
        pool, label = prior_pool(seed)
        if not label.any():
            continue  # recall is undefined
        bound = hs.measures.resolve(MEASURES).bind(pool.schema)
        exact = bound.value(bound.loss(pool.outputs(np.arange(SIZE)), label).mean(axis=0))
        ev = hs.Evaluation(pool, MEASURES, "assisted", random_state=seed)
        rng, at_looks = np.random.default_rng(seed), []
        for n in LOOKS:
            estimate = ev.run(lambda items, y=label: [int(y[item]) for item in items], n, 50)
            at_looks.append(ranks_of(estimate.draws, exact, rng))
        found.append(at_looks)
    return np.array(found)


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("look", LOOKS)
def test_the_truth_has_any_rank_among_the_draws_with_the_same_chance(ranks, look, measure):
    rank = ranks[:, LOOKS.index(look), MEASURES.index(measure)]
    assert chisquare(np.histogram(rank, 8, (0, 1))[0]).pvalue > 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("look", LOOKS)
def test_intervals_cover_at_their_level(ranks, look, measure):
    rank = ranks[:, LOOKS.index(look), MEASURES.index(measure)]
    for level in (0.5, 0.8, 0.95):
        covered = np.sum(np.abs(rank - 0.5) <= level / 2)
        low, high = binom.ppf([5e-4, 1 - 5e-4], len(rank), level)
        assert low <= covered <= high
