"""Weights of labels: one over the inclusion, capped where a label contradicts the predictions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from haystat.estimation.weights import SMALLEST_CAP, Sample, caps, kept_possible, label_weights

AGAINST = np.array([[False, True], [False, True], [True, False], [True, False]])


def make_sample(**changes):
    """Two cells predicted negative, two predicted positive."""
    parts = {
        "size": np.array([900.0, 100.0, 20.0, 30.0]),
        "labelled": np.array([[20, 1], [7, 3], [2, 6], [1, 9]]),
        "inclusion": np.array([0.02, 0.1, 0.4, 0.3]),
        "share": np.array([[0.999, 0.001], [0.8, 0.2], [0.3, 0.7], [0.1, 0.9]]),
        "against": AGAINST,
        "error": np.zeros((0, 4, 2)),
        "cap": 0.01,
    }
    return Sample(**{**parts, **changes})


def random_sample(seed, n_classes=2):
    """Any counts, shares and inclusions that can be."""
    rng = np.random.default_rng(seed)
    n_cells = 6
    labelled = rng.integers(0, 12, (n_cells, n_classes))
    size = labelled.sum(axis=1) + rng.integers(0, 500, n_cells)
    predicted = rng.integers(n_classes, size=n_cells)
    against = np.arange(n_classes) != predicted[:, None]
    against[rng.random(n_cells) < 0.2] = False  # systems disagree
    share = rng.dirichlet(np.full(n_classes, 0.3), n_cells)
    inclusion = rng.uniform(0.002, 1, n_cells)
    error = np.zeros((0, n_cells, n_classes))
    return Sample(size.astype(float), labelled, inclusion, share, against, error, 0.01)


def f1(sample, extra_missed):
    """F1 of the class 1 and, seen from the other side, of the class 0."""
    mass = sample.expected
    both, cells = [], np.arange(2)
    for c in cells:
        right = mass[~sample.against[:, c], c].sum()
        predicted = sample.size[~sample.against[:, c]].sum()
        both.append(2 * right / (predicted + mass[:, c].sum() + extra_missed))
    return np.array(both)


def test_a_capped_label_moves_the_f1_of_its_class_by_the_cap():
    sample = make_sample()
    step = 1e-4
    slope = (f1(sample, step) - f1(sample, -step)) / (2 * step)
    np.testing.assert_allclose(-slope * caps(sample), 0.01, rtol=1e-6)


def test_the_first_label_against_the_prediction_is_capped_and_more_of_them_less():
    sample = make_sample(
        size=np.array([12000.0, 8000.0, 20.0, 30.0]),
        inclusion=np.array([0.002, 0.001, 0.4, 0.3]),
        share=np.array([[0.999, 0.001], [0.999, 0.001], [0.3, 0.7], [0.1, 0.9]]),
    )
    lone = replace(sample, labelled=np.array([[20, 1], [7, 0], [2, 6], [1, 9]]))
    assert label_weights(lone)[0, 1] == pytest.approx(1 + max(caps(lone)[1], SMALLEST_CAP))
    # Four labels lie beyond the cap: each may stand for four times as much.
    assert label_weights(sample)[0, 1] == pytest.approx(1 + 4 * max(caps(sample)[1], SMALLEST_CAP))


@pytest.mark.parametrize("cap", [1e-9, 0.01, 1e9])
def test_labels_that_agree_with_a_prediction_are_never_capped(cap):
    """Nor are any, if the cap is high; no group of this sample has to be shortened."""
    sample = make_sample(cap=cap)
    weights = label_weights(sample)
    full = np.tile(1 / sample.inclusion[:, None], 2)
    np.testing.assert_allclose(weights[~AGAINST], full[~AGAINST])
    if cap == 1e9:
        np.testing.assert_allclose(weights, full)
    if cap == 1e-9:
        n_over = sample.labelled[:, 1][AGAINST[:, 1] & (full[:, 1] - 1 > SMALLEST_CAP)].sum()
        most = np.minimum(full[:, 1], 1 + SMALLEST_CAP * max(n_over, 1))
        np.testing.assert_allclose(weights[AGAINST[:, 1], 1], most[AGAINST[:, 1]])


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("n_classes", [2, 3, 9, 70])
def test_a_group_of_cells_keeps_at_least_its_labelled_items(seed, n_classes):
    sample = random_sample(seed, n_classes)
    weights = label_weights(sample)
    assert np.all(weights >= 1)
    pull = sample.labelled * weights
    number = sample.size[:, None] * sample.share
    number = number + pull - pull.sum(axis=1, keepdims=True) * sample.share
    for group in np.unique(sample.against, axis=0):
        cells = np.all(sample.against == group, axis=1)
        total, least = number[cells].sum(axis=0), sample.labelled[cells].sum(axis=0)
        assert np.all(total >= least - 1e-9 * sample.size.sum())


def test_corrections_are_not_shortened_without_need():
    sample = make_sample()
    extra = np.ones((4, 2))
    np.testing.assert_array_equal(kept_possible(sample, extra), extra)


def test_corrections_are_shortened_to_what_is_left():
    """One cell, 10 items, 4 labelled negative, the model expects half of the rest positive."""
    sample = make_sample(
        size=np.array([10.0]),
        labelled=np.array([[4, 0]]),
        inclusion=np.array([0.1]),
        share=np.array([[0.5, 0.5]]),
        against=np.array([[False, True]]),
    )
    # Expected positives 3; a label takes back extra / 2 of them, four labels 2 extra <= 3.
    extra = kept_possible(sample, np.full((1, 2), 9.0))
    np.testing.assert_allclose(extra, 1.5)


def test_with_all_items_labelled_every_weight_is_one():
    labelled = np.array([[20, 1], [7, 3], [2, 6], [1, 9]])
    size = labelled.sum(axis=1).astype(float)
    sample = make_sample(size=size, labelled=labelled, inclusion=np.ones(4))
    np.testing.assert_array_equal(label_weights(sample), 1)
