"""Labels that a version asks about again, to see whether the truth drifts."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.stats import binomtest, fisher_exact
from typer.testing import CliRunner

import haystat as hs
from haystat.cli import app
from haystat.errors import BadOption
from haystat.loop import drift
from haystat.loop import versions as loop_versions
from haystat.study import Study, verify
from haystat.study.label_bank import known_labels


def begun(world, n=200, **options):
    first = hs.Evaluation(world.pool(0), random_state=1, **options)
    world.answer(first, n)
    return first


def test_a_random_share_is_asked_again_first_and_the_rest_is_carried_over(world):
    first = begun(world)
    all_of_it, later = first.next(world.pool(1)), first.next(world.pool(1), ask_again=0.2)
    n = all_of_it.n_carried
    assert later.n_carried == later.n_labels
    n_again = n - later.n_carried
    assert abs(n_again - 0.2 * n) < 4 * np.sqrt(n * 0.2 * 0.8)
    known = {answer.item for answer in all_of_it.answers}
    asked = [query.item for query in later.ask(n_again + 10)]
    assert set(asked[:n_again]) == known - {answer.item for answer in later.answers}
    assert not known & set(asked[n_again:])
    assert len(asked) == n_again + 10
    assert not set(asked) & {query.item for query in later.ask(5)}
    same = first.next(world.pool(1), ask_again=0.2)
    assert [query.item for query in same.ask(n_again)] == asked[:n_again]


def test_the_same_answers_again_lead_to_the_estimate_without_asking_again(world):
    first = begun(world)
    plain, later = first.next(world.pool(1)), first.next(world.pool(1), ask_again=0.3)
    half = later.estimate()  # the others stand for what is open
    assert half.interval[0] < plain.estimate().value < half.interval[1]
    world.answer(later, plain.n_carried - later.n_carried)
    assert later.n_labels == plain.n_labels
    np.testing.assert_allclose(
        later.state.ledger.inclusion, plain.state.ledger.inclusion, rtol=1e-12
    )
    one, other = later.estimate(), plain.estimate()
    assert one.value == pytest.approx(other.value, abs=0.1 * np.ptp(other.interval))
    # 400 draws of the missing labels, other ones of each: widths differ by 10% from them alone.
    assert np.ptp(one.interval) == pytest.approx(np.ptp(other.interval), rel=0.25)


def test_what_is_kept_and_what_is_asked_again_have_the_probabilities_they_say(world):
    first = begun(world)
    share, n, kept = 0.25, 0, 0
    later = first.next(world.pool(1), ask_again=share)
    before, again = later.state.ledger.stages
    np.testing.assert_allclose(before.inclusion, again.inclusion * (1 - share))
    keys, seeds = np.arange(2000), range(20)
    for seed in seeds:
        drawn = loop_versions.Drawn(np.zeros(2000, int), np.array([0.5]), keys)
        found = drawn.asking_again(share, keys, seed)
        n, kept = n + 2000, kept + 2000 - len(found.again)
    assert abs(kept / n - (1 - share)) < 4 * np.sqrt(share * (1 - share) / n)


def test_guarantees_rest_on_draws_of_the_version_alone(world):
    later = begun(world).next(world.pool(1), ask_again=0.3)
    world.answer(later, 60)
    assert all(later.state.ledger.label_of.get(q) is not None for q in later.state.asked_again)
    plain = begun(world).next(world.pool(1))
    low, high = later.estimate().guaranteed_interval
    assert low <= world.f1(1) <= high
    assert later.drift().n_told == later.drift().n_asked
    world.answer(later, 150)
    world.answer(plain, 150)
    narrow = np.ptp(later.estimate().guaranteed_interval)
    assert narrow < 1
    assert narrow > 0.5 * np.ptp(plain.estimate().guaranteed_interval)


def changed(world, share, n=300, ask_again=0.3):
    """A version in which a share of the truth has changed."""
    later = begun(world, n).next(world.pool(1), ask_again=ask_again)
    rng = np.random.default_rng(0)
    flips = {item for item in world.label if rng.random() < share}
    for query in later.ask(len(later.state.asked_again)):
        later.tell({query: world.label[query.item] ^ (query.item in flips)})
    asked = {answer.item for answer in later.state.asked_again.values()}
    return later, len(asked), len(asked & flips)


def test_changed_labels_are_counted_and_a_drift_is_told_in_two_sentences(world):
    later, n, k = changed(world, 0.3)
    found = later.estimate().details["drift"]
    assert (found.n_asked, found.n_told, found.n_changed) == (n, n, k)
    (warning,) = [text for text in later.estimate().warnings if "drift" in text]
    assert f"{k} of {n} labels" in warning
    assert "max_age" in warning
    assert warning.count(". ") == 1
    assert f"{k} of {n}" in str(later.drift())


def test_what_people_explain_is_no_drift(world):
    later, n, k = changed(world, 0.01)
    assert later.drift().n_changed == k < 0.05 * n
    assert not [text for text in later.estimate().warnings if "drift" in text]
    assert begun(world).next(world.pool(1)).drift() is None


def test_disagreement_of_people_is_measured_where_items_have_several_answers(world):
    first = hs.Evaluation(
        world.pool(0), random_state=1, answers_per_item=2, disagreement="majority"
    )
    for query in first.ask(200):
        for who in ("ann", "bob"):
            first.tell({query: world.label[query.item]}, who)
    later = first.next(world.pool(1), ask_again=0.5)
    for place, query in enumerate(later.ask(len(later.state.asked_again))):
        label = world.label[query.item]
        given = (label, label, label) if place % 4 else (label, 1 - label, 1 - label)
        for who, said in zip(("ann", "bob", "eve"), given, strict=True):
            if query in later.pending:
                later.tell({query: said}, who)
    found = later.drift()
    assert found.n_repeated == found.n_told
    assert found.n_changed == -(-found.n_told // 4)
    assert found.disagreement == pytest.approx(found.n_changed / found.n_told * 2 / 3)
    assert found.chance > 0.05
    assert found.warnings == ()


@pytest.mark.parametrize(("k", "n"), [(0, 12), (3, 40), (9, 9)])
def test_interval_and_probability_are_exact(k, n):
    right = binomtest(k, n).proportion_ci(0.9, method="exact")
    assert drift.exact_interval(k, n, 0.9) == pytest.approx((right.low, right.high))
    people = binomtest(k, n, 0.05, alternative="greater").pvalue
    assert drift.chance_of(k, n, 0.05, 0) == pytest.approx(people)
    table = [[k, n - k], [6, 24]]
    fisher = fisher_exact(table, alternative="greater").pvalue
    assert drift.chance_of(k, n, 0.2, 30) == pytest.approx(fisher)


@pytest.mark.parametrize("share", [-0.1, 1, True, "0.1", float("nan")])
def test_a_share_is_a_number_below_one(world, share):
    with pytest.raises(BadOption, match="ask_again"):
        begun(world, 20).next(world.pool(1), ask_again=share)


def test_a_study_asks_again_like_an_evaluation_and_an_audit_replays_it(world, tmp_path):
    with Study.create(tmp_path / "a.haystat", world.pool(0), random_state=1) as study:
        world.answer(study, 200)
        later = study.next(world.pool(1), ask_again=0.2)
    same = begun(world).next(world.pool(1), ask_again=0.2)
    for n in (20, 60):
        assert sorted(world.answer(later, n)) == sorted(world.answer(same, n))
    assert later.estimate().interval == same.estimate().interval
    assert later.drift() == same.drift()
    third = later.next(world.pool(0), ask_again=0.1)
    world.answer(third, 30)
    assert verify(third.path).ok
    with Study.open(third.path) as again:
        assert again.drift() == third.drift()


def test_a_version_that_asks_again_is_saved_and_loaded(world, tmp_path):
    later = begun(world).next(world.pool(1), ask_again=0.2)
    world.answer(later, 50)
    later.save(tmp_path / "later.jsonl")
    again = hs.Evaluation.load(tmp_path / "later.jsonl", world.pool(1))
    assert again.drift() == later.drift()
    assert again.estimate().interval == later.estimate().interval


def test_an_audit_finds_items_that_the_seed_does_not_ask_about_again(world, tmp_path, monkeypatch):
    with Study.create(tmp_path / "a.haystat", world.pool(0), random_state=1) as study:
        world.answer(study, 100)
        honest = loop_versions.Drawn.asking_again
        forged = lambda self, share, keys, seed: honest(self, share, keys, seed + 1)  # noqa: E731
        monkeypatch.setattr(loop_versions.Drawn, "asking_again", forged)
        path = study.next(world.pool(1), ask_again=0.2).path
    monkeypatch.undo()
    assert "asked about again" in str(verify(path).findings[0])


def test_a_share_that_meets_no_label_asks_nothing_again(world):
    first = begun(world, 30)
    plain, later = first.next(world.pool(1)), first.next(world.pool(1), ask_again=1e-6)
    assert (later.n_carried, later.drift()) == (plain.n_carried, None)
    # The same but for draws of the missing labels, which nearly equal cells hang on.
    assert len({*world.answer(later, 20)} & {*world.answer(plain, 20)}) >= 15
    one, other = later.estimate(), plain.estimate()
    assert one.value == pytest.approx(other.value, abs=0.05 * np.ptp(other.interval))


def test_answers_from_before_and_now_are_both_known(world, tmp_path):
    with Study.create(tmp_path / "a.haystat", world.pool(0), random_state=1) as study:
        world.answer(study, 100)
        later = study.next(world.pool(1), ask_again=0.3)
    items = {answer.item for answer in later.state.asked_again.values()}
    assert {row.item for row in known_labels(later) if not row.counts} >= items
    for query in later.ask(len(items)):
        later.tell({query: 1 - world.label[query.item]})
    rows = [row for row in known_labels(later) if row.item in items]
    assert len(rows) == 2 * len(items)
    for row in rows:
        assert row.counts == (row.version == "v2")
        assert row.label == world.label[row.item] ^ row.counts


def test_the_command_line_asks_again_and_tells_what_has_changed(world, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def run(*words):
        result = CliRunner().invoke(app, words, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout

    rows = zip(world.ids[0].tolist(), world.scores[0].tolist(), strict=True)
    (tmp_path / "a.csv").write_text("id,score\n" + "".join(f"{i},{s!r}\n" for i, s in rows))
    run("new", "a.haystat", "a.csv", "--id", "id", "--score", "score", "--threshold", "0")
    with Study.open("a.haystat") as study:
        world.answer(study, 200)
    run("next", "a.haystat", "a.csv", "-o", "b.haystat", "--ask-again", "0.2")
    with Study.open("b.haystat") as study:
        n = len(study.state.asked_again)
        for query in study.ask(n):
            study.tell({query: 1 - world.label[query.item]})
    drift = json.loads(run("estimate", "b.haystat", "--json"))["drift"]
    assert (drift["n_asked"], drift["n_told"], drift["n_changed"]) == (n, n, n)
    shown = " ".join(run("estimate", "b.haystat").split())
    assert f"{n} of {n} labels that were asked about again have changed" in shown
    assert "seems to drift" in shown
    assert "drift" not in json.loads(run("estimate", "a.haystat", "--json"))
