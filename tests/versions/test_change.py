"""What changed from one version to the next: paired, by the model and by the data."""

from __future__ import annotations

import numpy as np
import pytest

import haystat as hs
from haystat.errors import BadOption


def truths(world):
    """Before, after, change, by the model, by the data."""
    both = np.intersect1d(*world.ids).tolist()
    before, after = world.f1(0), world.f1(1)
    model = world.f1(1, both) - world.f1(0, both)
    return before, after, after - before, model, after - before - model


def effects(found):
    return found.before, found.after, found.change, found.model, found.data


def test_the_change_is_exact_once_all_is_labelled(make_world):
    world = make_world(80, gone=10, came=15, noise=1.0)
    first = hs.Evaluation(world.pool(0, strata=4), random_state=0)
    world.answer(first, 80)
    later = first.next(world.pool(1, strata=4))
    world.answer(later, 15)
    found = hs.change(first, later)
    assert [effect.value for effect in effects(found)] == pytest.approx(truths(world))
    assert (found.n_common, found.n_new, found.n_gone) == (70, 15, 10)
    assert found.n_labels == 95
    assert "by the model" in str(found)
    assert found.to_dict()["model"]["value"] == found.model.value


def test_scores_of_both_classes_are_one_signal_each(make_world):
    world = make_world(300, noise=0.5)

    def pool(version):
        share = 1 / (1 + np.exp(-world.scores[version]))
        return hs.Pool(np.column_stack([1 - share, share]), ids=world.ids[version])

    first = hs.Evaluation(pool(0), random_state=0)
    world.answer(first, 300)
    later = first.next(pool(1))
    found = hs.change(first, later)
    label = np.array([world.label[item] for item in world.ids[0].tolist()])
    for one, scores in zip((found.before, found.after), world.scores, strict=True):
        hit = label[scores >= 0].sum()
        assert one.value == pytest.approx(2 * hit / (np.sum(scores >= 0) + label.sum()))


def test_a_later_model_that_knows_nothing_leaves_what_was_before_alone():
    """Strata and curve follow the mean of both scores, in which the first is not lost."""
    errors, own = [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        score = rng.normal(-4, 2, 20_000)
        label = (rng.random(20_000) < 1 / (1 + np.exp(-1.3 * score))).astype(int)
        noise = rng.normal(-2, 1, 20_000)
        truth = 2 * label[score >= 0].sum() / (np.sum(score >= 0) + label.sum())
        first = hs.Evaluation(hs.Pool(score, threshold=0.0), random_state=seed)
        first.run(lambda items: label[items], budget=400, batch_size=100)  # noqa: B023
        later = first.next(hs.Pool(noise, threshold=0.0))
        later.run(lambda items: label[items], budget=100)  # noqa: B023
        before = hs.change(first, later).before
        assert before.low <= truth <= before.high
        errors.append(before.value - truth)
        own.append(first.estimate().value - truth)
    assert np.sqrt(np.mean(np.square(errors))) < 1.3 * np.sqrt(np.mean(np.square(own)))


def test_the_parts_of_a_change_are_covered_and_the_pair_is_narrow(make_world):
    hits, errors, widths = [], [], []
    for seed in range(4):
        world = make_world(4000, seed=seed, gone=400, came=400, noise=0.5, shift=0.5)
        first = hs.Evaluation(world.pool(0), random_state=seed)
        first.run(world.oracle, 250, 125)
        later = first.next(world.pool(1))
        later.run(world.oracle, 150, 150)
        found = hs.change(first, later)
        pairs = list(zip(effects(found), truths(world), strict=True))
        hits += [effect.low <= truth <= effect.high for effect, truth in pairs]
        errors.append([effect.value - truth for effect, truth in pairs])
        widths.append([effect.high - effect.low for effect, _ in pairs])
    assert np.mean(hits) > 0.85
    error = np.mean(widths, axis=0) / 3.92 / np.sqrt(len(errors))  # as the intervals have it
    assert np.all(np.abs(np.mean(errors, axis=0)) < 3 * error)
    before, after, change, model, _ = np.mean(widths, axis=0)
    assert max(change, model) < 0.8 * np.hypot(before, after)


def test_nothing_changes_between_equal_versions(world):
    first = hs.Evaluation(world.pool(0), random_state=1)
    world.answer(first, 150)
    found = hs.change(first, first.next(world.pool(0)))
    assert (found.change.value, found.model.value, found.data.value) == (0, 0, 0)
    assert (found.change.low, found.change.high) == pytest.approx((0, 0), abs=1e-9)


def test_studies_that_know_nothing_of_each_other_share_their_labels(world):
    one = hs.Evaluation(world.pool(0), random_state=1)
    other = hs.Evaluation(world.pool(1), random_state=2)
    world.answer(one, 150)
    world.answer(other, 150)
    found = hs.change(one, other)
    asked = {answer.item for loop in (one, other) for answer in loop.answers}
    # A few are put back so that few probabilities have to be kept apart.
    assert 0.9 * len(asked) < found.n_labels <= len(asked)
    assert found.model.value == pytest.approx(truths(world)[3], abs=0.1)


def test_another_measure_and_systems_with_names(world):
    pool = hs.Pool({"a": world.scores[0], "b": np.sin(world.scores[0])}, threshold=0.0, strata=16)
    first = hs.Evaluation(pool, hs.measures.F1(system="a"), random_state=1)
    world.answer(first, 150)
    later = first.next(world.pool(1), measure="f1")
    found = hs.change(first, later, "recall", systems=("a", "system"))
    assert found.measure == "recall"
    assert found.after.low <= found.after.value <= found.after.high
    with pytest.raises(BadOption, match="say which two"):
        hs.change(first, later, "recall")
    with pytest.raises(BadOption, match="name one of"):
        hs.change(first, later, "recall", systems=("c", "system"))


def test_what_cannot_be_compared_is_refused(world):
    first = hs.Evaluation(world.pool(0), random_state=1)
    world.answer(first, 50)
    with pytest.raises(BadOption, match="no evaluation or study"):
        hs.change(first, world.pool(1))
    with pytest.raises(BadOption, match="no item in common"):
        hs.change(first, hs.Evaluation(hs.Pool([0.1, 0.9], ids=[9998, 9999])))
    for items in ("same", "apart"):
        with pytest.raises(BadOption, match="several numbers"):
            hs.change(first, first.next(world.pool(1)), ["precision", "recall"], items=items)
    with pytest.raises(BadOption, match="'same' or 'apart'"):
        hs.change(first, first, items="other")


def test_answers_of_two_versions_to_the_same_prompts_are_items_apart():
    """Labels of one say nothing about the other, although ids and scores are the same."""
    rng = np.random.default_rng(3)
    score = rng.random(1000)
    label = [(rng.random(1000) < share * score).astype(int) for share in (0.1, 0.4)]
    loops = [hs.Evaluation(hs.Pool(score, seed=k), "prevalence", random_state=k) for k in (0, 1)]
    for loop, truth in zip(loops, label, strict=True):
        loop.run(lambda items, truth=truth: truth[items], budget=200)
    found = hs.change(*loops, items="apart")
    alone = [loop.estimate() for loop in loops]
    assert [found.before.value, found.after.value] == [one.value for one in alone]
    assert (found.n_common, found.n_new, found.n_gone, found.n_labels) == (0, 1000, 1000, 400)
    # Squared distances add up, as variances do (Zou and Donner 2008): the low end of the difference
    # is reached where the second is low and the first is high.
    (_, top), (bottom, _) = (one.interval for one in alone)
    squares = (alone[1].value - bottom) ** 2 + (top - alone[0].value) ** 2
    assert (found.change.value - found.change.low) ** 2 == pytest.approx(squares)
    assert "by the model" not in str(found)
    assert np.isnan(found.model.value)
    assert found.change.low <= label[1].mean() - label[0].mean() <= found.change.high


def recall_by(world, amount, version, items):
    """The truth by weights of the items of a version, by their ids."""
    predicted = dict(zip(world.ids[version].tolist(), world.scores[version] >= 0, strict=True))
    found = sum(amount[i] for i in items if predicted[i] and world.label[i])
    return found / sum(amount[i] for i in items if world.label[i])


@pytest.mark.parametrize("grown", [1.0, 3.0])
def test_the_change_of_a_weighted_measure_is_weighted(make_world, grown):
    world = make_world(300, gone=60, came=80, noise=1.0)
    rng = np.random.default_rng(3)
    january = rng.lognormal(0, 1.2, 380).round(3)
    february = january * np.where(rng.random(380) < 0.5, grown, 1.0)
    amounts = january, february
    pools = [
        world.pool(version, weight=amounts[version][world.ids[version]], strata=4)
        for version in (0, 1)
    ]
    first = hs.Evaluation(pools[0], "recall", random_state=0)
    world.answer(first, 300)
    later = first.next(pools[1])
    world.answer(later, 80)
    found = hs.change(first, later)
    both = np.intersect1d(*world.ids).tolist()
    before, after = (recall_by(world, amounts[v], v, world.ids[v].tolist()) for v in (0, 1))
    model = recall_by(world, february, 1, both) - recall_by(world, january, 0, both)
    expected = before, after, after - before, model, after - before - model
    assert [effect.value for effect in effects(found)] == pytest.approx(expected)
    assert found.measure == "recall by weight"


def test_a_version_with_weights_is_not_compared_with_one_without(world):
    one = hs.Evaluation(world.pool(0), "recall", random_state=1)
    other = hs.Evaluation(world.pool(1, weight=np.arange(2900.0)), "recall", random_state=2)
    for items in ("same", "apart"):
        with pytest.raises(BadOption, match="of the second version count by 'weight'"):
            hs.change(one, other, items=items)


def test_the_change_within_a_group(make_world):
    world = make_world(200, gone=20, came=30, noise=1.0)
    group = np.arange(230) % 3 == 0
    pools = [world.pool(v, columns={"old": group[world.ids[v]]}, strata=4) for v in (0, 1)]
    first = hs.Evaluation(pools[0], "f1", random_state=0)
    world.answer(first, 200)
    later = first.next(pools[1])
    world.answer(later, 30)
    within = hs.measures.Within(hs.measures.F1(), column="old", equals=True)
    found = hs.change(first, later, within)
    expected = [world.f1(v, [i for i in world.ids[v].tolist() if group[i]]) for v in (0, 1)]
    assert (found.before.value, found.after.value) == pytest.approx(tuple(expected))
