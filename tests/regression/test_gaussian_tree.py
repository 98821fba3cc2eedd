"""The model of the residuals, and the moments of the losses under it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

import haystat as hs
from haystat.models.gaussian_tree import GaussianTree
from haystat.pool.problem import pose
from haystat.pool.tree import balanced_tree, flat_tree


def by_hand(tree, deviation, strength, labels):
    """Mixtures from the root down; labels are (stratum, residual)."""

    def path(node):
        return [0] if node == 0 else [*path(tree.parent[node]), node]

    mean, spread = [], []
    for k in range(len(deviation)):
        first, second = 0.0, 1.0
        for node in path(tree.leaf[k]):
            below = [r / deviation[s] for s, r in labels if node in path(tree.leaf[s])]
            n = len(below) + strength
            first = (sum(below) + strength * first) / n
            second = (sum(r * r for r in below) + strength * second) / n
        mean.append(first * deviation[k])
        spread.append(np.sqrt(second - first**2) * deviation[k])
    return np.array(mean), np.array(spread)


@pytest.mark.parametrize("tree", [balanced_tree(4, 2), flat_tree(4)], ids=["binary", "flat"])
def test_moments_equal_the_direct_computation(tree):
    rng = np.random.default_rng(0)
    deviation = np.array([0.5, 1.0, 2.0, 4.0])
    labels = [(int(k), float(r)) for k, r in zip(rng.integers(4, size=25), rng.normal(1, 3, 25))]  # noqa: B905
    model = GaussianTree(tree, deviation, strength=3.0)
    np.testing.assert_allclose(model.moments(model.start()), [np.zeros(4), deviation])
    stratum, residual = map(np.array, zip(*labels, strict=True))
    seen = model.observe(model.start(), stratum[:9], residual[:9])
    seen = model.observe(seen, stratum[9:], residual[9:])
    expected = by_hand(tree, deviation, 3.0, labels)
    np.testing.assert_allclose(model.moments(seen), expected, rtol=1e-12)


def test_many_labels_speak_for_themselves_and_teach_the_neighbours():
    rng = np.random.default_rng(1)
    model = GaussianTree(balanced_tree(4, 2), np.ones(4))
    stratum = np.repeat([0, 2], 5000)
    residual = np.concatenate([rng.normal(3, 5, 5000), rng.normal(-1, 0.1, 5000)])
    mean, deviation = model.moments(model.observe(model.start(), stratum, residual))
    np.testing.assert_allclose(mean[[0, 2]], [3, -1], atol=0.3)
    np.testing.assert_allclose(deviation[[0, 2]], [5, 0.1], rtol=0.1, atol=0.05)
    # Strata 1 and 3 have no label and take after their siblings.
    np.testing.assert_allclose(mean[[1, 3]], mean[[0, 2]], atol=0.1)


def test_moments_of_the_losses_are_those_of_a_gaussian():
    rng = np.random.default_rng(2)
    scores = rng.normal(10, 2, 500)
    pool = hs.Pool(scores, classes=None, strata=5)
    mean, deviation = np.linspace(-1, 1, 5), np.linspace(0.5, 2, 5)

    def moments(measure):
        problem = pose(pool, hs.measures.resolve(measure).bind(pool.schema))
        return problem.losses.moments(mean, deviation)

    square = mean**2 + deviation**2
    fourth = mean**4 + 6 * mean**2 * deviation**2 + 3 * deviation**4
    z = mean / deviation
    folded = deviation * (2 * norm.pdf(z) + z * (2 * norm.cdf(z) - 1))  # E|e|
    mse, mae = moments("mse"), moments("mae")
    np.testing.assert_allclose(mse.first[:, 0, 0], square)
    np.testing.assert_allclose(mse.second[:, 0, 0, 0], fourth)
    np.testing.assert_allclose(mae.second[:, 0, 0, 0], square)
    np.testing.assert_allclose(mae.first[:, 0, 0], folded, rtol=0.08)  # a kink, by quadrature


def test_examples_stand_for_the_predictions_of_a_cell():
    scores = np.random.default_rng(3).normal(0, 1, 4000)
    pool = hs.Pool(scores, classes=None, strata=np.zeros(4000, dtype=int))
    problem = pose(pool, hs.measures.R2().bind(pool.schema))
    first = problem.losses.moments(np.zeros(1), np.full(1, 2.0)).first[0, 0]
    centre = problem.measure._centre
    label = scores - centre
    expected = [4, 0, label.mean(), np.mean(label**2) + 4, 1]
    # The examples are spread over the first 1,024 items by u, which are a random sample.
    np.testing.assert_allclose(first, expected, rtol=0.03, atol=3 / np.sqrt(1024))
