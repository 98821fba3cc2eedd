"""The state of a study that other processes change too: catch up, decide, write, move on."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from haystat.study import journal, opened
from haystat.study.draft import Draft
from haystat.study.fold import Fold
from haystat.study.journal import Entry
from haystat.study.store import Store


class Live:
    """A store and the fold of its journal, which is brought up to date before every use.

    `new_fold` makes the state before the first entry. One thread at a time gets in.
    """

    def __init__(
        self, store: Store, new_fold: Callable[[], Fold], clock: Callable[[], datetime]
    ) -> None:
        self._store = store
        self._new_fold = new_fold
        self._clock = clock
        self._lock = store.lock
        self._fold = new_fold()
        self._draft: Draft | None = None  # of a block of operations that are kept together

    @contextmanager
    def reading(self) -> Iterator[Fold]:
        """The state as of now."""
        with self._lock:
            if self._draft is None:  # inside a transaction there is nothing new to read
                with self._store.read() as connection:
                    self._catch_up(connection)
            yield self._fold

    @contextmanager
    def writing(self) -> Iterator[tuple[Fold, Draft]]:
        """The state as of now, and a draft for what is added to it.

        Nobody else can write until the block ends. The state moves on once the draft is on disk,
        or at once inside `together`.
        """
        with self._lock:
            if self._draft is not None:
                opened.check(self._store.path)  # a fork may have come between
                draft = self._draft
                yield self._fold, draft
            else:
                with self._transaction() as draft:
                    yield self._fold, draft
            for entry in draft.entries[self._fold.n_entries - draft.first :]:
                self._fold.apply(entry)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Everything that is written inside goes to disk at once, or not at all."""
        with self._lock:
            if self._draft is not None:
                yield
                return
            try:
                with self._transaction() as self._draft:
                    yield
            except BaseException:
                if self._draft is not None and self._draft.entries:
                    self._fold = self._new_fold()  # it has seen what is not in the file
                raise
            finally:
                self._draft = None

    def entries(self) -> list[Entry]:
        """The whole journal."""
        with self.reading():
            return list(journal.entries(self._store.connection()))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._store.close()

    def _catch_up(self, connection: sqlite3.Connection) -> None:
        """Fold in what other processes have written since."""
        for entry in journal.entries(connection, self._fold.n_entries):
            self._fold.apply(entry)

    @contextmanager
    def _transaction(self) -> Iterator[Draft]:
        draft: Draft | None = None
        try:
            with self._store.write() as connection:
                self._catch_up(connection)
                draft = Draft(connection, self._fold.last, self._clock())
                yield draft
        except BaseException:
            if draft is not None:
                draft.forget(self._fold.pool.items)
            raise
