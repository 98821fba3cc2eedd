"""Everything at the same time, killed at random: nothing acknowledged is lost.

A server with people who answer, take reports, download and upload; commands that read and write
the same file; a random end by SIGKILL or Ctrl-C, of the server first or of the commands first.
`python test_web_stress.py ROUNDS SEED` runs more rounds than the suite does.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from http.client import HTTPException
from pathlib import Path

import numpy as np
import pytest
from live_server import Server, first_line, kill_group
from stress_commands import label_of

import haystat as hs
from haystat.study import verify

pytestmark = pytest.mark.skipif("os.name == 'nt'", reason="signals of POSIX")

COMMANDS = Path(__file__).with_name("stress_commands.py")
TABLE = b"id,score\n" + b"".join(b"%d,0.%d\n" % (i, i) for i in range(200))
PAUSE = 0.4  # seconds between two reports, so that there is time for answers
GONE = (OSError, HTTPException)  # the server was killed


class Round:
    """One round: who works, and what was acknowledged to them."""

    def __init__(self, path, folder, rng):
        self.path, self.folder, self.rng = path, folder, rng
        self.acknowledged: dict[int, str] = {}
        self.copies: list[tuple[set[int], bytes]] = []
        self.problems: list[str] = []
        self.over = self.stopping = False

    def run(self):
        commands = [self._commands(f"bob {k}") for k in range(2)]
        try:
            server = Server(self.path)
            for process in commands:
                assert first_line(process), "the commands did not start"
            threads = [
                threading.Thread(target=self._guarded, args=(server, *one), daemon=True)
                for one in self._work()
            ]
            for thread in threads:
                thread.start()
            self._end(server, commands)
        finally:
            self.over = True
            for process in commands:
                end(process)
        for thread in threads:
            thread.join(90)
            assert not thread.is_alive(), "somebody still waits for a reply"
        for diary in self.folder.glob("*.diary"):
            for line in diary.read_text().splitlines():
                self.acknowledged |= dict.fromkeys(json.loads(line), diary.stem)

    def _work(self):
        """Who does what at the same time."""
        answers = [(self._answers, f"ann {k}") for k in range(3)]
        return [*answers, (self._looks, "/report"), (self._downloads, ""), (self._uploads, "")]

    def _commands(self, who):
        command = [sys.executable, str(COMMANDS), str(self.path), str(self.folder)]
        return subprocess.Popen(
            [*command, str(self.rng.getrandbits(30)), who],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def _end(self, server, commands):
        """A random end, at a random time, in a random order."""
        begin = time.monotonic()
        while not self.acknowledged and not self.problems and time.monotonic() < begin + 60:
            time.sleep(0.05)  # the first question takes a while
        time.sleep(self.rng.uniform(0.2, 3))
        ends = [lambda: self._end_of(server)]
        ends += [lambda process=process: end(process) for process in commands]
        self.rng.shuffle(ends)
        for one in ends:
            one()
            time.sleep(self.rng.uniform(0, 0.4))

    def _end_of(self, server):
        self.stopping = True  # a report that takes too long is given up with 500
        server.stop() if self.rng.random() < 0.3 else server.kill()

    def _guarded(self, server, action, given):
        try:
            while not self.over:
                action(server, given)
                time.sleep(0 if action == self._answers else PAUSE)
        except GONE:
            pass
        except Exception as error:
            if self.stopping:
                return
            self.problems.append(f"{action.__name__}: {error!r}")

    def _answers(self, server, who):
        for item in self._asked(server, who):
            given = {"annotator": who, "answers": [{"item": item, "label": label_of(item)}]}
            status, content = server.call("/api/tell", given)
            assert status == 200, content
            self.acknowledged[item] = who

    def _asked(self, server, who):
        status, content = server.call("/api/ask", {"n": 10, "annotator": who})
        assert status == 200, content
        return [question["item"] for question in json.loads(content)["questions"]]

    def _looks(self, server, path):
        server.first_event()
        status, content = server.call(path)
        assert status == 200, content[:500]

    def _downloads(self, server, _):
        known = set(self.acknowledged)
        status, content = server.call("/study.haystat")
        assert status == 200
        self.copies = [(known, content)]

    def _uploads(self, server, _):
        status, content = server.call("/api/upload?name=table.csv", content=TABLE)
        assert status == 201, content
        name = json.loads(content)["file"]
        assert server.call(f"/api/preview?file={name}")[0] == 200


def end(process):
    kill_group(process)
    process.wait(30)
    process.stdout.close()


def answers_of(path):
    with hs.Study.open(path) as study:
        return {answer.item: (answer.label, answer.who) for answer in study.answers}


def check(path, acknowledged, this_round):
    """What was acknowledged is there, the audit passes, and the estimate is that of a replay."""
    assert not this_round.problems, this_round.problems
    found = answers_of(path)
    lost = {i for i, who in acknowledged.items() if found.get(i) != (label_of(i), who)}
    assert not lost, f"{len(lost)} of {len(acknowledged)} answers are lost or changed"
    verdict = verify(path)
    assert verdict.ok, verdict.findings
    with hs.Study.open(path) as study:
        estimate = study.estimate()
    assert repr(estimate.values.tolist()) == repr(verdict.estimate.values.tolist())
    assert repr(estimate.intervals.tolist()) == repr(verdict.estimate.intervals.tolist())
    for number, (known, content) in enumerate(this_round.copies):
        copy = this_round.folder / f"copy-{number}.haystat"
        copy.write_bytes(content)
        assert known <= answers_of(copy).keys()
        assert verify(copy).ok


def rounds_of_stress(folder, rounds, seed):
    """The answers acknowledged after each round."""
    rng = random.Random(seed)
    path = folder / "study.haystat"
    scores = np.random.default_rng(0).beta(0.3, 2, 20_000)
    hs.Study.create(path, hs.Pool(scores, strata=16), "f1", "adaptive", random_state=1).close()
    acknowledged: dict[int, str] = {}
    for number in range(rounds):
        place = folder / f"round {number}"
        place.mkdir()
        this_round = Round(path, place, rng)
        this_round.run()
        acknowledged |= this_round.acknowledged
        check(path, acknowledged, this_round)
        yield len(acknowledged)


@pytest.mark.slow
def test_everything_at_once_killed_at_random_loses_nothing(tmp_path):
    [count] = rounds_of_stress(tmp_path, 1, 0)
    assert count > 10


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        for n, count in enumerate(rounds_of_stress(Path(name), *map(int, sys.argv[1:])), start=1):
            print(f"round {n}: {count} answers acknowledged, all there", flush=True)
