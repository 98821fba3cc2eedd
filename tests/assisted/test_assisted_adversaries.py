"""Pools that break what the model of the assisted design believes in."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

import haystat as hs

REPEATS, BUDGET = 40, 300


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


KINDS = {
    make.__name__: make
    for make in (
        constant_scores,
        three_scores,
        turned_round_in_a_region,
        positives_deep_in_the_tail,
        balanced_classes,
        badly_calibrated,
        twenty_positives,
        all_predicted_negative,
    )
}


@pytest.mark.parametrize("kind", KINDS)
def test_no_pool_makes_it_much_worse_than_the_other_designs(kind):
    pool, label = KINDS[kind]()
    measure = "accuracy" if kind == "all_predicted_negative" else "f1"
    names = ["passive", "adaptive", "assisted"]
    frame = hs.simulate(pool, label, measure, names, [BUDGET], repeats=REPEATS)
    passive, adaptive, assisted = frame.to_dict("records")
    # The upper end of a bootstrap interval: so few repeats do not tell the others' errors well.
    best = min(one["mse_high"] for one in (passive, adaptive) if not one["undefined"])
    assert assisted["undefined"] == 0
    assert assisted["mse"] <= 1.5 * best
    assert assisted["coverage"] >= 0.9 - 3 * np.sqrt(0.9 * 0.1 / REPEATS)


@pytest.mark.parametrize("kind", KINDS)
def test_every_interval_lies_in_the_range_around_the_value(kind, oracle):
    pool, label = KINDS[kind]()
    ev = hs.Evaluation(pool, "f1", "assisted", random_state=0)
    for n in (1, 9, 90):
        ev.run(oracle(label), ev.n_labels + n, n)
        estimate = ev.estimate()
        for low, high in (
            estimate.interval,
            estimate.interval_if_falling,
            estimate.interval_from_labels,
            estimate.anytime_interval,
        ):
            assert 0 <= low <= estimate.value <= high <= 1
