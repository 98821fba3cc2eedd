"""Every model of the oracle keeps the contract of `models/base.py`."""

from __future__ import annotations

import numpy as np
import pytest

from haystat.models import MODELS
from haystat.pool.tree import balanced_tree

PRIOR = np.array([[0.9, 0.1], [0.7, 0.3], [0.4, 0.6], [0.2, 0.8]])
SIZE = np.array([400, 300, 200, 100])


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param](balanced_tree(4, 2), PRIOR, SIZE, 1e-10)


def some(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 4, n), rng.integers(0, 2, n), np.ones(n)


def test_shares_of_a_stratum_add_up_to_one(model):
    seen = model.start()
    for seed in range(3):
        share = model.label_share(seen)
        assert share.shape == PRIOR.shape
        np.testing.assert_allclose(share.sum(axis=1), 1)
        assert np.all(share > 0)
        seen = model.observe(seen, *some(20, seed))


def test_before_a_label_strata_with_the_larger_prior_have_the_larger_share(model):
    share = model.label_share(model.start())[:, 1]
    assert share[:2].max() < share[2:].min()


def test_labels_of_a_class_make_it_likelier_where_they_were_found(model):
    start = model.start()
    stratum, label = np.zeros(60, int), np.ones(60, int)
    after = model.label_share(model.observe(start, stratum, label, np.ones(60)))
    assert after[0, 1] > model.label_share(start)[0, 1] + 0.05


def test_what_was_seen_before_is_not_changed(model):
    start = model.start()
    before = model.label_share(start).copy()
    model.observe(start, *some(30))
    np.testing.assert_array_equal(model.label_share(start), before)


def test_a_label_of_weight_three_counts_as_three(model):
    stratum, label, _ = some(12)
    heavy = model.observe(model.start(), stratum, label, np.full(12, 3.0))
    thrice = model.observe(model.start(), *(np.tile(part, 3) for part in some(12)))
    np.testing.assert_allclose(model.label_share(heavy), model.label_share(thrice), rtol=1e-9)
