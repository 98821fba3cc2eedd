"""The problem as the model sees it: events, classes of events, cells on either side."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import haystat as hs
from haystat.designs.assisted import Assisted, contradicted, label_variance
from haystat.models.event_classes import corrected
from haystat.models.label_view import LabelView, label_view
from haystat.models.regions import Regions
from haystat.models.settings import ModelSettings
from haystat.pool.problem import pose

SETTINGS = ModelSettings()


def posed(pool, measure="f1"):
    return pose(pool, hs.measures.resolve(measure).bind(pool.schema))


def viewed(pool, measure="f1"):
    problem = posed(pool, measure)
    return problem, label_view(problem, SETTINGS)


def make_view(reference, group, other, size=()):
    """Every cell is a region of its own."""
    own, none = np.arange(len(reference)), np.zeros(len(reference))
    regions = Regions(own, own, none, np.array(size or none, dtype=float))
    return LabelView(
        None, regions, np.array(reference), np.array(group), np.array(other, dtype=float)
    )


def by_cell(view):
    """The curve of each cell's region."""
    curve, region = view.model.curve, view.regions.of_cell
    rows = {name: getattr(curve, name)[region] for name in ("basis", "low", "high")}
    return replace(curve, **rows)


def test_an_event_is_a_label_that_differs_from_the_reference():
    view = make_view([0, 2], [0, 1], [[0, 1, 1], [1, 1, 0]])
    labelled = np.array([[5, 1, 2], [3, 0, 4]])
    n, events = view.events(labelled)
    np.testing.assert_array_equal(n, [8, 7])
    np.testing.assert_array_equal(events, [3, 3])


def test_classes_of_events_are_counted_by_the_way_of_prediction():
    """8, 12 and 7 labels of ten times as many items: every event counts for itself."""
    view = make_view([0, 0, 2], [0, 0, 1], [[0, 0.5, 1.5], [1, 1, 0]], [80, 120, 70])
    labelled = np.array([[5, 1, 2], [9, 3, 0], [3, 0, 4]])
    events = view.classes_of_events(labelled) - corrected(
        view.other, np.array([[0, 4, 2], [3, 0, 0]])
    )
    np.testing.assert_allclose(events, [[0, 4, 2], [3, 0, 0]])


def test_events_of_regions_asked_about_less_stand_for_more():
    """Events stand for 10 items in the first cell, for 100 in the second: 2 of class 1, 1 of 2.

    120 items in all, in an effective number of 120^2 / (2 * 100 + 10,000) = 1.41 events.
    """
    view = make_view([0, 0], [0, 0], [[0, 0, 0]], [40, 1000])
    found = view.classes_of_events(np.array([[2, 2, 0], [9, 0, 1]]))
    np.testing.assert_allclose(found.sum(), 120**2 / 10_200)
    np.testing.assert_allclose(found / found.sum(), [[0, 20 / 120, 100 / 120]])


def test_shares_of_the_classes_sum_to_one_and_split_the_events():
    view = make_view([0, 0, 2], [0, 0, 1], [[0, 0.5, 1.5], [1, 1, 0]])
    nothing = np.zeros((3, 3), dtype=np.int64)
    share = view.shares(np.array([0.4, 0.0, 1.0]), nothing)
    np.testing.assert_allclose(share, [[0.6, 0.1, 0.3], [1, 0, 0], [0.5, 0.5, 0]])
    np.testing.assert_allclose(share.sum(axis=1), 1)


def two_classes(size=1000, seed=0, **options):
    scores = np.random.default_rng(seed).beta(0.5, 3, size)
    return hs.Pool(scores, **{"strata": 10, **options})


def test_with_two_classes_the_event_is_a_positive_label():
    pool = two_classes()
    problem, view = viewed(pool)
    labelled = np.stack([np.arange(len(problem.cells)), np.full(len(problem.cells), 2)], axis=1)
    n, events = view.events(labelled)
    region = view.regions.of_cell
    np.testing.assert_array_equal(events, 2 * np.bincount(region))
    np.testing.assert_array_equal(n, np.bincount(region, weights=labelled.sum(axis=1)))
    share = view.shares(np.linspace(0, 1, len(n)), labelled)
    np.testing.assert_allclose(share[:, 1], np.linspace(0, 1, len(n))[region])


def test_cells_lie_by_their_score_on_either_side_of_the_threshold():
    pool = two_classes()
    problem, view = viewed(pool)
    curve = by_cell(view)
    predicted = problem.cells.example.predictions[:, 0]
    np.testing.assert_array_equal(curve.high, predicted == 1)
    np.testing.assert_array_equal(curve.low, predicted == 0)
    assert view.model.size.sum() == len(pool)
    # The line's column rises with the score: t = -logit(rank from the top).
    order = np.argsort(problem.cells.example.scores[:, 0])
    assert np.all(np.diff(curve.basis[order, 1]) >= 0)
    assert len(np.unique(curve.basis[:, 1])) > len(order) / 2
    share_above = np.array([np.mean(pool.scores > s) for s in problem.cells.example.scores[:, 0]])
    t = np.log(1 - share_above) - np.log(np.maximum(share_above, 1e-9))
    inside = (share_above > 0.02) & (share_above < 0.98)
    assert np.corrcoef(t[inside], curve.basis[inside, 1])[0, 1] > 0.95
    threshold = np.mean(pool.outputs(np.arange(len(pool))).predictions)
    assert np.all(curve.basis[curve.high, 1] > curve.basis[curve.low, 1].max())
    assert 0 < threshold < 1


def test_two_systems_have_a_floor_only_where_they_agree_and_offsets_where_not():
    rng = np.random.default_rng(1)
    truth = rng.normal(-1, 1.5, 2000)
    pool = hs.Pool({name: truth + rng.normal(0, 0.7, 2000) for name in ("a", "b")}, strata=8)
    problem, view = viewed(pool)
    predictions, curve = problem.cells.example.predictions, by_cell(view)
    np.testing.assert_array_equal(curve.low, (predictions == 0).all(axis=1))
    np.testing.assert_array_equal(curve.high, (predictions == 1).all(axis=1))
    assert np.any(~curve.low & ~curve.high)
    patterns = np.unique(predictions, axis=0)
    assert len(patterns) == 4
    offsets = curve.basis[:, 2 + len(curve.length) :]
    assert offsets.shape[1] == 3
    first = (predictions == patterns[0]).all(axis=1)
    np.testing.assert_array_equal(offsets.sum(axis=1), ~first)
    for pattern in patterns[1:]:
        rows = offsets[(predictions == pattern).all(axis=1)]
        assert np.all(rows == rows[0])


def offsets_by_cell(view):
    """Which offset (K, g) each cell has; those of the first way of prediction have none."""
    return by_cell(view).basis[:, 2 + len(view.model.curve.length) :]


def test_strata_without_an_order_have_an_offset_each():
    rng = np.random.default_rng(2)
    pool = hs.Pool(rng.random(500), strata=rng.integers(6, size=500))
    problem, view = viewed(pool)
    offsets = offsets_by_cell(view)
    assert offsets.shape[1] == 1 + 5  # predicted positive, and a stratum other than the first
    np.testing.assert_array_equal(offsets[:, 0], problem.cells.example.predictions[:, 0])
    others = problem.cells.stratum[:, None] == np.arange(1, 6)
    np.testing.assert_array_equal(offsets[:, 1:], others)


def test_strata_of_several_scores_after_one_another_have_an_offset_for_each_score():
    scores = np.random.default_rng(3).random((3, 400))
    pool = hs.Pool.multi_label(dict(zip("abc", scores, strict=True)), strata=30)
    problem, view = viewed(pool)
    label = problem.cells.stratum // 10
    np.testing.assert_array_equal(offsets_by_cell(view)[:, 1:3], label[:, None] == [1, 2])
    assert view.model.curve.n_group_slopes == 2


@pytest.mark.parametrize(("tied", "expected"), [(0.4, 0), (0.6, 1), (0.95, 1)])
def test_more_than_half_of_the_pool_at_one_low_score_is_a_mass(tied, expected):
    rng = np.random.default_rng(3)
    scores = np.where(np.arange(2000) < 2000 * tied, 0.0, 0.01 + 0.99 * rng.random(2000))
    _, view = viewed(hs.Pool(scores))
    assert view.model.mass.sum() == expected
    if expected:
        cell = np.flatnonzero(view.model.mass)[0]
        assert view.model.size[cell] == 2000 * tied
        assert view.model.curve.low[cell]


def test_a_score_that_most_predicted_positives_share_is_no_mass():
    scores = np.where(np.arange(2000) < 1500, 1.0, np.linspace(0, 0.4, 2000))
    _, view = viewed(hs.Pool(scores))
    assert not view.model.mass.any()


def three_classes(size=600):
    rng = np.random.default_rng(4)
    return hs.Pool(rng.dirichlet([2, 1, 1], size), classes=(0, 1, 2), strata=6)


def test_with_three_classes_the_event_is_another_label_than_the_predicted_one():
    problem, view = viewed(three_classes(), "accuracy")
    predictions = problem.cells.example.predictions[:, 0]
    np.testing.assert_array_equal(view.reference, predictions)
    assert view.model.curve.low.all()
    assert not view.model.curve.high.any()
    labelled = np.random.default_rng(0).integers(5, size=(len(problem.cells), 3))
    n, events = view.events(labelled)
    right = labelled[np.arange(len(labelled)), predictions]
    np.testing.assert_array_equal(n, view.regions.total(labelled.sum(axis=1)))
    np.testing.assert_array_equal(n - events, view.regions.total(right))
    # What an event may be: a pseudo-count for each other class, none for itself.
    np.testing.assert_allclose(view.other.sum(axis=1), 2)
    np.testing.assert_array_equal(view.other[view.group, predictions], 0)
    np.testing.assert_array_equal(view.group, predictions)
    share = view.shares(np.full(len(n), 0.3), labelled)
    np.testing.assert_allclose(share.sum(axis=1), 1)
    np.testing.assert_allclose(share[np.arange(len(share)), predictions], 0.7)


def test_with_three_classes_cells_lie_by_how_doubtful_their_prediction_is():
    problem, view = viewed(three_classes(), "accuracy")
    row = np.arange(len(problem.cells))
    doubt = 1 - problem.cells.prior[row, view.reference]
    order = np.argsort(doubt, kind="stable")
    place = by_cell(view).basis[order, 1]
    assert np.all(np.diff(place)[np.diff(doubt[order]) > 0] >= 0)
    assert place[-1] > place[0]


def test_labels_against_all_predictions_are_contradictions():
    rng = np.random.default_rng(5)
    pool = hs.Pool({"a": rng.normal(0, 1, 300), "b": rng.normal(0, 1, 300)}, strata=4)
    problem = posed(pool)
    against = contradicted(problem)
    for row, predictions in zip(against, problem.cells.example.predictions, strict=True):
        agreed = predictions[0] == predictions[1]
        assert row.tolist() == [agreed and predictions[0] == 1, agreed and predictions[0] == 0]


def test_variance_of_a_label_is_that_of_its_influence():
    share = np.array([[0.2, 0.3, 0.5]])
    influence = np.array([[[1.0, 0.0], [2.0, 1.0], [4.0, -1.0]]])
    first = share[0] @ np.array([1, 2, 4]) ** 2 - (share[0] @ [1, 2, 4]) ** 2
    second = share[0] @ np.array([0, 1, -1]) ** 2 - (share[0] @ [0, 1, -1]) ** 2
    found = label_variance(share, share, influence, np.array([1.0, 3.0]))
    assert found[0] == pytest.approx(first + 3 * second)


@pytest.mark.parametrize("by_region", [0.0, 0.8, 1.0])
def test_labels_that_are_spread_evenly_go_to_the_items_and_to_the_regions(by_region):
    """With uniform = 1 nothing is left to the model; labels of a cell are sizes times its items."""
    problem = posed(two_classes(500, strata=8))
    design = Assisted(uniform=(1.0, 1.0), by_region=by_region)
    state = design.start(problem, np.random.default_rng(0))
    sizes = design.sizes(problem, state)
    items = problem.cells.size
    within = np.bincount(state.view.regions.of_cell, weights=items)
    part = items / within[state.view.regions.of_cell] / len(within)
    expected = (1 - by_region) * items / items.sum() + by_region * part
    assert len(set(items.tolist())) > 2
    np.testing.assert_allclose(sizes * items, expected)


def test_sizes_are_neymans_for_what_the_model_expects():
    """Accuracy: an item adds one if it is wrong, so its deviation is sqrt(p (1 - p)).

    Errors are rare, p' = p^2 / (p + rare) in place of p for the label that contradicts.
    """
    problem = posed(two_classes(2000), "accuracy")
    design = Assisted(uniform=(1e-9, 1e-9))
    state = design.start(problem, np.random.default_rng(0))
    share = np.random.default_rng(1).uniform(0.001, 0.3, len(problem.cells))
    predicted = problem.cells.example.predictions[:, 0]
    wrong = np.where(predicted == 1, 1 - share, share)
    state = replace(state, share=np.stack([1 - share, share], axis=1))
    sizes = design.sizes(problem, state)
    rare = wrong**2 / (wrong + design.rare)
    expected = np.sqrt(rare * (1 - wrong) ** 2 + (1 - wrong) * wrong**2)
    np.testing.assert_allclose(sizes, expected / (expected @ problem.cells.size), rtol=1e-6)
