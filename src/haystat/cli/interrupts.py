"""Ctrl-C while a command is still being imported."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import current_thread, main_thread

INTERRUPTED = 130


@contextmanager
def quiet_exit() -> Iterator[None]:
    """Ctrl-C ends the process at once and without a word.

    For as long as nothing is open that would have to be closed: libraries that are being imported
    may not expect an exception.
    """
    usual = signal.getsignal(signal.SIGINT)
    if usual is not signal.default_int_handler or current_thread() is not main_thread():
        yield
        return
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
