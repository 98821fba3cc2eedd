"""Regression measures: values, unbiased draws, coverage, gain over passive sampling."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import (
    mean_absolute_error,
    mean_squared_error,
    r2_score,
    root_mean_squared_error,
)

import haystat as hs
from haystat import designs
from haystat.designs.adaptive_regression import DEFENSIVE
from haystat.designs.base import Batch
from haystat.pool.problem import pose

MEASURES = ("mae", "mse", "rmse", "r2")


@pytest.mark.parametrize("design", ["passive", "stratified", "importance", "adaptive"])
@pytest.mark.parametrize("measure", MEASURES)
def test_all_labels_give_the_value_of_scikit_learn(measure, design):
    rng = np.random.default_rng(0)
    predicted = rng.normal(1e6, 1, 60)
    label = predicted + rng.normal(0, 2, 60)
    pool = hs.Pool(predicted, classes=None, strata=4)
    ev = hs.Evaluation(pool, measure, design, random_state=0)
    estimate = ev.run(lambda items: label[items], budget=60, batch_size=30)
    theirs = {
        "mae": mean_absolute_error,
        "mse": mean_squared_error,
        "rmse": root_mean_squared_error,
        "r2": r2_score,
    }[measure](label, predicted)
    assert estimate.value == pytest.approx(theirs, rel=1e-6)
    assert estimate.interval == (estimate.value, estimate.value)


def test_the_papers_r2_is_explained_over_total_variance(numbers):
    ev = hs.Evaluation(numbers.pool(), hs.measures.R2("explained"), "passive", random_state=0)
    estimate = ev.run(numbers.oracle, budget=4000, batch_size=4000)
    spread = np.mean((numbers.predicted - numbers.label.mean()) ** 2)
    assert estimate.value == pytest.approx(spread / numbers.label.var())


@pytest.mark.parametrize("measure", ["mae", "r2"])
@pytest.mark.parametrize("name", ["passive", "importance", "adaptive", "adaptive_flat"])
def test_risk_estimate_is_unbiased_over_two_stages(name, measure):
    """Over every pair of draws from a tiny pool, with the second proposal made after the first."""
    predicted = np.array([1.0, 2.0, 4.0, 5.0, 8.0])
    label = np.array([1.5, 1.0, 4.0, 9.0, 7.0])
    pool = hs.Pool(predicted, classes=None, strata=np.array([0, 0, 1, 1, 1]))
    problem = pose(pool, hs.measures.resolve(measure).bind(pool.schema))
    design, cell = designs.resolve(name), problem.cells.of_item.astype(int)
    loss = problem.losses.of_items(np.arange(5), label)
    state = design.start(problem, np.random.default_rng(0))
    first = design.propose(problem, state).unlabelled[cell]
    assert first.sum() == pytest.approx(1)
    expected = np.zeros(loss.shape[1])
    for i in range(5):
        weight, one = np.array([1 / (5 * first[i])]), np.ones(1, dtype=int)
        batch = Batch(cell[[i]], label[[i]], one, weight, one > 0, np.array([i]))
        proposal = design.propose(problem, design.observe(problem, state, batch))
        second = proposal.unlabelled[cell]
        second[i] = proposal.of_known(cell[[i]], np.zeros(1, dtype=int))[0]
        assert second.sum() == pytest.approx(1)
        assert np.all((second > 0) | np.all(loss == 0, axis=1))
        drawn = second > 0
        mean = loss[drawn].sum(axis=0) / 5
        expected += first[i] * (weight * loss[i] + mean) / 2
    np.testing.assert_allclose(expected, loss.mean(axis=0), atol=1e-12)


def test_a_labelled_item_is_drawn_in_proportion_to_its_influence():
    predicted = np.zeros(6)
    pool = hs.Pool(predicted, classes=None, strata=1)
    ev = hs.Evaluation(pool, "mse", "adaptive", random_state=0)
    label = {q.item: float(q.item) for q in ev.ask(4)}
    ev.tell(label)
    proposal = ev.design.propose(ev.state.ledger.problem, ev.state.ledger.state)
    item = ev.state.ledger.known()[0]
    # Half of the proposal is the prior's, which is alike for all six items.
    learnt = proposal.atoms - DEFENSIVE / 6
    np.testing.assert_allclose(learnt / learnt.sum(), item**2 / np.sum(item**2), atol=1e-4)
    assert proposal.unlabelled[0] > DEFENSIVE / 6
    assert proposal.atoms.sum() + 2 * proposal.unlabelled[0] == pytest.approx(1)


@pytest.mark.parametrize("measure", MEASURES)
def test_intervals_cover_the_truth_on_heavy_tails_and_errors_shrink(numbers, measure):
    truth, repeats = numbers.truth(measure), 60
    few = numbers.estimates(measure, "adaptive", 150, repeats)
    many = numbers.estimates(measure, "adaptive", 600, repeats)
    covered = np.mean([e.interval[0] <= truth <= e.interval[1] for e in many])
    assert covered >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / repeats)
    square = lambda es: np.mean([(e.value - truth) ** 2 for e in es])  # noqa: E731
    # Known items are drawn again at no cost, so the gain may exceed the factor 4 in labels.
    assert 2 < square(few) / square(many) < 25
    error = np.array([(e.value - truth) / e.std_error for e in many])
    assert abs(error.mean()) < 0.6


@pytest.mark.parametrize("measure", MEASURES)
def test_adaptive_beats_passive_where_few_errors_are_large(numbers, measure):
    truth = numbers.truth(measure)
    square = {
        design: np.mean(
            [(e.value - truth) ** 2 for e in numbers.estimates(measure, design, 300, 30)]
        )
        for design in ("passive", "adaptive")
    }
    assert square["passive"] > 4 * square["adaptive"]


def test_no_item_falls_below_half_its_prior_probability():
    """However harmless a stratum looks: its weights stay bounded."""
    scores = np.arange(400.0)
    pool = hs.Pool(scores, classes=None, strata=4)
    ev = hs.Evaluation(pool, "mse", "adaptive", random_state=0)
    prior = ev.design.propose(ev.state.ledger.problem, ev.state.ledger.state).unlabelled
    for _ in range(4):  # errors in the upper half only
        ev.tell({q: q.item + 50.0 * (q.item >= 200) for q in ev.ask(30)})
    proposal = ev.design.propose(ev.state.ledger.problem, ev.state.ledger.state)
    low, high = proposal.unlabelled[[0, -1]]
    assert high > 2 * low
    # The prior is alike for all 400 items, labelled or not, at any risk.
    np.testing.assert_allclose(prior, 1 / 400)
    assert proposal.unlabelled.min() >= 0.5 / 400
    assert proposal.atoms.min() >= 0.5 / 400


def test_differences_and_groups_of_regression_measures(numbers):
    rng = np.random.default_rng(1)
    other = numbers.label + rng.normal(0, 3, len(numbers.label))
    group = rng.random(len(other)) < 0.3
    systems = {"a": numbers.predicted, "b": other}
    measure = hs.measures.Several(
        [
            hs.measures.Difference(hs.measures.MeanAbsoluteError(), "a", "b"),
            hs.measures.Within(hs.measures.MeanSquaredError(system="b"), group),
        ]
    )
    error = np.abs(np.stack([numbers.label - numbers.predicted, numbers.label - other]))
    truth = np.array([np.mean(error[0] - error[1]), np.mean(error[1][group] ** 2)])
    inside = []
    for repeat in range(40):
        pool = hs.Pool(systems, classes=None, strata=32, seed=repeat)
        ev = hs.Evaluation(pool, measure, random_state=repeat)
        estimate = ev.run(numbers.oracle, budget=400, batch_size=100)
        inside.append((estimate.intervals[:, 0] <= truth) & (truth <= estimate.intervals[:, 1]))
    assert np.mean(inside, axis=0).min() >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 40)


def test_numbers_from_a_stochastic_oracle(numbers):
    """Answers are the label plus noise of variance 4, which the mean squared error includes."""
    truth = numbers.truth("mse") + 4.0
    z = []
    for repeat in range(25):
        rng = np.random.default_rng(repeat)
        noisy = lambda items, rng=rng: numbers.oracle(items) + rng.normal(0, 2, len(items))  # noqa: E731
        pool = numbers.pool(strata=32, seed=repeat)
        ev = hs.Evaluation(pool, "mse", oracle="stochastic", random_state=repeat)
        estimate = ev.run(noisy, budget=600, batch_size=100)
        assert estimate.n_labels == 600
        z.append((estimate.value - truth) / estimate.std_error)
    assert np.all(np.abs(z) < 4.5)
    assert abs(np.mean(z)) < 0.8


def test_the_papers_covariance_is_close_to_the_samples(numbers):
    ev = hs.Evaluation(numbers.pool(strata=16), "mae", random_state=0)
    ev.run(numbers.oracle, budget=600)
    sample, paper = ev.estimate(), ev.estimate(covariance="paper")
    assert paper.std_error == pytest.approx(sample.std_error, rel=0.5)


def test_a_saved_log_gives_the_same_numbers(numbers, tmp_path):
    pool = numbers.pool(strata=16)
    ev = hs.Evaluation(pool, "rmse", random_state=1)
    ev.run(numbers.oracle, budget=200)
    ev.save(tmp_path / "log")
    again = hs.Evaluation.load(tmp_path / "log", pool)
    assert again.estimate().value == ev.estimate().value
    assert again.ask(5) == ev.ask(5)
    with pytest.raises(hs.errors.LogError, match="another pool"):
        hs.Evaluation.load(tmp_path / "log", hs.Pool(numbers.predicted, classes=None, strata=16))


def test_people_who_measure_differently_are_settled_by_the_median(numbers):
    ev = hs.Evaluation(
        numbers.pool(), "mae", random_state=0, answers_per_item=3, disagreement="median"
    )
    (query,) = ev.ask(1)
    for name, value in (("ann", 3.0), ("bob", 10), ("cy", 4.5)):
        assert ev.pending == [query]
        ev.tell({query: value}, annotator=name)
    assert ev.state.ledger.label_of[query.item] == 4.5
