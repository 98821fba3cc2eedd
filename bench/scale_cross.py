"""A cross product of 100,000 x 10,000 rows, scored in a stream: what the sketch adds to scoring.

    python bench/scale_cross.py [--left 100000 --right 10000 --rounds 3]

All pairs are scored without a sketch and with it, in turn, in chunks of the same size; the best of
some rounds counts. While a chunk is scored the one before is sketched, on another core if there is
one; on a busy machine compare the processor times.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import haystat as hs
from haystat.engines.cross import CHUNK

DIMENSIONS = 32  # of the embedding of a name


def make_records(n: int, seed: int) -> dict[str, Any]:
    """Names as unit vectors, years of birth, and places."""
    rng = np.random.default_rng(seed)
    name = rng.normal(size=(n, DIMENSIONS)).astype(np.float32)
    name /= np.linalg.norm(name, axis=1, keepdims=True)
    return {
        "name": name,
        "year": rng.normal(1960, 20, n).astype(np.float32),
        "place": rng.integers(0, 500, n).astype(np.int32),
    }


class Records:
    """Columns that can be cut like a table."""

    def __init__(self, columns: dict[str, Any]) -> None:
        self.of = columns

    def __len__(self) -> int:
        return len(self.of["year"])

    def __getitem__(self, rows: slice) -> Records:
        return Records({name: values[rows] for name, values in self.of.items()})


def score(left: Records, right: Records) -> np.ndarray:
    """A logistic matcher over three comparisons: names, years, places."""
    logit = 12 * (left.of["name"] @ right.of["name"].T)
    logit -= 0.3 * np.abs(left.of["year"][:, None] - right.of["year"])
    logit += 4 * (left.of["place"][:, None] == right.of["place"])
    logit -= 8
    return 1 / (1 + np.exp(-logit))


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds and processor seconds of some work."""
    start = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - start[0], time.process_time() - start[1]


def main() -> None:
    """Measure, print, and save as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--left", default=100_000, type=int)
    parser.add_argument("--right", default=10_000, type=int)
    parser.add_argument("--rounds", default=3, type=int)
    given = parser.parse_args()
    left, right = (Records(make_records(n, i)) for i, n in enumerate((given.left, given.right)))
    pool = hs.cross_pool(left[:20], right, score)  # compile, or load what was compiled
    step = max(1, CHUNK // given.right)

    def score_all() -> None:
        for start in range(0, given.left, step):
            score(left[start : start + step], right)

    def sketch_all() -> None:
        nonlocal pool
        pool = hs.cross_pool(left, right, score)

    load = os.getloadavg()[0]
    rounds = [(timed(score_all), timed(sketch_all)) for _ in range(given.rounds)]
    alone = min(one for one, _ in rounds)
    whole = min(other for _, other in rounds)
    status = Path("/proc/self/status").read_text().splitlines()
    peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) * 1024
    figures = {
        "pairs": pool.size,
        "seconds": whole[0],
        "seconds of scoring alone": alone[0],
        "overhead": whole[0] / alone[0] - 1,
        "processor seconds": whole[1],
        "processor seconds of scoring alone": alone[1],
        "overhead in processor time": whole[1] / alone[1] - 1,
        "peak GB": peak / 1e9,
        "candidates": len(pool.held.sketch.items),
        "load before": load,
        "all rounds": rounds,
    }
    print(json.dumps(figures, indent=2))
    (Path(__file__).parent / "results" / "scale_cross.json").write_text(
        json.dumps(figures, indent=2) + "\n"
    )


if __name__ == "__main__":
    main()
