"""Cells that lie close together are one region, and never across what tells them apart."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit

from haystat.models.regions import WIDTHS, Regions


def regions_at(place, apart=None, size=None):
    """Of cells at these distances from a threshold in the middle of the pool."""
    place = np.asarray(place, dtype=float)
    apart = np.zeros(len(place), dtype=int) if apart is None else np.asarray(apart)
    size = np.ones(len(place)) if size is None else np.asarray(size, dtype=float)
    return Regions.along(expit(-place), 0.5, apart, size)


def test_a_region_is_no_wider_than_the_table_says():
    place = np.random.default_rng(0).uniform(-11, 11, 4000)
    regions = regions_at(place)
    for number in range(len(regions.first)):
        inside = place[regions.of_cell == number]
        assert np.all(np.sign(inside) == np.sign(inside[0]))
        widest = [width for start, width in WIDTHS if start <= np.abs(inside).max()][-1]
        assert np.ptp(inside) <= widest + 1e-9
    # Near the threshold 0.2 wide: ten on either side.
    assert len(np.unique(regions.of_cell[np.abs(place) < 2])) == 20


def test_cells_that_are_to_be_told_apart_are():
    regions = regions_at([0.05, 0.06, 0.07, -1.0], apart=[0, 1, 0, 0])
    assert regions.of_cell[0] == regions.of_cell[2] != regions.of_cell[1]


def test_a_region_lies_at_the_mean_of_its_items_and_has_their_number():
    regions = regions_at([0.05, 0.15, 3.0, -1.0], size=[30, 10, 5, 2])
    number = regions.of_cell[0]
    assert number == regions.of_cell[1]
    assert regions.place[number] == pytest.approx(0.075)
    assert regions.size[number] == 40
    np.testing.assert_array_equal(
        regions.total(np.array([1, 2, 4, 8]))[regions.of_cell], [3, 3, 4, 8]
    )
    assert set(regions.of_cell[regions.first]) == set(range(len(regions.first)))
