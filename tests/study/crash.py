"""Processes that use one study at once and are killed in the middle: the helper of a test.

Run as `python crash.py STUDY LOGS ROUNDS SEED`. Every round forks four workers, kills them all
with SIGKILL after a random time, and checks the file. A worker writes down what it is about to do
and what was acknowledged, one line at a time, past any buffer.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import haystat as hs
from haystat.study import verify

WORKERS, OPERATIONS = 4, 50
SKIPPED = None


class Diary:
    """Lines that survive the death of their writer."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write(self, what: str, item=None, label=None) -> None:
        os.write(self._file, (json.dumps([what, item, label]) + "\n").encode())


def work(path: Path, diary: Diary, who: str, rng: random.Random) -> None:
    """Random operations; labels are random too, so that nothing is right by luck."""
    study = hs.Study.open(path)
    answered: list = []
    held: list = []

    def answer(item, label) -> None:
        diary.write("try", item, label)
        study.tell({item: label}, who)
        diary.write("done", item, label)
        answered.append(item)

    for _ in range(OPERATIONS):
        choice = rng.random()
        if choice < 0.3 or not held:
            held = [question.item for question in study.ask(rng.randint(1, 4), who)]
            for item in held:
                diary.write("got", item)
        elif choice < 0.75:
            answer(held.pop(0), rng.randint(0, 1))
        elif choice < 0.8:
            item = held.pop(0)
            diary.write("try", item, SKIPPED)
            study.skip(item, "unclear", who)
            diary.write("done", item, SKIPPED)
        elif choice < 0.9 and answered:
            item, label = rng.choice(answered), rng.randint(0, 1)
            diary.write("try", item, label)
            study.correct(item, label, "slip", who)
            diary.write("done", item, label)
        elif choice < 0.93:
            study.note("still here", who)
        else:
            study.estimate()


def one_round(path: Path, logs: Path, number: int, rng: random.Random) -> None:
    """Four workers until a random moment."""
    children = []
    for k in range(WORKERS):
        who, seed = f"{number}-{k}", rng.random()
        child = os.fork()
        if child == 0:
            try:
                work(path, Diary(logs / who), who, random.Random(seed))
            except BaseException as error:
                Diary(logs / f"{who}.error").write(repr(error))
                os._exit(1)
            os._exit(0)
        children.append(child)
    time.sleep(rng.uniform(0.1, 1.0))
    for child in children:
        os.kill(child, signal.SIGKILL)
    for child in children:
        os.waitpid(child, 0)


def check(path: Path, logs: Path) -> dict[str, int]:
    """What was acknowledged is in the file, nobody got another's item, and the file is sound."""
    assert not list(logs.glob("*.error")), [f.read_text() for f in logs.glob("*.error")]
    with hs.Study.open(path) as study:
        label_of = {answer.item: answer.label for answer in study.answers}
        estimate = study.estimate()
    owner: dict = {}
    n_acknowledged = 0
    for diary in logs.iterdir():
        possible: dict = {}  # labels that an item may have: the last acknowledged, or later tries
        for line in diary.read_text().splitlines():
            what, item, label = json.loads(line)
            if what == "got":
                assert owner.setdefault(item, diary.name) == diary.name, f"{item} handed out twice"
            elif what == "try":
                possible.setdefault(item, ["nothing"]).append(label)
            else:
                possible[item] = [label]
                n_acknowledged += 1
        for item, labels in possible.items():
            assert label_of.get(item, "nothing") in labels, f"{item}: {label_of.get(item)}"
    verdict = verify(path)
    assert verdict.ok, verdict.findings
    assert repr(verdict.estimate.values.tolist()) == repr(estimate.values.tolist())
    assert repr(verdict.estimate.intervals.tolist()) == repr(estimate.intervals.tolist())
    return {"acknowledged": n_acknowledged, "entries": verdict.n_entries}


def main() -> None:
    path, logs, rounds, seed = Path(sys.argv[1]), Path(sys.argv[2]), *map(int, sys.argv[3:])
    rng = random.Random(seed)
    hs.Study.open(path).close()  # compiles what is to be compiled, before the forks
    for number in range(rounds):
        one_round(path, logs, number, rng)
        print(json.dumps(check(path, logs)), flush=True)


if __name__ == "__main__":
    main()
