"""The generated record-linkage pool is what the demo says it is."""

import sys

import numpy as np
import pytest
from typer.testing import CliRunner

from haystat.cli import app
from haystat.cli import demo as command
from haystat.demo import LinkagePool, make_linkage_pool
from haystat.demo.matcher import bigram_cosine, digit_agreement, features, fit_matcher
from haystat.demo.people import CHANGES, FIELDS, new_person, second_record, two_tables
from haystat.errors import BadOption, UnknownItem


@pytest.fixture(scope="module")
def pool() -> LinkagePool:
    return make_linkage_pool()


def test_pool_is_large_and_matches_are_rare(pool):
    n_items = len(pool.labels)
    assert n_items >= 1_000_000
    assert 150 <= pool.labels.sum() <= n_items / 5000


def test_arrays_describe_the_same_pairs(pool):
    for array in (pool.ids, pool.scores, pool.predictions, pool.labels):
        assert array.shape == (len(pool.left["first"]) * len(pool.right["first"]),)
    assert np.array_equal(pool.ids, np.arange(len(pool.ids)))
    assert np.all((pool.scores >= 0) & (pool.scores <= 1))
    assert np.array_equal(pool.predictions, pool.scores >= 0.5)


def test_nobody_is_matched_twice(pool):
    rows = np.divmod(pool.ids[pool.labels == 1], len(pool.right["first"]))
    for side in rows:
        assert len(np.unique(side)) == len(side)


def test_matcher_is_good_but_not_perfect(pool):
    found = int((pool.labels & pool.predictions).sum())
    precision, recall = found / pool.predictions.sum(), found / pool.labels.sum()
    assert 0.6 <= 2 * precision * recall / (precision + recall) <= 0.85
    assert precision < 0.95
    assert recall < 0.95


def test_some_matches_hide_in_the_tail_of_the_scores(pool):
    hidden = (pool.labels == 1) & (pool.scores < 0.01)
    assert 3 <= hidden.sum() <= 40


@pytest.mark.parametrize("seed", [0, 7])
def test_same_seed_gives_the_same_pool(seed):
    first, second = (make_linkage_pool(120, 100, seed=seed) for _ in range(2))
    assert np.array_equal(first.scores, second.scores)
    assert np.array_equal(first.labels, second.labels)
    for field in FIELDS:
        assert np.array_equal(first.left[field], second.left[field])
        assert np.array_equal(first.right[field], second.right[field])


def test_another_seed_gives_another_pool():
    first, second = (make_linkage_pool(120, 100, seed=seed) for seed in (0, 1))
    assert not np.array_equal(first.left["last"], second.left["last"])
    assert not np.array_equal(first.scores, second.scores)


def test_describe_shows_the_two_records_of_the_pair(pool):
    n_right = len(pool.right["first"])
    text = pool.describe(37 * n_right + 5)
    lines = text.splitlines()
    assert [line.split()[0] for line in lines] == list(FIELDS)
    for field, line in zip(FIELDS, lines, strict=True):
        assert pool.left[field][37] in line
        assert line.endswith(pool.right[field][5] or "-")


@pytest.mark.parametrize("item", [-1, 12_000])
def test_describe_rejects_a_pair_that_does_not_exist(item):
    with pytest.raises(UnknownItem, match="ids go from 0 to 11999"):
        make_linkage_pool(120, 100).describe(item)


@pytest.mark.parametrize(("n_left", "n_right"), [(0, 100), (10, 10), (-100, -100)])
def test_a_pool_without_room_for_a_match_is_refused(n_left, n_right):
    with pytest.raises(BadOption, match="at least 6000 pairs"):
        make_linkage_pool(n_left, n_right)


def test_bigram_cosine_on_hand_worked_names():
    # "ab" has the pairs ab, b$; "abc" has ab, bc, c$: one in common, 1 / sqrt(2 * 3).
    cosine = bigram_cosine(np.array(["ab", ""]), np.array(["AB", "abc", "xy"]))
    assert cosine[0] == pytest.approx([1, 1 / np.sqrt(6), 0], abs=1e-6)
    assert cosine[1] == pytest.approx([0, 0, 0])


def test_digit_agreement_counts_places():
    agreement = digit_agreement(np.array(["1234", ""]), np.array(["1239", "", "12345"]))
    assert agreement[0] == pytest.approx([0.75, 0, 1])
    assert agreement[1] == pytest.approx([0, 0, 0])


def test_matcher_agrees_with_scikit_learn():
    linear_model = pytest.importorskip("sklearn.linear_model")
    left, right, matches = two_tables(80, 70, 30, np.random.default_rng(3))
    labels = np.zeros((80, 70), dtype=np.int8)
    labels[matches[:, 0], matches[:, 1]] = 1
    design = np.column_stack([feature.ravel() for feature in features(left, right)])
    theirs = linear_model.LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000)
    theirs.fit(design.astype(float), labels.ravel())
    ours = fit_matcher(left, right, labels, ridge=1.0).scores(left, right).ravel()
    assert ours == pytest.approx(theirs.predict_proba(design)[:, 1], abs=1e-3)


@pytest.mark.parametrize(("probability", "change"), CHANGES)
def test_every_change_alters_fields_that_exist(probability, change):
    rng = np.random.default_rng(11)
    person = new_person(rng)
    changed = change(person, rng)
    assert 0 < probability < 1
    assert changed.keys() <= set(FIELDS)


def test_second_records_differ_in_most_cases_but_not_wholly():
    rng = np.random.default_rng(5)
    people = [new_person(rng) for _ in range(300)]
    copies = [second_record(person, rng) for person in people]
    same = np.array(
        [[a[field] == b[field] for field in FIELDS] for a, b in zip(people, copies, strict=True)]
    )
    assert 0.3 < same.mean() < 0.9
    assert same.all(axis=1).mean() < 0.5


def test_the_demo_names_the_extra_that_its_picture_needs(tmp_path, monkeypatch):
    small = make_linkage_pool(300, 200, seed=1)
    monkeypatch.setattr(command, "make_linkage_pool", lambda seed: small)
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    monkeypatch.delitem(sys.modules, "haystat.demo.picture", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    found = CliRunner().invoke(app, ["demo", "--labels", "50", "--picture", str(tmp_path / "p")])
    assert found.exit_code == 0, found.output
    said = " ".join(found.output.split())
    assert "matplotlib: pip install 'haystat[plots]'" in said
    assert "pip install 'haystat[web]', then haystat serve --demo" in said
