"""The sketch: any source gives the same one, it travels as a file, and it can be topped up."""

from __future__ import annotations

import json

import duckdb
import ibis
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from scipy import stats
from typer.testing import CliRunner

import haystat as hs
from haystat.cli import app
from haystat.engines import Side
from haystat.errors import BadOption, FileError, PoolError
from haystat.study import PoolFile

COLUMNS = {"id": "id", "score": "score", "prediction": "prediction"}


@pytest.fixture(scope="module")
def rows(make_rows):
    rows = make_rows(6000)
    rows["text"] = np.array([f"record {i}" for i in rows["id"]], dtype=object)
    return rows


@pytest.fixture
def path(rows, write_rows, tmp_path):
    return write_rows(tmp_path / "pool.parquet", rows)


def same_items(one, other):
    for name in ("atom", "u", "id", "scores"):
        left, right = (getattr(pool.held.sketch.items, name) for pool in (one, other))
        np.testing.assert_array_equal(left, right)


def label_of(rows):
    return dict(zip(rows["id"].tolist(), rows["label"].tolist(), strict=True))


def source_of(kind, rows, folder):
    table = pa.table(rows)
    if kind == "csv":
        csv.write_csv(table, folder / "pool.csv")
        return folder / "pool.csv", {}
    if kind == "pattern":
        parquet.write_table(table.slice(0, 2500), folder / "a.parquet")
        parquet.write_table(table.slice(2500), folder / "b.parquet")
        return folder / "*.parquet", {}
    if kind == "folder":
        (folder / "deep").mkdir()
        parquet.write_table(table, folder / "deep" / "a.parquet")
        return folder, {}
    return ibis.memtable(table), {}


@pytest.mark.parametrize("kind", ["csv", "pattern", "folder", "memtable"])
def test_any_source_gives_the_same_sketch(kind, rows, path, tmp_path):
    folder = tmp_path / kind
    folder.mkdir()
    source, options = source_of(kind, rows, folder)
    same_items(hs.open_pool(path, **COLUMNS), hs.open_pool(source, **COLUMNS, **options))


def test_a_table_of_a_database(path, tmp_path):
    database = tmp_path / "pool.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.execute(f"CREATE TABLE pairs AS SELECT * FROM '{path}'")
    same_items(hs.open_pool(path, **COLUMNS), hs.open_pool(database, **COLUMNS))
    same_items(hs.open_pool(path, **COLUMNS), hs.open_pool(database, table="pairs", **COLUMNS))


def test_a_saved_sketch_is_the_pool_without_its_rows(rows, path, tmp_path, run_draws):
    pool = hs.open_pool(path, columns=["country"], show=["text"], seed=3, **COLUMNS)
    pool.save(tmp_path / "pool.sketch")
    (tmp_path / "pool.parquet").unlink()
    kept = hs.open_pool(tmp_path / "pool.sketch")
    assert kept.source is None
    assert kept.fingerprint == pool.fingerprint
    same_items(pool, kept)
    assert list(tmp_path.glob("*.part")) == []
    label = label_of(rows)
    measure = hs.measures.Within(hs.measures.F1(), column="country", equals="nz")
    one, other = run_draws(pool, measure, label), run_draws(kept, measure, label)
    assert one[0] == other[0]
    np.testing.assert_array_equal(one[1], other[1])
    index = kept.index_of(one[0][0])
    assert kept.records(np.array([index])) == {"text": [f"record {one[0][0]}"]}


def test_a_sketch_that_is_none_is_refused(tmp_path):
    (tmp_path / "bad.sketch").write_bytes(b"PAR1")
    with pytest.raises(FileError, match="no sketch"):
        hs.open_pool(tmp_path / "bad.sketch")
    parquet.write_table(pa.table({"id": [1]}), tmp_path / "other.sketch")
    with pytest.raises(FileError, match="no sketch"):
        hs.open_pool(tmp_path / "other.sketch")
    with pytest.raises(FileNotFoundError):
        hs.open_pool(tmp_path / "none.sketch")


def test_any_changed_byte_of_a_sketch_is_refused(path, tmp_path):
    sketch = tmp_path / "pool.sketch"
    hs.open_pool(path, candidates=64, show=["text"], **COLUMNS).save(sketch)
    assert parquet.read_table(sketch).num_rows  # still a file that others can read
    content = sketch.read_bytes()
    rng = np.random.default_rng(0)
    footer = content.index(b"haystat.sha256")
    places = [*rng.integers(len(content), size=400), *range(footer - 4, footer + 84), 0]
    for place in places:
        for bit in (0x01, 0x40):
            changed = bytearray(content)
            changed[place] ^= bit
            sketch.write_bytes(changed)
            with pytest.raises(FileError, match="damaged"):
                hs.open_pool(sketch)
    for length in (0, 3, 100, len(content) // 2, len(content) - 1):
        sketch.write_bytes(content[:length])
        with pytest.raises(FileError, match="damaged"):
            hs.open_pool(sketch)
    sketch.write_bytes(content)
    assert hs.open_pool(sketch).size == 6000


def test_a_sketch_of_a_later_format_is_refused(path, tmp_path, monkeypatch):
    monkeypatch.setattr("haystat.engines.sketch_file.FORMAT", 4)
    hs.open_pool(path, **COLUMNS).save(tmp_path / "pool.sketch")
    monkeypatch.undo()
    with pytest.raises(FileError, match="format 4, and this haystat reads 2 and 3"):
        hs.open_pool(tmp_path / "pool.sketch")


def test_a_cell_that_runs_dry_is_topped_up_without_a_change(rows, path, run_draws):
    label = label_of(rows)
    few = hs.open_pool(path, candidates=3, **COLUMNS)
    many = hs.open_pool(path, **COLUMNS)
    assert len(few.held.sketch.items) < len(many.held.sketch.items)
    one = run_draws(few, "f1", label, stages=5, n=100)
    other = run_draws(many, "f1", label, stages=5, n=100)
    assert one[0] == other[0]
    np.testing.assert_array_equal(one[1], other[1])


def test_a_dry_cell_of_a_sketch_without_its_source_says_so(path, tmp_path):
    hs.open_pool(path, candidates=3, **COLUMNS).save(tmp_path / "few.sketch")
    (tmp_path / "pool.parquet").unlink()
    pool = hs.open_pool(tmp_path / "few.sketch")
    cells = pool.cells(hs.measures.F1().bind(pool.schema))
    largest = int(np.argmax(cells.size))
    with pytest.raises(PoolError, match="source is not here"):
        pool.candidates(cells).first(largest, int(cells.size[largest]))
    with pytest.raises(PoolError, match="source is not here"):
        hs.Evaluation(pool, "pr_curve")


def test_all_items_come_once_in_the_end(rows, path):
    pool = hs.open_pool(path, candidates=2, strata=4, **COLUMNS)
    cells = pool.cells(hs.measures.F1().bind(pool.schema))
    order = pool.candidates(cells)
    order.prepare(cells.size.tolist())
    found = [
        pool.id_of(item)
        for cell, size in enumerate(cells.size.tolist())
        for item in order.first(cell, size)[0].tolist()
    ]
    assert sorted(found) == sorted(rows["id"].tolist())


def test_every_item_is_first_equally_often(write_rows, tmp_path):
    rows = {"id": np.arange(6) * 1000, "score": np.full(6, 0.5)}
    path = write_rows(tmp_path / "six.parquet", rows)
    pool = hs.open_pool(path, id="id", score="score")
    orders = [pool.with_seed(seed).held.sketch.items.id.tolist() for seed in range(60)]
    place = np.array([[order.index(item) for item in rows["id"]] for order in orders])
    for rank in (0, 3, 5):
        counts = np.array([(place[:, item] == rank).sum() for item in range(6)])
        assert stats.chisquare(counts).pvalue > 1e-4


def test_studies_of_a_pool_behind_an_engine(rows, path, tmp_path):
    label = label_of(rows)
    memory = hs.Pool(
        {"score": rows["score"]}, {"score": rows["prediction"]}, ids=rows["id"], seed=3
    )
    file = PoolFile(
        path,
        ("score",),
        "id",
        ("prediction",),
        show=("text",),
        options={"seed": 3},
        engine="duckdb",
    )
    pool = hs.open_pool(path, show=["text"], seed=3, **COLUMNS)
    pool.save(tmp_path / "pool.sketch")
    sources = {
        "memory": memory,
        "pool": pool,
        "file": file,
        "sketch": PoolFile(str(tmp_path / "pool.sketch"), ()),
    }
    found = {}
    for name, source in sources.items():
        study_path = tmp_path / f"{name}.haystat"
        with hs.Study.create(study_path, source, "f1", random_state=1, candidates=900) as study:
            asked = []
            for _ in range(12):  # more than the file keeps of some cells
                questions = study.ask(80)
                asked += [question.item for question in questions]
                study.tell({item: label[item] for item in asked[-len(questions) :]})
            found[name] = asked, study.estimate().value
            if name != "memory":
                assert questions[0].record == {"text": f"record {questions[0].item}"}
        with hs.Study.open(study_path) as again:
            assert again.estimate().value == found[name][1]
    assert all(found[name] == found["memory"] for name in found)


def test_pairs_and_side_tables(tmp_path, engine):
    people = pa.table({"id": [f"p{i}" for i in range(40)], "name": [f"Ann {i}" for i in range(40)]})
    left, right = np.divmod(np.arange(800), 40)
    pairs = pa.table(
        {
            "left": [f"p{i}" for i in left],
            "right": [f"p{i}" for i in right],
            "score": np.random.default_rng(0).random(800),
        }
    )
    parquet.write_table(people, tmp_path / "people.parquet")
    parquet.write_table(pairs, tmp_path / "pairs.parquet")
    side = Side(str(tmp_path / "people.parquet"), show=("name",))
    pool = hs.open_pool(
        str(tmp_path / "pairs.parquet"),
        id=("left", "right"),
        score="score",
        sides={"left": side, "right": side},
        engine=engine,
        strata=8,
    )
    memory = hs.Pool(
        pairs["score"].to_numpy(),
        ids=[f"p{a}|p{b}" for a, b in zip(left, right, strict=True)],
        strata=8,
        seed=0,
    )
    evaluations = [hs.Evaluation(p, "f1", random_state=0) for p in (memory, pool)]
    asked = [[query.item for query in evaluation.ask(30)] for evaluation in evaluations]
    assert asked[0] == asked[1]
    one, other = asked[0][0].split("|")
    shown = pool.records(np.array([pool.index_of(asked[0][0])]))
    assert shown == {"left.name": [f"Ann {one[1:]}"], "right.name": [f"Ann {other[1:]}"]}


def test_the_command_line(rows, path, tmp_path):
    run = CliRunner()
    sketch, study = tmp_path / "pool.sketch", tmp_path / "study.haystat"
    options = ["--id", "id", "--score", "score", "--prediction", "prediction", "--show", "text"]
    made = run.invoke(app, ["sketch", path, "-o", str(sketch), *options, "--json"])
    assert made.exit_code == 0, made.output
    assert json.loads(made.stdout)["items"] == 6000
    done = run.invoke(app, ["new", str(study), str(sketch), "--seed", "5", "--json"])
    assert done.exit_code == 0, done.output
    other = tmp_path / "other.haystat"
    pattern = str(tmp_path / "*.parquet")
    done = run.invoke(app, ["new", str(other), pattern, *options, "--seed", "5", "--json"])
    assert done.exit_code == 0, done.output
    with hs.Study.open(other) as opened:
        assert opened.pool.size == 6000
        assert opened.ask(1)[0].record["text"].startswith("record")
    wrong = run.invoke(app, ["sketch", path, "-o", "pool.parquet", *options])
    assert isinstance(wrong.exception, BadOption)


def test_a_notebook_shows_a_pool_without_a_pass_over_its_rows(path, monkeypatch):
    pool = hs.open_pool(path, **COLUMNS, classes=(0, 1))
    monkeypatch.setattr("haystat.engines.pool.read_groups", None)
    shown = pool._repr_html_()
    for text in ("6,000", "pool.parquet", "duckdb", "0, 1"):
        assert text in shown, text
