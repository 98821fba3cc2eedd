"""How often 95% intervals hold the truth, and how wide they are, as quoted in docs/intervals.md.

python bench/interval_coverage.py [--repeats N] [--pools FOLDER] [PART ...]

Parts are stochastic, regression, several, and paper, which needs the folder of the paper's pools.
Every row is one design and budget: the coverage of the plain interval of the central limit theorem
and of ours, each with its median width over 2 x 1.96 x RMSE, the width that the actual error would
justify. Of a vector the component that is covered least. Estimates that are 0/0 are left out and
counted; `settled` counts evaluations in which every label that matters was known.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import haystat as hs
from haystat.experiments.repeat import Experiment, advance, oracle, seeds
from haystat.experiments.simulate import plan
from haystat.inference.estimate import Estimate
from haystat.loop.estimates import estimate_from
from haystat.loop.state import LEDGERS
from haystat.measures import F1, Accuracy, Difference, Recall, Several, Within
from haystat.measures.base import Measure

BUDGETS = (200, 500, 1000)
PAPER_BUDGETS = (500, 1000, 2000)
PAPER_POOLS = ("abt-buy-svm", "dblp-acm-svm-small", "restaurant-svm", "tweets100k-svm")
ROUNDING = 1e-12
HEAD = (
    "| task | design | labels | RMSE | plain: covered | width | ours: covered | width | "
    "below, above | 0/0 | settled |\n" + "|---" * 11 + "|"
)


@dataclass(frozen=True)
class Task:
    """A measure of a pool whose truth is known; labels are as `hs.simulate` takes them.

    reuse, where given, is the measure that is estimated from labels drawn for the first one.
    """

    name: str
    pool: hs.Pool
    labels: np.ndarray
    measure: Any
    designs: Sequence[str]
    budgets: Sequence[int] = BUDGETS
    oracle: str = "deterministic"
    reuse: Measure | None = None


def main() -> None:
    """Run the parts that are named, or all but the paper's."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=400)
    parser.add_argument("--pools", type=Path, help="folder of the paper's pools")
    parser.add_argument("parts", nargs="*", default=["stochastic", "regression", "several"])
    chosen = parser.parse_args()
    for part in chosen.parts:
        print(f"\n{part}, {chosen.repeats} repeats\n\n{HEAD}", flush=True)
        tasks = paper(chosen.pools) if part == "paper" else PARTS[part]()
        for task in tasks:
            for line in measured(task, chosen.repeats):
                print(line, flush=True)


def measured(task: Task, repeats: int) -> Iterator[str]:
    """A line for each design and budget."""
    for experiment in plan(
        task.pool, task.labels, task.measure, task.designs, task.budgets, 0, oracle=task.oracle
    ):
        target = task.reuse or experiment.problem.measure
        truth = experiment.truth if task.reuse is None else truth_of(task, target)
        found = [evaluate(experiment, target, repeat) for repeat in range(repeats)]
        for position, budget in enumerate(experiment.budgets):
            estimates = [estimates[position] for estimates in found]
            yield f"| {task.name} | {experiment.name} | {budget} | {line(estimates, truth)} |"


def evaluate(experiment: Experiment, target: Measure, repeat: int) -> list[Estimate]:
    """The estimate at each budget of one evaluation."""
    order_seed, draw_seed = seeds(experiment.seed, repeat)
    problem, pool = experiment.problem, experiment.pool
    candidates = pool.candidates(problem.cells, seed=order_seed)
    ledger = LEDGERS[problem.oracle](problem, experiment.design, candidates, draw_seed)
    answer = oracle(experiment, repeat)
    found = []
    for budget in experiment.budgets:
        advance(ledger, answer, budget, experiment.batch_size)
        found.append(estimate_from(pool, ledger, target, experiment.level))
    return found


def truth_of(task: Task, measure: Measure) -> np.ndarray:
    """The measure on the whole pool, (m,)."""
    outputs = task.pool.outputs(np.arange(task.pool.size))
    weight = np.full(task.pool.size, 1 / task.pool.size)
    return measure.value(measure.risk(outputs, task.labels, weight))


def line(estimates: Sequence[Estimate], truth: np.ndarray) -> str:
    """Coverage and width, before and after, of the component that is covered least."""
    open_ones = [estimate for estimate in estimates if len(estimate.terms)]
    settled = len(estimates) - len(open_ones)
    values = np.array([estimate.values for estimate in open_ones])
    if not len(values):
        return f"0 | | | | | | 0 | {settled}"
    ours = np.array([estimate.intervals for estimate in open_ones])
    plain = np.array([replace(estimate, tails=None).intervals for estimate in open_ones])
    defined = np.isfinite(values)
    undefined = int((~defined).sum())
    columns = [
        column(values[ok, j], plain[ok, j], ours[ok, j], truth[j])
        for j, ok in enumerate(defined.T)
        if ok.any()
    ]
    if not columns:
        return f" | | | | | | {undefined} | {settled}"
    worst = min(columns, key=lambda cells: cells[0])
    return f"{worst[1]} | {undefined} | {settled}"


def column(
    values: np.ndarray, plain: np.ndarray, ours: np.ndarray, truth: float
) -> tuple[float, str]:
    """Coverage of our interval for one component, and its cells of the table."""
    rmse = float(np.sqrt(np.mean((values - truth) ** 2)))

    def inside(ends: np.ndarray) -> float:
        return float(np.mean((ends[:, 0] - ROUNDING <= truth) & (truth <= ends[:, 1] + ROUNDING)))

    def width(ends: np.ndarray) -> float:
        return float(np.median(ends[:, 1] - ends[:, 0])) / (2 * 1.96 * rmse) if rmse else np.nan

    below = np.mean(truth < ours[:, 0] - ROUNDING)
    above = np.mean(truth > ours[:, 1] + ROUNDING)
    cells = (
        f"{rmse:.2g} | {inside(plain):.1%} | {width(plain):.2f} | {inside(ours):.1%} | "
        f"{width(ours):.2f} | {below:.1%}, {above:.1%}"
    )
    return inside(ours), cells


def stochastic() -> Iterator[Task]:
    """Answers that differ, with p(y|x) known: two classes, 6% positive; four, the last rare."""
    rng = np.random.default_rng(3)
    scores = rng.normal(-3.0, 1.5, 3000)
    positive = 1 / (1 + np.exp(0.3 - 1.2 * scores))
    pool = hs.Pool(scores, (scores > -0.5).astype(int), strata=32)
    designs = ("passive", "importance", "adaptive")
    for measure in ("f1", ["precision", "recall"], "accuracy"):
        name = f"two classes, {measure if isinstance(measure, str) else ' and '.join(measure)}"
        yield Task(name, pool, positive, measure, designs, oracle="stochastic")
    rng = np.random.default_rng(4)
    logits = rng.normal(0, 1.5, (2000, 4)) + np.array([0.5, 0.5, 0.0, -2.5])
    share = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    blurred = np.exp(0.6 * logits)
    scores = blurred / blurred.sum(axis=1, keepdims=True)
    pool = hs.Pool(scores, classes=(0, 1, 2, 3), strata=24)
    for measure in ("accuracy", "f1_macro", "f1_per_class", "mcc"):
        yield Task(f"four classes, {measure}", pool, share, measure, designs, oracle="stochastic")


def regression() -> Iterator[Task]:
    """Student errors with 5 degrees of freedom, one in twenty of them ten times as large."""
    rng = np.random.default_rng(0)
    size = 4000
    predicted = rng.normal(100, 4, size)
    scale = np.exp(rng.normal(-0.5, 0.4, size)) * np.where(rng.random(size) < 0.05, 10, 1)
    deviation = 2 * scale * np.exp(rng.normal(0, 0.3, size))
    label = predicted + scale * rng.standard_t(5, size)
    designs = ("passive", "stratified", "importance", "adaptive")
    for given in (deviation, None):
        pool = hs.Pool(predicted, classes=None, strata=32, deviations=given)
        kind = "without" if given is None else "with deviations"
        for measure in ("mae", "mse", "rmse", "r2"):
            yield Task(f"{measure}, {kind}", pool, label, measure, designs)


def several() -> Iterator[Task]:
    """Two systems, 10% positive: differences, vectors, groups, and reuse for the other system."""
    rng = np.random.default_rng(0)
    size = 3000
    signal = rng.normal(-2.5, 1.6, size)
    label = (rng.random(size) < 1 / (1 + np.exp(-1.5 * signal))).astype(int)
    scores = {"a": signal + rng.normal(0, 0.7, size), "b": signal + rng.normal(0, 1.2, size)}
    group = rng.random(size) < 0.4
    pool = hs.Pool(scores, strata=32)
    both = ("passive", "adaptive")
    every = ("passive", "stratified", "importance", "oasis", "adaptive", "adaptive_flat")
    vector = Several([F1(system="a"), Recall(system="b"), Accuracy(system="b")], [1, 1, 20])
    groups = Several([Within(Recall(system=s), m) for s in "ab" for m in (group, ~group)])
    yield Task("F1 of a", pool, label, F1(system="a"), every)
    yield Task("F1 difference", pool, label, Difference(F1(), "a", "b"), both)
    accuracies = Difference(Accuracy(), "a", "b")
    yield Task("accuracy difference", pool, label, accuracies, both, budgets=(100, 200))
    yield Task("F1, recall, accuracy", pool, label, vector, both)
    yield Task("recalls of groups", pool, label, groups, both)
    recall = Recall(system="b").bind(pool.schema)
    name = "recall of b from labels for F1 of a"
    yield Task(
        name, pool, label, F1(system="a"), ("passive", "importance", "adaptive"), reuse=recall
    )


def paper(folder: Path) -> Iterator[Task]:
    """F1 on the paper's pools, every design."""
    import h5py

    designs = ("adaptive", "adaptive_flat", "oasis", "importance", "stratified", "passive")
    for name in PAPER_POOLS:
        with h5py.File(folder / f"{name}.h5") as file:
            scores, labels = file["scores"][:].ravel(), file["labels"][:].ravel().astype(int)
            given = file["preds"][:].ravel() if "preds" in file else scores >= 0
        pool = hs.Pool(scores, given.astype(int))
        yield Task(name.split("-svm")[0], pool, labels, "f1", designs, PAPER_BUDGETS)


PARTS: dict[str, Callable[[], Iterator[Task]]] = {
    "stochastic": stochastic,
    "regression": regression,
    "several": several,
}

if __name__ == "__main__":
    main()
