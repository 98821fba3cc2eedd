"""The study file: one SQLite database, safe under several processes and sudden death.

WAL mode lets readers read while one process writes. Every write is one BEGIN IMMEDIATE
transaction: it holds the only write lock from before it looks until it has committed, so what it
decides on is still true when it is written. synchronous=FULL makes a commit wait for the disk: an
answer that was acknowledged survives a power failure, not only the death of the process.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from haystat.core.drafts import draft_of
from haystat.errors import FileError, StorageError, StorageFull, StudyError, StudyExists
from haystat.study import open_files
from haystat.study.sqlite_journal import SqliteJournal

APPLICATION_ID = 0x68617973  # "hays"
BUSY_SECONDS = 30.0

#: MIGRATIONS[v] takes a file of version v to v + 1
MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE journal (
        seq INTEGER PRIMARY KEY,
        time TEXT NOT NULL,
        kind TEXT NOT NULL,
        who TEXT,
        payload TEXT NOT NULL,
        hash TEXT NOT NULL
    );
    CREATE TRIGGER journal_keeps_entries BEFORE UPDATE ON journal
        BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
    CREATE TRIGGER journal_loses_nothing BEFORE DELETE ON journal
        BEGIN SELECT RAISE(ABORT, 'the journal is append-only'); END;
    CREATE TABLE sketch (name TEXT PRIMARY KEY, content BLOB NOT NULL);
    CREATE TABLE candidates (
        cell INTEGER NOT NULL,
        first INTEGER NOT NULL,
        length INTEGER NOT NULL,
        content BLOB NOT NULL,
        PRIMARY KEY (cell, first)
    ) WITHOUT ROWID;
    """,
)


class Store:
    """An open study file. `read` and `write` give a connection for one transaction."""

    def __init__(self, path: str | Path, *, read_only: bool = False) -> None:
        self.path = Path(path)
        if not self.path.is_file():
            raise FileNotFoundError(f"no study {path}; make one with haystat new, or Study.create")
        self.lock = threading.RLock()  # held by whoever uses the connection
        self._wants = read_only
        self._connection: sqlite3.Connection | None = None
        self._closed = False
        try:
            with clear_errors(self.path):
                self._migrate()
        except BaseException:
            self.close()
            raise
        open_files.watch(self)

    @classmethod
    @contextmanager
    def create(cls, path: str | Path) -> Iterator[sqlite3.Connection]:
        """A transaction that fills a new study file; the file appears whole or not at all."""
        path = Path(path)
        _check_new(path)
        draft = draft_of(path)
        try:
            with clear_errors(path):
                with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
                    connection.execute("PRAGMA journal_mode = MEMORY")
                    connection.execute("BEGIN IMMEDIATE")
                    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                    _apply_migrations(connection, 0)
                    yield connection
                    connection.execute("COMMIT")
                    connection.execute("PRAGMA journal_mode = WAL")
                _publish(draft, path)
        finally:
            for suffix in ("", "-wal", "-shm"):
                draft.with_name(draft.name + suffix).unlink(missing_ok=True)

    @contextmanager
    def read(self) -> Iterator[SqliteJournal]:
        """One consistent view of the file."""
        with self._transaction("BEGIN") as connection:
            yield SqliteJournal(connection)

    @contextmanager
    def write(self) -> Iterator[SqliteJournal]:
        """The only writer until the block ends; all of it is kept, or nothing."""
        if self.read_only:
            raise _read_only(self.path)
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield SqliteJournal(connection)

    def check(self) -> None:
        """Raise in a child that was forked in the middle of a transaction."""
        open_files.check(self.path)

    def copy_to(self, path: str | Path) -> None:
        """A whole copy of the file as it is now, while others may write."""
        target = Path(path)
        _check_new(target)
        with self.lock, clear_errors(target):
            self.connection().execute("VACUUM INTO ?", (str(target),))
            with closing(sqlite3.connect(target)) as copy:
                copy.execute("PRAGMA journal_mode = WAL")

    def content(self) -> bytes:
        """The bytes of a whole copy, which is in no file that a kill could leave behind."""
        with self.lock, clear_errors(self.path), closing(sqlite3.connect(":memory:")) as copy:
            self.connection().backup(copy)
            return copy.serialize()

    def close(self) -> None:
        """Close the file; the last one to close leaves a single file behind."""
        self._closed = True
        self.hang_up()
        open_files.unwatch(self)

    def hang_up(self) -> bool:
        """Close the connection, unless a transaction is open; the next use opens another."""
        if self._connection is not None:
            if self._connection.in_transaction and not self._closed:
                return False
            self._connection.close()
            self._connection = None
        return True

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self.lock, clear_errors(self.path):
            connection = self.connection()
            connection.execute(begin)
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:  # SQLite rolls back by itself when a disk is full
                    with suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
                raise

    def connection(self) -> sqlite3.Connection:
        """The connection of this process, for a single read; several that must agree go to `read`.

        One that was open before a fork is never used after it.
        """
        open_files.check(self.path)
        if self._closed:
            raise StudyError(f"{self.path} was closed; open it again")
        if self._connection is None:
            with clear_errors(self.path):
                self._connection, self.read_only = _connect(self.path, self._wants)
        return self._connection

    def _migrate(self) -> None:
        version = _version(self.connection())
        if version > len(MIGRATIONS):
            raise StudyError(
                f"{self.path} was made by a newer haystat: its format is {version}, this one "
                f"reads up to {len(MIGRATIONS)}; pip install -U haystat"
            )
        if version == len(MIGRATIONS):
            return
        with self.write() as journal:
            _apply_migrations(journal.connection, _version(journal.connection))


@contextmanager
def clear_errors(path: Path) -> Iterator[None]:
    """Turn what SQLite says into one line that tells what to do."""
    try:
        yield
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "") or ""
        raise _explained(path, name, str(error)) from error


def _check_new(path: Path) -> None:
    if path.exists():
        raise _taken(path)
    if not path.parent.is_dir():
        raise StudyError(f"{path} cannot be made: there is no folder {path.parent}; make it first")


def _taken(path: Path) -> StudyExists:
    return StudyExists(f"{path} exists already; open it, or choose another name")


def _explained(path: Path, name: str, text: str) -> FileError:
    if name.startswith(("SQLITE_FULL", "SQLITE_IOERR")):
        kind = StorageFull if name == "SQLITE_FULL" else StorageError
        return kind(
            f"{path} cannot be written: the disk is full or failing ({text}); nothing of this "
            "call was recorded, what was recorded before is intact"
        )
    if name.startswith(("SQLITE_READONLY", "SQLITE_PERM")):
        return _read_only(path)
    if name.startswith("SQLITE_CANTOPEN"):
        return StorageError(f"{path} cannot be opened or written: check the folder and its rights")
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL")):
        return StorageError(
            f"{path} has been locked by another process for {BUSY_SECONDS:.0f} s; try again"
        )
    if name.startswith("SQLITE_NOTADB"):
        return StudyError(f"{path} is not a haystat study")
    return StudyError(f"{path} is damaged ({text}); run haystat verify, or use a copy")


def _read_only(path: Path) -> StorageError:
    return StorageError(f"{path} is read-only; copy it to a place where you can write")


def _connect(path: Path, read_only: bool) -> tuple[sqlite3.Connection, bool]:
    """A connection, and whether it can only read."""
    if not read_only and os.access(path, os.W_OK):
        try:
            return _opened(path, "mode=rw"), False
        except sqlite3.OperationalError as error:
            name = getattr(error, "sqlite_errorname", "") or ""
            if not name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN")):
                raise
    try:
        return _opened(path, "mode=ro"), True
    except sqlite3.OperationalError:
        # Where no file can be made beside it, a study that was closed can be read as it is.
        log = path.with_name(path.name + "-wal")
        if log.exists() and log.stat().st_size > 0:
            raise
        return _opened(path, "immutable=1"), True


def _opened(path: Path, mode: str) -> sqlite3.Connection:
    connection = sqlite3.connect(
        f"file:{quote(os.fsencode(path.absolute()))}?{mode}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        if application != APPLICATION_ID:
            raise StudyError(f"{path} is not a haystat study")
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if mode == "mode=rw":
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _apply_migrations(connection: sqlite3.Connection, version: int) -> None:
    for script in MIGRATIONS[version:]:
        for statement in _statements(script):
            connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")


def _statements(script: str) -> Iterator[str]:
    """The statements of a script; `executescript` would commit what is open."""
    statement = ""
    for part in script.split(";"):
        statement += part + ";"
        if sqlite3.complete_statement(statement):
            if statement.strip(" \n;"):
                yield statement
            statement = ""


def _publish(draft: Path, path: Path) -> None:
    """Give the finished file its name, unless somebody took the name in the meantime."""
    try:
        os.link(draft, path)
    except FileExistsError:
        raise _taken(path) from None
    except OSError:  # a file system without links
        draft.rename(path)
    with suppress(OSError):  # not every system can wait for a folder
        folder = os.open(path.absolute().parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
