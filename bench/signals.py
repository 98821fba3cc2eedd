"""What signals are worth: the error of F1 with them over that without.

python bench/signals.py [--repeats 200] [--only kdd-smtp] [--kinds systems,together,noise,…]
python bench/signals.py --kinds sweep,blind,shared,features [--repeats 200]

systems: every pool of the shared folder with several systems, each of them evaluated with the
others as signals; with --unaided 0.5,0.125 also by designs that spread another share of the labels
as if there were no signals. together: each of them evaluated in one pool of all, without signals.
noise, reversed, ten: the same pools with one signal that knows nothing, with the other systems
turned upside down, with ten signals that know nothing. time: of a stage.
sweep: pools whose tail is empty, with a judge that flags 90% of the positives and 0.2% of the
others. blind: generated pools whose judge sees nothing of one kind. shared: pools in which a
fifth of the positives hides from the score, and from a signal or not. features: generated pools,
with a signal that is fitted to features or to the text of pairs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd

import haystat as hs
from haystat.designs.assisted import Assisted

SHARED = Path(__file__).parents[2] / "shared" / "pools"
BUDGETS = (500, 1000, 2000)
MOST = 10.0  # at which a ratio of errors is counted
EMPTY_TAILS = ("dblp-acm", "restaurant", "abt-buy")
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
TOGETHER = "together"


def evaluated(only: str) -> Iterator[tuple[str, pd.DataFrame, str]]:
    """Pools with several systems, and each of these."""
    for path in sorted(SHARED.glob("*.parquet")):
        frame = pd.read_parquet(path)
        for own in (str(c)[6:] for c in frame if str(c).startswith("score_")):
            if any(part in f"{path.stem} {own}" for part in only.split(",")):
                yield f"{path.stem} {own}", frame, own


def with_signals(frame: pd.DataFrame, own: str, signals: Signals) -> hs.Pool:
    """A pool of one system, and what helps."""
    scores = frame[f"score_{own}"].to_numpy(float)
    return hs.Pool(
        {own: scores}, {own: frame[f"pred_{own}"].to_numpy(int)}, signals=signals or None
    )


def of_all(frame: pd.DataFrame, own: str) -> hs.Pool:
    """A pool of all systems, the one that is evaluated first."""
    names = [own, *systems(frame, own)]
    scores, hard = (
        {name: frame[f"{kind}_{name}"].to_numpy() for name in names} for kind in ("score", "pred")
    )
    return hs.Pool(scores, {name: values.astype(int) for name, values in hard.items()})


def measured(
    pool: hs.Pool, own: str, labels: pd.Series, repeats: int, design: Assisted
) -> pd.DataFrame:
    """Errors, coverage and widths at the budgets."""
    options = {"designs": [design], "budgets": list(BUDGETS), "repeats": repeats}
    measure = hs.measures.F1(system=own)
    return hs.simulate(pool, labels.to_numpy(int), measure=measure, random_state=0, **options)


def compare(
    kinds: dict[str, tuple[Callable[[pd.DataFrame, str], Signals] | None, Assisted]],
    only: str,
    repeats: int,
) -> None:
    """A line for each system and kind of signals and design, and the means."""
    ratios: dict[str, list[np.ndarray]] = {kind: [] for kind in kinds}
    covered: dict[str, list[np.ndarray]] = {kind: [] for kind in ["without", *kinds]}
    for name, frame, own in evaluated(only):
        one, labels = with_signals(frame, own, {}), frame["label"]
        without = measured(one, own, labels, repeats, Assisted())
        covered["without"].append(without.coverage.to_numpy())
        print(f"{name}\n  without       {_line(without)}", flush=True)
        for kind, (signals, design) in kinds.items():
            several = signals is None
            pool = of_all(frame, own) if several else with_signals(frame, own, signals(frame, own))
            found = measured(pool, own, labels, repeats, design)
            old, new = (np.maximum(part.mse.to_numpy(), SMALLEST) for part in (without, found))
            beyond = found.mse_low.to_numpy() > 1.15 * without.mse_high.to_numpy()
            ratios[kind].append(np.clip(old / new, 1 / MOST, MOST))
            covered[kind].append(found.coverage.to_numpy())
            times = " ".join(f"{r:.2f}" for r in old / new)
            worse = "  worse beyond its band" if beyond.any() else ""
            print(f"  {kind:13s} {_line(found)}  lower by {times}{worse}", flush=True)
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
    """Mean processor time of a stage of 50 labels, answers taken and items chosen, at 500 to 1,500.

    With signals and without in turn, so that what else runs on the machine slows both alike.
    """
    for name, frame, own in evaluated(only):
        labels = frame["label"].to_numpy(int)
        scores, hard = frame[f"score_{own}"].to_numpy(float), frame[f"pred_{own}"].to_numpy(int)
        evaluations, spent = [], np.zeros((20, 2))
        for signals in ({}, dict(list(systems(frame, own).items())[:2])):
            pool = hs.Pool(scores, hard, signals=signals or None)
            evaluations.append(hs.Evaluation(pool, "f1", random_state=0))
            evaluations[-1].run(lambda items: labels[items], budget=500, batch_size=50)  # noqa: B023
        asked = [evaluation.ask(50) for evaluation in evaluations]
        for row in spent:
            for k, evaluation in enumerate(evaluations):
                answers = {query.item: int(labels[query.item]) for query in asked[k]}
                begin = time.process_time()
                evaluation.tell(answers)
                asked[k] = evaluation.ask(50)
                row[k] = 1e3 * (time.process_time() - begin)
        one, two = spent.mean(axis=0)
        print(f"{name}: a stage takes {one:.1f} ms, with two signals {two:.1f} ms, ", end="")
        print(f"{two / one:.2f} times as long, at most {spent[:, 1].max():.1f} ms", flush=True)


def judge_of(labels: np.ndarray, sees: np.ndarray | float, seed: int) -> np.ndarray:
    """Verdicts of a judge that flags a share of the positives, and 0.2% of the others."""
    rng = np.random.default_rng([seed, 1])  # not that of the pool
    return rng.random(len(labels)) < np.where(labels == 1, sees, 0.002)


def sweep(only: str, repeats: int, n_labels: int = 1000) -> None:
    """Widths with a sweep over those without, and coverage of both and of the one beside it."""
    for path in sorted(SHARED.glob("*.h5")):
        if only not in path.stem or not any(name in path.stem for name in EMPTY_TAILS):
            continue
        with h5py.File(path) as file:
            scores, labels = file["scores"][:].ravel(), file["labels"][:].ravel().astype(int)
            given = file["preds"][:].ravel() if "preds" in file else scores >= 0
        hard = given.astype(int)
        truth = 2 * labels[hard == 1].sum() / (hard.sum() + labels.sum())
        rows = []
        for seed in range(repeats):
            judge = judge_of(labels, 0.9, seed)
            found = [
                evaluate(hs.Pool(scores, hard, signals=signals), labels, n_labels, seed)
                for signals in (None, {"judge": judge})
            ]
            told = found[1].sweep
            beside = found[1] if told is None else told.other
            ends = np.array([one.interval for one in (*found, beside)])
            inside = (ends[:, 0] <= truth) & (truth <= ends[:, 1])
            rows.append([*np.diff(ends).ravel(), *inside, told is not None and told.holds])
        _print_sweep(path.stem, np.array(rows, dtype=float))


def _print_sweep(name: str, rows: np.ndarray) -> None:
    width, covered = np.median(rows[:, :3], axis=0), rows[:, 3:6].mean(axis=0)
    print(f"{name}: width {width[0]:.3f} without, {width[1]:.3f} with a sweep, ", end="")
    print(f"{width[1] / width[0]:.2f} of it; without its assumption {width[2]:.3f}; ", end="")
    print(f"covered {covered[0]:.0%}, {covered[1]:.0%}, {covered[2]:.0%}; ", end="")
    print(f"not doubted in {rows[:, 6].mean():.0%}", flush=True)


def blind(repeats: int, n_labels: int = 1000) -> None:
    """Generated pools with hidden positives: a good judge, and one that sees nothing of a kind."""
    for name, of_kind in (("good", 0.9), ("blind to 30%", 0.0)):
        rows = []
        for seed in range(repeats):
            scores, labels, kind = hidden_pool(seed)
            judge = judge_of(labels, np.where(kind == "b", of_kind, 0.9), seed)
            pool = hs.Pool(scores, threshold=0.0, columns={"kind": kind}, signals={"judge": judge})
            found = evaluate(pool, labels, n_labels, seed)
            hard = scores >= 0
            truth = 2 * labels[hard].sum() / (hard.sum() + labels.sum())
            (low, high), told = found.interval, found.sweep
            beside = told.other.interval if told is not None else found.interval
            doubted = told is None or bool(told.doubt)
            rows.append(
                [low <= truth <= high, beside[0] <= truth <= beside[1], doubted, high - low]
            )
        covered, other, doubted, width = np.mean(rows, axis=0)
        print(f"judge {name}: covered {covered:.0%}, beside it {other:.0%}, ", end="")
        print(f"doubted in {doubted:.0%}, mean width {width:.3f}", flush=True)


def hidden_pool(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """30,000 items, 80 positives, a quarter of them anywhere among the negatives; two kinds."""
    rng = np.random.default_rng(seed)
    labels = (np.arange(30_000) < 80).astype(int)
    lost = rng.random(30_000) < 0.25
    seen = (labels == 1) & ~lost
    scores = np.where(seen, rng.normal(1.5, 1, 30_000), rng.normal(-4, 1.2, 30_000))
    return scores, labels, rng.choice(["a", "b"], 30_000, p=[0.7, 0.3])


def shared(repeats: int) -> None:
    """A second model that sees all positives, and those that are blind where the first is."""
    found: dict[tuple[str, int], list[list[float]]] = {}
    for seed in range(repeats):
        scores, labels, given = blind_spots(seed)
        hard = scores >= 0
        truth = 2 * labels[hard].sum() / (hard.sum() + labels.sum())
        for name, signals in given.items():
            pool = hs.Pool(scores, threshold=0.0, signals=signals)
            evaluation = hs.Evaluation(pool, "f1", random_state=seed)
            for n_labels in BUDGETS:
                told = evaluation.run(lambda i: labels[i], budget=n_labels, batch_size=50)  # noqa: B023
                low, high = told.interval
                row = [low <= truth <= high, (told.value - truth) ** 2, high - low]
                found.setdefault((name, n_labels), []).append(row)
    for (name, n_labels), rows in found.items():
        covered, error, width = np.mean(rows, axis=0)
        print(f"{name}, {n_labels} labels: covered {covered:.0%}, error {error:.1e}, ", end="")
        print(f"mean width {width:.3f}", flush=True)


def blind_spots(seed: int, size: int = 20_000) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    """Scores, labels and signals; 1.5% positives, a fifth of them scored like negatives."""
    rng = np.random.default_rng([seed, 5])
    labels = (rng.random(size) < 0.015).astype(int)
    seen = (labels == 1) & (rng.random(size) >= 0.2)

    def model(sees: np.ndarray) -> np.ndarray:
        return np.where(sees, rng.normal(1.5, 1.2, size), rng.normal(-3.5, 1.2, size))

    signals = {
        "no signal": None,
        "a model that sees all": {"model": model(labels == 1)},
        "a model that is blind, too": {"model": model(seen)},
        "a judge that is blind, too": {"judge": judge_of(seen.astype(int), 0.9, seed)},
    }
    return model(seen), labels, signals


def features(repeats: int) -> None:
    """Error, coverage and width with a signal that is fitted, over those without."""
    kinds = {
        "features": features_pool,
        "useless features": useless_pool,
        "text of pairs": pairs_pool,
    }
    for name, made in kinds.items():
        for n_labels in (500, 1000):
            rows = []
            for seed in range(repeats):
                scores, labels, signal = made(seed)
                hard = scores >= 0
                truth = 2 * labels[hard].sum() / (hard.sum() + labels.sum())
                for signals in (None, {"fitted": signal}):
                    pool = hs.Pool(scores, threshold=0.0, signals=signals)
                    found = evaluate(pool, labels, n_labels, seed)
                    low, high = found.interval
                    rows.append([(found.value - truth) ** 2, low <= truth <= high, high - low])
            by = np.array(rows, dtype=float).reshape(repeats, 2, 3).mean(axis=0)
            print(
                f"{name}, {n_labels} labels: error {by[0, 0]:.1e} without, {by[1, 0]:.1e} ", end=""
            )
            print(f"with it, lower by {by[0, 0] / by[1, 0]:.1f}; covered {by[0, 1]:.0%}, ", end="")
            print(f"{by[1, 1]:.0%}; width {by[0, 2]:.3f}, {by[1, 2]:.3f}", flush=True)


def features_pool(seed: int) -> tuple[np.ndarray, np.ndarray, Any]:
    """20,000 items with six features, of which three tell; a quarter of the positives are lost."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20_000, 6))
    labels = (1.2 * X[:, :3].sum(axis=1) + rng.normal(0, 0.5, 20_000) > 5).astype(int)
    return _lost(labels, rng), labels, hs.signal_from_features(X)


def useless_pool(seed: int) -> tuple[np.ndarray, np.ndarray, Any]:
    """The same with six features that tell nothing."""
    scores, labels, _ = features_pool(seed)
    noise = np.random.default_rng(seed + 99).normal(size=(20_000, 6))
    return scores, labels, hs.signal_from_features(noise)


def pairs_pool(seed: int) -> tuple[np.ndarray, np.ndarray, Any]:
    """20,000 pairs of names of four words; matches differ in one; a quarter of them are lost."""
    rng = np.random.default_rng(seed)
    words = np.array([f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "lmnrst"])
    labels = (rng.random(20_000) < 0.01).astype(int)
    left = rng.choice(words, (20_000, 4))
    right = np.where(labels[:, None] == 1, left, rng.choice(words, (20_000, 4)))
    right[:, 3] = rng.choice(words, 20_000)
    texts = {"name_l": map(" ".join, left), "name_r": map(" ".join, right)}
    frame = pd.DataFrame({name: list(values) for name, values in texts.items()})
    return _lost(labels, rng), labels, hs.signal_from_text(frame, ["name_l", "name_r"])


def _lost(labels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Scores that put a quarter of the positives among the negatives."""
    lost = rng.random(len(labels)) < 0.25
    top = rng.normal(1, 1, len(labels)) - 4 * lost
    return np.where(labels == 1, top, rng.normal(-3, 1, len(labels)))


def evaluate(pool: Any, labels: np.ndarray, n_labels: int, seed: int) -> hs.Estimate:
    """The estimate of F1 from so many labels."""
    evaluation = hs.Evaluation(pool, "f1", random_state=seed)
    return evaluation.run(lambda items: labels[items], budget=n_labels, batch_size=100)


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--only", default="")
    parser.add_argument("--kinds", default="systems,together,noise,reversed,ten,time")
    parser.add_argument("--unaided", default="")
    given = parser.parse_args()
    kinds = given.kinds.split(",")
    compared: dict[str, Any] = {k: (KINDS[k], Assisted()) for k in kinds if k in KINDS}
    if TOGETHER in kinds:
        compared[TOGETHER] = (None, Assisted())
    for share in filter(None, given.unaided.split(",")):
        compared[f"unaided {share}"] = (systems, Assisted(unaided=float(share)))
    if compared:
        compare(compared, given.only, given.repeats)
    if "time" in kinds:
        stage_time(given.only)
    if "sweep" in kinds:
        sweep(given.only, given.repeats)
    if "blind" in kinds:
        blind(given.repeats)
    if "shared" in kinds:
        shared(given.repeats)
    if "features" in kinds:
        features(given.repeats)


if __name__ == "__main__":
    main()
