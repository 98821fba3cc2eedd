"""The journal: an append-only table of entries, each with a hash that covers all before it."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from haystat.errors import BadOption, StudyError
from haystat.loop.annotators import checked_name, is_writable
from haystat.loop.journal import stamp


@dataclass(frozen=True)
class Entry:
    """One line of the journal. `payload` is the JSON text as it was hashed."""

    seq: int
    time: str
    kind: str
    who: str | None
    payload: str
    hash: str

    @cached_property
    def data(self) -> dict[str, Any]:
        """The payload as an object."""
        value = json.loads(self.payload)
        if not isinstance(value, dict):
            raise ValueError("the payload is not an object")
        return value


def canonical(value: Any) -> str:
    """JSON with one spelling for one value."""
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def chained(previous: str, seq: int, time: str, kind: str, who: str | None, payload: str) -> str:
    """Hash of an entry: SHA-256 of the hash before it and of all that the entry says."""
    text = canonical([previous, seq, time, kind, who, payload])
    return hashlib.sha256(text.encode()).hexdigest()


def next_entry(last: Entry | None, kind: str, data: Any, who: str | None, when: datetime) -> Entry:
    """The entry that follows `last`: what is hashed is what is stored, to the letter."""
    seq, previous = (1, "") if last is None else (last.seq + 1, last.hash)
    time, payload, who = stamp(when), canonical(data), checked_name(who)
    if not is_writable(payload):
        raise BadOption(
            f"the {kind} holds half of a surrogate pair, which is no text; leave it out: nothing "
            "was recorded"
        )
    return Entry(seq, time, kind, who, payload, chained(previous, seq, time, kind, who, payload))


def write(connection: sqlite3.Connection, entry: Entry) -> None:
    """Add an entry to the table."""
    row = (entry.seq, entry.time, entry.kind, entry.who, entry.payload, entry.hash)
    connection.execute("INSERT INTO journal VALUES (?, ?, ?, ?, ?, ?)", row)


class SqliteJournal:
    """The journal of a study, for one transaction: it is read along its chain of hashes."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    def append(
        self, last: Entry | None, kind: str, data: dict[str, Any], who: str | None, when: datetime
    ) -> Entry:
        """Add the entry that follows `last`."""
        entry = next_entry(last, kind, data, who, when)
        write(self.connection, entry)
        return entry

    def read(self, last: Entry | None = None) -> Iterator[Entry]:
        """The entries that follow `last`; raises where one was changed or is missing."""
        for entry in entries(self.connection, 0 if last is None else last.seq):
            check_link(last, entry)
            yield entry
            last = entry


def entries(connection: sqlite3.Connection, after: int = 0, until: int = 2**62) -> Iterator[Entry]:
    """The entries that follow number `after`, up to number `until`, in order."""
    query = "SELECT * FROM journal WHERE seq > ? AND seq <= ? ORDER BY seq"
    rows = connection.execute(query, (after, until))
    for row in rows:
        yield Entry(*row)


def check_link(last: Entry | None, entry: Entry) -> None:
    """Raise unless `entry` follows `last` and says what it said when it was written."""
    expected = 1 if last is None else last.seq + 1
    if entry.seq != expected:
        raise StudyError(f"entry {expected} is missing: entry {entry.seq} follows in its place")
    previous = "" if last is None else last.hash
    fields = (entry.seq, entry.time, entry.kind, entry.who, entry.payload)
    try:
        found = chained(previous, *fields)
    except (TypeError, ValueError, UnicodeError):
        found = ""
    if found != entry.hash:
        raise StudyError(f"entry {entry.seq} ({entry.kind}) was changed after it was written")
