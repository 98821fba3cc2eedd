"""Pools that break what the model of the assisted design believes in."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import binom

import haystat as hs

REPEATS, BUDGET = 60, 300
#: a miss in one of a thousand sound tests
FLOOR = binom.ppf(0.001, REPEATS, 0.95)


def logits(seed, size=5000, centre=-4.0, spread=2.0):
    """A generator, logits, and labels for which they are calibrated."""
    rng = np.random.default_rng(seed)
    z = rng.normal(centre, spread, size)
    return rng, z, (rng.random(size) < expit(z)).astype(int)


def constant_scores():
    rng = np.random.default_rng(1)
    label = (rng.random(4000) < 0.1).astype(int)
    predicted = np.where(rng.random(4000) < 0.8, label, rng.random(4000) < 0.1).astype(int)
    return hs.Pool(np.full(4000, 0.5), predicted), label


def three_scores():
    rng = np.random.default_rng(2)
    scores = rng.choice([0.02, 0.3, 0.9], 5000, p=[0.9, 0.07, 0.03])
    return hs.Pool(scores), (rng.random(5000) < scores * 0.9).astype(int)


def turned_round_in_a_region():
    rng, z, _ = logits(3)
    chance = expit(np.where((z > -2) & (z < 0), -2 - z, z))
    return hs.Pool(expit(z)), (rng.random(len(z)) < chance).astype(int)


def positives_deep_in_the_tail():
    rng, z, label = logits(4, centre=-5.0)
    label[rng.choice(np.flatnonzero(z < -5), 30, replace=False)] = 1
    return hs.Pool(expit(z)), label


def balanced_classes():
    _, z, label = logits(5, 3000, 0.0)
    return hs.Pool(expit(z)), label


def badly_calibrated():
    _, z, label = logits(6)
    return hs.Pool(expit(z) ** 0.2, threshold=0.5**0.2), label


def twenty_positives():
    rng = np.random.default_rng(7)
    label = (np.arange(50_000) < 20).astype(int)
    return hs.Pool(expit(rng.normal(-6, 1.2, 50_000) + 6.5 * label)), label


def all_predicted_negative():
    _, z, label = logits(8)
    return hs.Pool(expit(z), np.zeros(len(z), dtype=int)), label


def label_noise():
    """0.4% of the predicted negatives are positive, whatever their score."""
    rng = np.random.default_rng(11)
    label = (np.arange(20_000) < 200).astype(int)
    scores = expit(2 * (rng.normal(4.5 * label, 1) - 3))
    label[(scores < 0.5) & (rng.random(len(label)) < 0.004)] = 1
    return hs.Pool(scores), label


def two_scores():
    rng = np.random.default_rng(12)
    given = np.arange(20_000) < 600
    label = (rng.random(20_000) < np.where(given, 0.7, 0.005)).astype(int)
    return hs.Pool(np.where(given, 0.9, 0.1)), label


def all_predicted_positive():
    rng = np.random.default_rng(16)
    z = rng.normal(0, 1, 10_000)
    label = (rng.random(10_000) < expit(logit(0.99) + 0.5 * z)).astype(int)
    return hs.Pool(0.5 + expit(z) / 2, np.ones(10_000, dtype=int)), label


def wrong_at_the_top():
    """One in twenty of the surest predictions is wrong, as of all others."""
    rng = np.random.default_rng(17)
    label = (np.arange(10_000) < 600).astype(int)
    scores = expit(2 * (rng.normal(5 * label, 1) - 2.5))
    label[(scores > 0.5) & (rng.random(10_000) < 0.05)] = 0
    return hs.Pool(scores), label


def four_even_classes():
    """Scores of a decent classifier, on the scale of a softmax."""
    rng = np.random.default_rng(20)
    label = rng.integers(4, size=8000)
    raw = rng.normal(0, 1, (8000, 4)) + 2.0 * np.eye(4)[label]
    chance = np.exp(1.5 * raw)
    return hs.Pool(chance / chance.sum(axis=1, keepdims=True), classes=(0, 1, 2, 3)), label


#: what makes the pool, and the measure
KINDS = {
    make.__name__: (make, measure)
    for make, measure in (
        (constant_scores, "f1"),
        (three_scores, "f1"),
        (turned_round_in_a_region, "f1"),
        (positives_deep_in_the_tail, "f1"),
        (balanced_classes, "f1"),
        (badly_calibrated, "f1"),
        (twenty_positives, "f1"),
        (all_predicted_negative, "accuracy"),
        (label_noise, "f1"),
        (two_scores, "f1"),
        (all_predicted_positive, "precision"),
        (wrong_at_the_top, "precision"),
        (four_even_classes, "accuracy"),
    )
}


#: lower where a score says nothing about most of the items, so that the prior of a mass decides
FLOORS = {"constant_scores": 0.8 * REPEATS}


def estimates_of(kind, oracle, repeats=REPEATS, budget=BUDGET):
    make, measure = KINDS[kind]
    pool, label = make()
    for seed in range(repeats):
        ev = hs.Evaluation(pool, measure, "assisted", random_state=seed)
        yield ev.run(oracle(label), budget, budget // 3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_interval_covers_at_its_level(kind, oracle, truth):
    make, measure = KINDS[kind]
    exact = truth(measure, *make())[0]
    ends = np.array([estimate.interval for estimate in estimates_of(kind, oracle)])
    assert np.sum((ends[:, 0] <= exact) & (exact <= ends[:, 1])) >= FLOORS.get(kind, FLOOR)


@pytest.mark.parametrize("kind", KINDS)
def test_every_interval_lies_in_the_range_around_the_value(kind, oracle):
    make, measure = KINDS[kind]
    pool, label = make()
    ev = hs.Evaluation(pool, measure, "assisted", random_state=0)
    for n in (1, 9, 90):
        estimate = ev.run(oracle(label), ev.n_labels + n, n)
        low, high = estimate.interval
        assert 0 <= low <= estimate.value <= high <= 1
        assert low < high
        assert estimate.anytime_interval == estimate.interval
        low, high = estimate.guaranteed_interval
        assert 0 <= low < high <= 1
