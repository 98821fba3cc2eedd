"""Partitions from features: shapes, edge cases, gain over passive sampling, speed."""

from __future__ import annotations

import time

import numpy as np
import pytest
from sklearn.datasets import make_blobs, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

import haystat as hs
from haystat.errors import BadOption, LengthMismatch, PoolError, UnknownLabel, UnknownName
from haystat.pool.features import METHODS
from haystat.pool.tree import tree_from_parents


@pytest.fixture(scope="module")
def rare():
    """Features, predictions and labels of 20,000 items, 1.6% of them positive."""
    features, label = make_classification(
        30_000,
        n_features=8,
        n_informative=5,
        n_redundant=1,
        weights=[0.985],
        class_sep=1.6,
        flip_y=0.002,
        random_state=1,
    )
    model = LogisticRegression(max_iter=500).fit(features[:10_000], label[:10_000])
    return features[10_000:], model.predict(features[10_000:]), label[10_000:]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_strata", [1, 2, 7, 64])
def test_every_item_has_a_stratum_and_the_strata_a_tree(method, n_strata):
    features = np.random.default_rng(0).normal(size=(500, 3))
    strata, parents = hs.strata_from_features(features, method, n_strata)
    assert strata.shape == (500,)
    assert np.all(np.bincount(strata, minlength=n_strata) > 0)
    tree = tree_from_parents(parents, n_strata)
    assert tree.n_strata == n_strata
    again, _ = hs.strata_from_features(features, method, n_strata)
    np.testing.assert_array_equal(strata, again)
    pool = hs.Pool(predictions=np.zeros(500, dtype=int), strata=strata, parents=parents)
    assert pool.n_strata == n_strata


@pytest.mark.parametrize("method", METHODS)
def test_strata_that_share_a_parent_lie_close_together(method):
    """Four clusters in two pairs: the root tells the pairs apart."""
    features, cluster = make_blobs(
        [50] * 4, centers=[[0, 0], [3, 0], [60, 0], [63, 0]], cluster_std=0.1, random_state=0
    )
    strata, parents = hs.strata_from_features(features, method, 4)
    tree = tree_from_parents(parents, 4)
    assert len({(s, c) for s, c in zip(strata.tolist(), cluster.tolist(), strict=True)}) == 4
    pair_of = {s: c // 2 for s, c in zip(strata.tolist(), cluster.tolist(), strict=True)}
    for s in range(4):
        for t in range(4):
            siblings = tree.parent[tree.leaf[s]] == tree.parent[tree.leaf[t]]
            assert siblings == (pair_of[s] == pair_of[t])


def test_the_kd_tree_halves_the_widest_dimension():
    rng = np.random.default_rng(1)
    features = np.stack([rng.random(1000), 10 * rng.random(1000)], axis=1)
    strata, _ = hs.strata_from_features(features, "kdtree", 2)
    assert features[strata == 0, 1].max() <= np.median(features[:, 1])
    np.testing.assert_array_equal(np.bincount(strata), [500, 500])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "features",
    [
        np.ones((20, 3)),
        np.ones((1, 2)),
        np.array([[0.0], [0.0], [0.0], [1.0]]),
        np.array([[1.0], [1.0], [1.0], [0.0]]),
        1e9 + np.arange(6.0)[:, None],
    ],
    ids=["all alike", "one item", "one above", "one below", "large numbers"],
)
def test_ties_and_small_pools(method, features):
    strata, parents = hs.strata_from_features(features, method, 4)
    n_strata = strata.max() + 1
    assert n_strata == min(4, len(np.unique(features, axis=0)))
    tree_from_parents(parents, n_strata)
    for value in np.unique(features, axis=0):
        assert len(set(strata[(features == value).all(axis=1)])) == 1


@pytest.mark.parametrize(
    ("features", "error", "message"),
    [
        (np.ones(5), LengthMismatch, "one row an item"),
        (np.ones((5, 0)), LengthMismatch, "one column a feature"),
        (np.ones((0, 2)), PoolError, "no items"),
        ([["a", "b"]], PoolError, "must be numbers"),
        ([[1.0], [float("nan")], [2.0]], PoolError, "first at position 1"),
        ([[1.0], [2.0], [float("inf")]], PoolError, "first at position 2"),
    ],
)
def test_features_are_checked(features, error, message):
    with pytest.raises(error, match=message):
        hs.strata_from_features(features)


def test_options_are_checked():
    with pytest.raises(UnknownName, match="method is 'dbscan'; it can be"):
        hs.strata_from_features(np.ones((3, 2)), "dbscan")
    with pytest.raises(BadOption, match="n_strata"):
        hs.strata_from_features(np.ones((3, 2)), n_strata=0)
    with pytest.raises(BadOption, match="random_state"):
        hs.strata_from_features(np.ones((3, 2)), random_state=-1)


def test_a_pool_may_have_predictions_alone():
    pool = hs.Pool(predictions=["no", "yes", "no"], classes=("no", "yes"), strata=1)
    bound = hs.measures.resolve("f1").bind(pool.schema)
    cells = pool.cells(bound)
    np.testing.assert_allclose(np.sort(cells.prior[:, 1]), [0.05, 0.95])
    ev = hs.Evaluation(pool, "accuracy", random_state=0)
    assert ev.run(lambda items: ["no"] * len(items), budget=3).value == pytest.approx(2 / 3)
    several = hs.Pool(predictions={"a": [0, 1, 2], "b": [0, 1, 1]}, classes=(0, 1, 2), strata=1)
    assert several.systems == ("a", "b")
    cells = several.cells(hs.measures.ForSystems(hs.measures.Accuracy()).bind(several.schema))
    np.testing.assert_allclose(cells.prior.sum(axis=1), 1)
    for measure in ("brier", "pr_curve", "average_precision"):
        with pytest.raises(BadOption, match="predictions alone; give it `scores`"):
            hs.Evaluation(pool, measure)
    with pytest.raises(BadOption, match="give `scores`, `predictions` or both"):
        hs.Pool()
    with pytest.raises(UnknownLabel):
        hs.Pool(predictions=[0, 1, 5])
    with pytest.raises(LengthMismatch):
        hs.Pool(predictions={"a": [0, 1], "b": [0]})


@pytest.mark.parametrize("method", METHODS)
def test_adaptive_on_features_beats_passive(rare, method):
    features, predicted, label = rare
    strata, parents = hs.strata_from_features(features, method, 64)
    truth = f1_score(label, predicted)
    square = {"passive": [], "adaptive": []}
    for repeat in range(25):
        pool = hs.Pool(predictions=predicted, strata=strata, parents=parents, seed=repeat)
        for design, errors in square.items():
            ev = hs.Evaluation(pool, "f1", design, random_state=repeat)
            estimate = ev.run(lambda items: label[items], budget=500)
            errors.append((estimate.value - truth) ** 2)
    assert np.mean(square["passive"]) > 1.5 * np.mean(square["adaptive"])


@pytest.mark.parametrize("method", METHODS)
def test_large_matrices_take_seconds(method):
    """A tenth of the million items of the bench, in a tenth of its minute: of the processor's time,
    for on a busy machine a clock on the wall measures what else is running."""
    features = np.random.default_rng(0).normal(size=(100_000, 50)).astype(np.float32)
    start = time.process_time()
    hs.strata_from_features(features, method, 64)
    assert time.process_time() - start < 6
