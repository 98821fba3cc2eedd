"""What one transaction adds to a study."""

from __future__ import annotations

import sqlite3
from datetime import datetime
from typing import Any

from haystat.study import journal
from haystat.study.journal import Entry
from haystat.study.sketch import Items


class Draft:
    """Entries written in a transaction that is not yet committed."""

    def __init__(self, connection: sqlite3.Connection, last: Entry | None, now: datetime) -> None:
        self.connection = connection
        self.now = now
        self.entries: list[Entry] = []
        self.first = 0 if last is None else last.seq  # entries that were there before
        self._last = last
        self._refilled: dict[int, int] = {}

    def add(self, kind: str, data: Any, who: str | None = None) -> None:
        """Append an entry to the journal."""
        entry = journal.next_entry(self._last, kind, data, who, self.now)
        journal.write(self.connection, entry)
        self.entries.append(entry)
        self._last = entry

    def note_refill(self, cell: int, n_kept: int) -> None:
        """Remember that further candidates of a cell were written."""
        self._refilled.setdefault(cell, n_kept)

    def forget(self, items: Items) -> None:
        """The transaction failed: what was read of its candidates is not in the file."""
        for cell, n_kept in self._refilled.items():
            items.forget(cell, n_kept)
