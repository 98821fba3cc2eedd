"""Where the rows of a pool are: files, a database, any Ibis table; and whether they are still."""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from haystat.core.arguments import brief, checked_path
from haystat.core.disk import not_utf8, readable
from haystat.core.tables import LEADING_ZERO, refuse_twins
from haystat.engines import spark
from haystat.engines.extras import needed
from haystat.errors import (
    BadOption,
    EngineError,
    FileError,
    HaystatError,
    PoolChanged,
    UnknownName,
    first_line,
)

DATABASES = (".duckdb", ".ddb", ".db")
PARQUET = (".parquet", ".pq")
CSV = (".csv", ".csv.gz", ".tsv")
MEMORY = "1GB"  # that DuckDB may use before it spills


@dataclass(frozen=True)
class Source:
    """Rows behind an engine.

    table is an Ibis table. name is what messages call it. files are those that it is read from,
    with what they looked like when the pool was opened; none of a table that is not ours. before:
    further rows that the table is joined with.
    """

    table: Any
    name: str
    pattern: str | None = None
    files: tuple[tuple[str, int, int], ...] = ()
    before: Source | None = None

    @property
    def engine(self) -> str:
        """Name of the backend."""
        return str(self.table.get_backend().name)

    @property
    def fingerprint(self) -> str:
        """Digest of the names, sizes and times of the files."""
        return hashlib.sha256(repr(self.files).encode()).hexdigest()[:16]

    def check(self) -> None:
        """Raise unless the files are what they were."""
        if self.before is not None:
            self.before.check()
        if self.pattern is None:
            return
        now = files_of(self.pattern)
        if now != self.files:
            changed = sorted({path for path, _, _ in set(now) ^ set(self.files)})
            gone = [path for path in changed if not Path(path).exists()]
            what = "vanished" if gone else "changed"
            raise PoolChanged(
                f"{(gone or changed)[0]} {what} since the pool was opened; open the pool again, "
                "from files that nobody writes to"
            )

    @property
    def is_database(self) -> bool:
        """Whether the file is a database with tables of its own."""
        return self.pattern is not None and self.pattern.lower().endswith(DATABASES)

    @property
    def table_name(self) -> str | None:
        """The name of the table in its database."""
        return str(self.table.get_name()) if self.is_database else None

    def same_rows(self, other: Source) -> bool:
        """Whether another source has the very same rows."""
        if self.pattern is None or other.pattern is None:
            return bool(self.table.equals(other.table))
        mine, others = ((one.engine, one.table_name) for one in (self, other))
        return mine == others and _whole_paths(self.files) == _whole_paths(other.files)

    @property
    def lead(self) -> Source:
        """The source itself; of several tables the first."""
        return self

    def moved_to(self, other: Source) -> Source:
        """The same rows where those of another source are, to be joined with them."""
        self.check()
        return replace(self, table=self._beside(other.lead))

    def _beside(self, other: Source) -> Any:
        mine, others = self.table.get_backend(), other.table.get_backend()
        if mine is others:
            return self.table
        if self.is_database and _whole_paths(self.files) == _whole_paths(other.files):
            return others.table(self.table_name)
        if self.pattern is None or self.is_database or mine.name != others.name:
            raise BadOption(
                f"{self.name} ({self.engine}) and {other.name} ({other.engine}) cannot be joined; "
                "put both tables into Parquet files, or into one database, and name one engine"
            )
        with _opening(self.pattern):
            return _from_files(self.pattern, self.pattern.lower(), others)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A pass over the rows: what goes wrong in it is one line, and the files stay as they are.

        Whatever a driver raises is turned into an EngineError.
        """
        self.check()
        try:
            yield
        except (HaystatError, MemoryError, KeyboardInterrupt):
            raise
        except Exception as error:
            self.check()
            _refuse_encoding(self.name, error)
            raise EngineError(f"{self.engine} failed on {self.name}: {_said(error)}") from None
        self.check()


def _refuse_encoding(path: str, error: Exception) -> None:
    """Raise if DuckDB says that a text is in another encoding."""
    if "invalid unicode" in str(error).lower():
        raise not_utf8(Path(path)) from None


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {first_line(error):.300}" if str(error) else first_line(error)


def _whole_paths(files: tuple[tuple[str, int, int], ...]) -> list[tuple[str, int, int]]:
    """The same files, wherever a path began."""
    return [(str(Path(path).absolute()), size, changed) for path, size, changed in files]


def files_of(pattern: str) -> tuple[tuple[str, int, int], ...]:
    """Path, size and time of change of each file that a pattern names."""
    paths = sorted(glob.glob(pattern, recursive=True)) if has_glob(pattern) else [pattern]
    found = []
    for path in paths:
        try:
            facts = Path(path).stat()
        except FileNotFoundError:
            continue
        found.append((path, facts.st_size, facts.st_mtime_ns))
    return tuple(found)


def has_glob(pattern: str) -> bool:
    """Whether a path stands for several files."""
    return any(sign in pattern for sign in "*?[")


def find_source(given: Any, table: str | None = None, engine: Any = None) -> Source:
    """The rows that `given` names: a path or pattern, an Ibis table, or a Spark data frame."""
    module = type(given).__module__
    if module.startswith("ibis.") and hasattr(given, "schema"):
        return Source(given, "the Ibis table")
    if module.startswith("pyspark.") and hasattr(given, "createOrReplaceTempView"):
        return Source(_from_spark_frame(given), "the Spark data frame")
    if not isinstance(given, str | Path):
        raise BadOption(
            f"the source is a {type(given).__name__}; give a Parquet or CSV file, a pattern such "
            "as 'dir/*.parquet', a DuckDB file, an Ibis table or a Spark data frame (for a table "
            "in memory: hs.Pool.from_frame)"
        )
    return _from_path(str(given), table, engine)


def _from_spark_frame(frame: Any) -> Any:
    name = f"haystat_{id(frame):x}"
    frame.createOrReplaceTempView(name)
    return spark.connect(frame.sparkSession).table(name)


def _from_path(path: str, table: str | None, engine: Any) -> Source:
    with readable(checked_path("the source", path)):
        if Path(path).is_dir():
            path = str(Path(path) / "**" / "*.parquet")
        remote = "://" in path
        files = () if remote else files_of(path)
    if not files and not remote:
        raise FileNotFoundError(f"no file {path}")
    kind = path.lower()
    if not kind.endswith((*PARQUET, *CSV, *DATABASES)):
        raise FileError(
            f"{path} is of no known kind; give a file or pattern ending in "
            f"{', '.join((*PARQUET, *CSV, *DATABASES))}"
        )
    connection = None if kind.endswith(DATABASES) else _connect(engine)
    with _opening(path):
        if connection is None:
            rows = _from_database(path, table)
        else:
            rows = _from_files(path, kind, connection)
    return Source(rows, path, None if remote else path, files)


def _from_files(path: str, kind: str, connection: Any) -> Any:
    if kind.endswith(PARQUET):
        return connection.read_parquet(path)
    if connection.name == "pyspark":
        # Spark reads a CSV file as nameless texts unless told otherwise.
        typed = connection.read_csv(path, header=True, inferSchema=True)
        return _with_leading_zeros(typed, connection.read_csv(path, header=True))
    if connection.name == "duckdb":
        first = connection.read_csv(path, header=False, all_varchar=True).limit(1)
        (header,) = first.to_pyarrow().to_pylist() or [{}]
        refuse_twins(path, list(header.values()), set(header.values()) - {None})
        texts = connection.read_csv(path, header=True, all_varchar=True)
        return _with_leading_zeros(connection.read_csv(path), texts)
    return connection.read_csv(path)


def _with_leading_zeros(typed: Any, texts: Any) -> Any:
    """The rows of a CSV file; a column in which a whole number begins with 0 is text, as in files.

    typed and texts are the same rows with types that the engine found, and without.
    """
    schema = typed.schema()
    numbers = [name for name, kind in schema.items() if kind.is_integer()]
    if not numbers or list(texts.columns) != list(typed.columns):
        return typed
    has_zero = {name: texts[name].re_search(LEADING_ZERO).any() for name in numbers}
    (found,) = texts.aggregate(**has_zero).to_pyarrow().to_pylist()
    if not any(found.values()):
        return typed
    return texts.cast({name: kind for name, kind in schema.items() if not found.get(name)})


def _from_database(path: str, table: str | None) -> Any:
    connection = needed("ibis", "a DuckDB file").duckdb.connect(path, read_only=True)
    # list_tables() of Ibis 12 calls what DuckDB 2 no longer has.
    found = connection.con.execute("SELECT table_name FROM information_schema.tables").fetchall()
    tables = sorted(name for (name,) in found)
    if table is None and len(tables) == 1:
        table = tables[0]
    if table is None or table not in tables:
        raise UnknownName(f"{path} has the tables {tables}; say which one is the pool: table=…")
    return connection.table(table)


def _connect(engine: Any) -> Any:
    """An Ibis backend: DuckDB in this process unless Spark is asked for."""
    if engine is None or (isinstance(engine, str) and engine == "duckdb"):
        needed("duckdb", "a pool too big for memory")
        connection = needed("ibis", "a pool too big for memory").duckdb.connect(
            memory_limit=MEMORY, preserve_insertion_order="false"
        )
        connection.con.execute("SET enable_progress_bar = false").fetchall()
        return connection
    if isinstance(engine, str) and engine == "spark":
        return spark.connect(spark.session())
    if isinstance(engine, str) and engine.startswith(("spark://", "local", "yarn", "k8s://")):
        return spark.connect(spark.session(engine))
    if hasattr(engine, "sparkContext"):
        return spark.connect(engine)
    if hasattr(engine, "read_parquet"):
        return engine
    raise BadOption(
        f"engine is {brief(engine)}; it can be 'duckdb', 'spark', the address of a Spark master "
        "such as spark://host:7077, a Spark session or an Ibis backend"
    )


@contextmanager
def _opening(path: str) -> Iterator[None]:
    """Turn whatever a library says about a file that it cannot read into one line."""
    try:
        yield
    except (HaystatError, MemoryError):
        raise
    except Exception as error:
        _refuse_encoding(path, error)
        raise FileError(
            f"{path} cannot be read; is it cut short or damaged? ({_said(error)})"
        ) from None
