"""Whether statistics survive an engine: 100 evaluations of 1e7 rows, 1 in 30,000 positive.

    python bench/scale_statistics.py [--rows 1e7 --repeats 100 --budget 500]

Through hs.open_pool and through hs.Pool, each repeat with an order of items and draws of its own.
The first repeats share their seeds and must agree item for item; of the others the mean squared
errors must agree within their bootstrap bands.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from scipy.special import expit

import haystat as hs

RARE = 1 / 30_000
SHARED = 5  # repeats with the same seeds on both sides


def make_rows(size: int) -> dict[str, np.ndarray]:
    """A rare class that most scores tell from the other one."""
    rng = np.random.default_rng(0)
    label = rng.random(size) < RARE
    logit = np.where(label, rng.normal(0, 2.5, size), rng.normal(-12, 2.8, size))
    score = expit(logit)
    return {
        "id": rng.permutation(size),
        "score": score,
        "prediction": (score > 0.5).astype(np.int8),
        "label": label.astype(np.int8),
    }


def one(pool: hs.Pool, label: np.ndarray, seed: int, budget: int) -> tuple[float, list[int]]:
    """The estimate of one evaluation, and the items it asked about."""
    asked: list[int] = []

    def oracle(items: list[int]) -> list[int]:
        asked.extend(items)
        return [int(label[item]) for item in items]

    evaluation = hs.Evaluation(pool, "f1", "adaptive", random_state=seed)
    return evaluation.run(oracle, budget).value, asked


def band(errors: np.ndarray) -> list[float]:
    """Mean squared error with its 95% bootstrap band."""
    square = errors[np.isfinite(errors)] ** 2
    rng = np.random.default_rng(1)
    means = rng.choice(square, (2000, len(square))).mean(axis=1)
    return [float(square.mean()), *np.quantile(means, [0.025, 0.975]).tolist()]


def main() -> None:
    """Run, compare, print, and save as JSON."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", default=1e7, type=float)
    parser.add_argument("--repeats", default=100, type=int)
    parser.add_argument("--budget", default=500, type=int)
    given = parser.parse_args()
    rows = make_rows(int(given.rows))
    label = np.zeros(len(rows["id"]), dtype=np.int8)
    label[rows["id"]] = rows["label"]
    hits = int(np.sum(rows["prediction"] * rows["label"]))
    truth = 2 * hits / int(rows["prediction"].sum() + rows["label"].sum())
    start = time.perf_counter()
    memory_values, engine_values, same = [], [], []
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "pool.parquet")
        parquet.write_table(pa.table(rows), path)
        base = hs.open_pool(path, id="id", score="score", prediction="prediction")
        columns = {"score": rows["score"]}, {"score": rows["prediction"]}
        pool = hs.Pool(*columns, ids=rows["id"])
        for repeat in range(given.repeats):
            value, asked = one(base.with_seed(repeat), label, repeat, given.budget)
            engine_values.append(value)
            seed = repeat if repeat < SHARED else repeat + given.repeats
            pool.seed = seed
            memory_value, memory_asked = one(pool, label, seed, given.budget)
            memory_values.append(memory_value)
            if repeat < SHARED:
                same.append(value == memory_value and asked == memory_asked)  # NaN is unlike NaN
            if repeat % 10 == 9 or repeat == given.repeats - 1:
                facts = {"rows": len(label), "positives": int(label.sum()), "truth": truth}
                facts |= {"budget": given.budget, "seconds": time.perf_counter() - start}
                found = compared(np.array(engine_values), np.array(memory_values), truth)
                report({**facts, **found, "shared seeds agree item for item": bool(all(same))})


def compared(engine: np.ndarray, memory: np.ndarray, truth: float) -> dict[str, object]:
    """Mean squared errors on both sides, so far."""
    return {
        "repeats": len(engine),
        "mse, open_pool": band(engine - truth),
        "mse, hs.Pool": band(memory - truth),
        "undefined": [int(np.isnan(values).sum()) for values in (engine, memory)],
    }


def report(figures: dict[str, object]) -> None:
    """Print, and save as JSON."""
    print(json.dumps(figures, indent=2), flush=True)
    results = Path(__file__).parent / "results" / "scale_statistics.json"
    results.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
