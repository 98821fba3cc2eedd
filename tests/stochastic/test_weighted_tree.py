"""The stochastic Dirichlet tree: the appendix's posterior predictive, and where it goes."""

from __future__ import annotations

import numpy as np
import pytest

import haystat as hs
from haystat.models.dirichlet_tree_stochastic import WeightedDirichletTree
from haystat.pool.tree import balanced_tree, flat_tree, tree_from_parents

TREES = {
    "flat": flat_tree(4),
    "binary": balanced_tree(4, 2),
    "uneven": tree_from_parents(np.array([-1, 0, 0, 1, 1, 4, 4]), 4),
}


def by_hand(tree, prior, draws):
    """Equation of the appendix, node by node: draws are (stratum, label, weight)."""
    n_strata, n_classes = prior.shape

    def path(node):
        return [] if node == 0 else [*path(tree.parent[node]), node]

    under = {v: [k for k in range(n_strata) if v in path(tree.leaf[k])] for v in range(1, 99)}
    result = np.zeros((n_strata, n_classes))
    for k in range(n_strata):
        for y in range(n_classes):
            alpha = 1 + prior[:, y].sum() + sum(w for _, c, w in draws if c == y)

            def beta(v, y=y):
                own = tree.depth[v] ** 2 + prior[under[v], y].sum()
                return own + sum(w for s, c, w in draws if c == y and s in under[v])

            product = 1.0
            for v in path(tree.leaf[k]):
                siblings = [u for u in range(len(tree.parent)) if tree.parent[u] == tree.parent[v]]
                product *= beta(v) / sum(beta(u) for u in siblings)
            result[k, y] = alpha * product
    return result / result.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_posterior_predictive_equals_the_direct_computation(name, n_classes):
    tree, rng = TREES[name], np.random.default_rng(n_classes)
    prior = rng.dirichlet(np.ones(n_classes), size=4)
    draws = [
        (int(k), int(y), float(w))
        for k, y, w in zip(
            rng.integers(4, size=30),
            rng.integers(n_classes, size=30),
            rng.gamma(2, size=30),
            strict=True,
        )
    ]
    model = WeightedDirichletTree(tree, prior)
    np.testing.assert_allclose(model.label_share(model.start()), by_hand(tree, prior, []))
    stratum, label, weight = map(np.array, zip(*draws, strict=True))
    half = model.observe(model.start(), stratum[:11], label[:11], weight[:11])
    seen = model.observe(half, stratum[11:], label[11:], weight[11:])
    np.testing.assert_allclose(model.label_share(seen), by_hand(tree, prior, draws), rtol=1e-12)


@pytest.mark.parametrize("measure", ["accuracy", "f1"])
def test_weighted_counts_converge_to_the_joint_shares(binary, measure):
    """alpha~ / N -> P(Y = y), beta~ / N -> P(Y = y, X under the branch), whatever is drawn most."""
    n = 6000
    ev = hs.Evaluation(binary.pool, measure, oracle="stochastic", random_state=5, delta=0.2)
    ev.run(binary.oracle(6), budget=n, batch_size=500)
    state, tree = ev.state.ledger.state, binary.pool.tree
    joint = np.zeros((binary.pool.n_strata, 2))
    np.add.at(joint, binary.pool.stratum, binary.share / binary.pool.size)
    under = tree.totals(joint)
    rows = ev.state.ledger.drawn_items()
    found = tree.totals(state.seen) / n
    # A weight is at most 1 / delta = 5, so its variance in a share s is at most 5 s.
    error = np.sqrt(5 * under / n)
    assert np.all(np.abs(found - under) < 5 * error + 1e-3)
    assert rows.weight.max() > 2  # the draws were far from uniform
    assert not np.allclose(found[0], np.bincount(rows.label) / n, atol=0.05)
    # The root holds alpha~: its standard error from the draws themselves.
    terms = rows.weight * (rows.label == 1)
    assert abs(terms.mean() - binary.share[:, 1].mean()) < 4 * terms.std() / np.sqrt(n)
    assert found[0, 1] == pytest.approx(terms.mean())


def test_the_model_learns_the_share_of_every_stratum_that_is_drawn(binary):
    ev = hs.Evaluation(binary.pool, "accuracy", oracle="stochastic", random_state=1, delta=0.5)
    ev.run(binary.oracle(2), budget=10_000, batch_size=2000)
    state = ev.state.ledger.state
    size = np.bincount(binary.pool.stratum)
    true = np.bincount(binary.pool.stratum, weights=binary.share[:, 1]) / size
    before = state.model.label_share(state.model.start())[:, 1]
    after = state.model.label_share(state.seen)[:, 1]
    error = lambda share: np.sqrt(np.average((share - true) ** 2, weights=size))  # noqa: E731
    assert error(after) < 0.03 < error(before)
