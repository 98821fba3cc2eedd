"""Places of a signal, against ranks that are counted one by one."""

from __future__ import annotations

import numpy as np
import pytest

from haystat.pool.signal_places import CUTS, PARTS, counts_of, make_ladder, wanted_counts

SIZE = 3000
STARTS = np.array([1.5, 0.0, -1.5, -3.0])
RNG = np.random.default_rng(8)
CHOSEN = RNG.random(SIZE) < 0.05
THRESHOLD = float(np.log(0.95 / 0.05))
SMOOTH = RNG.normal(2 * CHOSEN, 1)


def told(values, chosen=CHOSEN):
    """Place and band of each item, as the ladder has them."""
    ladder = make_ladder(counts_of(values, chosen), THRESHOLD, STARTS)
    rung = ladder.rung(values)
    return ladder.place[rung] / PARTS, ladder.band[rung], ladder


def exact(values):
    """t = -logit(share of the items that lie higher, and half of those at the same value)."""
    higher = (values[None, :] > values[:, None]).mean(axis=1)
    rank = higher + (values[None, :] == values[:, None]).mean(axis=1) / 2
    return np.log(1 - rank) - np.log(rank)


def test_items_between_two_cuts_have_the_place_of_their_middle():
    place, _, ladder = told(SMOOTH)
    for value in np.unique(place):
        inside = SMOOTH[place == value]
        rank = (inside.max() < SMOOTH).mean() + len(inside) / SIZE / 2
        assert value == pytest.approx(np.log(1 - rank) - np.log(rank), abs=0.5 / PARTS)
    assert len(ladder.cuts) == len(CUTS)


def test_places_are_close_to_those_of_single_items():
    place, t = told(SMOOTH)[0], exact(SMOOTH)
    near = np.abs(t - THRESHOLD) < 2
    assert np.abs(place - t)[near].max() < 0.5
    assert np.all(np.diff(place[np.argsort(SMOOTH)]) >= 0)


def test_cuts_lie_at_set_distances_from_the_threshold():
    n = wanted_counts(SIZE, THRESHOLD)
    assert round(SIZE * 0.05) in n
    distance = np.log((SIZE - n) / n) - THRESHOLD
    np.testing.assert_allclose(distance[n > 50], CUTS[n > 50], atol=0.02)
    assert told(SMOOTH)[2].cuts[0] == np.sort(SMOOTH)[SIZE - n.max()]


def test_bands_begin_where_the_places_do():
    place, band, _ = told(SMOOTH)
    expected = 1 + np.sum(place[:, None] < THRESHOLD + STARTS[None, :], axis=1)
    np.testing.assert_array_equal(band, expected)


def test_a_value_that_many_share_has_its_own_place():
    sparse = np.where(RNG.random(SIZE) < 0.5, 0.0, RNG.exponential(1, SIZE))
    place, _, _ = told(sparse)
    at = place[sparse == 0.0][0]
    assert not np.any(place[sparse != 0.0] == at)
    assert at == pytest.approx(exact(sparse)[sparse == 0.0][0], abs=0.5 / PARTS)


def test_few_values_have_a_place_and_a_band_each():
    steps = np.round(SMOOTH.clip(-1, 2))
    place, band, ladder = told(steps)
    np.testing.assert_allclose(place, exact(steps), atol=0.5 / PARTS)
    np.testing.assert_array_equal(band, 3 - steps)
    assert ladder.n_values == 4


def test_a_signal_that_is_upside_down_is_turned_and_a_verdict_is_not():
    np.testing.assert_array_equal(told(-SMOOTH)[0], told(SMOOTH)[0])
    np.testing.assert_array_equal(told(-SMOOTH)[1], told(SMOOTH)[1])
    verdict = (SMOOTH < 1).astype(float)
    place, band, ladder = told(verdict)
    assert place[verdict == 1][0] > place[verdict == 0][0]
    assert (band[verdict == 1][0], band[verdict == 0][0], ladder.n_values) == (1, 2, 2)


def test_missing_values_count_as_the_middle_when_a_signal_is_turned():
    """Chosen items lie lower where the signal is known, and are missing all the same mostly."""
    values = np.where(RNG.random(SIZE) < 0.3, np.nan, SMOOTH)
    counts = counts_of(values, CHOSEN)
    assert counts.n_missing == np.isnan(values).sum()
    assert counts.chosen_missing == np.sum(np.isnan(values) & CHOSEN)
    ladder = make_ladder(counts, THRESHOLD, STARTS)
    known = ~np.isnan(values)
    place = np.where(known, ladder.place[ladder.rung(values)], 0)
    assert ladder.gap == pytest.approx(place[CHOSEN].mean() - place[~CHOSEN].mean())
