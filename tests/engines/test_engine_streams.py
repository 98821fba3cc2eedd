"""Rows added to a pool behind an engine, and windows: the draws and estimates of hs.Pool."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import datetime, timedelta
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import haystat as hs
from haystat.cli import app
from haystat.comparison.change import Effect
from haystat.errors import (
    BadOption,
    DuplicateId,
    PoolChanged,
    PoolError,
    StudyError,
    UnknownName,
)
from haystat.study import PoolFile, Study, verify

PER_DAY, DAYS = 1200, 6


@pytest.fixture(scope="module")
def rows(make_rows):
    rows = make_rows(PER_DAY * DAYS, seed=5)
    rng = np.random.default_rng(2)
    rows["logit"] = np.log(rows["score"] / (1 - rows["score"]))
    rows["again"] = rows["logit"] + rng.normal(0, 0.5, PER_DAY * DAYS)
    rows["day"] = np.repeat(np.arange(DAYS), PER_DAY)
    rows["name"] = np.array([f"item {i}" for i in rows["id"]], dtype=object)
    rows["amount"] = rng.lognormal(0, 1, PER_DAY * DAYS)
    rows["amount"][:50] = 0
    return rows


@pytest.fixture
def label(rows):
    return dict(zip(rows["id"].tolist(), rows["label"].tolist(), strict=True))


def of_day(rows, *days):
    kept = np.isin(rows["day"], days)
    return {name: values[kept] for name, values in rows.items()}


def in_memory(rows, score=("logit",), columns=("day",), prediction=(), **options):
    predictions = {s: rows[p] for s, p in zip(score, prediction, strict=False)} or None
    weight = options.pop("weight", None)
    facts = {name: rows[name] for name in (*columns, *([weight] if weight else []))}
    scores = {name: rows[name] for name in score}
    given = {"ids": rows["id"], "columns": facts, "weight": weight, "strata": 40, "seed": 0}
    return hs.Pool(scores, predictions, **{**given, **options})


class World:
    """Days as files, and each as a pool in memory and one behind an engine."""

    def __init__(self, rows, folder, write, engine="duckdb", **options):
        self.rows, self.folder, self.write = rows, folder, write
        self.engine, self.options = engine, options

    def path(self, *days):
        name = self.folder / f"{'-'.join(map(str, days))}.parquet"
        return str(name) if name.exists() else self.write(name, of_day(self.rows, *days))

    def pools(self, *days):
        given = {"score": ("logit",), "columns": ("day",), **self.options}
        memory = in_memory(of_day(self.rows, *days), **given)
        columns = {"prediction": None, **given, "id": "id", "strata": 40, "engine": self.engine}
        return memory, hs.open_pool(self.path(*days), **columns)


@pytest.fixture
def world(rows, write_rows, tmp_path):
    return lambda **options: World(rows, tmp_path, write_rows, **options)


def answer(loop, label, n):
    asked = [query.item for query in loop.ask(n)]
    loop.tell({item: label[item] for item in asked})
    return asked


class Pair:
    """The same evaluation in memory and behind an engine."""

    def __init__(self, pools, label, measure="f1", **options):
        self.label = label
        self.both = [hs.Evaluation(one, measure, random_state=1, **options) for one in pools]
        self.ask(120)

    def ask(self, n=60):
        """Both ask about the same items and estimate the same."""
        for _ in range(2):
            memory, engine = (answer(one, self.label, n) for one in self.both)
            assert memory == engine
        a, b = (one.estimate() for one in self.both)
        np.testing.assert_allclose(a.values, b.values, rtol=1e-9)
        np.testing.assert_allclose(a.intervals, b.intervals, rtol=1e-7)
        return b

    def extend(self, pools, **options):
        self.both = [
            one.extend(further, **{"strata": 40, **options})
            for one, further in zip(self.both, pools, strict=True)
        ]
        return self.check()

    def next(self, pools):
        self.both = [one.next(pool) for one, pool in zip(self.both, pools, strict=True)]
        return self.check()

    def check(self):
        """The cells of both are the same; the number of items, and that of labels."""
        memory, engine = self.both
        a, b = (one.pool.cells(one.measure) for one in self.both)
        for name in ("size", "stratum", "prior"):
            np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
        np.testing.assert_array_equal(a.before.drawn, b.before.drawn)
        np.testing.assert_allclose(a.before.inclusion, b.before.inclusion, rtol=1e-13)
        assert memory.n_carried == engine.n_carried
        return engine.pool.size, engine.n_carried


KINDS = {
    "one score": ({}, "f1", {}),
    "recall of a day": ({}, "day", {}),
    "asked again": ({}, "f1", {"ask_again": 0.2}),
    "curve": ({}, hs.measures.PRCurve(5), {}),
    "two systems": ({"score": ("logit", "other")}, "f1", {}),
    "predictions": ({"prediction": ("prediction",)}, "recall", {}),
    "weight": ({"weight": "amount"}, "recall", {}),
}


@pytest.mark.parametrize(("options", "measure", "how"), KINDS.values(), ids=KINDS)
def test_a_stream_behind_an_engine_is_that_in_memory(options, measure, how, world, label):
    world = world(**options)

    def of(day):
        if measure != "day":
            return measure
        return hs.measures.Within(hs.measures.Recall(), column="day", equals=day)

    pair = Pair(world.pools(0), label, of(0))
    for day in range(1, 5):
        given = {"measure": of(day)} if measure == "day" else {}
        size, carried = pair.extend(world.pools(day), window=("day", 3), **given, **how)
        assert size == min(day + 1, 3) * PER_DAY
        assert carried > 0
        pair.ask()


def test_texts_as_ids(rows, label, world):
    named = {**rows, "id": rows["name"]}
    stream = World(named, world().folder, world().write)
    label = {f"item {i}": one for i, one in label.items()}
    pair = Pair(stream.pools(0), label)
    for day in (1, 2):
        pair.extend(stream.pools(day), window=("day", 2))
        pair.ask()


@pytest.mark.xdist_group("spark")
def test_spark_does_the_same(world, spark, label):
    world = world(engine=spark)
    pair = Pair(world.pools(0), label)
    for day in (1, 2, 3, 4):
        pair.extend(world.pools(day), window=("day", 4))
    pair.ask()


def test_a_stream_goes_on_for_weeks(rows, world, label):
    """No query gets too long to be put together: what is before is a view."""
    world, last = world(), 11
    world.rows = {**rows, "day": np.arange(len(rows["id"])) * (last + 1) // len(rows["id"])}
    pair = Pair(world.pools(0), label)
    for day in range(1, last + 1):
        pair.extend(world.pools(day))
    pair.ask()


def test_days_without_labels(world, label):
    world = world()
    both = [hs.Evaluation(pool, random_state=1) for pool in world.pools(0)]
    for day in (1, 2):
        both = [one.extend(pool) for one, pool in zip(both, world.pools(day), strict=True)]
    memory, engine = (answer(one, label, 50) for one in both)
    assert memory == engine


def test_windows_that_grow_or_end_bring_nothing_back(world, label):
    world = world()
    pair = Pair(world.pools(0, 1), label)
    assert pair.extend(world.pools(2, 3), window=("day", 3))[0] == 3 * PER_DAY
    pair.ask()
    assert pair.extend(world.pools(4), window=("day", 5))[0] == 4 * PER_DAY
    pair.ask()
    assert pair.extend(world.pools(5))[0] == 5 * PER_DAY
    pair.ask()


def test_a_window_may_leave_nothing_of_the_pool_before(world, label):
    world = world()
    pair = Pair(world.pools(0), label)
    for day in (1, 2):
        assert pair.extend(world.pools(day), window=("day", 1)) == (PER_DAY, 0)
        pair.ask()


def test_an_item_that_leaves_and_comes_again_is_the_same_one(rows, world, label):
    """As in memory, where items are known by their ids."""
    world, ids = world(), rows["id"].copy()
    ids[PER_DAY : 2 * PER_DAY] = ids[:PER_DAY][::-1]  # day 1 has the ids of day 0
    world.rows = {**rows, "id": ids}
    pair = Pair(world.pools(0), label)
    assert pair.extend(world.pools(1), window=("day", 1))[1] == 240
    pair.ask()
    assert pair.extend(world.pools(2), window=("day", 2))[1] == 360
    pair.ask()
    assert pair.extend(world.pools(3), window=("day", 2))[1] < 360
    pair.ask()


def test_a_stream_goes_on_with_another_model_and_back(world, label):
    world = world()
    pair = Pair(world.pools(0, 1), label)
    other = World(world.rows, world.folder, world.write, score=("again",))
    pair.next(other.pools(0, 1))  # the other score is beside the first: the same rows
    pair.ask()
    for day in (2, 3):
        pair.extend(other.pools(day), window=("day", 3))
        pair.ask()
    pair.next(world.pools(1, 2, 3, 4))  # another file: rows are looked up
    pair.ask()
    pair.extend(world.pools(5), window=("day", 3))
    pair.ask()


def test_a_window_over_dates(rows, world, label):
    world = world(columns=("at",))
    start = np.datetime64("2026-03-01T12:00:00", "us")
    world.rows = {**rows, "at": start + rows["day"] * np.timedelta64(1, "D")}
    pair = Pair(world.pools(0), label)
    window = ("at", timedelta(days=2))
    for day in (1, 2):
        assert pair.extend(world.pools(day), window=window)[0] == 2 * PER_DAY
        pair.ask()
    source = pair.both[1].pool.given.source
    assert source.parts[0].above == (("at", datetime(2026, 3, 1, 12).isoformat()),)


def test_days_may_be_tables_of_a_database_or_csv_files(rows, world, label, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    world, base = world(), str(tmp_path / "days.duckdb")
    given = {"id": "id", "score": "logit", "columns": "day", "strata": 40}
    with duckdb.connect(base) as made:
        for day in range(3):
            made.execute(f"CREATE TABLE day{day} AS SELECT * FROM '{world.path(day)}'")
            made.execute(f"COPY day{day} TO '{tmp_path}/{day}.csv'")
    kinds = (
        lambda day: hs.open_pool(tmp_path / f"{day}.csv", **given),
        lambda day: hs.open_pool(base, table=f"day{day}", **given),
    )
    for opened in kinds:
        pair = Pair((in_memory(of_day(rows, 0)), opened(0)), label)
        for day in (1, 2):
            pair.extend((in_memory(of_day(rows, day)), opened(day)), window=("day", 2))
            pair.ask()
    with pytest.raises(BadOption, match="cannot be joined"):
        pair.both[1].extend(kinds[0](0))


def test_several_files_make_the_pool_of_all_rows(rows, world):
    world = world()
    whole = in_memory(of_day(rows, 2, 3))
    paths = [world.path(day) for day in (1, 2, 3)]
    given = {"id": "id", "score": "logit", "columns": "day", "strata": 40}
    pool = hs.open_pool(paths, window=("day", 2), show=["name"], **given)
    measure = hs.measures.bound(hs.measures.F1(), pool.schema)
    np.testing.assert_array_equal(pool.cells(measure).size, whole.cells(measure).size)
    item = rows["id"][3 * PER_DAY]
    shown = pool.lookup.records(np.array([item]))
    assert shown == {"name": [f"item {item}"]}
    with pytest.raises(UnknownName, match="has id"):
        hs.open_pool([*paths, world.write(world.folder / "x.parquet", {"id": rows["id"]})], **given)
    with pytest.raises(BadOption, match="list of sources is empty"):
        hs.open_pool([], **given)


def test_kinds_of_numbers_may_differ_and_texts_may_not(rows, world, label):
    world = world()
    first, second = (world.pools(day)[1] for day in (0, 1))
    small = {**of_day(rows, 2)}
    small["day"], small["logit"] = small["day"].astype(np.int16), small["logit"].astype(np.float32)
    path = world.write(world.folder / "small.parquet", small)
    given = {"id": "id", "score": "logit", "columns": "day"}
    run = hs.Evaluation(first).extend(second)
    assert run.extend(hs.open_pool(path, **given)).pool.size == 3 * PER_DAY
    texts = {**of_day(rows, 2), "day": np.array(["2"] * PER_DAY, dtype=object)}
    path = world.write(world.folder / "texts.parquet", texts)
    with pytest.raises(BadOption, match=r"'day' is int64 in .* and string in"):
        run.extend(hs.open_pool(path, **given))


def test_a_log_finds_the_days_again(world, label, tmp_path):
    world = world()
    pair = Pair(world.pools(0), label)
    for day in (1, 2, 3):
        pair.extend(world.pools(day), window=("day", 3))
        pair.ask(30)
    run, log = pair.both[1], tmp_path / "stream.jsonl"
    run.save(log)
    os.remove(world.path(0))  # it has left the window
    given = {"id": "id", "score": "logit", "columns": "day", "strata": 40}
    paths = [world.path(day) for day in (1, 2, 3)]
    again = hs.Evaluation.load(log, hs.open_pool(paths, window=("day", 3), **given))
    assert again.estimate().interval == run.estimate().interval
    assert answer(again, label, 30) == answer(run, label, 30)
    os.rename(paths[0], tmp_path / "elsewhere.parquet")
    with pytest.raises(PoolChanged, match="vanished"):
        again.extend(world.pools(4)[1])


def file_of(path, **options):
    given = {"columns": ("day",), "show": ("name",), "engine": "duckdb"}
    return PoolFile(
        str(path), ("logit",), "id", options={"strata": 40, "seed": 0}, **given, **options
    )


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def command(*words, code=0):
        result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
        assert result.exit_code == code, result.output
        return result.output

    return command


def begun(run, world, label, name, *options):
    """A study of day 0; a small one, so that its file runs out of candidates."""
    given = ("--id", "id", "--score", "logit", "--column", "day", "--show", "name", "--strata", 40)
    path = world.path(0)
    run("new", name, path, *given, "--measure", "recall", "--seed", 1, *options)
    with Study.open(name) as study:
        return answer(study, label, 80)


def test_the_days_of_a_study_are_added_by_command(run, world, label):
    """Questions are those of the study that is read into memory."""
    world, asked = world(), {}
    for name, engine in (("m", None), ("e", "duckdb")):
        options = () if engine is None else ("--engine", engine)
        found = [begun(run, world, label, f"{name}.haystat", *options)]
        path = f"{name}.haystat"
        for day in (1, 2, 3, 4):
            window = ("--window", "day=2") if day == 1 else ()
            words = ("next", path, world.path(day), "--add", *window, *options, "--json")
            made = json.loads(run(*words))
            assert made["size"] == 2 * PER_DAY
            path = made["study"]
            with Study.open(path) as study:
                found.append(answer(study, label, 60))
                assert study.record_of(found[-1][0]) == {"name": f"item {found[-1][0]}"}
                found.append(np.round(study.estimate().interval, 10))
        asked[name] = found, path
    (memory, _), (engine, path) = asked.values()
    for one, other in zip(memory, engine, strict=True):
        assert list(one) == list(other)
    for day in (0, 1, 2):  # they have left the window
        os.remove(world.path(day))
    verdict = verify(path)
    assert (verdict.ok, verdict.n_versions) == (True, 5)
    with Study.open(path) as study:
        source = PoolFile.recorded(study.settings["source"], study.path)
        assert [file.name for file in source.paths] == ["3.parquet", "4.parquet"]
        assert source.window == ("day", 2.0)
        assert source.engine == "duckdb"
    assert json.loads(run("next", path, world.path(5), "--add", "--json"))["size"] == 2 * PER_DAY


def test_rows_come_back_where_the_window_of_a_study_grows(run, world, label):
    """Their file has been read all the while; for the study they are new, as in memory."""
    world, found = world(), []
    for name, options in (("m", ()), ("e", ("--engine", "duckdb"))):
        given = ("--id", "id", "--score", "logit", "--column", "day", "--strata", 40, "--seed", 1)
        run("new", f"{name}.haystat", world.path(0, 1), *given, *options)
        asked, path = [], f"{name}.haystat"
        for day, length in ((2, 2), (3, 4), (4, 4)):
            with Study.open(path) as study:
                asked.append(answer(study, label, 80))
            words = ("next", path, world.path(day), "--add", "--window", f"day={length}", "--json")
            made = json.loads(run(*words))
            path = made["study"]
            asked.append((made["size"], made["carried"]))
        with Study.open(path) as study:
            asked.append(answer(study, label, 80))
        assert [one for one, _ in asked[1:6:2]] == [2 * PER_DAY, 4 * PER_DAY, 4 * PER_DAY]
        found.append(asked)
    assert found[0] == found[1]


def test_a_stream_is_opened_in_another_process_and_goes_on(run, world, label):
    """Of few candidates: cells are filled up from the files of all days."""
    world = world()
    study = Study.create("s.haystat", file_of(world.path(0)), random_state=1, candidates=40)
    memory = hs.Evaluation(in_memory(of_day(world.rows, 0)), random_state=1)
    assert answer(study, label, 100) == answer(memory, label, 100)
    study.close()
    script = (
        "import sys, haystat as hs\n"
        "from haystat.study import PoolFile\n"
        "with hs.Study.open(sys.argv[1]) as study:\n"
        "    known = PoolFile.recorded(study.settings['source'], study.path)\n"
        "    more = known.with_more(sys.argv[2], ('day', 3))\n"
        "    print(study.next(more, sys.argv[3], candidates=40).path)\n"
    )
    for day in (1, 2, 3):
        given = [sys.executable, "-c", script, study.path, world.path(day), f"day {day}"]
        made = subprocess.run(given, check=True, capture_output=True, text=True)
        further = in_memory(of_day(world.rows, day))
        memory = memory.extend(further, window=("day", 3), strata=40)
        study = Study.open(made.stdout.strip())
        assert answer(study, label, 200) == answer(memory, label, 200)
        study.close()
    with Study.open(study.path) as again:
        assert again.estimate().value == pytest.approx(memory.estimate().value, rel=1e-9)
        assert answer(again, label, 900) == answer(memory, label, 900)
    assert verify(study.path).ok


@pytest.mark.parametrize("kind", ["files", "pools"])
def test_a_study_is_extended_as_an_evaluation_is(kind, run, world, label):
    world = world()
    memory = hs.Evaluation(in_memory(of_day(world.rows, 0)), random_state=1)

    def given(day):
        options = {"id": "id", "score": "logit", "columns": "day", "show": "name", "strata": 40}
        pool = file_of(world.path(day))
        return pool if kind == "files" else hs.open_pool(world.path(day), **options)

    study = Study.create("s.haystat", given(0), random_state=1, candidates=60)
    for day in (1, 2, 3):
        assert answer(study, label, 100) == answer(memory, label, 100)
        memory = memory.extend(in_memory(of_day(world.rows, day)), window=("day", 2), strata=8)
        study = study.extend(given(day), window=("day", 2), strata=8, candidates=60)
    assert answer(study, label, 900) == answer(memory, label, 900)
    shown = answer(study, label, 1)[0]
    assert study.record_of(shown) == {"name": f"item {shown}"}
    assert verify(study.path).ok
    study.close()
    with Study.open(study.path) as again:  # of pools the file does not know where they were
        if kind == "files":
            assert again.extend(given(4)).pool.size == 2 * PER_DAY
        else:
            with pytest.raises(StudyError, match="open it with the pool"):
                again.extend(given(4))


def effects(found):
    return np.array([[one.value, one.low, one.high] for one in vars(found).values()
                     if isinstance(one, Effect)])  # fmt: skip


def test_change_alarm_and_labels_of_a_stream(run, world, label):
    world = world()
    pair = Pair(world.pools(0), label)
    pair.extend(world.pools(1), window=("day", 2))
    pair.ask()
    before = pair.both
    pair.extend(world.pools(2), window=("day", 2))
    pair.ask()
    changes = [hs.change(one, other) for one, other in zip(before, pair.both, strict=True)]
    np.testing.assert_allclose(effects(changes[0]), effects(changes[1]), rtol=1e-9)
    begun(run, world, label, "s.haystat", "--engine", "duckdb", "--design", "watch", "--option",
          "below=0.8")  # fmt: skip
    path = "s.haystat"
    for day in (1, 2):
        path = json.loads(run("next", path, world.path(day), "--add", "--json"))["study"]
        with Study.open(path) as study:
            answer(study, label, 60)
    words = ("alarm", path, "--below", "0.8", "--json")
    found = json.loads(CliRunner().invoke(app, words).stdout)
    assert len(found["looks"]) == 3
    assert len(json.loads(run("labels", path, "--json"))) == 200
    assert json.loads(run("change", "s.haystat", path, "--json"))["n_new"] == 2 * PER_DAY


def test_rows_that_do_not_fit_are_refused(rows, world, label, monkeypatch):
    world = world()
    run = hs.Evaluation(world.pools(0)[1])
    given = {"id": "id", "score": "logit", "columns": "day"}

    def further(**options):
        return hs.open_pool(world.path(1), **{**given, **options})

    # Of large tables not all ids are compared when they are opened.
    monkeypatch.setattr("haystat.engines.build.check_duplicates", lambda *given: None)
    with pytest.raises(DuplicateId, match=f"such as {rows['id'][:PER_DAY].min()}"):
        run.extend(hs.open_pool(world.path(0), **given))
    refused = [
        (further(columns=()), PoolError, "the columns .* make them alike"),
        (further(classes=(1, 0)), PoolError, "the classes"),
        (further(score="again"), PoolError, "the systems"),
        (further(weight="amount"), PoolError, "the weight"),
        (further(threshold=0.3), PoolError, "the thresholds"),
        (further(signals=["other"]), BadOption, "a pool with signals .'other'. cannot"),
        (world.pools(1)[0], BadOption, "the further pool is .*hs.open_pool"),
        ([0.1, 0.2], BadOption, "the further pool is"),
        (run.extend(further()).pool, BadOption, "has a past already"),
    ]
    for pool, error, words in refused:
        with pytest.raises(error, match=words):
            run.extend(pool)
    with pytest.raises(BadOption, match=r"extend\(\) take two"):
        hs.Evaluation(world.pools(0)[0]).extend(further())
    numbers = hs.open_pool(world.path(0), id="id", score="logit", classes=None)
    with pytest.raises(BadOption, match="labels that are numbers"):
        hs.Evaluation(numbers, "mae").extend(
            hs.open_pool(world.path(1), id="id", score="logit", classes=None)
        )


@pytest.mark.parametrize(
    ("window", "error", "words"),
    [
        ("day", BadOption, "give a column and a length"),
        (("day", 0), BadOption, "has length 0"),
        (("day", -3), BadOption, "has length -3"),
        (("day", float("nan")), BadOption, "has length nan"),
        (("day", "3"), BadOption, "give a column and a length"),
        (("name", 3), BadOption, "give a column and a length"),
        (("week", 3), UnknownName, "no column 'week' for a window"),
        (("gap", 3), BadOption, "without missing values"),
    ],
)
def test_a_bad_window_is_refused_as_in_memory(window, error, words, rows, world):
    world = world(columns=("day", "name", "gap"))
    world.rows = {**rows, "gap": np.where(rows["day"] == 1, np.nan, rows["day"])}
    for one, further in zip(world.pools(0), world.pools(1), strict=True):
        with pytest.raises(error, match=words):
            hs.Evaluation(one).extend(further, window=window)


def test_files_that_are_gone_or_changed_are_named(run, world, rows, write_rows, label):
    world, path = world(), "s.haystat"
    begun(run, world, label, path, "--engine", "duckdb")
    for day in (1, 2):
        words = ("next", path, world.path(day), "--add", "--window", "day=3", "--json")
        path = json.loads(run(*words))["study"]
        with Study.open(path) as study:
            answer(study, label, 60)
    os.rename(world.path(1), "elsewhere.parquet")
    with pytest.raises(FileNotFoundError, match=r"1\.parquet"):
        run("next", path, "2.parquet", "--add")
    write_rows("1.parquet", {**of_day(rows, 1), "id": np.roll(of_day(rows, 1)["id"], 1)})
    with pytest.raises(PoolChanged, match="put them back"):
        run("next", path, world.path(3), "--add")
    write_rows("1.parquet", {**of_day(rows, 1), "logit": np.roll(of_day(rows, 1)["logit"], 1) + 1})
    with pytest.raises(PoolError, match="have changed since they were counted"):
        run("next", path, world.path(3), "--add")
    os.rename("elsewhere.parquet", "1.parquet")
    run("next", path, world.path(3), "--add")


def test_what_cannot_be_added_by_command_is_said(run, world, label):
    world = world()
    begun(run, world, label, "s.haystat", "--engine", "duckdb")
    refused = [
        ((world.path(0), "--add"), DuplicateId, "such as"),
        ((world.path(1), "--add", "--window", "week=2"), UnknownName, "week"),
        ((world.path(1), "--add", "--window", "day=0"), BadOption, "the window has length"),
        ((world.path(1), "--add", "--engine", "spark"), BadOption, "leave out --engine"),
        ((world.path(1), "--window", "day=2"), BadOption, "--add"),
    ]
    for words, error, why in refused:
        with pytest.raises(error, match=why):
            run("next", "s.haystat", *words)
    with Study.open("s.haystat") as study:
        other = PoolFile(world.path(1), ("again",), "id", columns=("day",), engine="duckdb")
        with pytest.raises(PoolError, match=r"other \['score'"):
            study.extend(other)
    with pytest.raises(BadOption, match="not to a sketch"):
        PoolFile("a.sketch", (), "id", more=("b.parquet",))


def test_numbers_of_other_types_stay_what_they_are(rows, write_rows, tmp_path):
    """Ibis takes decimals for a type of floats, and unsigned integers for one of negative ones."""
    first, second = of_day(rows, 0), of_day(rows, 1)
    first["logit"], first["id"] = np.round(first["logit"], 2), np.arange(PER_DAY)
    exact = pa.array([Decimal(f"{value:.2f}") for value in first["logit"]])
    second["id"] = np.arange(PER_DAY, dtype=np.uint64) + np.uint64(2**63)
    files = [
        write_rows(tmp_path / "decimal.parquet", {**first, "logit": exact}),
        write_rows(tmp_path / "float.parquet", second),
    ]
    pools = [
        hs.open_pool(paths, id="id", score="logit", strata=40) for paths in (files, files[::-1])
    ]
    scores = np.concatenate([first["logit"], second["logit"]])
    ids = [*first["id"].tolist(), *second["id"].tolist()]
    for pool in pools:
        items = pool.items(hs.measures.resolve("f1"))
        assert sorted(items.ids.tolist()) == ids
        np.testing.assert_array_equal(np.sort(items.scores["logit"]), np.sort(scores))
    second["id"] = -np.arange(PER_DAY) - 1
    first["id"] = first["id"].astype(np.uint64) + np.uint64(2**63)
    for rows, name in ((first, "decimal"), (second, "float")):
        write_rows(tmp_path / f"{name}.parquet", rows)
    with pytest.raises(PoolError, match="64 bits do not hold"):
        _ = hs.open_pool(files, id="id", score="logit", strata=40).items(hs.measures.resolve("f1"))
