"""The state of an evaluation whose journal others write to as well: catch up, decide, move on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Generic, TypeVar

from haystat.loop.journal import Clock, Entry, Journal, Store
from haystat.loop.state import State

S = TypeVar("S", bound=State)


class Draft:
    """What one transaction adds to a journal; it counts once that is over."""

    def __init__(self, journal: Journal, last: Entry | None, now: datetime) -> None:
        self.journal = journal
        self.now = now
        self.entries: list[Entry] = []
        self.first = 0 if last is None else last.seq  # entries that were there before
        self.if_lost: list[Callable[[], None]] = []  # what to undo should the transaction fail
        self._last = last

    def add(self, kind: str, data: dict[str, Any], who: str | None = None) -> None:
        """Append an entry."""
        self._last = self.journal.append(self._last, kind, data, who, self.now)
        self.entries.append(self._last)


class SharedState(Generic[S]):
    """A store and the fold of its journal, which is brought up to date before every use.

    `new_state` makes the state before the first entry. One thread at a time gets in.
    """

    def __init__(self, store: Store, new_state: Callable[[], S], clock: Clock) -> None:
        self._store = store
        self.new_state = new_state
        self._clock = clock
        self._lock = store.lock
        self._state = new_state()
        self._draft: Draft | None = None  # of a block of operations that are kept together

    @contextmanager
    def reading(self) -> Iterator[S]:
        """The state as of now."""
        with self._lock:
            if self._draft is None:  # inside a transaction there is nothing new to read
                with self._store.read() as journal:
                    self._catch_up(journal)
            yield self._state

    @contextmanager
    def writing(self) -> Iterator[tuple[S, Draft]]:
        """The state as of now, and a draft for what is added to it.

        Nobody else can write until the block ends. The state moves on once the draft is kept, or
        at once inside `together`.
        """
        with self._lock:
            if self._draft is not None:
                self._store.check()  # a fork may have come between
                draft = self._draft
                yield self._state, draft
            else:
                with self._transaction() as draft:
                    yield self._state, draft
            for entry in draft.entries[self._state.n_entries - draft.first :]:
                self._state.apply(entry)

    @contextmanager
    def together(self) -> Iterator[None]:
        """Everything that is written inside is kept at once, or not at all."""
        with self._lock:
            if self._draft is not None:
                yield
                return
            try:
                with self._transaction() as self._draft:
                    yield
            except BaseException:
                if self._draft is not None and self._draft.entries:
                    self._state = self.new_state()  # it has seen what is not in the journal
                raise
            finally:
                self._draft = None

    def entries(self) -> list[Any]:
        """The whole journal."""
        with self._lock:
            if self._draft is not None:
                return list(self._draft.journal.read())
            with self._store.read() as journal:
                return list(journal.read())

    def close(self) -> None:
        """Close the store."""
        with self._lock:
            self._store.close()

    def _catch_up(self, journal: Journal) -> None:
        """Fold in what other processes have written since."""
        for entry in journal.read(self._state.last):
            self._state.apply(entry)

    @contextmanager
    def _transaction(self) -> Iterator[Draft]:
        draft: Draft | None = None
        try:
            with self._store.write() as journal:
                self._catch_up(journal)
                draft = Draft(journal, self._state.last, self._clock())
                yield draft
        except BaseException:
            for undo in draft.if_lost if draft is not None else ():
                undo()
            raise
