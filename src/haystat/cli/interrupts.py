"""Ctrl-C while a command is still being imported, and while it waits for others."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import Any, Self

INTERRUPTED = 130


@contextmanager
def quiet_exit() -> Iterator[None]:
    """Ctrl-C ends the process at once and without a word.

    For as long as nothing is open that would have to be closed: libraries that are being imported
    may not expect an exception.
    """
    with _handled_by(lambda *_: os._exit(INTERRUPTED)):
        yield


class Interrupt:
    """Ctrl-C ends waiting at once; what is under way otherwise is finished first.

    A second Ctrl-C ends that too.
    """

    def __init__(self) -> None:
        self._came = self._waits = False

    @contextmanager
    def caught(self) -> Iterator[Self]:
        """Ctrl-C is as described as long as this lasts."""
        with _handled_by(self._take):
            yield self

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Raises KeyboardInterrupt inside, or at once if Ctrl-C came before."""
        self._waits = True
        try:
            if self._came:
                raise KeyboardInterrupt
            yield
        finally:
            self._waits = False

    def _take(self, *_: object) -> None:
        again, self._came = self._came, True
        if self._waits or again:
            raise KeyboardInterrupt


@contextmanager
def _handled_by(handler: Callable[..., Any]) -> Iterator[None]:
    usual = signal.getsignal(signal.SIGINT)
    if usual is not signal.default_int_handler or current_thread() is not main_thread():
        yield
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
