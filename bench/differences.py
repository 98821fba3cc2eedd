"""Which of two systems is better: error of the difference, and when it is told.

python bench/differences.py FOLDER [REPEATS]     FOLDER holds the Parquet pools
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

import haystat as hs
from haystat.measures import F1, Difference

POOLS = ("mammography", "covtype-cottonwood", "kdd-smtp")
SYSTEMS = ("logreg", "gbm")
DESIGNS = ("assisted", "adaptive", "passive")
BUDGETS = (300, 1000)
MOST = 2000  # labels until a comparison is given up


def read(path: Path, seed: int = 0) -> tuple[hs.Pool, np.ndarray]:
    """Two systems and the labels."""
    frame = pd.read_parquet(path)
    scores = {name: frame[f"score_{name}"].to_numpy() for name in SYSTEMS}
    predictions = {name: frame[f"pred_{name}"].to_numpy().astype(int) for name in SYSTEMS}
    return hs.Pool(scores, predictions, seed=seed), frame.label.to_numpy().astype(int)


def errors(path: Path, repeats: int) -> None:
    """MSE and coverage of the F1 difference at each budget."""
    pool, label = read(path)
    frame = hs.simulate(
        pool,
        label,
        measure=Difference(F1(), *SYSTEMS),
        designs=list(DESIGNS),
        budgets=list(BUDGETS),
        repeats=repeats,
        random_state=0,
    )
    rows = frame.set_index(["design", "budget"])
    for budget in BUDGETS:
        cells = []
        for design in DESIGNS:
            row = rows.loc[(design, budget)]
            void = f", {int(row.undefined)} undefined" if row.undefined else ""
            cells.append(f"{row.mse:.1e} | {row.coverage:.0%}{void}")
        print(f"| {path.stem}, {budget} | {' | '.join(cells)} |", flush=True)


def verdicts(path: Path, repeats: int) -> None:
    """How often a comparison that looks after every batch ends, where, and whether it is right."""
    labels, right = [], []
    for repeat in range(repeats):
        pool, label = read(path, seed=repeat)
        found = hs.compare(
            pool,
            oracle=lambda items, label=label: label[items],
            budget=MOST,
            design="assisted",
            random_state=repeat,
        )
        better = max(SYSTEMS, key=lambda name: _f1(path, name))
        if found.winner is not None:
            labels.append(found.n_labels)
            right.append(found.winner == better)
    median = f"{np.median(labels):.0f}" if labels else "–"
    wrong = len(right) - sum(right)
    print(f"| {path.stem} | {len(labels)} of {repeats} | {median} | {wrong} |", flush=True)


def _f1(path: Path, system: str) -> float:
    frame = pd.read_parquet(path, columns=["label", f"pred_{system}"]).astype(int)
    label, predicted = frame.label, frame[f"pred_{system}"]
    return float(2 * (label @ predicted) / (label.sum() + predicted.sum()))


def main(folder: Path, repeats: int) -> None:
    heads = " | ".join(f"{design}: MSE | covered" for design in DESIGNS)
    print(f"| pool, labels | {heads} |\n|---" + "|---" * 2 * len(DESIGNS) + "|")
    for name in POOLS:
        errors(folder / f"{name}.parquet", repeats)
    print("\n| pool | told apart | labels | wrong |\n|---|---|---|---|")
    for name in POOLS:
        verdicts(folder / f"{name}.parquet", repeats)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 100)
