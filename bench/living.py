"""Versions of one study against studies that begin anew: labels, width, bias and coverage.

    python bench/living.py --repeats 200 --jobs 2
    python bench/living.py --repeats 20 --only second,unrelated

Lines:
  second     a version that changes 5% of the predictions: new labels until its interval is as
             narrow as that of 1,000 fresh labels
  fixed      the same with 150 new labels, however wide the interval is: what stopping does
  five       five versions in a row, each by 5%: labels of all against five separate studies, each
             until the width that 1,000 fresh labels gave
  unrelated  a version whose scores have nothing to do with the first's but the labels: the same
  stream     20,000 items a day, 1% positive, 50 labels a day, recall falls from 0.85 to 0.70 on day
             30 of 60: alarms "below 0.8" within ten days, and before the fall
  early      the same with the fall on day 5, in a third of the time
  quiet      the same for 60 days without a fall: false alarms
  sketch     seconds for the next version of a study against those for a first one

Estimates are of F1 on generated pools; the truth is known. Coverage is that of 95% intervals, of
the version and of its difference to the one before (hs.change).
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import norm

import haystat as hs

LABELS, BATCH = 1000, 50
SIZE = 50_000
NOISE = 0.055  # of a score, that changes about 5% of the predictions that are positive
DAYS, FALL, PER_DAY = 60, 30, 20_000


class World:
    """Labels, and scores that change from version to version."""

    def __init__(self, seed: int, size: int = SIZE) -> None:
        self.rng = np.random.default_rng([seed, 19])
        self.scores = self.rng.normal(-4, 2, size)
        self.labels = (self.rng.random(size) < 1 / (1 + np.exp(-1.3 * self.scores))).astype(int)

    def related(self) -> np.ndarray:
        """Scores of the next version of the same model."""
        self.scores = self.scores + self.rng.normal(0, NOISE, len(self.scores))
        return self.scores

    def unrelated(self) -> np.ndarray:
        """Scores of a model that shares nothing with the first but what it is after."""
        positive = self.rng.normal(-1.5, 2, len(self.scores))
        return np.where(self.labels == 1, positive, self.rng.normal(-5, 1.5, len(self.scores)))

    def oracle(self, items: list[int]) -> np.ndarray:
        """The labels of some items."""
        return self.labels[np.array(items)]

    def f1(self, scores: np.ndarray) -> float:
        """The truth."""
        predicted = scores >= 0
        return float(
            2 * np.sum(predicted & (self.labels == 1)) / (predicted.sum() + self.labels.sum())
        )


def pool_of(scores: np.ndarray) -> hs.Pool:
    """A pool cut at zero."""
    return hs.Pool(scores, threshold=0.0)


def width(estimate: hs.Estimate) -> float:
    """Of the interval."""
    return float(np.ptp(estimate.interval))


def held(estimate: hs.Estimate, truth: float) -> dict[str, Any]:
    """Whether the interval has the truth, and by how much the value misses it."""
    low, high = estimate.interval
    return {"hit": bool(low <= truth <= high), "error": float(estimate.value) - truth}


def until(evaluation: hs.Evaluation, world: World, wanted: float, most: int) -> int:
    """New labels until the interval is as narrow as wanted."""
    spent = 0
    while spent < most and width(evaluation.estimate()) > wanted:
        evaluation.run(world.oracle, spent + BATCH, BATCH)
        spent = evaluation.n_labels - evaluation.n_carried
    return spent


def second(repeat: int, unrelated: bool = False, labels: int | None = None) -> dict[str, Any]:
    """A second version until it is as narrow as a fresh study of it, or with so many new labels."""
    world = World(repeat)
    first = hs.Evaluation(pool_of(world.scores), random_state=repeat)
    before = world.f1(world.scores)
    first.run(world.oracle, LABELS, 2 * BATCH)
    scores = world.unrelated() if unrelated else world.related()
    fresh = hs.Evaluation(pool_of(scores), random_state=repeat + 10**6)
    anew = fresh.run(world.oracle, LABELS, 2 * BATCH)
    later = first.next(pool_of(scores))
    if labels is None:
        spent = until(later, world, width(anew), 2 * LABELS)
    else:
        later.run(world.oracle, labels, BATCH)
        spent = labels
    truth = world.f1(scores)
    change = hs.change(first, later)
    difference = {
        "hit": change.model.low <= truth - before <= change.model.high,
        "error": change.model.value - (truth - before),
    }
    found = {"spent": spent, "fresh": LABELS, "difference": difference}
    return {**found, "later": held(later.estimate(), truth), "anew": held(anew, truth)}


def five(repeat: int) -> dict[str, Any]:
    """Five versions in a row against five separate studies."""
    world, spent = World(repeat), LABELS
    now = hs.Evaluation(pool_of(world.scores), random_state=repeat)
    now.run(world.oracle, LABELS, 2 * BATCH)
    last: dict[str, Any] = {}
    for number in range(2, 6):
        scores = world.related()
        fresh = hs.Evaluation(pool_of(scores), random_state=repeat + number * 10**6)
        wanted = width(fresh.run(world.oracle, LABELS, 4 * BATCH))
        now = now.next(pool_of(scores))
        spent += until(now, world, wanted, LABELS)
        last = held(now.estimate(), world.f1(scores))
    return {"spent": spent, "fresh": 5 * LABELS, "later": last}


def stream(repeat: int, fall: int = FALL) -> dict[str, Any]:
    """When the alarm comes, in days after the fall; not above 0 where it is false."""
    rng, truth, now = np.random.default_rng([repeat, 60]), {}, None
    alarm = hs.Alarm("recall", below=0.8, days=DAYS)
    for day in range(DAYS):
        label = (rng.random(PER_DAY) < 0.01).astype(int)
        at = norm.ppf(0.85 if day < fall else 0.70)
        scores = rng.normal(np.where(label == 1, at, -3.6), 1.0)
        ids = PER_DAY * day + np.arange(PER_DAY)
        truth.update(zip(ids.tolist(), label.tolist(), strict=True))
        rows = hs.Pool(scores, ids=ids, threshold=0.0, columns={"day": np.full(PER_DAY, day)})
        today = hs.measures.Within(hs.measures.Recall(), column="day", equals=day)
        if now is None:
            now = hs.Evaluation(rows, today, "watch", below=0.8, random_state=repeat)
        else:
            now = now.extend(rows, window=("day", 8), measure=today)
        for _ in range(2):
            now.tell({query.item: truth[query.item] for query in now.ask(25)})
        if alarm.look(now).raised:
            return {"alarm": day - fall + 1}
    return {"alarm": DAYS}


def sketch(repeat: int, size: int = 2_000_000) -> dict[str, Any]:
    """Seconds for a first study and for the next version of it."""
    world = World(repeat, size)
    with tempfile.TemporaryDirectory() as folder:
        pool = pool_of(world.scores)
        began = time.perf_counter()
        study = hs.Study.create(Path(folder) / "a.haystat", pool, random_state=repeat)
        first = time.perf_counter() - began
        items = [question.item for question in study.ask(200)]
        study.tell(dict(zip(items, world.oracle(items).tolist(), strict=True)))
        pool = pool_of(world.related())
        began = time.perf_counter()
        study.next(pool)
        return {"spent": time.perf_counter() - began, "fresh": first}


LINES = {
    "second": second,
    "fixed": partial(second, labels=150),
    "five": five,
    "unrelated": partial(second, unrelated=True),
    "stream": stream,
    "early": partial(stream, fall=5),
    "quiet": partial(stream, fall=DAYS),
    "sketch": sketch,
}


def summary(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Means over the repeats; bias in standard errors."""
    if "alarm" in rows[0]:
        days = np.array([row["alarm"] for row in rows])
        in_time, false = float(np.mean((days > 0) & (days <= 10))), float(np.mean(days <= 0))
        return {"repeats": len(rows), "in_ten_days": in_time, "false": false}
    found = {
        "repeats": len(rows),
        "spent": float(np.mean([row["spent"] for row in rows])),
        "ratio": float(np.sum([r["spent"] for r in rows]) / np.sum([r["fresh"] for r in rows])),
    }
    for name in ("later", "difference", "anew"):
        parts = [row[name] for row in rows if name in row]
        if parts:
            error = np.array([part["error"] for part in parts])
            found[f"{name}_coverage"] = float(np.mean([part["hit"] for part in parts]))
            found[f"{name}_bias"] = float(error.mean())
            found[f"{name}_bias_in_errors"] = float(error.mean() / error.std() * len(error) ** 0.5)
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--only", default=",".join(LINES))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    results = {}
    for name in args.only.split(","):
        n = min(args.repeats, 3) if name == "sketch" else args.repeats
        with multiprocessing.get_context("fork").Pool(args.jobs) as workers:
            results[name] = summary(workers.map(LINES[name], range(n), chunksize=1))
        numbers = "  ".join(f"{key} {value:.4g}" for key, value in results[name].items())
        print(f"{name:10s} {numbers}", flush=True)
    if args.json:
        args.json.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
