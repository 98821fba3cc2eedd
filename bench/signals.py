"""What signals are worth: the error of F1 with them over that without.

python bench/signals.py [--repeats 200] [--only kdd-smtp] [--kinds systems,noise,reversed,ten,time]

systems: every pool of the shared folder with several systems, each of them evaluated with the
others as signals. noise, reversed, ten: the same pools with one signal that knows nothing, with
the other systems turned upside down, with ten signals that know nothing. time: of a stage.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

import haystat as hs

SHARED = Path(__file__).parents[2] / "shared" / "pools"
BUDGETS = (500, 1000, 2000)
MOST = 10.0  # at which a ratio of errors is counted
SMALLEST = 1e-9  # squared error that is as good as none
Signals = dict[str, np.ndarray]


def systems(frame: pd.DataFrame, own: str) -> Signals:
    """The scores of the other systems."""
    names = [str(c)[6:] for c in frame if str(c).startswith("score_")]
    return {name: frame[f"score_{name}"].to_numpy(float) for name in names if name != own}


def noise(frame: pd.DataFrame, own: str) -> Signals:
    """One signal that knows nothing."""
    return {"noise": np.random.default_rng(1).normal(size=len(frame))}


def upside_down(frame: pd.DataFrame, own: str) -> Signals:
    """What the others say, turned round."""
    return {name: -values for name, values in systems(frame, own).items()}


def ten(frame: pd.DataFrame, own: str) -> Signals:
    """Ten signals that know nothing."""
    rng = np.random.default_rng(2)
    return {f"noise {k}": rng.normal(size=len(frame)) for k in range(10)}


KINDS: dict[str, Callable[[pd.DataFrame, str], Signals]] = {
    "systems": systems,
    "noise": noise,
    "reversed": upside_down,
    "ten": ten,
}


def evaluated(only: str) -> Iterator[tuple[str, pd.DataFrame, str]]:
    """Pools with several systems, and each of these."""
    for path in sorted(SHARED.glob("*.parquet")):
        frame = pd.read_parquet(path)
        for own in (str(c)[6:] for c in frame if str(c).startswith("score_")):
            if any(part in f"{path.stem} {own}" for part in only.split(",")):
                yield f"{path.stem} {own}", frame, own


def measured(frame: pd.DataFrame, own: str, signals: Signals, repeats: int) -> pd.DataFrame:
    """Errors, coverage and widths at the budgets."""
    scores = frame[f"score_{own}"].to_numpy(float)
    predictions = frame[f"pred_{own}"].to_numpy(int)
    pool = hs.Pool(scores, predictions, signals=signals or None)
    labels = frame["label"].to_numpy(int)
    options = {"designs": ["assisted"], "budgets": list(BUDGETS), "repeats": repeats}
    return hs.simulate(pool, labels, measure="f1", random_state=0, **options)


def compare(kinds: list[str], only: str, repeats: int) -> None:
    """A line for each system, and the means."""
    ratios: dict[str, list[np.ndarray]] = {kind: [] for kind in kinds}
    covered: dict[str, list[np.ndarray]] = {kind: [] for kind in ["without", *kinds]}
    for name, frame, own in evaluated(only):
        without = measured(frame, own, {}, repeats)
        covered["without"].append(without.coverage.to_numpy())
        print(f"{name}\n  without   {_line(without)}", flush=True)
        for kind in kinds:
            found = measured(frame, own, KINDS[kind](frame, own), repeats)
            old, new = (np.maximum(part.mse.to_numpy(), SMALLEST) for part in (without, found))
            beyond = found.mse_low.to_numpy() > 1.15 * without.mse_high.to_numpy()
            ratios[kind].append(np.clip(old / new, 1 / MOST, MOST))
            covered[kind].append(found.coverage.to_numpy())
            times = " ".join(f"{r:.2f}" for r in old / new)
            worse = "  worse beyond its band" if beyond.any() else ""
            print(f"  {kind:9s} {_line(found)}  lower by {times}{worse}", flush=True)
    for kind in kinds:
        logs = np.log(ratios[kind])
        by_budget = " ".join(f"{r:.2f}" for r in np.exp(logs.mean(axis=0)))
        print(f"{kind}: error lower by {np.exp(logs.mean()):.2f} ({by_budget} by budget), ", end="")
        print(f"least {np.exp(logs.min()):.2f}, covered {np.mean(covered[kind]):.1%}", end=" ")
        print(f"(without signals {np.mean(covered['without']):.1%})")


def _line(found: pd.DataFrame) -> str:
    mse = " ".join(f"{v:.1e}" for v in found.mse)
    covered = " ".join(f"{v:.0%}" for v in found.coverage)
    width = " ".join(f"{v:.3f}" for v in found.median_width)
    return f"error {mse}  covered {covered}  width {width}"


def stage_time(only: str) -> None:
    """Processor time of a stage of 50 labels, answers taken and items chosen."""
    for name, frame, own in evaluated(only):
        labels = frame["label"].to_numpy(int)
        row = []
        for signals in ({}, dict(list(systems(frame, own).items())[:2])):
            scores, hard = frame[f"score_{own}"].to_numpy(float), frame[f"pred_{own}"].to_numpy(int)
            pool = hs.Pool(scores, hard, signals=signals or None)
            evaluation = hs.Evaluation(pool, "f1", random_state=0)
            evaluation.run(lambda items: labels[items], budget=500, batch_size=50)  # noqa: B023
            spent = []
            queries = evaluation.ask(50)
            for _ in range(20):
                answers = {query.item: int(labels[query.item]) for query in queries}
                begin = time.process_time()
                evaluation.tell(answers)
                queries = evaluation.ask(50)
                spent.append(time.process_time() - begin)
            row.append(1e3 * float(np.median(spent)))
        print(f"{name}: a stage takes {row[0]:.1f} ms, with two signals {row[1]:.1f} ms")


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--only", default="")
    parser.add_argument("--kinds", default="systems,noise,reversed,ten,time")
    given = parser.parse_args()
    kinds = given.kinds.split(",")
    if compared := [kind for kind in kinds if kind in KINDS]:
        compare(compared, given.only, given.repeats)
    if "time" in kinds:
        stage_time(given.only)


if __name__ == "__main__":
    main()
