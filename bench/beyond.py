"""What goes beyond labelled classes with one system: errors and coverage, as quoted in the docs.

python bench/beyond.py [stochastic] [regression] [tails] [features] [several] [brier] [timing]
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

import haystat as hs
from haystat.measures import Accuracy, Brier, Difference, Recall

Make = Callable[[int], hs.Pool]
Answer = Callable[[np.ndarray, np.random.Generator], Any]


def errors(
    make: Make,
    answer: Answer,
    measure: Any,
    design: str,
    n: int,
    truth: float,
    repeats: int,
    reuse: dict[str, Any] | None = None,
    **options: Any,
) -> tuple[float, float]:
    """Mean squared error and coverage of 95% intervals, over evaluations with fresh orders."""
    square, covered = [], []
    for repeat in range(repeats):
        rng = np.random.default_rng([11, repeat])
        ev = hs.Evaluation(make(repeat), measure, design, random_state=repeat, **options)
        ev.run(lambda items, rng=rng: answer(np.array(items), rng), budget=n, batch_size=50)
        estimate = ev.estimate(**(reuse or {}))
        square.append((estimate.value - truth) ** 2)
        covered.append(estimate.interval[0] <= truth <= estimate.interval[1])
    return float(np.mean(square)), float(np.mean(covered))


def table(rows: Sequence[tuple[str, dict[str, tuple[float, float]]]], repeats: int) -> None:
    """Rows of (task, {design: (mse, coverage)}); ratios are passive over design."""
    names = list(rows[0][1])
    heads = " | ".join(f"{name}: MSE | covered" for name in names)
    print(f"| | {heads} | passive / {names[-1]} |\n|---" * 1 + "|---" * (2 * len(names) + 1) + "|")
    for task, found in rows:
        cells = " | ".join(f"{mse:.2e} | {cover:.1%}" for mse, cover in found.values())
        print(f"| {task} | {cells} | {found['passive'][0] / found[names[-1]][0]:.1f} |")
    print(f"({repeats} repeats)\n", flush=True)


def stochastic(repeats: int = 400) -> None:
    rng = np.random.default_rng(3)
    scores = rng.normal(-3.0, 1.5, 3000)
    chance = 1 / (1 + np.exp(0.3 - 1.2 * scores))
    predicted = (scores > -0.5).astype(int)
    hit, mean = np.mean(chance * predicted), np.mean((chance + predicted) / 2)
    rows = []
    for n in (500, 2000):
        found = {
            design: errors(
                lambda seed: hs.Pool(scores, predicted, strata=32, seed=seed),
                lambda items, rng: (rng.random(len(items)) < chance[items]).astype(int),
                "f1",
                design,
                n,
                hit / mean,
                repeats,
                oracle="stochastic",
            )
            for design in ("passive", "importance", "adaptive")
        }
        rows.append((f"F1, {n} answers", found))
    table(rows, repeats)


def heavy_tails() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Predictions, the system's own deviations, labels."""
    rng = np.random.default_rng(0)
    predicted = rng.normal(100, 4, 4000)
    scale = np.exp(rng.normal(-0.5, 0.4, 4000)) * np.where(rng.random(4000) < 0.05, 10, 1)
    deviation = 2 * scale * np.exp(rng.normal(0, 0.3, 4000))
    return predicted, deviation, predicted + scale * rng.standard_t(5, 4000)


def tails(repeats: int = 200) -> None:
    """Coverage of the mean squared error as labels grow."""
    predicted, deviation, label = heavy_tails()
    truth = float(np.mean((label - predicted) ** 2))
    for n in (300, 1200):
        for design in ("importance", "adaptive"):
            mse, covered = errors(
                lambda seed: hs.Pool(
                    predicted, classes=None, deviations=deviation, strata=32, seed=seed
                ),
                lambda items, _: label[items],
                "mse",
                design,
                n,
                truth,
                repeats,
            )
            print(f"mse, {n} labels, {design}: {mse:.2e}, covered {covered:.1%}", flush=True)


def regression(repeats: int = 200) -> None:
    predicted, deviation, label = heavy_tails()
    error = label - predicted
    mse = np.mean(error**2)
    truth = {
        "mae": np.mean(np.abs(error)),
        "mse": mse,
        "rmse": np.sqrt(mse),
        "r2": 1 - mse / np.var(label),
    }
    for given, title in ((deviation, "with deviations"), (None, "without")):
        rows = []
        for measure, value in truth.items():
            found = {
                design: errors(
                    lambda seed, given=given: hs.Pool(
                        predicted, classes=None, deviations=given, strata=32, seed=seed
                    ),
                    lambda items, _: label[items],
                    measure,
                    design,
                    300,
                    value,
                    repeats,
                )
                for design in ("passive", "importance", "adaptive")
            }
            rows.append((f"{measure}, {title}", found))
        table(rows, repeats)


def features(repeats: int = 200) -> None:
    x, y = make_classification(
        30_000,
        n_features=8,
        n_informative=5,
        n_redundant=1,
        weights=[0.985],
        class_sep=1.6,
        flip_y=0.002,
        random_state=1,
    )
    model = LogisticRegression(max_iter=500).fit(x[:10_000], y[:10_000])
    x, y = x[10_000:], y[10_000:]
    predicted = model.predict(x)
    truth = 2 * np.sum(predicted * y) / (predicted.sum() + y.sum())
    rows = []
    for method in ("kdtree", "hierarchical"):
        strata, parents = hs.strata_from_features(x, method, 64)
        found = {
            design: errors(
                lambda seed, s=strata, p=parents: hs.Pool(
                    predictions=predicted, strata=s, parents=p, seed=seed
                ),
                lambda items, _: y[items],
                "f1",
                design,
                500,
                truth,
                repeats,
            )
            for design in ("passive", "importance", "adaptive")
        }
        rows.append((f"F1, {method}", found))
    table(rows, repeats)


def several(repeats: int = 400) -> None:
    rng = np.random.default_rng(0)
    signal = rng.normal(-2.5, 1.6, 3000)
    y = (rng.random(3000) < 1 / (1 + np.exp(-1.5 * signal))).astype(int)
    scores = {"a": signal + rng.normal(0, 0.7, 3000), "b": signal + rng.normal(0, 1.2, 3000)}
    whole = hs.Pool(scores)
    later = hs.Pool({"b": scores["b"]}, strata=8)

    def truth(measure: Any, pool: hs.Pool) -> float:
        bound = measure.bind(pool.schema)
        outputs = pool.outputs(np.arange(3000))
        return float(bound.value(bound.risk(outputs, y, np.full(3000, 1 / 3000)))[0])

    both = lambda seed: hs.Pool(scores, strata=32, seed=seed)  # noqa: E731
    one = lambda seed: hs.Pool({"a": scores["a"]}, strata=32, seed=seed)  # noqa: E731
    tasks: list[tuple[str, int, Make, Any, hs.Pool, Any, dict[str, Any] | None]] = [
        (
            f"{measure.name} difference, 200 labels",
            200,  # at 300 all 282 items on which the systems differ are labelled
            both,
            Difference(measure, "a", "b"),
            whole,
            Difference(measure, "a", "b"),
            None,
        )
        for measure in (hs.measures.F1(), Accuracy())
    ]
    reuse = {"measure": "recall", "pool": later}
    title = "recall of b from labels for F1 of a"
    for n in (400, 1000):
        tasks.append((f"{title}, {n} labels", n, one, "f1", later, Recall(), reuse))
    rows = []
    for title, n, make, measure, pool, target, again in tasks:
        found = {
            design: errors(
                make,
                lambda items, _: y[items],
                measure,
                design,
                n,
                truth(target, pool),
                repeats,
                again,
            )
            for design in ("passive", "adaptive")
        }
        rows.append((title, found))
    table(rows, repeats)


def brier() -> None:
    """Asymptotic variance of the Brier score: proposals by cell moments against item by item."""
    rng = np.random.default_rng(0)
    scores = 1 / (1 + np.exp(-rng.normal(-3, 2, 50_000)))
    chance = scores**1.3
    y = (rng.random(50_000) < chance).astype(int)
    p = np.stack([1 - chance, chance], axis=1)
    loss = np.stack([scores**2, (1 - scores) ** 2], axis=1)
    rms = np.sqrt(np.sum(p * loss**2, axis=1))
    risk = np.mean(np.sum(p * loss, axis=1))
    best = np.mean(rms) ** 2 - risk**2
    uniform = np.mean(rms**2) - risk**2
    print("| strata | tr Σ by cells | tr Σ by items | loss | passive |\n|---|---|---|---|---|")
    for n_strata in (1, 4, 16, 64, 256):
        pool = hs.Pool(scores, strata=n_strata)
        mean_square = np.bincount(pool.stratum, weights=rms**2) / np.bincount(pool.stratum)
        cell = np.sqrt(mean_square)[pool.stratum]
        variance = np.mean(rms**2 / cell) * np.mean(cell) - risk**2
        print(
            f"| {pool.n_strata} | {variance:.3e} | {best:.3e} | {variance / best - 1:.2%} "
            f"| {uniform:.3e} |"
        )
    found = {
        n: errors(
            lambda seed, n=n: hs.Pool(scores, strata=n, seed=seed),
            lambda items, _: y[items],
            Brier(),
            "adaptive",
            500,
            float(np.mean((scores - y) ** 2)),
            100,
        )
        for n in (1, 16, 256)
    }
    print("measured, adaptive, 500 labels, 100 repeats (MSE, covered):", found, flush=True)


def timing() -> None:
    x = np.random.default_rng(0).normal(size=(1_000_000, 50)).astype(np.float32)
    for method in ("kdtree", "hierarchical"):
        start = time.perf_counter()
        hs.strata_from_features(x, method, 256)
        print(f"{method}: {time.perf_counter() - start:.1f} s", flush=True)


PARTS = {f.__name__: f for f in (stochastic, regression, tails, features, several, brier, timing)}

if __name__ == "__main__":
    for part in sys.argv[1:] or PARTS:
        print(f"## {part}")
        PARTS[part]()
