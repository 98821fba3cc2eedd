"""The bound on undetected positives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import hypergeom

from haystat.inference.undetected import most_positives


@pytest.mark.parametrize(
    ("size", "labelled", "positive"),
    [(50, 10, 0), (50, 10, 3), (50, 49, 1), (400, 1, 1), (9, 9, 2)],
)
def test_the_bound_is_the_largest_that_the_labels_do_not_contradict(size, labelled, positive):
    possible = range(positive, positive + size - labelled + 1)
    allowed = [k for k in possible if hypergeom.cdf(positive, size, k, labelled) > 0.05]
    assert most_positives(size, labelled, positive) == max(allowed, default=positive)


def test_the_bound_holds_as_often_as_it_says():
    rng = np.random.default_rng(0)
    size, labelled = 300, 40
    for truth in (0, 5, 30, 150):
        drawn = rng.hypergeometric(truth, size - truth, labelled, 4000)
        bounds = {n: most_positives(size, labelled, n) for n in np.unique(drawn).tolist()}
        held = np.mean([truth <= bounds[n] for n in drawn.tolist()])
        assert held >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 4000)


def test_a_very_large_region_is_bounded_with_a_little_more_caution():
    exact, large = most_positives(1_000_000, 500, 2), most_positives(1_000_001, 500, 2)
    assert exact <= large <= 1.001 * exact + 2


@pytest.mark.parametrize("size", [1000, 5_000_000])
def test_the_ends(size):
    assert most_positives(size, 0, 0) == size
    assert most_positives(size, size, 7) == 7
    assert most_positives(size, 3, 3) == size
