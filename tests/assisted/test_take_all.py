"""Labels in proportion to sizes where no item takes two: take-all strata."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from haystat.designs.take_all import at_most_once


def cells(seed):
    """Sizes of very different cells, a few of them zero, two of them alike."""
    rng = np.random.default_rng(seed)
    sizes = np.exp(rng.normal(0, 3, 40))
    sizes[:3], sizes[4] = 0.0, sizes[5]
    return sizes, rng.integers(1, 300, 40)


@pytest.mark.parametrize("n", [0.4, 30.0, 700.0, 3000.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_each_item_is_taken_once_at_most_and_n_are_taken(n, seed):
    """Against the multiple that a search finds."""
    sizes, n_items = cells(seed)

    def taken(log_multiple):
        return float(n_items @ np.minimum(np.exp(log_multiple) * sizes, 1.0))

    multiple = np.exp(brentq(lambda x: taken(x) - n, -40, 40, xtol=1e-12))
    found = at_most_once(sizes, n_items, n)
    assert n_items @ found == pytest.approx(n)
    np.testing.assert_allclose(found, np.minimum(multiple * sizes, 1.0), rtol=1e-8)


def test_few_labels_go_in_proportion_to_sizes():
    sizes, n_items = cells(3)
    n = 0.999 * float(n_items @ sizes) / sizes.max()
    np.testing.assert_allclose(at_most_once(sizes, n_items, n), n * sizes / (n_items @ sizes))


def test_with_labels_enough_every_item_within_reach_is_taken():
    sizes, n_items = cells(4)
    for n in (n_items[sizes > 0].sum(), 2.0 * n_items.sum()):
        np.testing.assert_allclose(at_most_once(sizes, n_items, float(n)), sizes > 0)


def test_cells_without_items_or_size_take_nothing():
    sizes, n_items = np.array([3.0, 0.0, 2.0]), np.array([0, 5, 10])
    np.testing.assert_allclose(at_most_once(sizes, n_items, 4.0)[1:], [0.0, 0.4])
    np.testing.assert_array_equal(at_most_once(np.zeros(3), n_items, 4.0), 0.0)
