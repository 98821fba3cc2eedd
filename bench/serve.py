"""The labelling page under load: fifty annotators answer as fast as they can.

Run with `python bench/serve.py`. One server, as `haystat serve` starts it, on loopback; the
annotators are one process that speaks plain HTTP, so that it takes as little as possible from the
two cores that it shares with the server. An answer is timed from the moment it is sent until it is
acknowledged, on disk, with the next question at hand. Questions are fetched ahead and the estimate
is listened to (server-sent events), as pages do. With --kill the server is killed in the middle
and started again. At the end every acknowledged answer must be in the study, once, and `verify`
must pass. Other work on the machine makes the times longer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import haystat as hs
from haystat.study import verify

BATCH, AHEAD = 10, 1
SERVE = "from haystat.cli import main; main()"
SECRET = "a-token-for-this-bench"
PATIENCE = 60.0  # seconds for a reply, and for the server to start or stop


class Load:
    """How long everybody works: until a time, or a number of answers."""

    def __init__(self, people: list[Person], options: argparse.Namespace) -> None:
        self._people = people
        self._answers = options.answers
        self._begin = time.perf_counter()
        self._seconds = options.seconds

    @property
    def seconds_left(self) -> float:
        return self._begin + self._seconds - time.perf_counter()

    @property
    def done(self) -> float:
        """How much of it is behind us, from 0 to 1."""
        told = sum(len(person.seconds) for person in self._people)
        return max(told / self._answers, 1 - self.seconds_left / self._seconds)

    @property
    def goes_on(self) -> bool:
        return self.done < 1


@dataclass
class Person:
    """One annotator: what is known to be on disk, and how long each answer took."""

    name: str
    acknowledged: dict[int, int] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    outages: int = 0
    snapshots: int = 0
    current: int | None = None
    seen: set[int] = field(default_factory=set)
    low: asyncio.Event = field(default_factory=asyncio.Event)


def main() -> None:
    """Measure, print, and save as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--answers", type=int, default=10**6, help="stop after so many")
    parser.add_argument("--items", type=int, default=400_000)
    parser.add_argument("--kill", action="store_true", help="kill the server half way")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder), options)
    for name, value in figures.items():
        print(f"{name:<44}{value:>12}")
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    name = "serve-killed.json" if options.kill else "serve.json"
    (results / name).write_text(json.dumps(figures, indent=2) + "\n")


def measure(folder: Path, options: argparse.Namespace) -> dict[str, object]:
    """All figures of one run."""
    path = folder / "load.haystat"
    make_study(path, options.items)
    people = [Person(f"person {k}") for k in range(options.people)]
    port = free_port()
    server = start(path, port)
    try:
        begin = time.perf_counter()
        server = asyncio.run(crowd(people, path, port, options, server))
        taken = time.perf_counter() - begin
    finally:
        stop(server)
    return {**figures_of(people, taken), **check(path, people)}


def make_study(path: Path, size: int) -> None:
    """A study of many pairs, each with six fields of both sides."""
    rng = np.random.default_rng(0)
    scores = 1 / (1 + np.exp(-rng.normal(-4, 2, size)))
    words = np.array([f"word {k}" for k in range(5000)], dtype=object)
    show = {f"field{k}_{s}": words[rng.integers(5000, size=size)] for k in range(6) for s in "lr"}
    pool = hs.Pool(scores, threshold=0.5)
    hs.Study.create(path, pool, random_state=0, show=show, candidates=2 * size).close()


def label_of(item: int) -> int:
    """What everybody answers about an item."""
    return int(item % 7 == 0)


def start(path: Path, port: int) -> subprocess.Popen[bytes]:
    """A server as people start it."""
    command = [sys.executable, "-c", SERVE, "serve", str(path), "--port", str(port)]
    environment = {**os.environ, "HAYSTAT_TOKEN": SECRET}
    server = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE)
    assert server.stdout is not None
    alarm = threading.Timer(PATIENCE, server.kill)
    alarm.start()
    line = server.stdout.readline()
    alarm.cancel()
    assert b"http://" in line, "the server did not start"
    return server


def stop(server: subprocess.Popen[bytes]) -> None:
    """Let the server finish."""
    server.send_signal(signal.SIGINT)
    try:
        server.wait(PATIENCE)
    finally:
        server.kill()


async def crowd(
    people: list[Person],
    path: Path,
    port: int,
    options: argparse.Namespace,
    server: subprocess.Popen[bytes],
) -> subprocess.Popen[bytes]:
    """Everybody works until the time is over; the server that is up at the end."""
    load = Load(people, options)
    working = [asyncio.create_task(work(person, port, load)) for person in people]
    working += [asyncio.create_task(listen_to(person, port, load)) for person in people]
    if options.kill:
        while load.done < 0.5:
            await asyncio.sleep(0.02)
        server.kill()
        server.wait()
        server = await asyncio.to_thread(start, path, port)
    for person in people:
        working.append(asyncio.create_task(wake_up(person, load)))
    await asyncio.gather(*working)
    return server


async def wake_up(person: Person, load: Load) -> None:
    """At the end nobody waits for a queue to run low."""
    while load.goes_on:
        await asyncio.sleep(0.1)
    person.low.set()


async def work(person: Person, port: int, load: Load) -> None:
    """Answer until the end; go on by oneself when the server comes back."""
    queue: asyncio.Queue[int] = asyncio.Queue()
    asking = asyncio.create_task(ask_ahead(person, queue, port, load))
    while load.goes_on:
        try:
            async with connected(port) as (reader, writer):
                await answer_on(person, queue, reader, writer, load)
        except (OSError, asyncio.IncompleteReadError):
            person.outages += 1
            await asyncio.sleep(0.2)
    await asking


async def ask_ahead(person: Person, queue: asyncio.Queue[int], port: int, load: Load) -> None:
    """Fetch the next questions before the last ones are answered, as the page does."""
    while load.goes_on:
        try:
            async with connected(port) as (reader, writer):
                while load.goes_on:
                    if queue.qsize() > AHEAD:
                        await person.low.wait()
                        person.low.clear()
                        continue
                    held = queue.qsize() + (person.current is not None)
                    given = {"annotator": person.name, "n": BATCH + held}
                    status, found = await request(reader, writer, "/api/ask", given)
                    if status != 200:
                        person.errors.append(f"{status} {found}")
                    for question in found.get("questions", []):
                        if question["item"] not in person.seen:
                            person.seen.add(question["item"])
                            queue.put_nowait(question["item"])
        except (OSError, asyncio.IncompleteReadError):
            person.outages += 1
            await asyncio.sleep(0.2)


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """A connection to the server."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def listen_to(person: Person, port: int, load: Load) -> None:
    """Read the events that a page shows beside the question."""
    while load.goes_on:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 22)
            head = "GET /api/events HTTP/1.1\r\nhost: 127.0.0.1\r\n"
            writer.write(f"{head}authorization: Bearer {SECRET}\r\n\r\n".encode())
            while load.goes_on:
                read = reader.readuntil(b"event: snapshot")
                await asyncio.wait_for(read, min(max(load.seconds_left, 0.01), 2.0))
                person.snapshots += 1
        except TimeoutError:
            writer.close()
        except (OSError, asyncio.IncompleteReadError):
            await asyncio.sleep(0.5)


async def answer_on(
    person: Person,
    queue: asyncio.Queue[int],
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    load: Load,
) -> None:
    """Answers over one connection, one at a time; what was not acknowledged is sent again."""
    if person.current is None:
        person.current = await soon(queue)
    while load.goes_on and person.current is not None:
        item = person.current
        answers = [{"item": item, "label": label_of(item)}]
        begin = time.perf_counter()
        given = {"annotator": person.name, "answers": answers}
        status, found = await request(reader, writer, "/api/tell", given)
        if status != 200:
            person.errors.append(f"{status} {found}")
            return
        person.acknowledged[item] = label_of(item)
        person.current = None
        if queue.qsize() <= AHEAD:
            person.low.set()
        person.current = await soon(queue)
        person.seconds.append(time.perf_counter() - begin)


async def soon(queue: asyncio.Queue[int]) -> int | None:
    """The next question, which is nearly always there; None if the server is away."""
    try:
        return queue.get_nowait()
    except asyncio.QueueEmpty:
        with suppress(TimeoutError):
            return await asyncio.wait_for(queue.get(), 10)
        return None


async def request(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, given: object
) -> tuple[int, dict]:
    """One POST over a connection that stays open."""
    body = json.dumps(given).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer {SECRET}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    async with asyncio.timeout(PATIENCE):  # an OSError, as if the connection were lost
        answer = await reader.readuntil(b"\r\n\r\n")
        lines = answer.decode("latin-1").lower().split("\r\n")
        length = next(int(line[15:]) for line in lines if line.startswith("content-length:"))
        return int(lines[0].split()[1]), json.loads(await reader.readexactly(length))


def figures_of(people: list[Person], taken: float) -> dict[str, object]:
    """What the annotators saw."""
    seconds = np.concatenate([person.seconds for person in people])
    return {
        "annotators": len(people),
        "answers acknowledged": len(seconds),
        "answers a second": round(len(seconds) / taken, 1),
        "median answer to next question, ms": round(1e3 * float(np.median(seconds)), 1),
        "95th percentile, ms": round(1e3 * float(np.quantile(seconds, 0.95)), 1),
        "largest, ms": round(1e3 * float(seconds.max()), 1),
        "snapshots that each page got": round(sum(p.snapshots for p in people) / len(people), 1),
        "errors": sum(len(person.errors) for person in people),
        "connections lost": sum(person.outages for person in people),
    }


def check(path: Path, people: list[Person]) -> dict[str, object]:
    """Whether the study holds every acknowledged answer, once, and verifies."""
    told: dict[int, int] = {}
    doubled = 0
    with hs.Study.open(path) as study:
        for entry in study.entries:
            if entry.kind == "answer":
                for item, label in entry.data["labels"]:
                    doubled += item in told
                    told[item] = label
    lost = sum(told.get(i) != y for person in people for i, y in person.acknowledged.items())
    shared = sum(len(person.acknowledged) for person in people)
    shared -= len({item for person in people for item in person.acknowledged})
    verdict = verify(path)
    return {
        "answers in the study": len(told),
        "acknowledged but lost": lost,
        "recorded twice": doubled,
        "answered by two people": shared,
        "verify": "passes" if verdict.ok else str(verdict.findings[:3]),
    }


def free_port() -> int:
    """A port that nobody uses."""
    from haystat.web.server import listen

    with listen("127.0.0.1", 0) as found:
        return int(found.getsockname()[1])


if __name__ == "__main__":
    main()
