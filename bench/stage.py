"""What a stage costs, and that it does not depend on the size of the pool.

Run with `make bench`. A stage folds in 50 labels, updates the proposal and draws 50 new items.
Everything is measured in one run on one machine; compare the ratios, not the milliseconds.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

import haystat as hs

STAGES = 40
SMALL, LARGE = 54_000, 50_000_000
POOL_SIZE = 10_000_000

FIRST_USE = """
import time
start = time.perf_counter()
import haystat as hs
imported = time.perf_counter()
pool = hs.Pool([i / 1000 for i in range(1000)])
evaluation = hs.Evaluation(pool, "f1", "adaptive", random_state=0)
evaluation.run(lambda items: [int(item > 900) for item in items], budget=100)
print(imported - start, time.perf_counter() - start)
"""

BUILD = """
import pathlib, time
import numpy as np
import haystat as hs

def memory(field):
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 2**20

scores = np.random.default_rng(0).normal(-3, 1.5, {size})
pathlib.Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
before = memory("VmRSS")
start = time.perf_counter()
pool = hs.Pool(scores)
built = time.perf_counter()
hs.Evaluation(pool, "f1", "adaptive", random_state=0)
print(built - start, time.perf_counter() - start)
print(memory("VmHWM") - before)
"""


def main() -> None:
    """Measure, print a table, and save it as JSON."""
    figures = {}
    for name, measure, size in (
        ("stage, F1, small pool, ms", "f1", SMALL),
        ("stage, F1, large pool, ms", "f1", LARGE),
        ("stage, PR curve with 1,024 thresholds, ms", "pr_curve", SMALL),
    ):
        figures[name] = stage_milliseconds(measure, size)
        report(name, figures[name])
    figures["large pool over small pool"] = (
        figures["stage, F1, large pool, ms"] / figures["stage, F1, small pool, ms"]
    )
    report("large pool over small pool", figures["large pool over small pool"])
    figures |= build_costs() | first_use_seconds()
    folder = Path(__file__).parent / "results"
    folder.mkdir(exist_ok=True)
    (folder / "stage.json").write_text(json.dumps(figures, indent=2) + "\n")


def stage_milliseconds(measure: str, size: int) -> float:
    """Median time of a stage of 50 labels with 256 strata and a tree of depth 8."""
    rng = np.random.default_rng(0)
    scores = rng.normal(-3, 1.5, size)
    labels = rng.random(size) < 1 / (1 + np.exp(-2 * scores))
    evaluation = hs.Evaluation(hs.Pool(scores), measure, "adaptive", random_state=0)
    times = []
    for _ in range(STAGES):
        start = time.perf_counter()
        queries = evaluation.ask(50)
        evaluation.tell({query.item: int(labels[query.item]) for query in queries})
        times.append(time.perf_counter() - start)
    return 1e3 * float(np.median(times[2:]))


def build_costs() -> dict[str, float]:
    """Seconds and memory to build a pool of ten million items, in a process of its own."""
    seconds, memory = run(BUILD.format(size=POOL_SIZE)).splitlines()
    pool, with_evaluation = map(float, seconds.split())
    figures = {
        "pool of 10 million, s": pool,
        "the same with its evaluation, s": with_evaluation,
        "memory above the arrays, GiB": float(memory),
    }
    for name, value in figures.items():
        report(name, value)
    return figures


def first_use_seconds() -> dict[str, float]:
    """Import, and a first evaluation, in a fresh process; code compiled earlier is loaded."""
    run(FIRST_USE)
    imported, used = map(float, run(FIRST_USE).split())
    figures = {"import, s": imported, "first evaluation with import, s": used}
    for name, value in figures.items():
        report(name, value)
    return figures


def run(script: str) -> str:
    """Output of a script in a fresh interpreter."""
    return subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    ).stdout


def report(name: str, value: float) -> None:
    """One line of the table."""
    print(f"{name:<45}{value:10.2f}", flush=True)


if __name__ == "__main__":
    main()
