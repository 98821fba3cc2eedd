"""Failure rate of a system from a judge's scores and few labels, against prediction-powered rivals.

python bench/judges.py [--repeats 20] [--first 0] [--size 20000] [--only good,biased] [--json FILE]

Five generated judges score the same kind of pool, of which about 2 % are failures. At 100, 200 and
500 labels: root mean squared error and coverage of 95 % intervals of the default design
(prevalence, the judge as score), of PPI++ and of stratified PPI, both by their formulas, and of a
plain random sample. Every repeat is a fresh pool, and all methods see the same one; rivals, which
are quick, are drawn four times from it. The ratio of errors has a band that holds 95 % of what a
bootstrap over the pools gives.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import haystat as hs

Floats = NDArray[np.float64]
Found = tuple[float, float, float]  # value and ends of the interval
BUDGETS = (100, 200, 500)
Z = 1.959964
DRAWS = 4  # of a rival from each pool
STRATA = 10  # of stratified PPI, at quantiles of the score


def world(size: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats, NDArray[np.int64]]:
    """Length, topic, evidence of failure and whether it is one, (size,) each."""
    length, topic = rng.exponential(1.0, size), rng.integers(0, 4, size).astype(float)
    evidence = rng.normal(0.0, 1.5, size)
    risk = 1 / (1 + np.exp(-(evidence * 1.6 - 7.0 + 0.5 * length + 0.4 * (topic == 3))))
    return length, topic, evidence, (rng.random(size) < risk).astype(np.int64)


def _logistic(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)))


def good(length: Floats, topic: Floats, evidence: Floats, y: Any, rng: Any) -> Floats:
    """Sees the evidence through some noise, and is about calibrated."""
    return _logistic(1.5 * (evidence + rng.normal(0, 0.5, len(y))) - 5.0)


def biased(length: Floats, topic: Floats, evidence: Floats, y: Any, rng: Any) -> Floats:
    """Cries wolf about long answers and one topic, and is blind in another."""
    seen = np.where(topic == 2, 0.1, 1.0) * evidence
    return _logistic(1.2 * seen - 1.5 + 1.2 * length + 1.5 * (topic == 1))


def useless(length: Floats, topic: Floats, evidence: Floats, y: Any, rng: Any) -> Floats:
    """Says anything."""
    return np.asarray(rng.random(len(y)))


def drifting(length: Floats, topic: Floats, evidence: Floats, y: Any, rng: Any) -> Floats:
    """Good at first, then worse and worse."""
    share = np.linspace(1.0, -0.2, len(y))
    return _logistic(1.5 * (share * evidence + rng.normal(0, 0.5, len(y))) - 4.0)


def near_perfect(length: Floats, topic: Floats, evidence: Floats, y: Any, rng: Any) -> Floats:
    """Right but for one in two hundred."""
    wrong = rng.random(len(y)) < 0.005
    return np.clip(np.where(wrong, 1 - y, y) * 0.9 + 0.05 + rng.normal(0, 0.02, len(y)), 0, 1)


JUDGES: dict[str, Callable[..., Floats]] = {
    "good": good,
    "biased": biased,
    "useless": useless,
    "drifting": drifting,
    "near-perfect": near_perfect,
}


def plain(y: Any, score: Floats, n: int, rng: np.random.Generator) -> Found:
    """The share in a random sample, with Wilson's interval."""
    share = float(y[rng.choice(len(y), n, replace=False)].mean())
    centre = (share + Z**2 / (2 * n)) / (1 + Z**2 / n)
    half = Z / (1 + Z**2 / n) * np.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    return share, centre - half, centre + half


def powered(y: Floats, score: Floats, every: Floats) -> tuple[float, float]:
    """PPI++ of a mean: value and variance, from labels and scores of a sample and all scores.

    mean(y) + λ (mean of all scores - mean of the sample's), with the λ that minimises the
    estimated variance, cov(y, f) / ((1 + n / N) var(f)), within 0 and 1.
    """
    n, size = len(y), len(every)
    spread = every.var()
    covariance = float(np.cov(y, score)[0, 1]) if n > 1 else 0.0
    scale = np.clip(covariance / ((1 + n / size) * spread), 0, 1) if spread > 0 else 0.0
    value = y.mean() + scale * (every.mean() - score.mean())
    variance = (y - scale * score).var(ddof=1) / n + scale**2 * spread / size
    return float(value), float(variance)


def ppi(y: Any, score: Floats, n: int, rng: np.random.Generator) -> Found:
    """PPI++ from a random sample."""
    chosen = rng.choice(len(y), n, replace=False)
    value, variance = powered(y[chosen].astype(float), score[chosen], score)
    half = Z * np.sqrt(variance)
    return value, value - half, value + half


def stratified_ppi(y: Any, score: Floats, n: int, rng: np.random.Generator) -> Found:
    """PPI++ in each stratum of the score; labels go where the judge's own spread says."""
    edges = np.quantile(score, np.linspace(0, 1, STRATA + 1)[1:-1])
    stratum = np.searchsorted(edges, score, side="right")
    members = [np.flatnonzero(stratum == k) for k in range(STRATA)]
    members = [one for one in members if len(one) > 5]
    share = np.array([len(one) for one in members]) / sum(len(one) for one in members)
    spread = np.array([np.sqrt(np.mean(score[one] * (1 - score[one])) + 1e-4) for one in members])
    wanted = share * spread / (share * spread).sum()
    # Half by size, half by spread: where the judge errs, its spread alone would mislead.
    counts = np.maximum(np.round(n * (wanted + share) / 2), 3).astype(int)
    while counts.sum() > n:
        counts[counts.argmax()] -= 1
    value = variance = 0.0
    for one, weight, count in zip(members, share, counts, strict=True):
        chosen = rng.choice(one, min(count, len(one)), replace=False)
        found = powered(y[chosen].astype(float), score[chosen], score[one])
        value, variance = value + weight * found[0], variance + weight**2 * found[1]
    half = Z * np.sqrt(variance)
    return value, value - half, value + half


RIVALS = {"plain sample": plain, "PPI++": ppi, "stratified PPI": stratified_ppi}


def default(y: Any, score: Floats, seed: int) -> list[Found]:
    """The default design, looked at after each of the budgets."""
    ev = hs.Evaluation(hs.Pool(score, seed=seed), "prevalence", random_state=seed)
    found = []
    for before, budget in zip((0, *BUDGETS), BUDGETS, strict=False):
        for _ in range(before, budget, 50):
            ev.tell({query.item: int(y[query.item]) for query in ev.ask(50)})
        estimate = ev.estimate()
        found.append((float(estimate.value), *map(float, estimate.interval)))
    return found


def repeat(judge: str, size: int, seed: int) -> dict[tuple[str, int], Floats]:
    """Error, whether covered, and width of each draw, (3, draws), by method and budget."""
    rng = np.random.default_rng([7, seed, list(JUDGES).index(judge)])
    length, topic, evidence, y = world(size, rng)
    score = JUDGES[judge](length, topic, evidence, y, rng)
    truth = float(y.mean())
    every = {("haystat", n): [one] for n, one in zip(BUDGETS, default(y, score, seed), strict=True)}
    for name, rival in RIVALS.items():
        every |= {(name, n): [rival(y, score, n, rng) for _ in range(DRAWS)] for n in BUDGETS}
    found = {}
    for key, draws in every.items():
        value, low, high = np.array(draws).T
        found[key] = np.stack([value - truth, (low <= truth) & (truth <= high), high - low])
    return found


def ratio_band(own: Floats, other: Floats) -> tuple[float, float, float]:
    """Ratio of root mean squared errors (pools, draws) and its band, by pools drawn anew."""
    squares = np.stack([np.mean(own**2, axis=1), np.mean(other**2, axis=1)])
    pools = np.random.default_rng(0).integers(squares.shape[1], size=(1000, squares.shape[1]))
    drawn = np.sqrt(np.divide(*squares[:, pools].mean(axis=2)))
    return float(np.sqrt(np.divide(*squares.mean(axis=1)))), *np.quantile(drawn, [0.025, 0.975])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--size", type=int, default=20_000)
    parser.add_argument("--only", default=",".join(JUDGES))
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    rows = []
    print(f"| judge | labels | {' | '.join(['haystat', *RIVALS])} | haystat / best rival, band |")
    print("|---" * (len(RIVALS) + 4) + "|")
    for judge in given.only.split(","):
        seeds = range(given.first, given.first + given.repeats)
        runs = [repeat(judge, given.size, seed) for seed in seeds]
        for n in BUDGETS:
            errors, cells = {}, {}
            for name in ("haystat", *RIVALS):
                error, covered, width = np.stack([run[name, n] for run in runs], axis=1)
                errors[name] = error
                cells[name] = (float(np.sqrt(np.mean(error**2))), float(covered.mean()))
                rows.append(
                    {"judge": judge, "labels": n, "method": name, "rmse": cells[name][0]}
                    | {"coverage": cells[name][1], "width": float(np.median(width))}
                    | {"bias": float(error.mean())}
                )
            best = min("PPI++", "stratified PPI", key=lambda name: cells[name][0])
            ratio, low, high = ratio_band(errors["haystat"], errors[best])
            shown = " | ".join(f"{100 * e:.2f} ({c:.0%})" for e, c in cells.values())
            print(f"| {judge} | {n} | {shown} | {ratio:.2f} [{low:.2f}, {high:.2f}] |", flush=True)
    print(f"RMSE in percentage points (coverage of 95 %), {given.repeats} repeats")
    if given.json:
        given.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
