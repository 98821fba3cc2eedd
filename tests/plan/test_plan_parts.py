"""What a plan is made of: worlds, rehearsals in them, and passive sampling by formula."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.special import ndtri

import haystat as hs
from haystat import designs, measures
from haystat.errors import BadOption
from haystat.planning.causes import regions
from haystat.planning.passive import passive_labels
from haystat.planning.plan import interval_widths
from haystat.planning.rehearsal import Rehearsal, rehearse
from haystat.planning.worlds import World, draw_worlds, is_credible
from haystat.pool.problem import pose

WIDTHS = partial(interval_widths, interval="fixed")


def run(problem, world, width, most, design="assisted"):
    chosen = designs.resolve(design)
    return rehearse(problem, chosen, world, 3, width=width, most=most, level=0.95, widths=WIDTHS)


def test_every_world_fills_the_cells_and_defines_the_measure(problem):
    for world in draw_worlds(problem, 20, np.random.default_rng(0)):
        assert np.array_equal(world.counts.sum(axis=1), problem.cells.size)
        assert world.counts.min() >= 0
        assert np.isfinite(world.values).all()


def test_worlds_lie_around_the_truth_of_calibrated_scores(problem, scored):
    _probability, label = scored
    found = [
        world.counts[:, 1].sum() for world in draw_worlds(problem, 60, np.random.default_rng(0))
    ]
    low, high = np.quantile(found, [0.1, 0.9])
    assert low < label.sum() < high


def test_a_claim_of_far_more_positives_than_predicted_is_not_believed(scored):
    assert is_credible(
        pose(hs.Pool(scored[0]), measures.resolve("f1").bind(hs.Pool(scored[0]).schema))
    )
    margins = hs.Pool(np.random.default_rng(0).normal(-1.5, 0.4, 4000))
    assert not is_credible(pose(margins, measures.resolve("f1").bind(margins.schema)))


def test_worlds_of_a_pool_without_a_predicted_positive_say_so():
    pool = hs.Pool(np.linspace(0, 0.3, 500))
    problem = pose(pool, measures.resolve("precision").bind(pool.schema))
    with pytest.raises(BadOption, match="0/0"):
        draw_worlds(problem, 3, np.random.default_rng(0))


@pytest.mark.parametrize("design", ["assisted", "adaptive", "passive", "stratified"])
def test_a_rehearsal_narrows_with_every_design(problem, design):
    world = draw_worlds(problem, 1, np.random.default_rng(1))[0]
    found = run(problem, world, width=0.01, most=600, design=design)
    assert found.n_labels[-1] == 600
    assert found.labelled.sum() == 600
    assert found.widths[-1, 0] < found.widths[1, 0]


def test_a_rehearsal_of_the_whole_pool_ends_at_the_measure_of_the_world():
    pool = hs.Pool(np.random.default_rng(2).normal(-1, 1.5, 400), strata=16)
    problem = pose(pool, measures.resolve("f1").bind(pool.schema))
    world = draw_worlds(problem, 1, np.random.default_rng(1))[0]
    found = run(problem, world, width=1e-9, most=400)
    assert found.last.values == pytest.approx(world.values)
    assert found.labels_for(1e-9) == pytest.approx(found.n_labels[-1])


def test_labels_are_found_between_two_stages():
    widths = np.array([[0.4], [0.2], [0.1]])
    found = Rehearsal(np.array([100, 400, 1600]), widths, None, None, None)
    assert found.labels_for(0.5) == 100
    assert found.labels_for(0.2) == pytest.approx(400)
    assert found.labels_for(0.4 / np.sqrt(2)) == pytest.approx(200)
    assert found.labels_for(0.05) == float("inf")


def test_labels_of_passive_sampling_agree_with_the_binomial():
    """Accuracy of independent labels: 2 z sqrt(a (1 - a) / n) is the width."""
    pool = hs.Pool(np.r_[np.zeros(500_000), np.ones(500_000)], strata=2)
    problem = pose(pool, measures.resolve("accuracy").bind(pool.schema))
    counts = np.array([[400_000, 100_000], [100_000, 400_000]])
    world = World(counts, np.array([0.8]))
    z = float(ndtri(0.975))
    found = passive_labels(problem, world, 0.04, lambda n: z)
    assert found == pytest.approx((2 * z / 0.04) ** 2 * 0.8 * 0.2, abs=2)
    assert passive_labels(problem, world, 1e-6, lambda n: z) == problem.size


def test_regions_divide_the_pool(problem):
    parts = regions(problem)
    assert np.array_equal(
        sum(part.astype(int) for part in parts.values()), np.ones(len(problem.cells))
    )
