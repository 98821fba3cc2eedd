"""One sample for several systems and measures, and for a system that came later."""

from __future__ import annotations

import numpy as np
import pytest

import haystat as hs
from haystat import designs
from haystat.designs.base import Batch
from haystat.designs.optimal import optimal_proposal, total_variance
from haystat.errors import BadOption, LengthMismatch, NoSupport, PoolError
from haystat.measures import F1, Accuracy, Difference, Recall, Several, Within
from haystat.pool.problem import pose

SIZE = 3000


@pytest.fixture(scope="module")
def data():
    """Scores of two systems and labels, 8% positive; ids are texts."""
    rng = np.random.default_rng(0)
    signal = rng.normal(-2.5, 1.6, SIZE)
    label = (rng.random(SIZE) < 1 / (1 + np.exp(-1.5 * signal))).astype(int)
    scores = {"a": signal + rng.normal(0, 0.7, SIZE), "b": signal + rng.normal(0, 1.2, SIZE)}
    ids = np.array([f"x{i}" for i in range(SIZE)])
    group = rng.random(SIZE) < 0.4
    return scores, label, ids, group


def run(pool, measure, label, n, seed, design="adaptive", **options):
    ev = hs.Evaluation(pool, measure, design, random_state=seed, **options)
    position = {item: i for i, item in enumerate(pool.ids.tolist())}
    ev.run(lambda items: [int(label[position[item]]) for item in items], budget=n, batch_size=100)
    return ev


def truth_of(measure, pool, label):
    bound = hs.measures.resolve(measure).bind(pool.schema)
    outputs = pool.outputs(np.arange(pool.size))
    return bound.value(bound.risk(outputs, label, np.full(pool.size, 1 / pool.size)))


def test_weights_decide_what_the_design_serves(data):
    """The proposal for weights (1, 0) is that of the first measure alone, and so on."""
    scores = data[0]
    pool = hs.Pool(scores, strata=16)
    joint = [Recall(system="a"), Accuracy(system="b")]

    def proposal(measure):
        problem = pose(pool, measure.bind(pool.schema))
        design = designs.Adaptive()
        probability = design.propose(problem, design.start(problem, np.random.default_rng(0)))
        return probability.unlabelled[problem.cells.of_item]

    def distance(one, other):
        return 0.5 * np.abs(one - other).sum()

    by_weight = {w: proposal(Several(joint, [w, 1 - w])) for w in (0.0, 0.01, 0.5, 1.0)}
    # The floor keeps what only the other measure needs within reach.
    assert distance(by_weight[1.0], proposal(joint[0])) < 1e-3
    assert distance(by_weight[0.0], proposal(joint[1])) < 1e-3
    assert distance(by_weight[0.5], by_weight[1.0]) < distance(by_weight[0.01], by_weight[1.0])
    np.testing.assert_allclose(proposal(Several(joint)), proposal(Several(joint, [3.0, 3.0])))


@pytest.mark.parametrize("weights", [None, (1.0, 5.0, 0.2)])
def test_the_optimal_proposal_minimises_the_weighted_total_variance(data, weights):
    scores, label, *_ = data
    pool = hs.Pool(scores, strata=8)
    measure = Several([F1(system="a"), Accuracy(system="b"), Recall(system="b")], weights)
    problem = pose(pool, measure.bind(pool.schema))
    truth = np.zeros((len(problem.cells), 2), dtype=int)
    np.add.at(truth, (problem.cells.of_item, label), 1)
    best = optimal_proposal(problem, truth)
    # By hand: sum of weighted variances of w J loss under q*, item by item.
    outputs = pool.outputs(np.arange(SIZE))
    risk = problem.measure.risk(outputs, label, np.full(SIZE, 1 / SIZE))
    influence = problem.measure.influence(outputs, label, risk)
    w = np.ones(3) if weights is None else np.array(weights)
    q = best.probability[problem.cells.of_item, label]
    drawn = q > 0
    second = np.einsum("nm,n->m", influence[drawn] ** 2, 1 / (SIZE**2 * q[drawn]))
    mean = influence.mean(axis=0)
    assert best.total_variance == pytest.approx(w @ (second - mean**2))
    uniform = designs.Passive().propose(problem, None)
    assert total_variance(problem, uniform, truth, np.zeros_like(truth)) > best.total_variance


def test_weights_reach_losses_that_vary_inside_a_cell(data):
    scores = {name: 1 / (1 + np.exp(-values)) for name, values in data[0].items()}
    pool = hs.Pool(scores, strata=8)
    brier = [hs.measures.Brier(system=name) for name in ("a", "b")]

    def sensitivity(measure):
        problem = pose(pool, measure.bind(pool.schema))
        return problem.losses.sensitivity(np.full(problem.measure.n_risk, 0.1))

    one, two = (sensitivity(measure) for measure in brier)
    np.testing.assert_allclose(sensitivity(Several(brier, [2.0, 0.5])), 2 * one + 0.5 * two)


@pytest.mark.parametrize(
    "weights", [[1.0], [1, 2, 3], [1, -1], [0, 0], ["a", 1], [np.nan, 1], [[1], [2]]]
)
def test_weights_are_checked(weights):
    with pytest.raises(BadOption, match="give one number of at least 0 for each, not all 0"):
        Several([F1(), Recall()], weights)


@pytest.mark.parametrize(
    "measure",
    [
        Difference(F1(), "a", "b"),
        Difference(Accuracy(), "a", "b"),
        "groups",
        Several([F1(system="a"), Recall(system="b"), Accuracy(system="b")], [1, 1, 20]),
    ],
    ids=["f1", "accuracy", "groups", "weighted"],
)
def test_intervals_of_differences_groups_and_vectors_cover_the_truth(data, measure):
    scores, label, _, group = data
    if measure == "groups":
        measure = Several([Within(Recall(system=s), m) for s in "ab" for m in (group, ~group)])
    truth = truth_of(measure, hs.Pool(scores, strata=8), label)
    repeats, inside, region = 60, [], []
    for seed in range(repeats):
        pool = hs.Pool(scores, strata=32, seed=seed)
        estimate = run(pool, measure, label, 600, seed).estimate()
        low, high = estimate.intervals.T
        inside.append((low <= truth) & (truth <= high))
        region.append(estimate.region().contains(truth))
    floor = 0.95 - 3 * np.sqrt(0.95 * 0.05 / repeats)
    assert np.mean(inside) >= floor
    assert np.mean(region) >= floor - 0.05  # an ellipsoid of up to four components is optimistic


def test_a_paired_difference_is_sharper_than_two_estimates(data):
    """Both systems are judged by the same labels, so that what they share cancels."""
    scores, label, *_ = data
    pool = hs.Pool(scores, strata=32)
    ev = run(pool, Several([F1(system="a"), F1(system="b")]), label, 800, 0)
    both = ev.estimate().covariance
    difference = ev.estimate(Difference(F1(), "a", "b"))
    assert difference.std_error**2 == pytest.approx(both[0, 0] + both[1, 1] - 2 * both[0, 1])
    assert difference.std_error**2 < both[0, 0] + both[1, 1]


def test_labels_for_f1_of_one_system_give_recall_of_a_later_one(data):
    """Unbiased: sum of w loss - draws * R has mean zero over many evaluations (Wald)."""
    scores, label, ids, _ = data
    shuffled = np.random.default_rng(5).permutation(SIZE)
    later = hs.Pool({"b": scores["b"][shuffled]}, ids=ids[shuffled], strata=8)
    loss = Recall().bind(later.schema).loss(later.outputs(np.arange(SIZE)), label[shuffled])
    excess, values = [], []
    for seed in range(100):
        pool = hs.Pool({"a": scores["a"]}, ids=ids, strata=32, seed=seed)
        estimate = run(pool, "f1", label, 400, seed).estimate("recall", pool=later)
        assert (estimate.n_labels, estimate.components) == (400, ("recall",))
        excess.append(estimate.n_draws * (estimate.details["risk"] - loss.mean(axis=0)))
        values.append(estimate.value)
    error = np.std(excess, axis=0) / np.sqrt(len(excess))
    assert np.all(np.abs(np.mean(excess, axis=0)) < 4 * error)
    truth = truth_of("recall", later, label[shuffled])[0]
    assert abs(np.mean(values) - truth) < 0.03  # a ratio of unbiased sums is biased by O(1 / n)


def test_reuse_for_a_later_system_is_unbiased_by_enumeration():
    """Every pair of draws from six items, the second from a proposal that has seen the first."""
    label = np.array([0, 1, 0, 1, 0, 1])
    strata = np.array([0, 0, 1, 1, 2, 2])
    old = hs.Pool([-2.0, -1.4, -0.6, -0.1, 0.7, 1.8], [0, 0, 0, 1, 1, 1], strata=strata)
    new = hs.Pool([1.0, 1.0, -1.0, 1.0, -1.0, -1.0], strata=1)
    problem = pose(old, F1().bind(old.schema))
    loss = Recall().bind(new.schema).loss(new.outputs(np.arange(6)), label)
    cell, design = problem.cells.of_item.astype(int), designs.Adaptive()
    state = design.start(problem, np.random.default_rng(0))
    first = design.propose(problem, state).unlabelled[cell]
    expected = np.zeros(2)
    for i in np.flatnonzero(first):
        one = np.ones(1)
        weight = one / (6 * first[i])
        batch = Batch(cell[[i]], label[[i]], one.astype(int), weight, one > 0)
        proposal = design.propose(problem, design.observe(problem, state, batch))
        second = proposal.unlabelled[cell]
        second[i] = proposal.labelled[cell[i], label[i]]
        drawn = second > 0
        expected += first[i] * (weight * loss[i] + loss[drawn].sum(axis=0) / 6) / 2
    np.testing.assert_allclose(expected, loss.mean(axis=0), atol=1e-12)


def test_what_the_draws_cannot_reach_is_refused(data):
    scores, label, ids, _ = data
    pool = hs.Pool({"a": scores["a"]}, ids=ids, strata=16)
    later = hs.Pool({"b": scores["b"]}, ids=ids, strata=16)
    ev = run(pool, "f1", label, 200, 0)
    with pytest.raises(NoSupport, match=r"for f1 .* cannot estimate precision.*delta=0\.1"):
        ev.estimate("precision", pool=later)
    with pytest.raises(NoSupport, match="cannot estimate f1"):
        ev.estimate(pool=later)  # the same measure, of the new system
    mixed = run(pool, "f1", label, 400, 0, delta=0.3)
    estimate = mixed.estimate("precision", pool=later)
    truth = truth_of("precision", later, label)[0]
    assert abs(estimate.value - truth) < 4 * estimate.std_error
    passive = run(pool, "f1", label, 400, 0, design="passive")
    assert np.isfinite(passive.estimate(pool=later).value)


def test_the_other_pool_must_hold_the_same_items(data):
    scores, label, ids, group = data
    ev = run(hs.Pool({"a": scores["a"]}, ids=ids, strata=16), "f1", label, 100, 0)
    with pytest.raises(PoolError, match="lacks an item that could be drawn"):
        ev.estimate("recall", pool=hs.Pool(scores["b"][:-1], ids=ids[:-1]))
    more = np.append(ids, "another")
    with pytest.raises(PoolError, match="1 of which could not be drawn"):
        ev.estimate("recall", pool=hs.Pool(np.append(scores["b"], 0.0), ids=more))
    with pytest.raises(PoolError, match="make it with the same classes"):
        ev.estimate("recall", pool=hs.Pool(scores["b"], ids=ids, classes=("no", "yes")))
    with pytest.raises(LengthMismatch, match="the mask has 10 entries and the pool 3000 items"):
        ev.estimate(Within(Recall(), group[:10]))


def test_support_is_checked_item_by_item_whatever_their_order(data):
    """The same system in another order needs what was drawn; by position it would not."""
    scores, label, ids, _ = data
    shuffled = np.random.default_rng(6).permutation(SIZE)
    ev = run(hs.Pool({"a": scores["a"]}, ids=ids, strata=16), "f1", label, 200, 0)
    again = hs.Pool({"a": scores["a"][shuffled]}, ids=ids[shuffled], strata=16)
    assert ev.estimate(pool=again).value == pytest.approx(ev.estimate().value)
    assert ev.estimate("precision", pool=again).value == pytest.approx(
        ev.estimate("precision").value
    )
