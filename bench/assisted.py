"""Our own design against the paper's, on the pools with known truth.

    python bench/assisted.py ../shared/pools [--measures f1,recall] [--repeats 200] [--jobs 2]
    python bench/assisted.py ../shared/pools --stop 0.1      stop at the first width of 0.1
    python bench/assisted.py fresh                           pools made here

Batches of 50 labels. ratio: mean squared error of the adaptive design over that of the assisted
one; limit: the latter over the best that an unbiased design with known shares of positives could
do (docs/assisted.md). Every interval: share of repeats in which it holds the truth, and its median
width over 2 x 1.96 x the root mean squared error.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd

import haystat as hs
from calibration_generated import SETTINGS, classifiers, scored
from haystat.evaluation import estimate_from
from haystat.experiments.limit import best_variance
from haystat.experiments.repeat import Experiment, advance, oracle, seeds
from haystat.experiments.simulate import plan
from haystat.ledger import Ledger

BUDGETS = (500, 1000, 2000)
BATCH = 50
INTERVALS = ("intervals", "intervals_if_falling", "intervals_from_labels", "anytime_intervals")
LARGEST_RATIO = 10.0
EXACT = 1e-20  # squared error below which an estimate is the truth
FRESH = Path("fresh")
WORTH = 0.05  # F1 from which a system counts as a pool of its own


@dataclass(frozen=True)
class Known:
    """A system's scores and predictions on a pool, and the truth."""

    name: str
    scores: np.ndarray
    predictions: np.ndarray
    labels: np.ndarray


def known_pools(folder: Path) -> Iterator[Known]:
    """The paper's pools, and each system of the others; or generated ones."""
    if folder == FRESH:
        yield from fresh()
    for path in sorted(folder.glob("*.h5")):
        with h5py.File(path) as file:
            scores, labels = file["scores"][:].ravel(), file["labels"][:].ravel().astype(int)
            given = file["preds"][:].ravel().astype(int) if "preds" in file else scores >= 0
        yield Known(path.stem.split("-svm")[0], scores, given.astype(int), labels)
    for path in sorted(folder.glob("*.parquet")):
        frame = pd.read_parquet(path)
        labels = frame["label"].to_numpy().astype(int)
        for column in (c for c in map(str, frame) if c.startswith("score_")):
            system = column.removeprefix("score_")
            given = frame[f"pred_{system}"].to_numpy().astype(int)
            if 2 * (given @ labels) / (given.sum() + labels.sum()) > WORTH:
                yield Known(f"{path.stem} {system}", frame[column].to_numpy(), given, labels)


def fresh() -> Iterator[Known]:
    """Generated pools on which some positive is predicted."""
    for classes in SETTINGS:
        for name in classifiers():
            scores, given, labels = scored(classes, name)
            if 2 * (given @ labels) / (given.sum() + labels.sum()) > WORTH:
                kind = f"{labels.sum():,} in {len(labels):,}"
                kind += f", {classes.flipped:.2%} flipped" if classes.flipped else ""
                yield Known(f"{kind}, {name}", scores, given, labels)


def run(experiment: Experiment, repeat: int) -> list[list[float]]:
    """One repeat: for each budget the estimate and the ends of its intervals."""
    order_seed, draw_seed = seeds(experiment.seed, repeat)
    problem = experiment.problem
    candidates = experiment.pool.candidates(problem.cells, seed=order_seed)
    ledger = Ledger(problem, experiment.design, candidates, draw_seed)
    answer, found = oracle(experiment, repeat), []
    for budget in experiment.budgets:
        advance(ledger, answer, budget, experiment.batch_size)
        estimate = estimate_from(
            experiment.pool, ledger, problem.measure, problem.losses.support, experiment.level
        )
        ends = [getattr(estimate, name, estimate.intervals)[0] for name in INTERVALS]
        found.append([estimate.values[0], *np.concatenate(ends), int(ledger.known()[1].sum())])
    return found


def run_until(experiment: Experiment, repeat: int, rule: hs.Width) -> list[float]:
    """One repeat that stops as soon as the rule says so: estimate, ends, labels."""
    order_seed, draw_seed = seeds(experiment.seed, repeat)
    problem = experiment.problem
    candidates = experiment.pool.candidates(problem.cells, seed=order_seed)
    ledger = Ledger(problem, experiment.design, candidates, draw_seed)
    answer = oracle(experiment, repeat)
    for n in range(BATCH, max(BUDGETS) + 1, BATCH):
        advance(ledger, answer, n, BATCH)
        estimate = estimate_from(
            experiment.pool, ledger, problem.measure, problem.losses.support, experiment.level
        )
        if rule.reached(estimate):
            break
    return [estimate.values[0], *estimate.anytime_intervals[0], n, rule.reached(estimate)]


def repeated(function: Any, experiment: Experiment, repeats: int, jobs: int, *rest: Any) -> Any:
    """All repeats, (repeats, …)."""
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        tasks = [(experiment, repeat, *rest) for repeat in range(repeats)]
        return np.array(pool.starmap(function, tasks, chunksize=max(1, repeats // (4 * jobs))))


def table(measure: str, folder: Path, repeats: int, jobs: int) -> list[dict[str, Any]]:
    """One row for each pool and budget, printed as they come."""
    print(f"\n{measure}, {repeats} repeats\n\n{HEAD}")
    rows = []
    for known in known_pools(folder):
        pool = hs.Pool(known.scores, known.predictions)
        designs = ["assisted", "adaptive"]
        both = plan(pool, known.labels, measure, designs, BUDGETS, 1, batch_size=BATCH)
        ours, theirs = (repeated(run, experiment, repeats, jobs) for experiment in both)
        truth = float(both[0].truth[0])
        for position, budget in enumerate(BUDGETS):
            limit = best_variance(both[0].problem, both[0].truth_counts, budget)
            row = compared(ours[:, position], theirs[:, position], truth, limit)
            rows.append({"pool": known.name, "labels": budget, **row})
            print(line(rows[-1]), flush=True)
    logs = [np.log(min(row["ratio"], LARGEST_RATIO)) for row in rows]
    print(f"\ngeometric mean of the ratios, each at most 10: {np.exp(np.mean(logs)):.2f}")
    return rows


HEAD = (
    "| pool | labels | adaptive | assisted | ratio | limit | bias | positives | interval | "
    "if falling | labels alone | any time |\n" + "|---" * 12 + "|"
)


def compared(ours: Any, theirs: Any, truth: float, limit: float) -> dict[str, Any]:
    """What one row says."""
    error = ours[:, 0] - truth
    squares = np.maximum((theirs[:, 0] - truth) ** 2, EXACT), np.maximum(error**2, EXACT)
    square, mse = float(np.nanmean(squares[0])), float(np.mean(squares[1]))
    rng = np.random.default_rng(0)
    picks = rng.integers(0, len(error), (1000, len(error)))
    spread = np.nanmean(squares[0][picks], axis=1) / np.mean(squares[1][picks], axis=1)
    low, high = np.quantile(spread, [0.025, 0.975])
    row: dict[str, Any] = {
        "adaptive": square,
        "assisted": mse,
        "ratio": square / mse,
        "ratio_low": float(low),
        "ratio_high": float(high),
        "limit": mse / limit if limit > 0 else None,
        "bias": float(np.mean(error) / max(np.std(error), 1e-12)),
        "positives": int(np.median(ours[:, -1])),
    }
    for number, name in enumerate(INTERVALS):
        ends = ours[:, 1 + 2 * number], ours[:, 2 + 2 * number]
        inside = (ends[0] <= truth + 1e-12) & (truth - 1e-12 <= ends[1])
        width = np.median(ends[1] - ends[0]) / (2 * 1.96 * np.sqrt(mse))
        row[name] = float(inside.mean()), float(width)
    return row


def line(row: dict[str, Any]) -> str:
    """A row in Markdown."""
    limit = "" if row["limit"] is None else f"{row['limit']:.1f}"
    intervals = " | ".join(f"{row[n][0]:.1%}, {row[n][1]:.1f}" for n in INTERVALS)
    return (
        f"| {row['pool']} | {row['labels']} | {row['adaptive']:.2e} | {row['assisted']:.2e} | "
        f"{row['ratio']:.2f} [{row['ratio_low']:.2f}, {row['ratio_high']:.2f}] | {limit} | "
        f"{row['bias']:+.2f} | {row['positives']} | {intervals} |"
    )


def stopping(width: float, folder: Path, repeats: int, jobs: int) -> None:
    """How often the interval holds the truth when one stops as soon as it is narrow enough."""
    print(f"\nf1 until a width of {width}, at most {max(BUDGETS)} labels, {repeats} repeats\n")
    print("| pool | reached | median labels | covered |\n|---|---|---|---|")
    for known in known_pools(folder):
        pool = hs.Pool(known.scores, known.predictions)
        experiment = plan(pool, known.labels, "f1", ["assisted"], BUDGETS, 1)[0]
        found = repeated(run_until, experiment, repeats, jobs, hs.Width(width))
        truth = float(experiment.truth[0])
        inside = (found[:, 1] <= truth) & (truth <= found[:, 2])
        print(
            f"| {known.name} | {found[:, 4].mean():.0%} | {np.median(found[:, 3]):.0f} | "
            f"{inside.mean():.1%} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pools", type=Path)
    parser.add_argument("--measures", default="f1,precision,recall,accuracy")
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--stop", type=float)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.stop is not None:
        stopping(given.stop, given.pools, given.repeats, given.jobs)
        return
    measures = given.measures.split(",")
    rows = {name: table(name, given.pools, given.repeats, given.jobs) for name in measures}
    if given.json is not None:
        given.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
