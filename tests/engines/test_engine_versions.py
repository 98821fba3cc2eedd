"""The next version of a pool behind an engine: the cells, draws and estimates of hs.Pool."""

from __future__ import annotations

import gc
import json
import os
import signal
import subprocess
import sys
import weakref
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import haystat as hs
from haystat.cli import app
from haystat.comparison.change import Effect
from haystat.engines import kinds
from haystat.engines.passes import read_groups
from haystat.errors import BadOption, DuplicateId, LogError, PoolChanged, PoolError, StudyError
from haystat.study import PoolFile, verify

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


def pool_file(path, score, **options):
    return PoolFile(path, (score,), "id", engine="duckdb", options={"seed": 0, **options})


@pytest.fixture
def two(rows, write_rows, tmp_path):
    """The files of two versions, with other rows and scores."""
    parts = part(rows, np.arange(3000)), part(rows, np.arange(500, SIZE))
    return [write_rows(tmp_path / f"{k}.parquet", one) for k, one in enumerate(parts)]


def test_a_study_goes_on_from_file_to_file_and_its_audit_through_all_versions(
    two, rows, tmp_path, label
):
    first, second = part(rows, np.arange(3000)), part(rows, np.arange(500, SIZE))
    run = hs.Evaluation(in_memory(first, "v1"), random_state=1)
    path = tmp_path / "cats.haystat"
    study = hs.Study.create(path, pool_file(two[0], "v1"), random_state=1)
    for pool, file in ((in_memory(second, "v2"), pool_file(two[1], "v2")),
                       (in_memory(first, "v3"), pool_file(two[0], "v3"))):  # fmt: skip
        assert answer(run, label, 120) == answer(study, label, 120)
        study.close()
        with hs.Study.open(study.path) as opened:
            study, run = opened.next(file, candidates=500), run.next(pool)
    assert study.path.name == "cats-v3.haystat"
    assert answer(run, label, 60) == answer(study, label, 60)
    assert study.estimate().value == pytest.approx(run.estimate().value, rel=1e-9)
    with hs.Study.open(study.path, read_only=True) as again:
        assert again.estimate().interval == study.estimate().interval
        assert next(n for _, n, _ in again.version_estimates()) == 0
    verdict = verify(study.path)
    assert verdict.ok
    assert verdict.n_versions == 3
    # All candidates that the file keeps of a cell are used up: its rows are found again.
    asked = answer(study, label, 1500)
    assert asked == answer(run, label, 1500)
    assert verify(study.path).ok


def test_a_log_of_a_version_finds_its_tables_again(two, rows, tmp_path, label):
    opened = [
        hs.open_pool(path, id="id", score=s) for path, s in zip(two, ("v1", "v2"), strict=True)
    ]
    first = hs.Evaluation(opened[0], random_state=1)
    answer(first, label, 100)
    later = first.next(opened[1], ask_again=0.1)
    answer(later, label, 30)
    later.save(tmp_path / "later.jsonl")
    again = hs.Evaluation.load(tmp_path / "later.jsonl", hs.open_pool(two[1], id="id", score="v2"))
    assert again.pool.fingerprint == later.pool.fingerprint
    assert again.estimate().interval == later.estimate().interval
    assert answer(again, label, 20) == answer(later, label, 20)
    with pytest.raises(LogError, match="another pool"):
        hs.Evaluation.load(tmp_path / "later.jsonl", hs.open_pool(two[1], id="id", score="v3"))
    (tmp_path / "0.parquet").rename(tmp_path / "moved.parquet")
    with pytest.raises(PoolError, match="the table of an earlier version, is not there"):
        hs.Evaluation.load(tmp_path / "later.jsonl", hs.open_pool(two[1], id="id", score="v2"))


def test_the_command_goes_on_from_a_table(two, tmp_path, label):
    path = tmp_path / "cats.haystat"
    file = PoolFile(two[0], ("v1",), "id", engine="duckdb")
    with hs.Study.create(path, file, random_state=1) as study:
        answer(study, label, 60)
    given = ["next", str(path), two[1], "--score", "v2", "--json"]
    made = CliRunner().invoke(app, given)
    assert made.exit_code == 0, made.output
    with hs.Study.open(json.loads(made.stdout)["study"]) as later:
        assert later.n_carried > 0
        assert not {one.item for one in later.answers} & set(answer(later, label, 20))
    given = ["next", str(path), two[1], "--add"]
    made = CliRunner().invoke(app, given)
    assert isinstance(made.exception, DuplicateId)


def test_the_command_goes_on_from_table_to_table_of_a_database(two, tmp_path, label, monkeypatch):
    """However the path of the database is spelt."""
    duckdb = pytest.importorskip("duckdb")
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("months.duckdb") as made:
        for name, path in zip(("jan", "feb"), two, strict=True):
            made.execute(f"CREATE TABLE {name} AS SELECT * FROM '{path}'")

    def command(*words):
        made = CliRunner().invoke(app, words)
        assert made.exit_code == 0, made.output
        return made.stdout

    options = ("--table", "jan", "--id", "id", "--score", "v1", "--seed", "1")
    command("new", "cats.haystat", "months.duckdb", *options)
    with hs.Study.open("cats.haystat") as study:
        answer(study, label, 60)
    later = ("next", "cats.haystat", "months.duckdb", "--score", "v2")
    assert "version feb" in command(*later, "--table", "feb", "--name", "feb")
    assert "60 labels carried over" in command(*later, "--name", "same rows")


def test_tables_that_have_moved_are_found_beside_the_next(two, tmp_path, label):
    path, moved = tmp_path / "cats.haystat", tmp_path / "moved"
    with hs.Study.create(path, pool_file(two[0], "v1"), random_state=1) as study:
        answer(study, label, 60)
        later = study.next(pool_file(two[1], "v2"), candidates=20)
    later.close()
    moved.mkdir()
    for file in (*two, later.path):
        os.rename(file, moved / os.path.basename(file))
    with hs.Study.open(moved / later.path.name) as study:
        assert len(answer(study, label, 300)) == 300
        assert study.next(pool_file(moved / os.path.basename(two[1]), "v3")).n_carried > 300


def test_a_process_killed_while_it_adds_a_version_loses_nothing(two, tmp_path, label):
    path = tmp_path / "cats.haystat"
    with hs.Study.create(path, pool_file(two[0], "v1"), random_state=1) as study:
        answer(study, label, 60)
    before = path.read_bytes()
    script = (
        "import os, signal, sys, haystat as hs\n"
        "from haystat.study import new_file\n"
        "new_file.write_sketch = lambda *given: os.kill(os.getpid(), signal.SIGKILL)\n"
        "with hs.Study.open(sys.argv[1]) as study:\n"
        "    study.next(hs.study.PoolFile(sys.argv[2], ('v2',), 'id', engine='duckdb'))\n"
    )
    died = subprocess.run([sys.executable, "-c", script, str(path), two[1]], check=False)
    assert died.returncode == -signal.SIGKILL
    assert path.read_bytes() == before
    assert not (tmp_path / "cats-v2.haystat").exists()
    with hs.Study.open(path) as study:
        assert study.next(pool_file(two[1], "v2")).n_carried > 0


@pytest.mark.parametrize(
    ("kind", "error", "words"),
    [
        ("memory", BadOption, r"next\(\) and extend\(\) take two"),
        ("sketch", BadOption, "is a sketch whose table is not here"),
        ("others", PoolError, "is an id of the pool before"),
        ("texts", PoolError, "ids were of type"),
        ("classes", PoolError, "in terms of"),
        ("version", BadOption, "has a past already"),
        ("signals", BadOption, "leave one out"),
        ("changed", PoolChanged, "since the pool was opened"),
    ],
)
def test_what_cannot_go_on_is_one_clear_error(
    kind, error, words, two, rows, write_rows, tmp_path, label
):
    first = hs.Evaluation(hs.open_pool(two[0], id="id", score="v1"), random_state=1)
    answer(first, label, 60)
    columns, options = dict(part(rows, np.arange(1000))), {}
    if kind == "others":
        columns["id"] = columns["id"] + 10**9
    elif kind == "texts":
        columns["id"] = np.array([f"i{one}" for one in columns["id"]], dtype=object)
    elif kind == "classes":
        options = {"classes": (1, 2)}
    elif kind == "signals":
        options = {"signals": ["old", "v3", "other"]}
    path = write_rows(tmp_path / "next.parquet", columns)
    pool = hs.open_pool(path, id="id", score="v2", **options)
    if kind == "memory":
        pool = in_memory(columns, "v2")
    elif kind == "sketch":
        pool.save(tmp_path / "p.sketch")
        os.remove(path)
        pool = hs.open_pool(tmp_path / "p.sketch")
    elif kind == "version":
        pool = first.next(pool).pool
    elif kind == "changed":
        write_rows(two[0], part(rows, np.arange(10)))
    with pytest.raises(error, match=words):
        first.next(pool)


def test_a_table_before_whose_ids_are_others_now_is_an_error(rows, write_rows, tmp_path, label):
    """Its scores, and so its cells, are what they were."""
    first, second = part(rows, np.arange(3000)), part(rows, np.arange(500, SIZE))
    paths = [write_rows(tmp_path / f"{k}.parquet", one) for k, one in enumerate((first, second))]
    files = [PoolFile(str(path), (score,), "id", engine="duckdb")
             for path, score in zip(paths, ("v1", "v2"), strict=True)]  # fmt: skip
    with hs.Study.create(tmp_path / "cats.haystat", files[0], random_state=1) as study:
        answer(study, label, 100)
    write_rows(paths[0], {**first, "id": np.roll(first["id"], 1)})
    with (
        hs.Study.open(tmp_path / "cats.haystat") as study,
        pytest.raises(PoolChanged, match="put them back"),
    ):
        study.next(files[1])


def test_a_cell_is_not_filled_up_from_a_table_whose_ids_are_others_now(
    rows, write_rows, tmp_path, label
):
    """An item would be asked about twice, as that of another row."""
    path = write_rows(tmp_path / "pool.parquet", rows)
    source = PoolFile(str(path), ("v1",), "id", engine="duckdb")
    with hs.Study.create(tmp_path / "s.haystat", source, random_state=1, candidates=20) as study:
        answer(study, label, 20)
    write_rows(path, {**rows, "id": np.roll(rows["id"], 1)})
    with hs.Study.open(tmp_path / "s.haystat") as study:
        with pytest.raises(StudyError, match="not the one that"):
            study.ask(200)
        assert study.n_labels == 20
    write_rows(path, rows)
    with hs.Study.open(tmp_path / "s.haystat") as study:
        assert len(answer(study, label, 200)) == 200


def test_one_id_in_two_rows_is_an_error(two, rows, write_rows, tmp_path, label, monkeypatch):
    """Of large tables not all ids are compared when they are opened."""
    monkeypatch.setattr("haystat.engines.build.check_duplicates", lambda *given: None)
    monkeypatch.setattr("haystat.engines.sketch.refuse_repeated", lambda *given: None)
    some = part(rows, np.arange(3000))
    twice = {name: np.append(values, values[-1:]) for name, values in some.items()}
    path = write_rows(tmp_path / "twice.parquet", twice)
    first = hs.Evaluation(hs.open_pool(path, id="id", score="v1"), random_state=1)
    answer(first, label, 60)
    with pytest.raises(PoolError, match="ids repeat in one of the tables"):
        first.next(hs.open_pool(two[1], id="id", score="v2"))


@pytest.mark.xdist_group("spark")
def test_spark_does_the_same(two, rows, spark, label):
    first, second = part(rows, np.arange(3000)), part(rows, np.arange(500, SIZE))
    pools = [
        (in_memory(one, score), hs.open_pool(path, id="id", score=score, engine=spark))
        for one, path, score in ((first, two[0], "v1"), (second, two[1], "v2"))
    ]
    assert_same(pools, label)


def effects(found):
    return np.array([[one.value, one.low, one.high] for one in vars(found).values()
                     if isinstance(one, Effect)])  # fmt: skip


def test_a_change_behind_an_engine_is_that_in_memory(two, rows, label, tmp_path):
    first, second = part(rows, np.arange(3000)), part(rows, np.arange(500, SIZE))
    found = []
    for one, other in (
        (in_memory(first, "v1"), in_memory(second, "v2")),
        [hs.open_pool(path, id="id", score=f"v{k + 1}") for k, path in enumerate(two)],
    ):
        before = hs.Evaluation(one, random_state=1)
        answer(before, label, 150)
        after = before.next(other)
        answer(after, label, 100)
        found.append((hs.change(before, after), hs.change(before, after, "recall", level=0.8)))
    for memory, engine in zip(*found, strict=True):
        np.testing.assert_allclose(effects(memory), effects(engine), rtol=1e-9)
        assert (engine.n_common, engine.n_new, engine.n_gone) == (2500, 1000, 500)
        assert (engine.n_labels, engine.warnings) == (memory.n_labels, memory.warnings)
    study = hs.Study.create(tmp_path / "a.haystat", pool_file(two[0], "v1"), random_state=1)
    answer(study, label, 150)
    with study.next(pool_file(two[1], "v2"), "b") as later:
        answer(later, label, 100)
    study.close()
    command = ["change", str(tmp_path / "a.haystat"), str(tmp_path / "a-b.haystat"), "--json"]
    told = json.loads(CliRunner().invoke(app, command).stdout)
    np.testing.assert_allclose(told["model"]["value"], found[0][0].model.value, rtol=1e-9)


def test_a_change_needs_the_rows(two, rows, label, tmp_path):
    pool = hs.open_pool(two[0], id="id", score="v1")
    run = hs.Evaluation(pool, random_state=1)
    answer(run, label, 100)
    pool.save(tmp_path / "pool.sketch")
    (tmp_path / "0.parquet").unlink()
    sketched = hs.Evaluation(hs.open_pool(tmp_path / "pool.sketch"), random_state=1)
    answer(sketched, label, 100)
    with pytest.raises(BadOption, match="open the table itself"):
        hs.change(sketched, run)


@pytest.mark.parametrize("names", [(), ("old",)], ids=["alone", "with a signal"])
@pytest.mark.parametrize("scores", [("v1", "v2"), ("v1", "v2", "v2")], ids=["anew", "as before"])
@pytest.mark.parametrize("tables", [1, 2])
def test_groups_of_a_version_follow_from_the_kinds_of_its_rows(
    tables, scores, names, rows, write_rows, tmp_path, label, monkeypatch
):
    paths = [write_rows(tmp_path / f"{k}.parquet", rows) for k in range(tables)]
    pools = [
        hs.open_pool(paths[k % tables], id="id", score=score, signals=names, strata=40)
        for k, score in enumerate(scores)
    ]
    run = hs.Evaluation(pools[0], "f1", random_state=1)
    for pool in pools[1:]:
        answer(run, label, 100)
        before, run = run, run.next(pool)
    version = run.pool
    assert version.kinds.table is not None
    found, direct = version.held.sketch.groups, read_groups(version.source, version.layout)
    assert found.key.equals(direct.key)
    np.testing.assert_array_equal(found.size, direct.size)
    np.testing.assert_array_equal(found.signal_sum, direct.signal_sum)
    np.testing.assert_allclose(found.score_sum, direct.score_sum, rtol=1e-12)
    monkeypatch.setattr(kinds, "MOST_GROUPS", 10)
    coarse = before.next(pools[-1])
    assert coarse.pool.kinds.table is None
    assert coarse.pool.fingerprint == version.fingerprint


def test_unsigned_ids_on_both_sides_of_the_largest_signed_one(rows, write_rows, tmp_path, label):
    """numpy makes floats of a list of them, and so another order, and other labels put back."""
    unsigned = {**rows, "id": rows["id"].astype(np.uint64)}
    of = dict(zip(rows["id"].tolist(), unsigned["id"].tolist(), strict=True))
    assert min(of.values()) < 2**63 < max(of.values())
    path = write_rows(tmp_path / "pool.parquet", unsigned)
    pools = [
        (in_memory(unsigned, score), hs.open_pool(path, id="id", score=score))
        for score in ("v1", "v2", "v3")
    ]
    assert_same(pools, {of[id]: one for id, one in label.items()}, ask_again=0.3)


@pytest.mark.parametrize("kinds", [("int64", "uint64"), ("uint64", "int64"), ("decimal", "int64")])
def test_ids_are_found_again_if_whole_numbers_are_of_another_type(
    kinds, rows, write_rows, tmp_path, label
):
    types = {"int64": pa.int64(), "uint64": pa.uint64(), "decimal": pa.decimal128(20, 0)}
    rows = {**rows, "id": rows["id"] - rows["id"].min()}
    lowest = min(label)
    label = {id - lowest: one for id, one in label.items()}
    first, second = part(rows, np.arange(3000)), part(rows, np.arange(500, SIZE))
    pools = []
    for one, kind, score in zip((first, second), kinds, ("v1", "v2"), strict=True):
        typed = {**one, "id": pa.array(one["id"]).cast(pa.decimal128(20, 0)).cast(types[kind])}
        path = write_rows(tmp_path / f"{score}.parquet", typed)
        pools.append((in_memory(one, score), hs.open_pool(path, id="id", score=score)))
    assert_same(pools, label)


def test_rows_that_were_looked_up_are_kept_with_their_table(two):
    """They are known by the id of the table, which a later one could get."""
    old, pool = (hs.open_pool(path, id="id", score="v1") for path in two)
    run = hs.Evaluation(old, random_state=1)
    run.ask(20)
    past = run.next(pool).pool.past
    source = replace(pool.source, table=pool.source.table.limit(50))
    past.with_kinds(source, pool.layout, ["id"])
    table = weakref.ref(source.table)
    del source
    gc.collect()
    assert table() is not None
