"""Planned against measured numbers of labels, on the pools of the paper.

python bench/plan.py FOLDER [REPEATS] [NAME …]     FOLDER holds the seven pools
python bench/plan.py fresh [REPEATS] [NAME …]      pools made here, that no constant was set on
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

import haystat as hs
from calibration_generated import Classes, classifiers, scored
from haystat import designs, measures
from haystat.experiments.labelled_pool import read_pool
from haystat.experiments.repeat import advance
from haystat.loop.estimates import estimate_from
from haystat.loop.ledger import Ledger
from haystat.planning.plan import WORLDS, interval_widths
from haystat.planning.rehearsal import Rehearsal, rehearse
from haystat.planning.worlds import draw_worlds
from haystat.pool.problem import pose

PAPER = ("abt-buy-svm", "dblp-acm-svm-small", "restaurant-svm", "tweets100k-svm")
TABLES = ("mammography", "kdd-smtp", "covtype-cottonwood")
SYSTEMS = ("logreg", "gbm", "iforest")
LEAST_F1 = 0.05
WIDTHS = (0.3, 0.2, 0.1, 0.05)
INTERVALS = ("anytime", "fixed")
CAP, BATCH, LEVEL = 3000, 50, 0.95


def pools(folder: Path) -> Iterator[tuple[str, hs.Pool, np.ndarray]]:
    """Name, pool and labels of every system with some F1."""
    for name in PAPER:
        data = read_pool(folder / f"{name}.h5")
        yield name, data.pool, np.asarray(data.labels).ravel().astype(int)
    for name in TABLES:
        frame = pd.read_parquet(folder / f"{name}.parquet")
        label = frame.label.to_numpy().astype(int)
        for system in SYSTEMS:
            predicted = frame[f"pred_{system}"].to_numpy().astype(int)
            if 2 * (predicted @ label) / (predicted.sum() + label.sum()) > LEAST_F1:
                pool = hs.Pool(frame[f"score_{system}"].to_numpy(), predicted)
                yield f"{name} {system}", pool, label


def fresh() -> Iterator[tuple[str, hs.Pool, np.ndarray]]:
    """Generated classes, and classifiers that saw other items of them."""
    for classes in (Classes(60_000, 0.01, 1.5, 0.002), Classes(60_000, 0.1, 0.7, 0.002)):
        for name in classifiers():
            scores, predicted, label = scored(classes, name)
            yield f"{name}, {classes.share:.0%} positive", hs.Pool(scores, predicted), label


def reached(run: Rehearsal) -> np.ndarray:
    """Labels for each interval and width, (2, W); infinite beyond the cap."""
    parts = [
        Rehearsal(run.n_labels, run.widths[:, [i]], run.last, None, run.labelled)
        for i in range(len(INTERVALS))
    ]
    return np.array([[part.labels_for(width) for width in WIDTHS] for part in parts])


def both_widths(estimate: hs.Estimate) -> np.ndarray:
    return np.concatenate([interval_widths(estimate, name) for name in INTERVALS])


def planned(pool: hs.Pool) -> np.ndarray:
    """Medians over the worlds, (2, W)."""
    problem = pose(pool, measures.resolve("f1").bind(pool.schema))
    rng = np.random.default_rng(0)
    run = partial(
        rehearse,
        problem,
        designs.resolve("assisted"),
        width=min(WIDTHS),
        most=CAP,
        level=LEVEL,
        widths=both_widths,
    )
    worlds = draw_worlds(problem, WORLDS, rng)
    found = [reached(run(world, int(rng.integers(2**62)))) for world in worlds]
    return np.quantile(found, 0.5, axis=0, method="inverted_cdf")


def measured(pool: hs.Pool, label: np.ndarray, repeats: int) -> np.ndarray:
    """Medians over evaluations that know the labels, looked at after every batch, (2, W)."""
    problem = pose(pool, measures.resolve("f1").bind(pool.schema))
    found = np.full((repeats, len(INTERVALS), len(WIDTHS)), np.inf)
    for repeat in range(repeats):
        candidates = pool.candidates(problem.cells, seed=repeat)
        ledger = Ledger(problem, designs.resolve("assisted"), candidates, repeat)
        for budget in range(BATCH, min(CAP, pool.size) + 1, BATCH):
            advance(ledger, lambda items: label[items].tolist(), budget, BATCH)
            estimate = estimate_from(pool, ledger, problem.measure, LEVEL)
            narrow = both_widths(estimate)[:, None] <= np.array(WIDTHS)
            first = narrow & np.isinf(found[repeat])
            found[repeat][first] = ledger.n_labels
            if narrow.all():
                break
    return np.quantile(found, 0.5, axis=0, method="inverted_cdf")


def agree(plan: float, measure: float) -> bool:
    """Within a factor of 2, as far as the cap lets one see; both beyond the cap agree."""
    low, high = min(plan, measure), min(max(plan, measure), CAP)
    return bool(np.isinf(low) or high <= 2 * low)


def main(source: str, repeats: int, names: list[str]) -> None:
    right: dict[str, list[bool]] = {name: [] for name in INTERVALS}
    strict: dict[str, list[bool]] = {name: [] for name in INTERVALS}
    beyond = dict.fromkeys(INTERVALS, 0)
    heads = " | ".join(f"{name} {width}" for name in INTERVALS for width in WIDTHS)
    print(f"| pool | {heads} |\n|---" + "|---" * len(WIDTHS) * len(INTERVALS) + "|")
    for name, pool, label in fresh() if source == "fresh" else pools(Path(source)):
        if names and name not in names:
            continue
        plan, truth = planned(pool), measured(pool, label, repeats)
        cells = []
        for kind, *row in zip(INTERVALS, plan, truth, strict=True):
            for p, m in zip(*row, strict=True):
                ok = agree(p, m)
                right[kind].append(ok)
                strict[kind].append(ok and np.isinf(p) == np.isinf(m))
                beyond[kind] += bool(np.isinf(min(p, m)))
                cells.append(f"{_text(p)} / {_text(m)}{'' if ok else ' *'}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    for kind in INTERVALS:
        n = len(right[kind])
        print(
            f"{kind}: {sum(right[kind])} of {n} within a factor of 2, {sum(strict[kind])} if one "
            f"of them beyond {CAP} labels counts as wrong; both are beyond in {beyond[kind]}"
        )


def _text(n: float) -> str:
    return f"> {CAP}" if np.isinf(n) else f"{n:.0f}"


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20, sys.argv[3:])
