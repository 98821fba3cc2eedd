"""What a day of a stream behind an engine costs, in one process and in a study: DuckDB.

    python bench/scale_stream.py --rows 1e6 --days 9 --window 7 --folder DIR

Every day is a Parquet file with an id, a score and the day. `process` extends one evaluation day by
day in one process; `study` makes the file of each day in a process of its own, which reads the
version before, too, as `haystat next --add` does.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

COMMON = """
import json, pathlib, resource, sys, time
import numpy as np, pyarrow as pa, pyarrow.parquet as parquet
import haystat as hs
from haystat.study import PoolFile, Study

folder, rows, day, window = pathlib.Path(sys.argv[1]), *map(int, sys.argv[2:5])

def truth(day):
    return np.random.default_rng(day).random(rows) < 0.01

def file_of(day):
    path = folder / f"day-{rows}-{day}.parquet"
    if not path.exists():
        scores = np.random.default_rng([day, 1]).normal(np.where(truth(day), 1.0, -3.6), 1.0)
        ids = np.arange(rows) + rows * day
        table = {"id": ids, "score": scores, "day": np.full(rows, day)}
        parquet.write_table(pa.table(table), path)
    return str(path)

labels = {}
def answer(loop):
    for query in loop.ask(100):
        day, row = divmod(query.item, rows)
        labels.setdefault(day, truth(day))
        loop.tell({query: int(labels[day][row])})

def report(day, loop, begun):
    used = resource.getrusage(resource.RUSAGE_SELF)
    now = time.perf_counter(), used.ru_utime + used.ru_stime
    seconds, processor = (b - a for a, b in zip(begun, now))
    print(
        f"day {day}: {loop.pool.size:,} rows, {seconds:.1f} s, processor time {processor:.1f} s, "
        f"{used.ru_maxrss / 2**20:.2f} GB at most, {loop.n_carried} labels carried over", flush=True
    )

def clock():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return time.perf_counter(), used.ru_utime + used.ru_stime
"""

PROCESS = """
stream = None
for number in range(day):
    path, begun = file_of(number), clock()
    further = hs.open_pool(path, id="id", score="score", threshold=0.0)
    if stream is None:
        stream = hs.Evaluation(further, "f1", random_state=0)
    else:
        stream = stream.extend(further, window=("day", window))
    report(number, stream, begun)
    answer(stream)
"""

STUDY = """
def path_of(day):
    return folder / f"stream-{day}.haystat"

path, begun = file_of(day), clock()
if day == 0:
    options = {"threshold": 0.0}
    rows_of_day = PoolFile(path, ("score",), "id", engine="duckdb", options=options)
    study = Study.create(path_of(0), rows_of_day, "f1", random_state=0)
else:
    with Study.open(path_of(day - 1)) as before:
        known = PoolFile.recorded(before.settings["source"], before.path)
        more = known.with_more(path, ("day", window))
        study = before.next(more, f"day {day}", path=path_of(day))
report(day, study, begun)
with study.together():
    answer(study)
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default=1e6, type=float)
    parser.add_argument("--days", default=9, type=int)
    parser.add_argument("--window", default=7, type=int)
    parser.add_argument("--kinds", default="process,study")
    parser.add_argument("--folder", default="/tmp/haystat-scale", type=Path)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    rows, window = str(int(given.rows)), str(given.window)
    for kind in given.kinds.split(","):
        days = [given.days] if kind == "process" else range(given.days)
        if kind == "study":
            for path in given.folder.glob("stream-*.haystat"):
                path.unlink()
        for day in days:
            script = COMMON + (PROCESS if kind == "process" else STUDY)
            words = [sys.executable, "-c", script, str(given.folder), rows, str(day), window]
            print(kind, end=", ", flush=True)
            subprocess.run(words, check=True)


if __name__ == "__main__":
    main()
