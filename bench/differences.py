"""Which of two systems is better: error of the difference, and when it is told.

python bench/differences.py FOLDER [REPEATS]     FOLDER holds the Parquet pools
python bench/differences.py equal [REPEATS]      generated pairs of systems that are equally good
python bench/differences.py all [REPEATS]        F1 of all systems of the shared pools at once
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd

import haystat as hs
from haystat.measures import F1, Difference, Differences, ForSystems

SHARED = Path(__file__).parents[2] / "shared" / "pools"
LARGEST = 1_200_000  # items of a pool whose systems are all evaluated at once
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
    return f1(frame[f"pred_{system}"].to_numpy(), frame.label.to_numpy())


def f1(predicted: np.ndarray, label: np.ndarray) -> float:
    return float(2 * (label @ predicted) / (label.sum() + predicted.sum()))


def equals(kind: str, size: int = 20_000) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """Scores and predictions of two systems, and labels; of 60 pools the most nearly equal pair."""
    best = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        signal = rng.normal(-4, 2, size)
        label = (rng.random(size) < 1 / (1 + np.exp(-1.2 * signal))).astype(int)
        a = signal + rng.normal(0, 1, size)
        b = a if kind == "two thresholds" else signal + rng.normal(0, 1, size)
        low = 0.0 if kind == "twins" else -1.0
        first = (a > low).astype(int)
        cuts = [0.0] if kind == "twins" else np.linspace(-0.5, 4, 200)
        others = [(b > cut).astype(int) for cut in cuts]
        gaps = [abs(f1(first, label) - f1(other, label)) for other in others]
        best.append((min(gaps), [a, b], [first, others[int(np.argmin(gaps))]], label))
    return min(best, key=lambda found: found[0])[1:]


def equal(repeats: int) -> None:
    """How often systems that are equally good are told apart all the same."""
    print("| pair | told apart | truth inside when it ends |\n|---|---|---|")
    for kind in ("twins", "bold and shy", "two thresholds"):
        scores, predictions, label = equals(kind)
        truth = f1(predictions[0], label) - f1(predictions[1], label)
        told, inside = 0, 0
        for repeat in range(repeats):
            given = [dict(zip("ab", values, strict=True)) for values in (scores, predictions)]
            ev = hs.Evaluation(
                hs.Pool(*given, seed=repeat), Differences(F1()), "assisted", random_state=repeat
            )
            found = ev.run(lambda items: label[items], budget=1000, until=hs.Decided())  # noqa: B023
            low, high = found.anytime_interval
            told += low > 0 or high < 0
            inside += low <= truth <= high
        print(f"| {kind} | {told} of {repeats} | {inside} of {repeats} |", flush=True)


def every(repeats: int) -> None:
    """Root mean square error, coverage and mean width of each system's F1, from joint labels."""
    print("| pool, system | labels | error | covered | width |\n|---|---|---|---|---|")
    covered = []
    for path in sorted(SHARED.glob("*.parquet")):
        frame = pd.read_parquet(path)
        if len(frame) > LARGEST:
            continue
        names = [str(column)[6:] for column in frame if str(column).startswith("score_")]
        label = frame.label.to_numpy(int)
        scores = {name: frame[f"score_{name}"].to_numpy(float) for name in names}
        predicted = {name: frame[f"pred_{name}"].to_numpy(int) for name in names}
        truth = np.array([f1(predicted[name], label) for name in names])
        pool, measure = hs.Pool(scores, predicted), ForSystems(F1())
        runs = np.array([_joint(pool, measure, label, truth, repeat) for repeat in range(repeats)])
        for k, budget in enumerate(BUDGETS):
            for name, (error, inside, width) in zip(names, runs[:, k].mean(axis=0), strict=True):
                covered.append(inside)
                cells = f"{np.sqrt(error):.4f} | {inside:.0%} | {width:.3f}"
                print(f"| {path.stem} {name} | {budget} | {cells} |", flush=True)
    print(f"{len(covered)} cells of {repeats} runs: {np.mean(covered):.1%} covered", end=", ")
    print(f"worst {np.min(covered):.0%}")


def _joint(
    pool: hs.Pool, measure: ForSystems, label: np.ndarray, truth: np.ndarray, seed: int
) -> list[np.ndarray]:
    """Squared error, whether covered, and width of each system at the budgets, (S, 3) each."""
    evaluation, found = hs.Evaluation(pool, measure, random_state=seed), []
    for budget in BUDGETS:
        estimate = evaluation.run(lambda items: label[items], budget=budget, batch_size=50)
        low, high = np.array(estimate.intervals).T
        inside = (low <= truth) & (truth <= high)
        found.append(np.stack([(estimate.values - truth) ** 2, inside, high - low], axis=1))
    return found


def main(folder: Path, repeats: int) -> None:
    heads = " | ".join(f"{design}: MSE | covered" for design in DESIGNS)
    print(f"| pool, labels | {heads} |\n|---" + "|---" * 2 * len(DESIGNS) + "|")
    for name in POOLS:
        errors(folder / f"{name}.parquet", repeats)
    print("\n| pool | told apart | labels | wrong |\n|---|---|---|---|")
    for name in POOLS:
        verdicts(folder / f"{name}.parquet", repeats)


if __name__ == "__main__":
    n_repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    kinds = {"equal": equal, "all": every}
    if sys.argv[1] in kinds:
        kinds[sys.argv[1]](n_repeats)
    else:
        main(Path(sys.argv[1]), n_repeats)
