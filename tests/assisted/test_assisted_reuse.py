"""Labels of one assisted evaluation, used for other measures, other systems, in studies."""

from __future__ import annotations

import numpy as np
import pytest

import haystat as hs
from haystat.errors import NoSupport
from haystat.inference.weighted_draws import weighted
from haystat.loop.stages import NO_ANSWER


def make_case(size=400, seed=5):
    rng = np.random.default_rng(seed)
    scores = rng.beta(0.4, 2.5, size)
    label = (rng.random(size) < scores).astype(int)
    return hs.Pool(scores, strata=8), label


@pytest.fixture
def case():
    pool, label = make_case()
    ev = hs.Evaluation(pool, "f1", "assisted", random_state=3)
    ev.run(lambda items: [int(label[item]) for item in items], 80, 40)
    return pool, label, ev


def test_the_same_measure_through_the_blocks_gives_the_same_numbers(case):
    _, _, ev = case
    one, other = ev.estimate(), ev.estimate("f1")
    assert one.value == pytest.approx(other.value, rel=1e-12)
    np.testing.assert_allclose(one.interval, other.interval, rtol=1e-9)
    np.testing.assert_allclose(one.std_error, other.std_error, rtol=1e-9)


@pytest.mark.parametrize("measure", ["recall", hs.measures.PRCurve(thresholds=[0.2, 0.5, 0.7])])
def test_a_block_has_the_loss_of_its_items(case, measure):
    """Also where the other pool has another order."""
    pool, _, ev = case
    rng = np.random.default_rng(0)
    order = rng.permutation(len(pool))
    scores = np.clip(pool.scores[:, 0] + rng.normal(0, 0.1, len(pool)), 0, 1)
    other = hs.Pool(scores[order], ids=np.arange(len(pool))[order], strata=5)
    bound = hs.measures.resolve(measure).bind(other.schema)
    view = pool.seen_by(other)
    problem = ev.state.ledger.problem
    blocks = view.blocks(problem, bound)
    everything = view.outputs(np.arange(len(pool)))
    cell = problem.cells.of_item.astype(np.int64)
    block = blocks.of_items(cell, bound.signature(everything))
    np.testing.assert_array_equal(np.bincount(block), blocks.size)
    np.testing.assert_array_equal(blocks.cell[block], cell)
    for c in (0, 1):
        loss = bound.loss(everything, np.full(len(pool), c))
        np.testing.assert_allclose(blocks.mean_loss[block, c], loss)


def test_a_system_that_came_later_is_estimated_from_the_same_labels(pool_of, truth):
    pool, label = pool_of(2000, centre=-0.5)
    rng = np.random.default_rng(2)
    order = rng.permutation(2000)
    later = hs.Pool((pool.scores[:, 0] + rng.normal(0, 3, 2000))[order], ids=order, strata=8)
    ev = hs.Evaluation(pool, "f1", "assisted", random_state=1)
    ev.run(lambda items: [int(label[item]) for item in items], 400, 100)
    estimate = ev.estimate(pool=later)
    exact = truth("f1", later, label[order])[0]
    low, high = estimate.at(0.9999).interval
    assert low <= exact <= high
    assert abs(truth("f1", pool, label)[0] - exact) > 4 * estimate.std_error


def test_a_study_falls_back_to_weighted_labels_where_cells_do_not_tell(tmp_path):
    pool, label = make_case()
    path = tmp_path / "s"
    with hs.Study.create(path, pool, measure="f1", design="assisted", random_state=3) as study:
        for _ in range(2):
            study.tell({q.item: int(label[q.item]) for q in study.ask(40)})
        items = np.array([answer.item for answer in study.answers])
        with study.reading() as fold:
            index = np.array([fold.questions.find(item) for item in items.tolist()])
            weight = 1 / fold.ledger.inclusion[fold.ledger.problem.cells.of_item[index]]
        loss = (pool.scores[items, 0] - label[items]) ** 2
        expected = np.sum(weight * loss) / len(pool)
        estimate = study.estimate("brier")
        assert estimate.value == pytest.approx(expected)
        low, high = estimate.interval
        assert low <= np.mean((pool.scores[:, 0] - label) ** 2) <= high


def test_weighted_labels_alone_speak_about_items_that_can_be_labelled(tmp_path, ledger_after):
    pool, label = make_case()
    lost = np.random.default_rng(1).random(len(pool)) < 0.4
    told = np.where(lost, NO_ANSWER, label)
    ledger = ledger_after(pool, "f1", told, [200, 200], 1)
    bound = hs.measures.resolve("brier").bind(pool.schema)
    estimate = weighted(pool, ledger, bound, 0.95)
    exact = np.mean(((pool.scores[:, 0] - label) ** 2)[~lost])
    assert estimate.value == pytest.approx(exact)


@pytest.mark.parametrize("measure", ["accuracy", "f1", "balanced_accuracy"])
def test_three_classes_without_an_order_of_strata(three_classes, truth, oracle, measure):
    pool, label = three_classes(600)
    target = hs.measures.Macro(hs.measures.F1()) if measure == "f1" else measure
    ev = hs.Evaluation(pool, target, "assisted", random_state=1)
    estimate = ev.run(oracle(label), 200, 50)
    exact = truth(target, pool, label)
    low, high = estimate.at(0.9999).intervals.T
    assert np.all((low <= exact) & (exact <= high))


def test_several_components_have_an_interval_each(pool_of, truth, oracle):
    pool, label = pool_of(2000, centre=-0.5)
    both = ["precision", "recall"]
    ev = hs.Evaluation(pool, both, "assisted", random_state=1)
    estimate = ev.run(oracle(label), 200, 50)
    assert estimate.intervals.shape == estimate.anytime_intervals.shape == (2, 2)
    exact = truth(both, pool, label)
    assert np.all(estimate.anytime_intervals[:, 0] <= exact)
    assert np.all(exact <= estimate.anytime_intervals[:, 1])


def test_a_refusal_names_only_options_that_the_design_has(pool_of, oracle):
    pool, label = pool_of()
    ev = hs.Evaluation(pool, "precision", random_state=1)
    ev.run(oracle(label), 20)
    with pytest.raises(NoSupport, match=r"Evaluate both together$"):
        ev.estimate("f1")
