"""The next version of an evaluation: every label counts on, with the probability it had."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import pytest

import haystat as hs
from haystat.designs.clocks import Start, take
from haystat.designs.continued import effective_counts
from haystat.errors import BadOption, LogError, PoolError
from haystat.loop import versions as loop_versions
from haystat.models.regions import Regions
from haystat.pool import version as versions
from haystat.pool.version import Drawn


def test_labels_of_items_that_are_still_there_count_on(world):
    first = hs.Evaluation(world.pool(0), random_state=1)
    asked = world.answer(first, 150)
    later = first.next(world.pool(1), "spring")
    there = {item for item in asked if item in set(world.ids[1].tolist())}
    assert {answer.item for answer in later.answers} == there
    assert later.n_carried == later.n_labels == len(there) < len(asked)
    cut_otherwise = first.next(world.pool(1, strata=7, threshold=0.4))
    assert {answer.item for answer in cut_otherwise.answers} == there
    assert not there & set(world.answer(later, 50))
    assert later.settings["version"]["name"] == "spring"
    assert later.next(world.pool(0)).settings["version"]["name"] == "v3"


def test_a_version_is_the_same_on_every_machine_and_in_every_order_of_rows(world):
    first = hs.Evaluation(world.pool(0), random_state=1)
    world.answer(first, 150)
    order = np.random.default_rng(5).permutation(len(world.ids[1]))
    shuffled = hs.Pool(world.scores[1][order], ids=world.ids[1][order], strata=32, threshold=0.0)
    one, other = first.next(world.pool(1)), first.next(shuffled)
    assert sorted(world.answer(one, 40)) == sorted(world.answer(other, 40))
    assert one.estimate().value == pytest.approx(other.estimate().value, abs=1e-12)


def test_a_version_is_saved_and_loaded_like_any_evaluation(world, tmp_path):
    first = hs.Evaluation(world.pool(0), random_state=1)
    world.answer(first, 100)
    later = first.next(world.pool(1))
    world.answer(later, 30)
    later.save(tmp_path / "later.jsonl")
    again = hs.Evaluation.load(tmp_path / "later.jsonl", world.pool(1))
    assert again.estimate().interval == later.estimate().interval
    assert world.answer(again, 20) == world.answer(later, 20)


@pytest.mark.parametrize("cut", [1, 3, 40])
def test_a_log_whose_levels_are_damaged_is_one_error(world, tmp_path, cut):
    first = hs.Evaluation(world.pool(0), random_state=1)
    world.answer(first, 100)
    path = tmp_path / "later.jsonl"
    first.next(world.pool(1)).save(path)
    text = path.read_text()
    start = text.index('"level"') + 20
    path.write_text(text[:start] + text[start + cut :])
    with pytest.raises(LogError, match="damaged"):
        hs.Evaluation.load(path, world.pool(1))


def test_what_is_left_is_drawn_without_bias_after_items_were_drawn_before():
    # Of the clocks of a cell that have not rung, the expected number over the probability of not
    # having rung stays what it was, whenever one stops (a martingale).
    size, rung = np.array([40, 15, 60]), np.array([10, 0, 30])
    base = np.array([0.3, 0.0, 0.45])
    rates = np.array([1.0, 2.0, 0.5])
    start = Start.at(rung, base)
    left = []
    for key in range(1500):
        inclusion, asked = base, rung
        for n in (9, 6):  # two stages
            cell, inclusion = take(rates, inclusion, size, asked, n, key, start)
            asked = asked + np.bincount(cell, minlength=3)
        left.append((size - asked) / (1 - inclusion))
    mean, error = np.mean(left, axis=0), np.std(left, axis=0) / np.sqrt(len(left))
    assert np.all(np.abs(mean - (size - rung) / (1 - base)) < 4 * error)


def test_labels_of_cells_that_were_equally_likely_are_counted_plainly():
    regions = Regions(np.array([0, 0, 1]), np.array([0, 2]), np.zeros(2), np.zeros(2))
    n, events = np.array([10, 5, 7]), np.array([4, 1, 0])
    found = effective_counts(regions, n, events, np.array([0.2, 0.2, 0.9]))
    np.testing.assert_allclose(found, [[15, 7], [5, 0]])
    certain = effective_counts(regions, n, events, np.ones(3))
    np.testing.assert_allclose(certain, [[15, 7], [5, 0]])


def test_a_label_stands_for_the_items_without_one_by_enumeration():
    # Over all samples of a small region, weighted labels add up to what is not in the sample.
    chance = np.array([0.6, 0.6, 0.6, 0.1, 0.1, 0.1, 0.1])
    label = np.array([1, 1, 0, 0, 1, 0, 0])
    one = Regions(np.zeros(2, int), np.zeros(1, int), np.zeros(1), np.zeros(1))
    cell = (chance < 0.5).astype(int)
    total, missing = 0.0, 0.0
    for code in range(1, 1 << 7):
        drawn = (code >> np.arange(7)) & 1 == 1
        probability = np.prod(np.where(drawn, chance, 1 - chance))
        n = np.bincount(cell[drawn], minlength=2)
        events = np.bincount(cell[drawn], weights=label[drawn], minlength=2)
        effective, found = effective_counts(one, n, events, np.array([0.6, 0.1]))
        weight = ((1 - chance) / chance)[drawn]
        share = float(found[0] / effective[0])
        assert effective[0] == pytest.approx(weight.sum() ** 2 / np.sum(weight**2))
        total += probability * share * weight.sum()
        missing += probability * label[~drawn].sum()
    missing_if_none = np.prod(1 - chance) * label.sum()
    assert total == pytest.approx(missing + missing_if_none)


def test_a_version_with_scores_of_another_kind_is_not_misled_by_where_labels_lie(make_world):
    # Labels of the first version lie where its score was high. To a score that knows nothing they
    # look like items drawn at random, many more of them positive than there are.
    errors, raw = [], []
    for seed in range(8):
        world = make_world(2000, seed=seed)
        first = hs.Evaluation(world.pool(0), random_state=seed)
        world.answer(first, 150)
        noise = np.random.default_rng([seed, 1]).normal(-2.5, 1.5, 2000)
        later = first.next(hs.Pool(noise, strata=32, threshold=-2.5))
        truth = np.mean([world.label[item] for item in np.flatnonzero(noise >= -2.5).tolist()])
        errors.append(later.estimate("precision").value - truth)
        told = [answer.label for answer in later.answers if noise[answer.item] >= -2.5]
        raw.append(np.mean(told) - truth)
    assert np.mean(raw) > 0.1
    assert abs(np.mean(errors)) < 0.05


def test_the_score_before_is_a_signal_unless_it_is_the_same(world, tmp_path):
    first = hs.Evaluation(world.pool(0), random_state=1)
    world.answer(first, 100)
    later = first.next(world.pool(1))
    assert later.pool.signals.names == (versions.EARLIER,)
    steps = later.pool.earlier
    there = np.isin(world.ids[1], world.ids[0])
    assert np.array_equal(steps > 0, there)
    before = world.scores[0][world.ids[1][there]]
    assert np.all(np.diff(steps[there][np.argsort(before)].astype(int)) >= 0)
    later.save(tmp_path / "later.jsonl")
    again = hs.Evaluation.load(tmp_path / "later.jsonl", world.pool(1))
    assert np.array_equal(again.pool.earlier, steps)
    assert first.next(world.pool(0)).pool.signals is None
    # What the labels were drawn by is kept as long as the score stays.
    came = later.extend(hs.Pool([0.5, -3.0], ids=[10**6, 10**6 + 1]), strata=32)
    assert np.array_equal(came.pool.earlier, [*steps, 0, 0])


def test_labels_drawn_by_another_score_tell_more_with_that_score(make_world, monkeypatch):
    errors, widths = [], []
    steps = loop_versions.earlier_steps
    for seed in range(3):
        world = make_world(6000, seed=seed)
        label, rng = np.array(list(world.label.values())), np.random.default_rng([seed, 1])
        other = np.where(label == 1, rng.normal(-1, 1.5, 6000), rng.normal(-4, 1.2, 6000))
        first = hs.Evaluation(world.pool(0), random_state=seed)
        first.run(world.oracle, 300, 150)
        found = []
        for known in (steps, lambda *given: None):
            monkeypatch.setattr(loop_versions, "earlier_steps", known)
            later = first.next(hs.Pool(other, strata=32, threshold=0.0))
            found.append(later.run(world.oracle, 100, 50))
        positive = other >= 0
        truth = 2 * np.sum(positive & (label == 1)) / (positive.sum() + label.sum())
        errors.append(found[0].value - truth)
        widths.append([np.ptp(estimate.interval) for estimate in found])
    aware, blind = np.mean(widths, axis=0)
    assert aware < 0.85 * blind
    assert abs(np.mean(errors)) < 3 * aware / 3.92 / np.sqrt(len(errors))


def test_few_new_labels_reach_the_width_of_a_fresh_evaluation(make_world):
    widths = []
    for seed in range(3):
        world = make_world(6000, seed=seed, noise=0.1)
        first = hs.Evaluation(world.pool(0), random_state=seed)
        first.run(world.oracle, 300, 150)
        later = first.next(world.pool(1)).run(world.oracle, 75, 75)
        fresh = hs.Evaluation(world.pool(1), random_state=seed + 50).run(world.oracle, 300, 150)
        widths.append([np.ptp(estimate.interval) for estimate in (later, fresh)])
    later_width, fresh_width = np.mean(widths, axis=0)
    assert later_width < fresh_width


def test_guarantees_of_a_version_rest_on_its_own_draws_and_hold(world):
    first = hs.Evaluation(world.pool(0), random_state=1)
    world.answer(first, 200)
    later = first.next(world.pool(1))
    world.answer(later, 200)
    low, high = later.estimate().guaranteed_interval
    truth = world.f1(1)
    assert low <= truth <= high
    assert high - low < 1


def test_a_version_of_which_all_is_labelled_is_exact(make_world):
    world = make_world(60, came=10)
    first = hs.Evaluation(world.pool(0, strata=4), random_state=0)
    world.answer(first, 60)
    later = first.next(world.pool(1, strata=4))
    world.answer(later, 10)
    assert later.estimate().value == pytest.approx(world.f1(1))


def test_old_labels_can_be_left_out(world):
    first = hs.Evaluation(world.pool(0), random_state=1)
    world.answer(first, 100)
    assert first.next(world.pool(1), max_age="1d").n_carried > 0
    forgotten = first.next(world.pool(1), max_age=timedelta(microseconds=1))
    assert forgotten.n_carried == 0
    assert np.isnan(forgotten.estimate().value)
    world.answer(forgotten, 50)
    assert 0 < forgotten.estimate().value < 1


@pytest.mark.parametrize("age", ["soon", "1y", "-1d", 5, "d"])
def test_an_age_is_a_length_of_time(world, age):
    with pytest.raises(BadOption, match="max_age"):
        hs.Evaluation(world.pool(0)).next(world.pool(1), max_age=age)


def test_items_without_an_answer_lower_the_probability_of_those_alike(world):
    first = hs.Evaluation(world.pool(0), random_state=1)
    queries = first.ask(200)
    first.tell({query: world.label[query.item] for query in queries[::2]})
    half = first.next(world.pool(1)).pool.drawn
    first.tell({query: world.label[query.item] for query in queries[1::2]})
    whole = first.next(world.pool(1)).pool.drawn
    expected = [drawn.inclusion[drawn.level].sum() for drawn in (half, whole)]
    assert expected[0] == pytest.approx(expected[1] / 2, rel=0.05)
    assert len(half.item) == pytest.approx(len(whole.item) / 2, rel=0.15)


def test_skipped_items_are_not_asked_about_again(world):
    first = hs.Evaluation(world.pool(0), random_state=1)
    for query in first.ask(100):
        first.skip(query, "illegible")
    later = first.next(world.pool(1))
    skipped = {answer.item for answer in first.answers}
    assert later.n_carried == 0
    assert not skipped & set(world.answer(later, 100))


def test_many_probabilities_become_few_levels_and_labels_are_put_back_for_it():
    rng = np.random.default_rng(0)
    inclusion = np.repeat(rng.uniform(0.01, 0.9, 300), 400)
    drawn = rng.random(len(inclusion)) < inclusion
    found = Drawn.of(inclusion, drawn, np.arange(len(inclusion)), seed=3)
    lowered = found.inclusion[found.level]
    assert len(found.inclusion) <= versions.MOST_LEVELS
    assert np.all(lowered <= inclusion)
    assert np.mean(lowered / inclusion) > 0.9
    kept = np.bincount(found.level[found.item], minlength=len(found.inclusion))
    size = np.bincount(found.level, minlength=len(found.inclusion))
    error = np.sqrt(size * found.inclusion * (1 - found.inclusion))
    assert np.all(np.abs(kept - size * found.inclusion) < 4.5 * error)


def test_levels_do_not_change_where_cells_lie_nor_what_is_a_mass(make_world):
    world = make_world(2000, came=600, noise=0.0)
    scores = [np.where(part < -2.5, -9.0, part) for part in world.scores]  # half share one score
    pools = [
        hs.Pool(part, ids=ids, strata=16, threshold=0.0)
        for part, ids in zip(scores, world.ids, strict=True)
    ]
    first = hs.Evaluation(pools[0], random_state=1)
    world.answer(first, 150)
    view = first.next(pools[1]).state.ledger.state.view
    fresh = hs.Evaluation(pools[1], random_state=1).state.ledger.state.view
    np.testing.assert_allclose(view.regions.size, fresh.regions.size)
    np.testing.assert_allclose(view.regions.place, fresh.regions.place)
    assert view.model.mass.tolist() == fresh.model.mass.tolist()
    assert view.model.mass.sum() == 1


def test_ids_of_another_type_are_refused(world):
    """No item would be found again, and all labels be lost."""
    first = hs.Evaluation(world.pool(0), random_state=1)
    world.answer(first, 20)
    texts = hs.Pool(world.scores[1], ids=[str(one) for one in world.ids[1]], threshold=0.0)
    with pytest.raises(PoolError, match=r"ids were numbers, such as .*give them as they were"):
        first.next(texts)


def test_a_version_of_another_kind_is_refused(world):
    first = hs.Evaluation(world.pool(0), random_state=1)
    with pytest.raises(PoolError, match="classes"):
        first.next(hs.Pool([0.1, 0.9], classes=("no", "yes")))
    with pytest.raises(BadOption, match=r"hs\.Pool"):
        first.next([0.1, 0.9])
    with pytest.raises(BadOption, match="design='assisted'"):
        hs.Evaluation(world.pool(0), design="passive").next(world.pool(1))
    with pytest.raises(BadOption, match="name"):
        first.next(world.pool(1), "")
    with pytest.raises(BadOption, match="known="):
        hs.Evaluation(world.pool(0), known={5: 1}).next(world.pool(1))


def test_a_signal_that_is_the_label_is_refused_in_a_later_version_too():
    rng = np.random.default_rng(0)
    scores = rng.normal(-2, 2, 4_000)
    label = (rng.random(4_000) < 1 / (1 + np.exp(-2 * scores))).astype(int)
    first = hs.Evaluation(hs.Pool(scores, threshold=0.0), "f1", random_state=0)
    first.run(lambda items: label[items], budget=200)
    second = first.next(hs.Pool(scores + 0.1, threshold=0.0, signals={"leak": label}))
    with pytest.raises(hs.HaystatError, match="it seems to be the label itself"):
        second.ask(10)
