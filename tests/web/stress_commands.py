"""Commands at random, each in a process of its own: a part of the stress test.

Run as `python stress_commands.py STUDY FOLDER SEED WHO`. The package is imported once, then every
command is a fork of its own that opens the study, works and ends, as on a command line. What was
acknowledged goes to FOLDER/WHO.diary, one line at a time, past any buffer.
"""

from __future__ import annotations

import json
import os
import random
import sys
from pathlib import Path

import numpy as np

import haystat as hs
from haystat.cli import main as haystat
from haystat.report import FORMATS, collect


def run(out: Path, *words: object) -> bool:
    """Whether a command succeeded; what it printed is in `out`."""
    child = os.fork()
    if child == 0:
        printed = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(printed, 1)
        sys.argv = ["haystat", *map(str, words)]
        code = 0
        try:
            haystat()
        except SystemExit as end:
            code = int(end.code or 0)
        sys.stdout.flush()
        os._exit(code)
    return os.waitpid(child, 0)[1] == 0


def label_of(item: int) -> int:
    return int(item % 3 == 0)


def answer(study: Path, folder: Path, diary: int, who: str) -> None:
    """Ask, answer and tell, as three commands' worth of work."""
    asked, answers = folder / f"{who}.json", folder / f"{who}.csv"
    if not run(asked, "ask", study, "-n", 4, "-a", who, "--json"):
        return
    items = [question["item"] for question in json.loads(asked.read_text())]
    answers.write_text("item,label\n" + "".join(f"{i},{label_of(i)}\n" for i in items))
    if items and run(folder / f"{who}.out", "tell", study, answers, "-a", who):
        os.write(diary, (json.dumps(items) + "\n").encode())


def warm_up(path: Path) -> None:
    """Load what the commands will need, with a study of its own that is closed again."""
    pool = hs.Pool(np.linspace(0, 1, 500), strata=4)
    with hs.Study.create(path, pool, "f1", "adaptive", random_state=0) as study:
        study.tell({question.item: label_of(question.item) for question in study.ask(20)})
        FORMATS["md"](collect(study))


def main() -> None:
    study, folder, seed, who = Path(sys.argv[1]), Path(sys.argv[2]), *sys.argv[3:]
    rng = random.Random(int(seed))
    diary = os.open(folder / f"{who}.diary", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    looks = (("status",), ("estimate",), ("log",), ("export",), ("report",), ("verify",))
    warm_up(folder / f"{who}.haystat")
    print("ready", flush=True)
    while True:
        if rng.random() < 0.5:
            answer(study, folder, diary, who)
        else:
            command, *rest = rng.choice(looks)
            run(folder / f"{who}.look", command, study, *rest)


if __name__ == "__main__":
    main()
