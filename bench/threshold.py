"""Certified thresholds beside SUPG and BARGAIN: how often they miss, and what they keep.

    python bench/threshold.py --repeats 200
    python bench/threshold.py --repeats 20 --kinds shared --largest 100000 --jobs 2

Every method gets the same number of labels. A cut that was certified and does not have what it
claims is a miss. `kept` is what it keeps of the other measure (recall where precision is required,
precision where recall is), relative to the best cut of the pool; a run without a cut, or with one
that misses, keeps nothing and counts as 0.01 in the geometric mean. Pools whose best cut that
meets the requirement finds less than 1% of the positives are left out of the mean.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import binom

import haystat as hs
from calibration_pools import Known
from decision_runs import parser_of, repeated, texts, two_class_pools
from threshold_rivals import RIVALS

FLOOR = 0.01
ALLOWED = 0.05
NEEDS = ("precision=0.8", "precision=0.95", "recall=0.5", "recall=0.8")


@dataclass(frozen=True)
class Task:
    """One requirement on one pool at one number of labels."""

    known: Known
    need: str
    target: float
    budget: int


def main() -> None:
    """Measure and print."""
    args = _arguments()
    rows: list[dict[str, Any]] = []
    for known in two_class_pools(args):
        for task in _tasks(known, args.needs, args.budgets):
            rows += [row for part in repeated(_run, task, args) for row in part]
        print(f"# {known.kind} {known.name}", flush=True)
    _show(rows)
    if args.out:
        args.out.write_text(json.dumps(rows))


def _arguments() -> argparse.Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--needs", type=texts, default=list(NEEDS))
    parser.add_argument(
        "--budgets", type=lambda text: [int(n) for n in text.split(",")], default=[300, 1000]
    )
    parser.add_argument("--out", type=Path, help="JSON file for all runs")
    return parser.parse_args()


def _tasks(known: Known, needs: list[str], budgets: list[int]) -> Iterator[Task]:
    for need in needs:
        name, _, target = need.partition("=")
        for budget in budgets:
            if budget <= len(known.labels) // 4:
                yield Task(known, name, float(target), budget)


def _run(task: Task, repeat: int) -> list[dict[str, Any]]:
    """What every method finds in one repeat."""
    known, labels = task.known, task.known.labels
    scores = known.scores
    proxy = scores if scores.min() >= 0 and scores.max() <= 1 else expit(scores)
    best = _best(scores, labels, task)
    rows = []
    for method in ("haystat", "SUPG", "BARGAIN"):
        if method == "haystat":
            cut, on = _haystat(task, repeat), scores
        else:
            rival = RIVALS[method, task.need]
            rng = np.random.default_rng([repeat, task.budget])
            cut, on = rival(proxy, _oracle(labels), task.target, task.budget, rng), proxy
        row = {"pool": f"{known.kind} {known.name}", "need": f"{task.need} {task.target:g}"}
        rows.append(row | {"labels": task.budget, "method": method, "best": best})
        rows[-1] |= _judged(on, labels, cut, task)
    return rows


def _haystat(task: Task, repeat: int) -> float | None:
    need = {task.need: task.target}
    pool = hs.Pool(**task.known.arguments)
    evaluation = hs.Evaluation(pool, hs.measures.Threshold(**need), random_state=repeat)
    labels = task.known.labels
    evaluation.run(lambda items: labels[np.asarray(items)], budget=task.budget)
    return evaluation.threshold(**need).threshold


def _oracle(labels: np.ndarray) -> Any:
    return lambda items: labels[items].astype(float)


def _judged(scores: np.ndarray, labels: np.ndarray, cut: float | None, task: Task) -> Any:
    if cut is None:
        return {"cut": None, "miss": False, "kept": 0.0}
    taken = scores >= cut
    precision = float(labels[taken].mean()) if taken.any() else 1.0
    recall = float(labels[taken].sum() / labels.sum())
    had, kept = (precision, recall) if task.need == "precision" else (recall, precision)
    return {"cut": cut, "miss": had < task.target, "kept": 0.0 if had < task.target else kept}


def _best(scores: np.ndarray, labels: np.ndarray, task: Task) -> float:
    """What the best cut of the pool that meets the requirement keeps; 0 if it is worth nothing."""
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.diff(scores[order]) != 0, True)
    hit, n = np.cumsum(labels[order])[last], np.flatnonzero(last) + 1
    precision, recall = hit / n, hit / labels.sum()
    had, kept = (precision, recall) if task.need == "precision" else (recall, precision)
    met = (had >= task.target) & (recall >= FLOOR)
    return float(kept[met].max(initial=0.0))


def _show(rows: list[dict[str, Any]]) -> None:
    """One line for each requirement, number of labels and method."""
    groups: dict[tuple[str, int, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        groups[row["need"], row["labels"], row["method"]].append(row)
    heads = ("requirement", "labels", "method", "missed", "none", "kept")
    print("{:16} {:>6} {:8} {:>7} {:>6} {:>6}  above".format(*heads))
    for (need, labels, method), members in sorted(groups.items()):
        missed = np.mean([row["miss"] for row in members])
        none = np.mean([row["cut"] is None for row in members])
        kept = [max(row["kept"] / row["best"], FLOOR) for row in members if row["best"] > 0]
        mean = np.exp(np.mean(np.log(kept))) if kept else np.nan
        above = ", ".join(_above(members)) or "-"
        print(f"{need:16} {labels:6} {method:8} {missed:7.1%} {none:6.0%} {mean:6.3f}  {above}")


def _above(members: list[dict[str, Any]]) -> Iterator[str]:
    """Pools that miss significantly more often than allowed."""
    by_pool: dict[str, list[bool]] = defaultdict(list)
    for row in members:
        by_pool[row["pool"]].append(row["miss"])
    for pool, missed in by_pool.items():
        if binom.sf(sum(missed) - 1, len(missed), ALLOWED) < 0.01:
            yield f"{pool} ({sum(missed)}/{len(missed)})"


if __name__ == "__main__":
    main()
