"""Estimates and covariances against direct computation, draw by draw."""

from __future__ import annotations

import numpy as np
import pytest

import haystat as hs
from haystat.errors import BadOption
from haystat.inference.census import census
from haystat.inference.drawn_items import DrawnItems
from haystat.inference.estimate import without_width
from haystat.inference.importance import draw_shares, estimate_importance
from haystat.inference.stratified import collapse, estimate_stratified, stratified_terms

SIZE = 60


@pytest.fixture(scope="module")
def pool():
    rng = np.random.default_rng(1)
    return hs.Pool(rng.normal(size=SIZE), strata=4)


@pytest.fixture(scope="module")
def rows():
    """Four stages of draws with repeats inside and between stages."""
    rng = np.random.default_rng(2)
    label_of = rng.integers(2, size=SIZE)
    item = np.concatenate([rng.choice(SIZE, n, replace=False) for n in (7, 9, 4, 10)])
    n = len(item)
    return DrawnItems(
        item,
        np.repeat(np.arange(4), (7, 9, 4, 10)),
        label_of[item],
        rng.integers(1, 5, size=n),
        rng.gamma(2, 0.7, size=n),
        np.zeros(n, dtype=np.int64),
        rng.gamma(2, 0.7, size=n),
    )


class PlainBrier(hs.measures.Measure):
    """A measure without a signature: no two items are alike."""

    name = "plain_brier"

    def loss(self, outputs, label):
        return (1 / (1 + np.exp(-outputs.scores[:, 0])) - label) ** 2

    def value(self, risk):
        return risk


MEASURES = ["f1", "accuracy", "mcc", ["precision", "recall", "accuracy"], PlainBrier()]


def every_draw(rows, pool, measure):
    """One entry a draw: loss (N, d), weight, weight under the newest proposal, stage."""
    times = np.repeat(np.arange(len(rows.item)), rows.count)
    loss = measure.loss(pool.outputs(rows.item[times]), rows.label[times])
    return loss, rows.weight[times], rows.last_weight[times], rows.stage[times]


def estimated(rows, pool, measure, **options):
    bound = hs.measures.resolve(measure).bind(pool.schema)
    return bound, estimate_importance(rows, bound, pool.outputs(rows.item), 0.95, **options)


@pytest.mark.parametrize("measure", MEASURES)
def test_value_and_sample_covariance_match_a_sum_over_draws(rows, pool, measure):
    bound, estimate = estimated(rows, pool, measure)
    loss, weight, _, _ = every_draw(rows, pool, bound)
    weighted = weight[:, None] * loss
    risk = weighted.mean(axis=0)
    np.testing.assert_allclose(estimate.details["risk"], risk)
    np.testing.assert_allclose(estimate.values, bound.value(risk))
    terms = weighted @ bound.jacobian(risk).T
    expected = np.atleast_2d(np.cov(terms.T, ddof=1)) / len(loss)
    np.testing.assert_allclose(estimate.covariance, expected, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(estimate.std_errors, np.sqrt(np.diag(expected)))
    assert estimate.n_draws == len(loss)
    assert estimate.n_labels == len(np.unique(rows.item))


@pytest.mark.parametrize("measure", MEASURES)
def test_paper_covariance_matches_the_printed_formula(rows, pool, measure):
    bound, estimate = estimated(rows, pool, measure, covariance="paper")
    loss, weight, last, _ = every_draw(rows, pool, bound)
    n = len(loss)
    risk = (weight[:, None] * loss).mean(axis=0)
    second = np.einsum("n,ni,nj->ij", weight * last, loss, loss) / n
    jacobian = bound.jacobian(risk)
    sigma = jacobian @ (second - np.outer(risk, risk)) @ jacobian.T
    np.testing.assert_allclose(estimate.covariance, sigma / n, rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("measure", MEASURES)
def test_sqrt_stage_weights_count_a_draw_of_stage_t_by_the_root_of_t(rows, pool, measure):
    bound, estimate = estimated(rows, pool, measure, stage_weights="sqrt")
    loss, weight, _, stage = every_draw(rows, pool, bound)
    share = np.sqrt(stage + 1)
    share /= share.sum()
    risk = (share * weight) @ loss
    np.testing.assert_allclose(estimate.values, bound.value(risk))
    terms = weight[:, None] * (loss @ bound.jacobian(risk).T)
    away = share[:, None] * (terms - share @ terms)
    n = len(loss)
    np.testing.assert_allclose(
        estimate.covariance, away.T @ away * n / (n - 1), rtol=1e-9, atol=1e-15
    )


@pytest.mark.parametrize("stage_weights", ["draws", "sqrt"])
def test_shares_of_draws_sum_to_one(rows, stage_weights):
    assert rows.count @ draw_shares(rows, stage_weights) == pytest.approx(1)


@pytest.mark.parametrize("option", [{"covariance": "best"}, {"stage_weights": "best"}])
def test_unknown_options_of_the_estimator_are_refused(rows, pool, option):
    with pytest.raises(BadOption, match="it can be"):
        estimated(rows, pool, "f1", **option)


@pytest.mark.parametrize("covariance", ["sample", "paper"])
def test_taking_equal_draws_together_changes_nothing(rows, pool, covariance):
    """The same measure with and without a signature."""

    class Ungrouped(hs.measures.F1):
        def facts(self):
            return None

    _, grouped = estimated(rows, pool, "f1", covariance=covariance)
    _, plain = estimated(rows, pool, Ungrouped(), covariance=covariance)
    assert len(grouped.terms) < len(plain.terms)
    np.testing.assert_allclose(grouped.values, plain.values)
    np.testing.assert_allclose(grouped.covariance, plain.covariance)


def test_effective_sample_size_and_largest_weight_count_every_draw(rows, pool):
    _, estimate = estimated(rows, pool, "f1")
    weight = np.repeat(rows.weight, rows.count)
    size = weight.sum() ** 2 / (weight**2).sum()
    assert estimate.details["effective_sample_size"] == pytest.approx(size)
    assert estimate.details["largest_weight"] == weight.max()


def one_draw(pool):
    one = np.array([0])
    return DrawnItems(one, one, one + 1, one + 1, one + 1.0, one, one + 1.0)


def test_one_draw_says_nothing_about_its_error(pool):
    _, estimate = estimated(one_draw(pool), pool, "accuracy")
    assert estimate.interval == (0.0, 1.0)
    np.testing.assert_array_equal(estimate.band(), [[0.0, 1.0]])


def test_an_undefined_measure_is_nan_with_a_reason(pool):
    rows = one_draw(pool)
    negative = DrawnItems(*[*vars(rows).values()][:2], np.array([0]), *[*vars(rows).values()][3:])
    _, estimate = estimated(negative, pool, "recall")
    assert np.isnan(estimate.value)
    assert np.all(np.isnan(estimate.interval))
    why = "recall is undefined: no positive has been drawn"
    assert estimate.warnings == (f"{why}. Label more items.",)


def stratified_rows(item, label, stratum):
    n = len(item)
    return DrawnItems(
        item, np.zeros(n, int), label, np.ones(n, int), np.ones(n), stratum, np.ones(n)
    )


def test_stratified_variance_matches_the_textbook_formula():
    """Cochran (1977), eq. 5.6: sum W_h^2 (1 - f_h) s_h^2 / n_h."""
    rng = np.random.default_rng(0)
    size = np.array([50, 20, 30])
    n_drawn = np.array([10, 4, 6])
    stratum = np.repeat(np.arange(3), n_drawn)
    value = rng.normal(size=(20, 2))
    expected = sum(
        (size[h] / 100) ** 2
        * (1 - n_drawn[h] / size[h])
        * np.cov(value[stratum == h].T, ddof=1)
        / n_drawn[h]
        for h in range(3)
    )
    terms = stratified_terms(value, stratum, size)
    np.testing.assert_allclose(terms.T @ terms, expected)


def test_strata_with_fewer_than_two_labels_join_their_neighbours():
    stratum = np.array([0, 2, 2, 3, 4])
    group, size = collapse(stratum, np.array([5, 6, 7, 8, 9]))
    # 0 waits for 2; 3 and 4 have one label each.
    assert group.tolist() == [0, 0, 0, 1, 1]
    assert size.tolist() == [18, 17]


def test_stratified_estimate_is_the_plain_mean(pool):
    rng = np.random.default_rng(3)
    item = rng.choice(SIZE, 25, replace=False)
    label = rng.integers(2, size=25)
    measure = hs.measures.resolve("f1").bind(pool.schema)
    rows = stratified_rows(item, label, pool.stratum[item])
    sizes = np.bincount(pool.stratum)
    estimate = estimate_stratified(rows, measure, pool.outputs(item), 0.9, stratum_size=sizes)
    predicted = pool.outputs(item).predictions[:, 0]
    assert estimate.value == pytest.approx(
        2 * (predicted * label).sum() / (predicted + label).sum()
    )
    assert estimate.n_labels == estimate.n_draws == 25


def test_stratified_variance_is_that_of_repeated_samples(pool_of, oracle_of):
    pool, label = pool_of(500, seed=4, strata=5)
    values, variances = [], []
    for repeat in range(400):
        pool.seed = repeat
        ev = hs.Evaluation(pool, "accuracy", "stratified", random_state=repeat)
        estimate = ev.run(oracle_of(label), budget=100, batch_size=100)
        values.append(estimate.value)
        variances.append(estimate.covariance[0, 0])
    truth = np.mean((pool.scores[:, 0] >= 0) == label)
    error = np.std(values) / np.sqrt(400)
    assert np.mean(values) == pytest.approx(truth, abs=4 * error)
    assert np.mean(variances) == pytest.approx(np.var(values), rel=4 * np.sqrt(2 / 400))


@pytest.mark.parametrize("measure", MEASURES[:4])
def test_census_is_exact(pool, measure):
    label = np.random.default_rng(5).integers(2, size=SIZE)
    bound = hs.measures.resolve(measure).bind(pool.schema)
    outputs = pool.outputs(np.arange(SIZE))
    estimate = census(bound, outputs, label, 0.95, size=SIZE)
    np.testing.assert_allclose(
        estimate.values, bound.value(bound.loss(outputs, label).mean(axis=0))
    )
    np.testing.assert_array_equal(estimate.covariance, 0)
    np.testing.assert_array_equal(estimate.intervals, np.stack([estimate.values] * 2, axis=1))
    np.testing.assert_array_equal(estimate.band(), estimate.intervals)
    assert estimate.region().contains(estimate.values)
    assert not estimate.region().contains(estimate.values + 0.01)


def test_census_needs_no_label_of_items_without_a_loss(pool):
    label = np.random.default_rng(5).integers(2, size=SIZE)
    bound = hs.measures.resolve("precision").bind(pool.schema)
    item = np.flatnonzero(pool.outputs(np.arange(SIZE)).predictions[:, 0])
    estimate = census(bound, pool.outputs(item), label[item], 0.95, size=SIZE)
    assert estimate.value == pytest.approx(label[item].mean())


def test_terms_left_by_rounding_count_as_no_width():
    assert without_width(np.array([[0.0], [2e-17]]))
    assert not without_width(np.array([[0.0], [1e-6]]))
