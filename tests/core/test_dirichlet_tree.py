"""The Dirichlet tree: its prior, EM against the plain formula, EM against a direct optimum."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize
from scipy.special import softmax

from haystat.models.dirichlet_tree import DirichletTree
from haystat.models.em import log_posterior, m_step
from haystat.models.em_loops import run_em
from haystat.pool.tree import balanced_tree, flat_tree, tree_from_parents

# Root 0 with children 1 and 2; 1 is stratum 0; 2 has children 3, 4, 5: strata 1, 2, 3.
PARENTS = np.array([-1, 0, 0, 2, 2, 2])
TREES = {
    "balanced": balanced_tree(4, 2),
    "flat": flat_tree(4),
    "parents": tree_from_parents(PARENTS, 4),
    "uneven": balanced_tree(4, 3),
}


def make_model(tree_name, n_classes, **options):
    rng = np.random.default_rng(n_classes)
    prior = rng.dirichlet(np.full(n_classes, 0.7), size=4)
    return DirichletTree(TREES[tree_name], prior, np.array([30, 12, 7, 21]), **options)


def some_labels(n_classes):
    rng = np.random.default_rng(7)
    return np.array([0, 0, 1, 2, 3, 3, 3]), rng.integers(n_classes, size=7)


def parts(model, observed):
    """The arguments that run_em, m_step and log_posterior share."""
    tree = model.tree
    hidden = model.size - observed.sum(axis=1)
    return tree.parent, tree.leaf, model.branch_pseudo, model.class_pseudo, hidden


def share_of(theta, psi):
    joint = theta * psi
    return joint / joint.sum(axis=1, keepdims=True)


def plain_em(model, observed, share, iterations):
    """E- and M-steps one after another; yields the share and the log posterior after each."""
    parent, leaf, pseudo, class_pseudo, hidden = parts(model, observed)
    for _ in range(iterations):
        expected = observed + hidden[:, None] * share
        theta, branch, psi = m_step(parent, leaf, pseudo, class_pseudo, expected)
        share = share_of(theta, psi)
        height = log_posterior(
            parent, leaf, pseudo, class_pseudo, observed, hidden, theta, branch, psi
        )
        yield share, height


def told(model, state, stratum, label):
    """After labels that count once each."""
    return model.observe(state, stratum, label, np.ones(len(label)))


def test_without_labels_the_share_is_the_prior_worked_by_hand():
    tree = tree_from_parents(np.array([-1, 0, 0, 1, 1]), 3)  # strata: node 2, node 3, node 4
    prior = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    model = DirichletTree(tree, prior, np.array([5, 5, 5]))
    theta = np.array([1.7, 1.3]) / 3
    # beta - 1, beta being the depth squared plus the priors under the node.
    left = 1 - 1 + prior[1] + prior[2]
    right = 1 - 1 + prior[0]
    upper = 4 - 1 + prior[1]
    lower = 4 - 1 + prior[2]
    psi = np.array(
        [
            right / (left + right),
            left / (left + right) * upper / (upper + lower),
            left / (left + right) * lower / (upper + lower),
        ]
    )
    np.testing.assert_allclose(psi.sum(axis=0), 1)
    np.testing.assert_allclose(model.prior_state().label_share, share_of(theta, psi))


def test_a_flat_tree_without_labels_returns_the_prior_of_every_stratum():
    prior = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    model = DirichletTree(flat_tree(3), prior, np.array([5, 5, 5]))
    np.testing.assert_allclose(model.prior_state().label_share, prior)


def test_a_class_that_the_prior_rules_out_stays_possible():
    prior = np.array([[1.0, 0.0], [1.0, 0.0]])
    model = DirichletTree(flat_tree(2), prior, np.array([5, 5]))
    state = model.prior_state()
    assert np.all(state.label_share > 0)
    seen = told(model, state, np.array([0, 0]), np.array([0, 1]))
    assert np.all(seen.label_share > 0)


@pytest.mark.parametrize("tree_name", TREES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_compiled_em_equals_the_plain_formula(tree_name, n_classes):
    model = make_model(tree_name, n_classes)
    stratum, label = some_labels(n_classes)
    observed = np.zeros_like(model.prior)
    np.add.at(observed, (stratum, label), 1)
    start = model.prior_state().label_share
    for iterations in (1, 2, 25):
        *_, (plain, _) = plain_em(model, observed, start, iterations)
        *before, hidden = parts(model, observed)
        share, n_done = run_em(*before, observed, hidden, start, 0.0, iterations)
        assert n_done == iterations
        np.testing.assert_allclose(share, plain, rtol=1e-12)


@pytest.mark.parametrize("tree_name", TREES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_em_never_lowers_the_log_posterior(tree_name, n_classes):
    model = make_model(tree_name, n_classes)
    observed = np.zeros_like(model.prior)
    np.add.at(observed, some_labels(n_classes), 1)
    heights = [h for _, h in plain_em(model, observed, model.prior_state().label_share, 60)]
    assert np.all(np.diff(heights) > -1e-10)
    assert heights[-1] > heights[0]


@pytest.mark.parametrize("tree_name", TREES)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_fixed_point_of_em_is_the_optimum_of_the_posterior(tree_name, n_classes):
    """Maximise the log posterior directly, over softmax parameters of theta and branches."""
    model = make_model(tree_name, n_classes, tolerance=1e-13, max_iterations=20000)
    stratum, label = some_labels(n_classes)
    state = told(model, model.prior_state(), stratum, label)
    parent, leaf, pseudo, class_pseudo, hidden = parts(model, state.observed)
    n_nodes = len(parent)

    def unpack(z):
        theta = softmax(z[:n_classes])
        logits = z[n_classes:].reshape(n_nodes, n_classes)
        branch = np.ones((n_nodes, n_classes))
        for node in set(parent[1:].tolist()):
            children = np.flatnonzero(parent == node)
            branch[children] = softmax(logits[children], axis=0)
        psi = np.ones((n_nodes, n_classes))
        for node in range(1, n_nodes):
            psi[node] = psi[parent[node]] * branch[node]
        return theta, branch, psi[leaf]

    def depth(z):
        theta, branch, psi = unpack(z)
        # Written out here, apart from the package: priors, labels seen, items without a label.
        prior = class_pseudo @ np.log(theta) + np.sum(pseudo[1:] * np.log(branch[1:]))
        seen = np.sum(state.observed * np.log(theta * psi))
        return -(prior + seen + hidden @ np.log((theta * psi).sum(axis=1)))

    start = np.log(
        np.concatenate([model.prior_state().label_share.mean(axis=0), np.ones(pseudo.size)])
    )
    best = optimize.minimize(depth, start, method="BFGS", options={"gtol": 1e-7})
    theta, _, psi = unpack(best.x)
    np.testing.assert_allclose(state.label_share, share_of(theta, psi), atol=2e-5)


def test_observing_in_two_steps_ends_where_one_step_ends():
    model = make_model("balanced", 2, tolerance=1e-13, max_iterations=20000)
    stratum, label = some_labels(2)
    once = told(model, model.prior_state(), stratum, label)
    halfway = told(model, model.prior_state(), stratum[:3], label[:3])
    twice = told(model, halfway, stratum[3:], label[3:])
    np.testing.assert_array_equal(once.observed, twice.observed)
    np.testing.assert_allclose(once.label_share, twice.label_share, atol=1e-8)


def test_a_stratum_labelled_throughout_has_no_say_in_what_is_hidden():
    model = make_model("flat", 2)
    stratum = np.full(7, 2)
    state = told(model, model.prior_state(), stratum, np.ones(7, dtype=int))
    assert np.all(np.isfinite(state.label_share))
    np.testing.assert_allclose(state.label_share.sum(axis=1), 1)
    assert state.observed[2].tolist() == [0, 7]


def test_labels_of_a_class_raise_its_share_nearby_more_than_far_away():
    prior = np.full((4, 2), 0.5)
    model = DirichletTree(balanced_tree(4, 2), prior, np.full(4, 1000))
    start = told(model, model.prior_state(), np.zeros(0, int), np.zeros(0, int))
    state = told(model, start, np.zeros(50, int), np.ones(50, int))
    gain = state.label_share[:, 1] - start.label_share[:, 1]
    assert gain[0] > gain[1] > max(gain[2], gain[3])
