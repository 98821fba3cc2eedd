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
from haystat.measures import F1

RARE = 1 / 30_000
SHARED = 5  # repeats with the same seeds on both sides


def make_rows(size: int) -> dict[str, np.ndarray]:
    """Calibrated scores of a rare class, and labels drawn from them."""
    rng = np.random.default_rng(0)
    logit = rng.normal(-15, 2.8, size)
    shift = np.log(RARE / expit(logit).mean())
    score = expit(logit + shift)
    return {
        "id": rng.permutation(size),
        "score": score,
        "prediction": (score > 0.3).astype(np.int8),
        "label": (rng.random(size) < score).astype(np.int8),
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
                same.append(value == memory_value and asked == memory_asked)
    engine, memory = (np.array(v) - truth for v in (engine_values, memory_values))
    figures = {
        "rows": len(label),
        "positives": int(label.sum()),
        "measure": F1().name,
        "truth": truth,
        "budget": given.budget,
        "repeats": given.repeats,
        "shared seeds agree item for item": bool(all(same)),
        "mse, open_pool": band(engine),
        "mse, hs.Pool": band(memory),
        "undefined, open_pool and hs.Pool": [int(np.isnan(v).sum()) for v in (engine, memory)],
        "seconds": time.perf_counter() - start,
    }
    print(json.dumps(figures, indent=2))
    results = Path(__file__).parent / "results" / "scale_statistics.json"
    results.write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    main()
