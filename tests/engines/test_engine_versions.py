"""The next version of a pool behind an engine: the cells, draws and estimates of hs.Pool."""

from __future__ import annotations

import numpy as np
import pytest

import haystat as hs

SIZE = 4000


@pytest.fixture(scope="module")
def rows(make_rows):
    rows = make_rows(SIZE, seed=3)
    rng = np.random.default_rng(9)
    first = np.log(rows["score"] / (1 - rows["score"]))
    rows["v1"] = first + rng.normal(0, 0.3, SIZE)
    rows["v2"] = first + rng.normal(0, 0.3, SIZE)
    rows["v3"] = rng.normal(-4, 2, SIZE)
    rows["old"] = np.where(rng.random(SIZE) < 0.1, np.nan, first + rng.normal(0, 1, SIZE))
    return rows


def part(rows, kept):
    return {name: values[kept] for name, values in rows.items()}


def in_memory(rows, score="score", names=(), **options):
    scores = {name: rows[name] for name in ([score] if isinstance(score, str) else score)}
    signals = {name: rows[name] for name in names}
    return hs.Pool(scores, ids=rows["id"], signals=signals, seed=0, **options)


def answer(evaluation, label, n):
    asked = [query.item for query in evaluation.ask(n)]
    evaluation.tell({item: label[item] for item in asked})
    return asked


def assert_same(versions, label, measure="f1", n=60, **how):
    """The same evaluation in memory and behind an engine, from version to version."""
    runs = []
    for kind in zip(*versions, strict=True):
        run = hs.Evaluation(kind[0], measure, random_state=1)
        answer(run, label, 2 * n)
        found = []
        for number, pool in enumerate(kind[1:]):
            run = run.next(pool, **(how if number == 0 else {}))
            found.append([run.n_carried, sorted(str(one.item) for one in run.answers)])
            for _ in range(2):
                found.append(answer(run, label, n))
                estimate = run.estimate()
                found.append([estimate.values, np.round(estimate.intervals, 11)])
        runs.append((run, found))
    (memory, expected), (engine, found) = runs
    a, b = (one.pool.cells(one.measure) for one in (memory, engine))
    for name in ("size", "stratum", "prior"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
    np.testing.assert_array_equal(a.before.drawn, b.before.drawn)
    np.testing.assert_array_equal(a.before.inclusion, b.before.inclusion)
    for one, other in zip(expected, found, strict=True):
        if isinstance(one[0], np.ndarray):
            np.testing.assert_allclose(one[0], other[0], rtol=1e-9)
            np.testing.assert_allclose(one[1], other[1], rtol=1e-8)
        else:
            assert one == other
    return engine


@pytest.fixture
def label(rows):
    return dict(zip(rows["id"].tolist(), rows["label"].tolist(), strict=True))


def test_new_columns_of_one_table_are_read_without_a_join(rows, write_rows, tmp_path, label):
    path = write_rows(tmp_path / "pool.parquet", rows)
    scores = ["v1", "v2", "v2", "v3"]
    pools = [(in_memory(rows, score), hs.open_pool(path, id="id", score=score)) for score in scores]
    engine = assert_same(pools, label)
    assert engine.pool.past.source.same_rows(engine.pool.given.source)


def test_rows_that_came_and_went_are_looked_up_in_the_table_before(
    rows, write_rows, tmp_path, label
):
    first, second = part(rows, np.arange(3000)), part(rows, np.arange(SIZE - 1, 400, -1))
    paths = [write_rows(tmp_path / f"{k}.parquet", one) for k, one in enumerate((first, second))]
    pools = [
        (in_memory(one, score), hs.open_pool(path, id="id", score=score))
        for one, path, score in ((first, paths[0], "v1"), (second, paths[1], "v2"))
    ]
    assert_same(pools, label)


@pytest.mark.parametrize(
    ("names", "how", "measure"),
    [
        (["old"], {}, "f1"),
        ([], {"ask_again": 0.2}, "f1"),
        ([], {}, "recall"),
        ([], {}, hs.measures.PRCurve(5)),
    ],
    ids=["signal", "ask again", "recall", "curve"],
)
def test_versions_with_more_to_them(
    names, how, measure, rows, write_rows, tmp_path, label, monkeypatch
):
    path = write_rows(tmp_path / "pool.parquet", rows)
    pools = [
        (
            in_memory(rows, score, names, strata=40),
            hs.open_pool(path, id="id", score=score, signals=names, strata=40),
        )
        for score in ("v1", "v2", "v3")
    ]
    assert_same(pools, label, measure, **how)


def test_many_probabilities_are_lowered_and_labels_put_back_alike(
    rows, write_rows, tmp_path, label, monkeypatch
):
    from haystat.loop import evaluation

    monkeypatch.setattr(evaluation, "MOST_LEVELS", 4)
    path = write_rows(tmp_path / "pool.parquet", rows)
    pools = [
        (in_memory(rows, score), hs.open_pool(path, id="id", score=score)) for score in ("v1", "v2")
    ]
    engine = assert_same(pools, label, n=150)
    assert len(engine.pool.drawn.inclusion) <= 4
    assert engine.n_carried < 300


def test_texts_as_ids_and_several_systems(rows, write_rows, tmp_path, label):
    named = {**rows, "id": np.array([f"item {i}" for i in rows["id"]], dtype=object)}
    label = {f"item {i}": one for i, one in label.items()}
    first, second = part(named, np.arange(3000)), part(named, np.arange(500, SIZE))
    paths = [write_rows(tmp_path / f"{k}.parquet", one) for k, one in enumerate((first, second))]
    pools = [
        (in_memory(one, score), hs.open_pool(path, id="id", score=score))
        for one, path, score in (
            (first, paths[0], ["v1", "other"]),
            (second, paths[1], ["v2", "other"]),
        )
    ]
    assert_same(pools, label)
