"""Repeats in parallel: results do not depend on how many workers there are."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed

from haystat.experiments.repeat import Experiment, Record, run_repeat

Task = tuple[int, int]  # position of the experiment, number of the repeat
LARGEST_CHUNK = 8  # repeats handed to a worker at a time

_experiments: Sequence[Experiment] = ()  # of this worker; set once when it starts


def run_tasks(
    experiments: Sequence[Experiment], tasks: Sequence[Task], jobs: int
) -> Iterator[tuple[int, Record]]:
    """Yield the position of the experiment and the record of each task, in any order."""
    if jobs == 1 or len(tasks) <= 1:
        for position, repeat in tasks:
            yield position, run_repeat(experiments[position], repeat)
        return
    size = max(1, min(LARGEST_CHUNK, len(tasks) // (4 * jobs)))
    chunks = [tasks[start : start + size] for start in range(0, len(tasks), size)]
    with ProcessPoolExecutor(
        min(jobs, len(chunks)), _context(), _start_worker, (experiments, os.getpid())
    ) as executor:
        futures = [executor.submit(_run_chunk, chunk) for chunk in chunks]
        try:
            for future in as_completed(futures):
                yield from future.result()
        except BaseException:
            _abandon(futures)
            raise


def _context() -> multiprocessing.context.BaseContext:
    """Fork shares the pool without a copy; elsewhere than on Linux it is missing or unsafe."""
    method = "fork" if sys.platform == "linux" else "spawn"
    return multiprocessing.get_context(method)


def _abandon(futures: Sequence[Future[list[tuple[int, Record]]]]) -> None:
    """Start nothing more; chunks that run are waited for, a few seconds at most."""
    for future in futures:
        future.cancel()


def _start_worker(experiments: Sequence[Experiment], parent: int) -> None:
    global _experiments
    _experiments = experiments
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent to handle
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()


def _leave_with(parent: int) -> None:
    """End this worker when its parent was killed, which would leave it waiting for ever."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _run_chunk(tasks: Sequence[Task]) -> list[tuple[int, Record]]:
    return [(position, run_repeat(_experiments[position], repeat)) for position, repeat in tasks]
