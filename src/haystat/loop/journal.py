"""The journal: an append-only list of what happened. Everything else is a fold over it.

A journal has two methods. It is kept in memory here, and in SQLite by a study.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Protocol

#: what can happen, in the words of the log
KINDS = {
    "created": "the study began, with these settings and this sketch of the pool",
    "carried": "labels of an earlier version were carried over",
    "candidates": "further items of a cell were fetched from the pool",
    "stage": "items were drawn, with their weights",
    "lease": "questions were handed to somebody, until a certain time",
    "release": "questions were given back",
    "answer": "labels were told",
    "skip": "somebody cannot tell the label of an item",
    "correction": "an answer was changed",
    "note": "somebody wrote a remark",
}
Clock = Callable[[], datetime]


class Entry(Protocol):
    """One line of a journal: `seq` counts from 1, `data` is plain JSON."""

    @property
    def seq(self) -> int: ...
    @property
    def time(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def who(self) -> str | None: ...
    @property
    def data(self) -> dict[str, Any]: ...


class Journal(Protocol):
    """Entries in the order in which they came; none is ever changed or removed."""

    def append(
        self, last: Any, kind: str, data: dict[str, Any], who: str | None, when: datetime
    ) -> Entry:
        """Add the entry that follows `last`."""

    def read(self, last: Any = None) -> Iterator[Entry]:
        """The entries that follow `last`, all of them by default."""


class Store(Protocol):
    """Where a journal is kept; `lock` is held by whoever uses it."""

    lock: threading.RLock

    def read(self) -> AbstractContextManager[Journal]:
        """One consistent view of the journal."""

    def write(self) -> AbstractContextManager[Journal]:
        """The only writer until the block ends; all of it is kept, or nothing."""

    def check(self) -> None:
        """Raise if this process can no longer write."""

    def close(self) -> None:
        """No more reading and writing."""


@dataclass(frozen=True)
class Line:
    """An entry in memory."""

    seq: int
    time: str
    kind: str
    who: str | None
    data: dict[str, Any]


@dataclass
class MemoryJournal:
    """Entries in a list."""

    lines: list[Line] = field(default_factory=list)

    def append(
        self, last: Line | None, kind: str, data: dict[str, Any], who: str | None, when: datetime
    ) -> Line:
        """Add the entry that follows `last`."""
        line = Line(len(self.lines) + 1, stamp(when), kind, who, data)
        self.lines.append(line)
        return line

    def read(self, last: Line | None = None) -> Iterator[Line]:
        """The entries that follow `last`, all of them by default."""
        return iter(self.lines[0 if last is None else last.seq :])


class MemoryStore:
    """A journal in memory."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.journal = MemoryJournal()

    @contextmanager
    def read(self) -> Iterator[MemoryJournal]:
        """The journal."""
        yield self.journal

    @contextmanager
    def write(self) -> Iterator[MemoryJournal]:
        """The journal; what a block that fails has added is taken away again."""
        n_before = len(self.journal.lines)
        try:
            yield self.journal
        except BaseException:
            del self.journal.lines[n_before:]
            raise

    def check(self) -> None:
        """Memory can always be written."""

    def close(self) -> None:
        """Nothing to close."""


def now_utc() -> datetime:
    """The time, as leases and journals see it."""
    return datetime.now(UTC)


def stamp(when: datetime) -> str:
    """A time as a journal spells it."""
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def moment(time: str) -> datetime:
    """The time that `stamp` spelt."""
    return datetime.fromisoformat(time)
