"""Signals that are fitted to labels: cross-fitted, refitted by the loop, the same on replay."""

from __future__ import annotations

import sys
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

import haystat as hs
from haystat.cli import app
from haystat.decisions.doubts import PoolWarning
from haystat.errors import BadOption, BadSignal, LengthMismatch, UnknownName
from haystat.inference.posterior import posterior_shares
from haystat.loop import refits
from haystat.models.posterior import THOROUGH
from haystat.pool.fitted_signals import FOLDS, N_FOLDS
from haystat.pool.permanent_numbers import as_shares, permanent_numbers
from haystat.pool.text_signals import paired, similarities

SIZE = 4000
FEW = 60  # labels at which signals are fitted in these tests


def made(seed=0, size=SIZE):
    """Features that tell the label, a score that overlooks a quarter of the positives, labels."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(size, 4))
    label = (features[:, :3].sum(axis=1) + rng.normal(0, 0.4, size) > 3.6).astype(int)
    hidden = rng.random(size) < 0.25
    score = np.where(label == 1, rng.normal(1, 1, size) - 4 * hidden, rng.normal(-3, 1, size))
    return features, score, label


@pytest.fixture
def early(monkeypatch):
    """Signals are fitted soon."""
    monkeypatch.setattr(refits, "FIRST", FEW)


def evaluated(features, score, label, budget, seed=0, batch_size=20, **options):
    pool = hs.Pool(score, threshold=0.0, signals={"f": hs.signal_from_features(features)})
    evaluation = hs.Evaluation(pool, "f1", random_state=seed, **options)
    return evaluation, evaluation.run(
        lambda items: label[items], budget=budget, batch_size=batch_size
    )


def folds_of(size):
    return (as_shares(permanent_numbers(np.arange(size), FOLDS)) * N_FOLDS).astype(int)


def test_no_item_is_scored_by_a_model_that_saw_its_label():
    features, _, label = made()
    item = np.flatnonzero(np.random.default_rng(1).random(SIZE) < 0.1)
    signal, keys = hs.signal_from_features(features), np.arange(SIZE)
    before = signal.fitted(keys, item, label[item])
    fold = folds_of(SIZE)
    for one in item[:3]:
        other = label[item].copy()
        other[item == one] = 1 - other[item == one]
        after = signal.fitted(keys, item, other)
        same = fold == fold[one]
        np.testing.assert_array_equal(before[same], after[same])
        assert np.any(before[~same] != after[~same])


def test_the_signal_of_a_fold_has_the_order_of_a_regression_on_the_other_folds():
    features, _, label = made()
    item = np.arange(0, SIZE, 9)
    found = hs.signal_from_features(features).fitted(np.arange(SIZE), item, label[item])
    scaled = np.clip((features - features.mean(axis=0)) / features.std(axis=0), -5, 5)
    fold = folds_of(SIZE)
    for number in range(N_FOLDS):
        seen = item[fold[item] != number]
        model = LogisticRegression(class_weight="balanced", max_iter=500)
        expected = model.fit(scaled[seen], label[seen]).decision_function(scaled[fold == number])
        np.testing.assert_array_equal(np.argsort(found[fold == number]), np.argsort(expected))


def test_too_few_labels_of_a_class_leave_the_signal_unfitted():
    features, score, label = made()
    item = np.r_[np.flatnonzero(label == 0)[:50], np.flatnonzero(label == 1)[:4]]
    signal = hs.signal_from_features(features)
    assert signal.fitted(np.arange(SIZE), item, label[item]) is None
    pool = hs.Pool(score, threshold=0.0, signals={"f": signal})
    assert pool.signals is None
    assert pool.fitted(item, label[item].tolist()).signals is None


def test_the_loop_fits_the_signal_and_no_label_is_lost_or_asked_for_again(early):
    features, score, label = made()
    asked = []

    def oracle(items):
        asked.extend(items)
        return label[items]

    pool = hs.Pool(score, threshold=0.0, signals={"f": hs.signal_from_features(features)})
    evaluation = hs.Evaluation(pool, "f1", random_state=0)
    assert evaluation.run(oracle, budget=40, batch_size=20).signals == {}
    estimate = evaluation.run(oracle, budget=220, batch_size=20)
    assert len(asked) == len(set(asked)) == 220 == evaluation.n_labels == estimate.n_labels
    assert evaluation.n_carried == 0
    assert estimate.signals["f"] > 0
    assert evaluation.settings["fitted"]["labels"] == 180  # 60 and 180


def test_open_questions_put_a_fit_off(early):
    features, score, label = made()
    evaluation, _ = evaluated(features, score, label, FEW - 10)
    first, second = evaluation.ask(10), evaluation.ask(10)
    evaluation.tell({query.item: int(label[query.item]) for query in first})
    third = evaluation.ask(10)
    assert "fitted" not in evaluation.settings
    evaluation.tell({query.item: int(label[query.item]) for query in [*second, *third]})
    evaluation.ask(1)
    assert "fitted" in evaluation.settings


def test_the_same_labels_lead_to_the_same_draws(early, tmp_path):
    features, score, label = made()
    one, _ = evaluated(features, score, label, 200)
    other, _ = evaluated(features, score, label, 120)
    path = tmp_path / "log.jsonl"
    other.save(path)
    pool = hs.Pool(score, threshold=0.0, signals={"f": hs.signal_from_features(features)})
    again = hs.Evaluation.load(path, pool)
    again.run(lambda items: label[items], budget=200, batch_size=20)
    assert [query.item for query in again.ask(20)] == [query.item for query in one.ask(20)]
    assert again.estimate().value == one.estimate().value
    turned = hs.signal_from_features(features[::-1])
    with pytest.raises(hs.errors.LogError, match="another pool"):
        hs.Evaluation.load(path, hs.Pool(score, threshold=0.0, signals={"f": turned}))


def test_known_labels_fit_the_signal_at_once_and_replay(tmp_path):
    features, score, label = made()
    items = np.random.default_rng(3).choice(SIZE, 400, replace=False)
    known = hs.Known.found({int(item): int(label[item]) for item in items})
    evaluation, estimate = evaluated(features, score, label, 40, known=known)
    assert set(estimate.signals) == {"f"}
    evaluation.save(tmp_path / "log.jsonl")
    pool = hs.Pool(score, threshold=0.0, signals={"f": hs.signal_from_features(features)})
    again = hs.Evaluation.load(tmp_path / "log.jsonl", pool)
    assert again.estimate().value == estimate.value
    assert [query.item for query in again.ask(9)] == [query.item for query in evaluation.ask(9)]


def test_a_study_fits_its_signal_to_known_labels_and_says_so_without_any(tmp_path):
    features, score, label = made()
    items = np.random.default_rng(3).choice(SIZE, 400, replace=False)
    known = hs.Known.found({int(item): int(label[item]) for item in items})
    pool = hs.Pool(score, threshold=0.0, signals={"f": hs.signal_from_features(features)}, seed=1)
    given = {"measure": "f1", "random_state": 0, "candidates": 100}
    with hs.Study.create(tmp_path / "s.haystat", pool, known=known, **given):
        pass
    with hs.Study.open(tmp_path / "s.haystat", pool=pool) as study:
        queries = study.ask(150)  # more than the file has kept
        study.tell({query.item: int(label[query.item]) for query in queries})
        assert set(study.estimate().signals) == {"f"}
    with pytest.warns(PoolWarning, match=r"signal from f is fitted to labels.*haystat next"):
        hs.Study.create(tmp_path / "t.haystat", pool, **given).close()


def test_positives_that_the_score_hides_are_found_by_features():
    features, score, label = made(size=12_000)
    plain = hs.Evaluation(hs.Pool(score, threshold=0.0), "f1", random_state=0)
    plain.run(lambda items: label[items], budget=400, batch_size=100)
    helped, _ = evaluated(features, score, label, 400, batch_size=100)
    found = [
        sum(answer.label == 1 and score[answer.item] < 0 for answer in evaluation.answers)
        for evaluation in (plain, helped)
    ]
    assert found[1] > 1.5 * found[0]


def test_views_after_a_fit_are_held_against_each_other_by_the_same_labels(early):
    """Effective numbers of labels differ between them, which would decide by itself."""
    _, score, label = made()
    noise = np.random.default_rng(7).normal(size=(SIZE, 3))
    evaluation, _ = evaluated(noise, score, label, 260)
    state = evaluation.state.ledger.state
    view, counts = state.view, state.labelled
    evidence = []
    for one in (view, view.plain):
        n, events = one.compared(counts)
        assert (n.sum(), events.sum()) == (counts.sum(), counts[:, 1].sum())
        assert one.events(counts)[0].sum() < n.sum() - 1
        start = one.model.fitted(*one.events(counts), None, THOROUGH).fits.mode
        evidence.append(one.model.fitted(n, events, start, THOROUGH).evidence)
    chance = expit(evidence[1] - evidence[0])
    assert 0.05 < chance < 0.95
    mode = view.model.curve.mean[None]
    both, alone = (
        posterior_shares(one, mode, counts, np.random.default_rng(0))
        for one in (view, replace(view, plain=None))
    )
    other = np.mean(np.any(both != alone, axis=1))
    assert abs(other - chance) < 4 * np.sqrt(chance * (1 - chance) / len(both))


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (np.zeros(5), LengthMismatch, "one row an item"),
        (np.ones((5, 2)), BadSignal, "the same for every item"),
        (np.array([[1.0], [np.inf]]), BadSignal, "infinite at position 1"),
        ([["a"], ["b"]], BadSignal, "must be numbers"),
        (csr_matrix((3, 2)), BadSignal, "empty"),
    ],
)
def test_useless_features_are_refused(given, error, words):
    with pytest.raises(error, match=words):
        hs.signal_from_features(given)


def test_missing_and_sparse_features_are_taken():
    features, _, label = made()
    item, keys = np.arange(0, SIZE, 9), np.arange(SIZE)
    gaps = np.where(np.random.default_rng(2).random(features.shape) < 0.1, np.nan, features)
    for given in (gaps, csr_matrix(np.maximum(features, 0)), pd.DataFrame(features)):
        found = hs.signal_from_features(given).fitted(keys, item, label[item])
        assert found[label == 1].mean() > 0.85


def test_a_fitted_signal_has_the_length_of_the_pool_and_needs_the_default_design():
    features, score, _ = made()
    signal = hs.signal_from_features(features)
    with pytest.raises(LengthMismatch, match="'f' is about 4000 items; the pool has 10"):
        hs.Pool(score[:10], signals={"f": signal})
    pool = hs.Pool(score, threshold=0.0, signals={"f": signal})
    with pytest.raises(BadOption, match=r"signals \['f'\] .* design passive cannot use"):
        hs.Evaluation(pool, "f1", "passive")
    with pytest.raises(BadOption, match="simulate"):
        hs.simulate(pool, np.zeros(SIZE, dtype=int), budgets=[10], repeats=1)


def test_without_scikit_learn_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(BadOption, match=r"pip install 'haystat\[features\]'"):
        hs.signal_from_features(np.eye(3))


def test_columns_of_a_pair_are_found_by_their_names():
    names = ["name_l", "name_r", "left", "right", "left_city", "right_city", "note", ("a", "b")]
    singles, pairs = paired(names)
    assert singles == ["note"]
    assert sorted(pairs) == [
        ("a", "b"),
        ("left", "right"),
        ("left_city", "right_city"),
        ("name_l", "name_r"),
    ]


def test_similarities_are_those_of_the_texts():
    left = np.array(["red old chair", "red old chair", "x", ""], dtype=object)
    right = np.array(["red old chair", "old red", "y", "z"], dtype=object)
    words, letters, contained, equal, missing = similarities([(left, right)]).T
    np.testing.assert_allclose(words, [1, 2 / np.sqrt(6), 0, 0], atol=1e-6)
    assert letters[0] == pytest.approx(1)
    assert letters[0] > letters[1] > letters[2] == 0
    np.testing.assert_allclose(contained, [1, 1, 0, 0])
    np.testing.assert_array_equal(equal, [1, 0, 0, 0])
    np.testing.assert_array_equal(missing, [0, 0, 0, 1])


WORDS = "amber birch cedar delta ember frost grove heath islet jetty knoll lotus".split()


def pairs_frame(seed=0, size=2000):
    """Pairs of records, a fifth of the matches with one word changed and a low score."""
    rng = np.random.default_rng(seed)
    label = (rng.random(size) < 0.06).astype(int)
    left = rng.choice(WORDS, (size, 4))
    right = np.where(label[:, None] == 1, left, rng.choice(WORDS, (size, 4)))
    right[:, 3] = rng.choice(WORDS, size)
    low = rng.random(size) < 0.2
    score = np.where(label == 1, rng.normal(1, 1, size) - 4 * low, rng.normal(-3, 1, size))
    texts = {"name_l": map(" ".join, left), "name_r": map(" ".join, right)}
    return pd.DataFrame({**texts, "score": score, "label": label, "twice": score * 2})


@pytest.mark.parametrize("library", [pd.DataFrame, pl.from_pandas])
@pytest.mark.parametrize("columns", [["name_l", "name_r"], ["name_l", "name_r", "score"]])
def test_text_of_pairs_tells_matches(library, columns):
    frame = pairs_frame()
    signal = hs.signal_from_text(library(frame), columns)
    item, label = np.arange(0, 2000, 5), frame.label.to_numpy()
    found = signal.fitted(np.arange(2000), item, label[item])
    assert found[label == 1].mean() > 0.95


def test_words_of_a_column_tell_topics():
    rng = np.random.default_rng(0)
    label = (rng.random(2000) < 0.1).astype(int)
    text = [" ".join(rng.choice(WORDS[:6] if y else WORDS[4:], 5)) for y in label]
    text[0], frame = None, pd.DataFrame({"text": text})
    signal = hs.signal_from_text(frame, ["text"])
    item = np.arange(0, 2000, 5)
    found = signal.fitted(np.arange(2000), item, label[item])
    assert found[label == 1].mean() > 0.9


def test_columns_of_text_are_named_in_a_list():
    frame = pairs_frame()
    for given in ("name_l", [], None, [["name_l"]]):
        with pytest.raises(BadOption, match="columns are"):
            hs.signal_from_text(frame, given)
    with pytest.raises(UnknownName, match="no column 'nmae'"):
        hs.signal_from_text(frame, ["nmae"])


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT, Decimal("sNaN")])
def test_texts_that_are_missing_or_no_unicode_are_taken(missing):
    texts = ["caf\udce9 blue", missing, "red", np.array([1, 2])] * 15
    values = pd.Series(texts, dtype=object)
    frame = pd.DataFrame({"name_l": values, "name_r": values[::-1].values, "topic": values})
    signal = hs.signal_from_text(frame, ["name_l", "name_r", "topic"])
    pool = hs.Pool(np.linspace(0, 1, 60), signals={"text": signal}, strata=4)
    known = {item: int(item % 4 == 0) for item in range(60)}
    assert 0 < hs.Evaluation(pool, known=known).estimate().value < 1


def test_from_frame_takes_signals_that_are_fitted():
    frame = pairs_frame()
    signals = {"old": "twice", "names": hs.signal_from_text(frame, ["name_l", "name_r"])}
    pool = hs.Pool.from_frame(frame, score="score", threshold=0.0, signals=signals)
    assert pool.signals.names == ("old",)
    assert list(pool.to_fit) == ["names"]


def test_a_study_fits_its_signal_in_the_next_version(tmp_path):
    frame = pairs_frame()
    frame.to_parquet(tmp_path / "pool.parquet")
    study, table = str(tmp_path / "s.haystat"), str(tmp_path / "pool.parquet")
    options = ["--score", "score", "--threshold", "0", "--seed", "1", "--show", "name_l,name_r"]
    options += ["--signal-text", "name_l,name_r", "--signal-features", "twice"]
    shown = CliRunner().invoke(app, ["new", study, table, *options])
    assert shown.exit_code == 0, shown.output
    assert "fitted to labels" in shown.output.replace("\n", " ")
    with hs.Study.open(study) as opened:
        asked = opened.ask(200)
        opened.tell({query.item: int(frame.label[query.item]) for query in asked})
        assert opened.estimate().signals == {}
    again = CliRunner().invoke(app, ["next", study, table, "--name", "two", "--candidates", "100"])
    assert again.exit_code == 0, again.output
    with hs.Study.open(tmp_path / "s-two.haystat") as later:
        assert later.n_carried == 200
        queries = later.ask(150)  # the file runs out of candidates and reads the pool again
        later.tell({query.item: int(frame.label[query.item]) for query in queries})
        assert set(later.estimate().signals) == {"text", "features"}
    verified = CliRunner().invoke(app, ["verify", str(tmp_path / "s-two.haystat")])
    assert verified.exit_code == 0, verified.output
