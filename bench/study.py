"""What a study costs: a million record pairs, five thousand answers, one file.

Run with `python bench/study.py`. The pool is a Parquet file of pairs with all their fields, as a
labeller sees them; `new` is the command as typed, with the start of Python. Questions are asked
and answered one at a time, the dearest way; every answer waits for the disk. On a machine that
is busy with other things, look at the processor time.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import haystat as hs
from haystat.demo import make_linkage_pool
from haystat.study import verify

ANSWERS, LAST, SHARED = 5000, 500, 2000
NEW = "from haystat.cli import main; main()"


def main() -> None:
    """Measure, print a table, and save it as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(Path(folder))
    results = Path(__file__).parent / "results"
    results.mkdir(exist_ok=True)
    (results / "study.json").write_text(json.dumps(figures, indent=2) + "\n")


def measure(folder: Path) -> dict[str, float]:
    """All figures, in the order of a study's life."""
    figures: dict[str, float] = {}

    def note(name: str, value: float) -> None:
        figures[name] = value
        print(f"{name:<52}{value:12.2f}", flush=True)

    labels, fields = write_pool(folder / "pool.parquet")
    path = folder / "study.haystat"
    show = ",".join(fields)
    command = [sys.executable, "-c", NEW, "new", str(path), str(folder / "pool.parquet")]
    command += ["--id", "id", "--score", "score", "--show", show, "--seed", "1"]
    note("items of the pool", len(labels))
    note("new, s", seconds(lambda: subprocess.run(command, check=True, capture_output=True)))
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    note("new, s of processor time", spent.ru_utime + spent.ru_stime)
    note("file when new, MB", path.stat().st_size / 1e6)
    with hs.Study.open(path) as study:
        asked, told = answer_one_by_one(study, labels)
    for name, times in (("ask", asked[-LAST:]), ("tell", told[-LAST:])):
        note(f"{name} at {ANSWERS} answers, median, ms", 1e3 * float(np.median(times)))
        note(f"{name} at {ANSWERS} answers, largest of {LAST}, ms", 1e3 * max(times))
    note("file with its answers, MB", path.stat().st_size / 1e6)
    note("open with 5,000 stages, s", seconds(lambda: hs.Study.open(path).close()))
    with hs.Study.open(path) as study:
        study.estimate()
        note("estimate, ms", 1e3 * seconds(study.estimate))
        note("answers a second, kept together", SHARED / seconds(lambda: crowd(study, labels)))
    note("verify, s", seconds(lambda: check(path)))
    return figures


def write_pool(path: Path) -> tuple[dict[str, int], list[str]]:
    """A Parquet file of record pairs; the labels by id, and the columns to show."""
    pairs = make_linkage_pool()
    n_right = len(pairs.right["first"])
    left, right = np.divmod(pairs.ids, n_right)
    ids = [f"{a}-{b}" for a, b in zip(left.tolist(), right.tolist(), strict=True)]
    columns: dict[str, object] = {"id": ids, "score": pairs.scores}
    for field in pairs.left:
        columns[f"{field}_l"] = pa.array(pairs.left[field].tolist()).take(pa.array(left))
        columns[f"{field}_r"] = pa.array(pairs.right[field].tolist()).take(pa.array(right))
    parquet.write_table(pa.table(columns), path)
    return dict(zip(ids, pairs.labels.tolist(), strict=True)), list(columns)[2:]


def answer_one_by_one(study: hs.Study, labels: dict[str, int]) -> tuple[list[float], list[float]]:
    """Seconds of every ask and of every tell."""
    asked, told = [], []
    for _ in range(ANSWERS):
        start = time.perf_counter()
        (question,) = study.ask(1, "ann")
        between = time.perf_counter()
        study.tell({question.item: labels[question.item]}, "ann")
        asked.append(between - start)
        told.append(time.perf_counter() - between)
    return asked, told


def crowd(study: hs.Study, labels: dict[str, int]) -> None:
    """Fifty people whose answers are written together, as a server does."""
    names = [f"person {k}" for k in range(50)]
    for _ in range(SHARED // len(names)):
        with study.together():
            for name in names:
                (question,) = study.ask(1, name, stage=50)
                study.tell({question.item: labels[question.item]}, name)


def check(path: Path) -> None:
    """Audit, or fail."""
    verdict = verify(path)
    if not verdict.ok:
        sys.exit(f"the study does not verify: {verdict.findings}")


def seconds(action: object) -> float:
    """How long a call takes."""
    start = time.perf_counter()
    action()  # type: ignore[operator]
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
