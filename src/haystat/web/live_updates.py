"""Everybody sees the same numbers, soon after they change."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from haystat.errors import HaystatError
from haystat.loop.estimates import estimate_state
from haystat.loop.journal import now_utc
from haystat.study.study import Study
from haystat.web.body import encode
from haystat.web.reader import Reader
from haystat.web.snapshot import (
    Opinions,
    agreement_of,
    first_answers,
    for_role,
    point,
    snapshot,
)
from haystat.web.write_queue import WriteQueue

SHORTEST_PAUSE, LONGEST_PAUSE = 0.4, 5.0  # seconds between two snapshots
PATIENCE = 25  # a snapshot that took t seconds is followed by a pause of PATIENCE * t
LOOK = 2.0  # seconds after which changes by other processes are looked for
HEARTBEAT = 15.0
MOST_POINTS = 240
PAST_POINTS = 60


class LiveUpdates:
    """Snapshots of one study for all who watch it; nothing is worked out while nobody does."""

    def __init__(self, queue: WriteQueue, reader: Reader, wanted: float) -> None:
        self.wanted = wanted
        self.opinions: list[tuple[Any, str | None, Any]] = []
        self.decided: dict[Any, tuple[str | None, Any]] = {}
        self._queue = queue
        self._reader = reader
        self._taking = asyncio.Lock()
        self._next: asyncio.Task[dict[str, Any]] | None = None
        self._points: list[dict[str, Any]] = []
        self._latest: dict[bool, bytes] = {}  # for managers, and for the others
        self._entries = -1
        self._news = asyncio.Event()  # set, and replaced, when there is a new snapshot
        self._n_watching = 0
        self._worker: asyncio.Task[None] | None = None
        self._history: asyncio.Task[None] | None = None
        self._told = asyncio.Event()
        self._closed = False

    def changed(self) -> None:
        """Somebody answered: the next snapshot is due."""
        self._told.set()

    async def now(self) -> dict[str, Any]:
        """A snapshot that begins after the question; all who wait for it share it."""
        if self._next is None:
            self._next = asyncio.create_task(self._take_next())
        return await asyncio.shield(self._next)

    async def _take_next(self) -> dict[str, Any]:
        async with self._taking:
            self._next = None  # who asks from now on waits for another
            return await self._take(self._reader.read)

    async def stream(self, is_manager: bool = True) -> AsyncIterator[bytes]:
        """Snapshots as server-sent events: the latest at once, then every new one."""
        self._n_watching += 1
        self._start()
        seen: bytes | None = None
        try:
            while not self._closed:
                latest = self._latest.get(is_manager)
                if latest is not None and latest is not seen:
                    seen = latest
                    yield latest
                    continue
                try:
                    await asyncio.wait_for(self._news.wait(), HEARTBEAT)
                except TimeoutError:
                    yield b": still here\n\n"
        finally:
            self._n_watching -= 1

    async def close(self) -> None:
        """End all streams."""
        self._closed = True
        self._tell_all()
        for task in (self._worker, self._history):
            if task is not None:
                task.cancel()
                with suppress(asyncio.CancelledError, HaystatError):
                    await task

    def _start(self) -> None:
        if self._history is None:
            self._history = asyncio.create_task(self._read_history())
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())

    async def _read_history(self) -> None:
        """How the estimate came to be what it is, from a second look at the file."""
        path = self._queue.study.path
        points = await asyncio.to_thread(_past_points, path, lambda: self._closed)
        last = points[-1]["labels"] if points else 0
        self._points = points + [p for p in self._points if p["labels"] > last]
        self._entries = -1
        self._told.set()

    async def _work(self) -> None:
        while self._n_watching and not self._closed:
            begin = time.perf_counter()
            with suppress(HaystatError):
                await self._publish()
            taken = time.perf_counter() - begin
            await asyncio.sleep(min(max(SHORTEST_PAUSE, PATIENCE * taken), LONGEST_PAUSE))
            with suppress(TimeoutError):
                await asyncio.wait_for(self._told.wait(), LOOK)

    async def _publish(self) -> None:
        self._told.clear()
        found = await self._take(self._queue.read)
        if found["status"]["entries"] == self._entries:
            return
        self._entries = found["status"]["entries"]
        whole = {**found, "points": self._points}
        self._latest = {
            role: b"event: snapshot\ndata: " + encode(for_role(whole, role)) + b"\n\n"
            for role in (True, False)
        }
        self._tell_all()

    def _tell_all(self) -> None:
        self._news.set()
        self._news = asyncio.Event()

    async def _take(self, read: Callable[[Any], Awaitable[Any]]) -> dict[str, Any]:
        people = list(self.opinions), dict(self.decided)
        found, first, seconds = await read(lambda study: _read(study, self.wanted, *people))
        self._remember(found["point"])
        # Kappa may load a large package, which must not hold up anybody's answer.
        found["agreement"] = await asyncio.to_thread(agreement_of, first, seconds)
        taken: dict[str, Any] = found
        return taken

    def _remember(self, point: dict[str, Any] | None) -> None:
        if point is None:
            return
        if self._points and self._points[-1]["labels"] >= point["labels"]:
            self._points.pop()
        self._points.append(point)
        if len(self._points) > MOST_POINTS:
            self._points = self._points[:-1][::2] + self._points[-1:]


def _read(
    study: Study, wanted: float, opinions: Opinions, decided: Mapping[Any, Any]
) -> tuple[dict[str, Any], Any, Any]:
    with study.reading() as state:
        return (snapshot(state, wanted, now_utc()), *first_answers(state, opinions, decided))


def _past_points(path: Path, enough: Callable[[], bool]) -> list[dict[str, Any]]:
    """The estimate after some of the finished stages, as it stood then, until it is enough."""
    points: list[dict[str, Any]] = []
    with Study.open(path, read_only=True) as study:
        n_stages = study.status().finished_stages
        wanted = set(np.linspace(1, max(n_stages, 1), PAST_POINTS).astype(int).tolist())
        state, n_seen = study.new_state(), 0
        for entry in study.entries:
            state.apply(entry)
            if enough():
                break
            if state.ledger.n_finished > n_seen:
                reached = range(n_seen + 1, state.ledger.n_finished + 1)
                n_seen = state.ledger.n_finished
                if not wanted.isdisjoint(reached):
                    found = point(estimate_state(state, None, 0.95))
                    points += [found] if found is not None else []
    return points
