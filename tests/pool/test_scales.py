"""Edges on the raw score cut exactly where edges on the logit scale cut."""

from __future__ import annotations

import numpy as np
import pytest

import haystat as hs
from haystat.core.score_scales import logit
from haystat.pool.prior import rounded
from haystat.pool.scales import STEPS, joint_steps, raw_edges, scale_of


def test_a_score_reaches_a_raw_edge_just_when_its_logit_reaches_the_edge():
    edges = np.linspace(-25, 25, 2001)
    raw = raw_edges(edges, "logit")
    below = np.nextafter(raw, -1)
    inside = np.isfinite(raw) & (raw > 0)
    assert np.all(logit(raw[inside]) >= edges[inside])
    assert np.all(logit(below[inside]) < edges[inside])
    assert np.all(raw[edges > logit(np.array([1.0]))[0]] == np.inf)
    assert np.all(raw[edges < logit(np.array([0.0]))[0]] == 0)


def test_a_score_that_goes_far_reaches_a_raw_edge_just_when_its_asinh_does():
    edges = np.linspace(-700, 700, 4001)
    raw = raw_edges(edges, "asinh")
    assert np.all(np.arcsinh(raw) >= edges)
    assert np.all(np.arcsinh(np.nextafter(raw, -np.inf)) < edges)
    assert raw_edges(np.array([1000.0]), "asinh") == np.inf


def test_scores_are_cut_on_the_scale_that_their_range_says():
    names = {(0, 1): "logit", (-3, 4): "plain", (0.5, 1.5): "plain", (-9999, 4): "asinh"}
    for (low, high), name in names.items():
        assert scale_of(low, high).name == name
    assert scale_of(-9999, 4, numeric=True).name == "plain"


@pytest.mark.parametrize("outlier", [-9999.0, -1.6e10, 1e8])
def test_outliers_do_not_squeeze_the_other_scores_into_one_stratum(outlier):
    scores = np.random.default_rng(5).normal(-4, 2, 20_000)
    scores[:20] = outlier
    pool = hs.Pool(scores, threshold=0)
    assert pool.n_strata > 30
    assert np.bincount(pool.stratum).max() < 2_000


def test_joint_steps_are_the_mean_on_the_natural_scales():
    rng = np.random.default_rng(0)
    scores = np.stack([rng.random(5000), rng.normal(0, 5, 5000)], axis=1)
    natural = np.stack([logit(scores[:, 0]), scores[:, 1]], axis=1)
    scales = [scale_of(column.min(), column.max()) for column in scores.T]
    step = max(scale.high - scale.low for scale in scales) / STEPS
    mean = joint_steps(scores) * step + sum(scale.low for scale in scales)
    # Each of two systems is rounded down by less than a step.
    assert np.all(natural.sum(axis=1) - mean >= -1e-9)
    assert np.all(natural.sum(axis=1) - mean < 2 * step + 1e-9)


def test_systems_that_say_nothing_make_one_stratum():
    pool = hs.Pool({"a": np.full(50, 0.3), "b": np.full(50, 2.0)}, threshold=1)
    assert pool.n_strata == 1


def test_rounding_keeps_twenty_binary_digits():
    values = np.random.default_rng(1).random(1000) * 10.0 ** -(np.arange(1000) ** 0.3)
    np.testing.assert_allclose(rounded(values), values, rtol=2.0**-20)
    np.testing.assert_array_equal(rounded(rounded(values)), rounded(values))
    shifted = values * (1 + 1e-14)
    assert np.mean(rounded(shifted) == rounded(values)) > 0.999


def test_first_gives_the_order_of_take_and_its_numbers():
    pool = hs.Pool(np.random.default_rng(2).random(5000), strata=4, seed=9)
    cells = pool.cells(hs.measures.F1().bind(pool.schema))
    order = pool.candidates(cells)
    for cell in range(len(cells)):
        n = int(cells.size[cell])
        item, u = order.first(cell, n + 5)
        assert item.tolist() == [order.take(cell, rank) for rank in range(n)]
        assert np.all(np.diff(u) > 0)
        assert u.min() >= 0
        assert u.max() < 1
