"""Signals behind an engine: the cells, draws and estimates of hs.Pool with the same signals."""

from __future__ import annotations

import numpy as np
import pytest

import haystat as hs
from haystat.engines import Unblocked, signal_cuts
from haystat.errors import BadOption, BadSignal, UnknownName
from haystat.measures import F1
from haystat.study import PoolFile

SIZE = 8000


@pytest.fixture(scope="module")
def rows(make_rows):
    rows = make_rows(SIZE, seed=3)
    rng = np.random.default_rng(9)
    old = np.log(rows["score"]) + rng.normal(0, 1, SIZE)
    near = rows["label"] * 2 + rng.normal(0, 1, SIZE)
    rows["old"] = np.where(rng.random(SIZE) < 0.1, np.nan, old)
    rows["far"] = np.exp(20 * old)  # all but a few values in one bin
    rows["reversed"] = -near
    rows["verdict"] = rng.random(SIZE) < 0.02 + 0.7 * rows["label"]
    rows["sparse"] = np.where(rng.random(SIZE) < 0.97, 0.0, near)
    rows["steps"] = np.round(near).astype(np.int64)
    kind = np.where(near > 2, "often", np.where(near > 0, "seldom", "never")).astype(object)
    rows["kind"] = np.where(rng.random(SIZE) < 0.05, None, kind)
    many = np.array([f"k{i}" for i in rng.integers(0, 60, SIZE)], dtype=object)
    rows["many"] = np.where(near > 1.5, "high", many)
    return rows


@pytest.fixture
def path(rows, write_rows, tmp_path):
    return write_rows(tmp_path / "pool.parquet", rows)


def in_memory(rows, names, score=("score",), **options):
    signals = {name: rows[name] for name in names}
    scores = {name: rows[name] for name in score}
    return hs.Pool(scores, ids=rows["id"], signals=signals, seed=0, **options)


def assert_same(rows, path, names, run_draws, engine="duckdb", measure="f1", **options):
    pool = hs.open_pool(path, id="id", score="score", signals=names, engine=engine, **options)
    memory = in_memory(rows, names, **options)
    a, b = (one.cells(F1().bind(one.schema)) for one in (memory, pool))
    for name in ("size", "stratum", "prior"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    assert a.signals.coordinates == b.signals.coordinates
    assert a.signals.two_valued == b.signals.two_valued
    np.testing.assert_array_equal(a.signals.band, b.signals.band)
    np.testing.assert_array_equal(a.signals.place, b.signals.place)
    label = dict(zip(rows["id"].tolist(), rows["label"].tolist(), strict=True))
    found = [run_draws(one, measure, label, 2, 50, "assisted") for one in (memory, pool)]
    assert found[0][0] == found[1][0]
    np.testing.assert_array_equal(found[0][1], found[1][1])
    return pool


@pytest.mark.parametrize(
    "names",
    [["old", "verdict"], ["far"], ["reversed", "kind"], ["sparse", "many"], ["steps"],
     ["old", "kind", "sparse"], ["kind", "many"]],
    ids="-".join,
)  # fmt: skip
def test_cells_draws_and_estimates_are_those_of_memory(names, rows, path, run_draws):
    assert_same(rows, path, names, run_draws)


@pytest.mark.xdist_group("spark")
def test_spark_does_the_same(rows, path, spark, run_draws):
    pool = assert_same(rows, path, ["old", "kind"], run_draws, spark)
    other = hs.open_pool(path, id="id", score="score", signals=["old", "kind"])
    assert pool.fingerprint == other.fingerprint
    np.testing.assert_array_equal(pool.held.sketch.items.id, other.held.sketch.items.id)


def test_bins_are_cut_until_every_wanted_value_is_known(rows, path, run_draws, monkeypatch):
    monkeypatch.setattr(signal_cuts, "AT_ONCE", 20)
    monkeypatch.setattr(signal_cuts, "BINS", 256)
    assert_same(rows, path, ["old", "far"], run_draws)
    assert_same(rows, path, ["steps"], run_draws)


def test_several_systems_choose_by_majority(rows, path):
    score = ["score", "other"]
    pool = hs.open_pool(path, id="id", score=score, signals={"a": "old", "b": "kind"})
    memory = in_memory(rows, ["old", "kind"], score)
    measure = hs.measures.ForSystems(F1(), score)
    a, b = (one.cells(measure.bind(one.schema)).signals for one in (memory, pool))
    assert b.coordinates == ("a", "b")
    np.testing.assert_array_equal(a.band, b.band)
    np.testing.assert_array_equal(a.place, b.place)


def test_a_sketch_and_a_study_keep_signals(rows, path, tmp_path):
    pool = hs.open_pool(path, id="id", score="score", signals=["old", "kind"], candidates=50)
    pool.save(tmp_path / "p.sketch")
    again = hs.open_pool(tmp_path / "p.sketch")
    assert again.fingerprint == pool.fingerprint
    a, b = (one.cells(F1().bind(one.schema)).signals for one in (pool, again))
    np.testing.assert_array_equal(a.place, b.place)
    given = {"signals": ("old", "kind"), "options": {"seed": 1}}
    file = PoolFile(path, ("score",), "id", engine="duckdb", **given)
    with hs.Study.create(tmp_path / "s.haystat", file, random_state=1) as study:
        asked = [query.item for query in study.ask(30)]
    memory = PoolFile(path, ("score",), "id", **given)
    with hs.Study.create(tmp_path / "m.haystat", memory, random_state=1) as study:
        assert asked == [query.item for query in study.ask(30)]


def test_curves_and_known_labels_go_with_signals(rows, path, run_draws):
    """One more sketch for the thresholds of a curve, and one more pass for labels in a column."""
    names = ["old", "verdict"]
    assert_same(rows, path, names, run_draws, measure=hs.measures.PRCurve(4))
    pool = hs.open_pool(path, id="id", score="score", signals=names)
    cells = pool.cells(F1().bind(pool.schema))
    counts = pool.label_counts(F1().bind(pool.schema), cells, "label")
    memory = in_memory(rows, names)
    of_item = memory.cells(F1().bind(memory.schema)).of_item
    expected = [np.bincount(of_item[rows["label"] == label]) for label in (0, 1)]
    np.testing.assert_array_equal(counts[:, 0], expected[0])
    np.testing.assert_array_equal(counts[: len(expected[1]), 1], expected[1])


def test_other_measures_see_the_cells_that_signals_cut(rows, path):
    names, values = ["old", "verdict"], []
    label = dict(zip(rows["id"].tolist(), rows["label"].tolist(), strict=True))
    for pool in (in_memory(rows, names), hs.open_pool(path, id="id", score="score", signals=names)):
        evaluation = hs.Evaluation(pool, "f1", random_state=1)
        evaluation.tell({query.item: label[query.item] for query in evaluation.ask(100)})
        other = hs.measures.PRCurve(thresholds=(0.1, 0.5, 0.7))
        values.append(evaluation.estimate(other).values)
    np.testing.assert_allclose(*values, rtol=1e-9)


def test_pairs_outside_the_blocks_have_no_signals(path):
    with pytest.raises(BadOption, match="blocked pairs"):
        hs.open_pool(
            path, id=("id", "id"), score="score", signals=["old"], unblocked=Unblocked(path)
        )


def test_a_pool_without_signals_has_the_fingerprint_it_had(path):
    plain = hs.open_pool(path, id="id", score="score")
    told = hs.open_pool(path, id="id", score="score", signals=["old"])
    assert plain.fingerprint != told.fingerprint
    assert "signals" not in repr(plain.layout.columns)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (["gone"], UnknownName, "no column 'gone'"),
        (["same"], BadSignal, "for every item and tells nothing"),
        (["none"], BadSignal, "missing for every item"),
        (["empty"], BadSignal, "missing for every item"),
        (["endless"], BadSignal, "infinite in 1 rows"),
        (["endless with gaps"], BadSignal, "infinite in 2 rows"),
        (["id", "score", "old", "far"], BadOption, "an engine takes 3 at most"),
        ({"a": hs.signal_from_features(np.eye(3))}, BadOption, "for hs.Pool"),
    ],
)
def test_a_useless_signal_is_refused_with_the_reason(
    given, error, words, rows, write_rows, tmp_path
):
    bad = {
        "same": np.full(SIZE, 3.0),
        "none": np.full(SIZE, np.nan),
        "empty": np.full(SIZE, "", dtype=object),
        "endless": np.where(np.arange(SIZE) == 7, np.inf, rows["other"]),
    }
    bad["endless with gaps"] = np.where(np.arange(SIZE) == 8, -np.inf, bad["endless"])
    bad["endless with gaps"][9] = np.nan
    path = write_rows(tmp_path / "bad.parquet", {**rows, **bad})
    with pytest.raises(error, match=words):
        hs.open_pool(path, id="id", score="score", signals=given)
