"""A progress bar that stays out of the way when nobody watches, and stays when it is done."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

WIDTH = 30
#: seconds between two looks of a bar that is made of text
PAUSE = 0.1


@contextmanager
def progress_bar(
    what: str, total: int, *, shown: bool, done: int = 0
) -> Iterator[Callable[[int], None]]:
    """Yield a function that advances the bar; it does nothing unless the bar is shown.

    done: what was there already when it began.
    """
    if not shown:
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if console.is_jupyter or not console.is_terminal:  # rich would need widgets, or show nothing
        # A notebook shows what goes to standard error as if something had failed.
        out = sys.stdout if console.is_jupyter else sys.stderr
        with _text_bar(what, total, done, out) as advance:
            yield advance
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console) as bar:
        task = bar.add_task(what, total=total, completed=done)
        yield lambda step: bar.advance(task, step)


@contextmanager
def _text_bar(what: str, total: int, done: int, out: TextIO) -> Iterator[Callable[[int], None]]:
    """A bar that is one line of text, written over and over; the last one stays."""
    start = time.monotonic()
    shown = -PAUSE

    def show() -> None:
        share = min(done / total, 1.0) if total else 1.0
        bar = "█" * round(share * WIDTH) + "░" * (WIDTH - round(share * WIDTH))
        seconds = time.monotonic() - start
        out.write(f"\r{what} {bar} {done:,}/{total:,}, {seconds:.0f} s")
        out.flush()

    def advance(step: int) -> None:
        nonlocal done, shown
        done += step
        if time.monotonic() - shown >= PAUSE:
            shown = time.monotonic()
            show()

    try:
        yield advance
    finally:
        show()
        out.write("\n")
