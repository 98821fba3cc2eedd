"""Which study files this process has open, and what becomes of them when it forks.

SQLite keeps in memory which locks this process has on a file. A child inherits that memory, but
not the locks: it would believe it holds the file when it does not, and others would remove the log
that it writes to. So connections are closed before a fork, and opened again by whoever uses them.
"""

from __future__ import annotations

import os
import threading
import weakref
from pathlib import Path
from typing import Protocol

from haystat.errors import StudyError

PATIENCE = 60.0  # seconds for which a fork waits until other threads have done with a study


class Forking(Protocol):
    """What is open on a file: `lock` is held while it is used."""

    path: Path
    lock: threading.RLock

    def hang_up(self) -> bool:
        """Close the connection, unless it is in the middle of a transaction; whether it did."""


_open: weakref.WeakSet[Forking] = weakref.WeakSet()
_forking = threading.Lock()  # one fork at a time
_held: list[Forking] = []  # from just before a fork until just after it
_busy: list[Forking] = []  # those of them that could not be closed
_torn: list[Forking] = []  # were in a transaction of the parent: never to be touched again


def watch(store: Forking) -> None:
    """Close this one before a fork."""
    _open.add(store)


def unwatch(store: Forking) -> None:
    """This one is closed for good."""
    _open.discard(store)


def is_open_here(path: Path) -> bool:
    """Whether this process has the file open: then SQLite alone may open and close it.

    Closing any other descriptor of a file drops all POSIX locks that the process has on it, and
    the next process to come removes the log that this one writes to.
    """
    return path.exists() and any(s.path.exists() and path.samefile(s.path) for s in set(_open))


def check(path: object) -> None:
    """Raise in a child that was forked in the middle of a transaction: no lock of it is real."""
    if _torn:
        raise StudyError(
            f"{path} cannot be used here: this process was forked inside a transaction of a "
            "study; fork outside of together(), or start the process with spawn"
        )


def _before() -> None:
    _forking.acquire()
    for store in list(_open):
        held = store.lock.acquire(timeout=PATIENCE)
        _held.extend([store] if held else [])
        _busy.extend([] if held and store.hang_up() else [store])


def _in_parent() -> None:
    for store in _held:
        store.lock.release()
    _held.clear()
    _busy.clear()
    _forking.release()


def _in_child() -> None:
    _torn.extend(_busy)
    _in_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
