"""How many strays may hide: against numerical integration and simulation."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from haystat.estimation.strays import Strays
from scipy.integrate import quad
from scipy.stats import halfcauchy, poisson

import haystat as hs
from haystat.estimation import strays


def make_strays(found=2.0, inclusion=0.1, n_positives=100.0):
    nothing = np.zeros(1)
    items = np.array([found]), nothing, np.array([1e4])
    return Strays(*items, nothing, inclusion, n_positives, np.array([True]))


@pytest.mark.parametrize(("found", "inclusion"), [(0, 0.05), (2, 0.1), (30, 0.5), (0, 0.9)])
def test_the_posterior_interval_is_that_of_numerical_integration(found, inclusion):
    prior = halfcauchy(scale=strays.SCALE)

    def density(number):
        return prior.pdf(number) * poisson.pmf(found, number * inclusion)

    def below(number):
        edges = np.geomspace(1e-3, number, 12)
        return quad(density, 0, edges[0])[0] + sum(
            quad(density, a, b)[0] for a, b in pairwise(edges)
        )

    total = below(1e5)
    low, high = make_strays(found, inclusion).posterior(0.95)
    if found == 0:  # that none hides is likely enough
        assert low == 0
    else:
        assert below(low / (1 - inclusion)) / total == pytest.approx(0.025, abs=0.003)
    assert below(high / (1 - inclusion)) / total == pytest.approx(0.975, abs=0.003)


def test_many_positives_make_more_strays_likely():
    few, many = make_strays(n_positives=10).posterior(0.95), make_strays(n_positives=1e5)
    assert many.posterior(0.95)[1] > few[1]


@pytest.mark.parametrize("found", [0, 1, 5])
def test_without_prior_the_interval_is_the_exact_one_of_a_poisson_count(found):
    """Garwood: at either end the count found, or one further out, has probability 2.5%."""
    case = make_strays(found)
    low, high = (end / 0.9 * 0.1 for end in case.without_prior(0.95))
    assert poisson.cdf(found, high) == pytest.approx(0.025)
    if found:
        assert poisson.sf(found - 1, low) == pytest.approx(0.025)
    else:
        assert low == 0


def test_the_posterior_holds_although_one_stops_when_it_is_narrow():
    """Numbers from the prior; labels come in, the inclusion grows, and one looks every time."""
    rng, repeats, missed = np.random.default_rng(0), 400, 0
    times = np.geomspace(0.005, 0.9, 25)
    for number in halfcauchy(scale=strays.SCALE).rvs(repeats, random_state=rng):
        steps = rng.poisson(number * np.diff(np.r_[0, times]))
        for inclusion, found in zip(times, np.cumsum(steps), strict=True):
            low, high = make_strays(float(found), inclusion).posterior(0.95)
            if high - low < 20:
                break
        missed += not low - 0.01 <= number * (1 - inclusion) <= high + 0.01
    assert missed / repeats < 0.05 + 3 * np.sqrt(0.05 * 0.95 / repeats)


def test_a_higher_level_widens_every_interval():
    case = make_strays(3)
    for name in ("posterior", "without_prior"):
        (low, high), (least, most) = getattr(case, name)(0.8), getattr(case, name)(0.99)
        assert least <= low < high <= most
        assert least < low or most > high


def test_nothing_hides_once_everything_was_taken():
    case = make_strays(3, inclusion=1.0)
    assert case.posterior(0.95) == case.without_prior(0.95) == (0, 0)
    assert case.expected(1e9) == 0


def test_hidden_strays_in_the_estimate_by_hand():
    """Rate 0.01: 2 of 200 hidden; 10 negatives of weight 5 take 0.4 back, 2 strays stand for 6."""
    items = np.array([2.0]), np.array([10.0]), np.array([200.0])
    case = Strays(*items, np.array([0.01]), 0.1, 5.0, np.array([True]))
    assert case.in_estimate(np.array([[5.0, 4.0]])) == pytest.approx(2 - 0.4 + 6)
    assert case.in_estimate(np.array([[500.0, 1.0]])) == 0


def test_items_out_of_reach_hide_nothing(pool_of, oracle):
    """The same group, as part of a pool and as a pool of its own."""
    pool, label = pool_of(3000, centre=-3)
    inside = np.arange(3000) % 4 == 0
    group = hs.measures.Within(hs.measures.F1(), mask=inside)
    part = hs.Evaluation(pool, group, random_state=1).run(oracle(label), 200)
    alone = hs.Pool(np.asarray(pool.outputs(np.flatnonzero(inside)).scores[:, 0]), strata=8)
    whole = hs.Evaluation(alone, "f1", random_state=1).run(oracle(label[inside]), 200)
    assert part.strays.n_hidden == whole.strays.n_hidden
    assert np.ptp(part.anytime_interval) < 1.5 * np.ptp(whole.anytime_interval)
