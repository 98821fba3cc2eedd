"""Evaluations of pools with known labels, and what each of them found at every budget."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import haystat as hs
from calibration_pools import Known
from haystat import designs, measures
from haystat.experiments.best_variance import best_variance
from haystat.experiments.repeat import ROUNDING, Experiment, advance, oracle, seeds
from haystat.experiments.simulate import plan
from haystat.inference.estimate import Estimate
from haystat.loop.estimates import estimate_from
from haystat.loop.ledger import Ledger

SEED = 1
SMALL_BATCH, FEW, BATCH = 25, 100, 50  # labels of a stage until there are FEW, and from then on
DECIMALS = 12
TAIL = 0.9  # share of the predicted negatives that are the tail: those of the lowest scores
TWO_CLASSES = ("f1", "precision", "recall", "accuracy", "pr_curve")
SEVERAL_CLASSES = ("accuracy", "f1_macro", "recall_macro", "recall_rare")
DEFAULT = "default"


@dataclass(frozen=True)
class Task:
    """Repeats of one design on one pool.

    others are the measures estimated from the same draws, bound to the pool; stop is the width at
    which one would stop; in_tail (M,) marks the items of the tail. With guarantees the guaranteed
    interval is looked at after every stage, if there is one.
    """

    experiment: Experiment
    others: tuple[measures.Measure, ...]
    stop: float | None
    in_tail: np.ndarray
    guarantees: bool = True


def measure_of(name: str, known: Known) -> measures.Measure:
    """The measure that a name stands for on this pool."""
    if name == "recall_rare":
        return measures.Recall(positive=int(np.argmin(np.bincount(known.labels))))
    if name != "pr_curve":
        return measures.resolve(name)
    ranked = np.sort(known.scores)[::-1]
    n = max(int(known.predictions.sum()), 2)
    ranks = np.minimum([n // 2 - 1, n - 1, 2 * n - 1], len(ranked) - 1)
    return measures.PRCurve(thresholds=tuple(np.unique(ranked[ranks])))


def applicable(names: Sequence[str], known: Known) -> list[str]:
    """The measures that this pool has."""
    allowed = TWO_CLASSES if known.scores.ndim == 1 else SEVERAL_CLASSES
    return [name for name in names if name in allowed]


def tail_of(known: Known) -> np.ndarray:
    """Which items are in the tail, (M,); none beyond two classes."""
    if known.scores.ndim > 1 or known.predictions.all():
        return np.zeros(len(known.labels), dtype=bool)
    negative = known.predictions == 0
    return negative & (known.scores <= np.quantile(known.scores[negative], TAIL))


def looks(budgets: Sequence[int]) -> Iterator[int]:
    """Numbers of labels after each stage."""
    n = 0
    while n < budgets[-1]:
        step = SMALL_BATCH if n < FEW else BATCH
        n = min([n + step, *(budget for budget in budgets if budget > n)])
        yield n


def run(task: Task, repeat: int) -> list[dict[str, Any]]:
    """One evaluation: what is found of each measure."""
    experiment = task.experiment
    order_seed, draw_seed = seeds(experiment.seed, repeat)
    candidates = experiment.pool.candidates(experiment.problem.cells, seed=order_seed)
    ledger = Ledger(experiment.problem, experiment.design, candidates, draw_seed)
    # Of the others the budgets are enough: to cut the pool by them takes a pass over its items.
    found = [Found(task.stop, task.guarantees), *(Found(None, False) for _ in task.others)]
    answer = oracle(experiment, repeat)
    for n in looks(experiment.budgets):
        advance(ledger, answer, n, BATCH)
        at_budget = n in experiment.budgets
        wanted = found if at_budget else [part for part in found if part.wants_every_look]
        if wanted:
            in_tail = int(task.in_tail[ledger.known()[0]].sum())
            for part, estimate in zip(wanted, estimates(task, ledger), strict=False):
                part.add(estimate, n, in_tail, at_budget)
    return [part.as_dict() for part in found]


def estimates(task: Task, ledger: Ledger) -> Iterator[Estimate]:
    """Of the measure that the draws are for, then of the others."""
    experiment, problem = task.experiment, task.experiment.problem
    yield estimate_from(experiment.pool, ledger, problem.measure, experiment.level)
    for measure in task.others:
        yield estimate_from(experiment.pool, ledger, measure, experiment.level)


class Found:
    """What one repeat finds of a measure: estimates and intervals at budgets and when to stop."""

    def __init__(self, stop: float | None, guarantees: bool) -> None:
        self._rule = None if stop is None else hs.Width(stop)
        self._at: list[dict[str, Any]] = []
        self._stopped: dict[str, Any] | None = None
        self._reached = False
        self._guaranteed: np.ndarray | None = None  # the part of the range no look excluded
        self._guarantees = guarantees

    @property
    def wants_every_look(self) -> bool:
        """Whether estimates between the budgets matter."""
        return self._guarantees or (self._rule is not None and not self._reached)

    def add(self, estimate: Estimate, n: int, in_tail: int, at_budget: bool) -> None:
        """Take an estimate from n labels."""
        ends = guaranteed_of(estimate) if self._guarantees else None
        # An estimate without a value may have none yet; one with a value never will.
        self._guarantees &= ends is not None or bool(np.isnan(estimate.values).all())
        if ends is not None:
            kept = self._guaranteed if self._guaranteed is not None else ends
            low, high = np.fmax(kept[:, 0], ends[:, 0]), np.fmin(kept[:, 1], ends[:, 1])
            self._guaranteed = np.stack([low, high], axis=1)
        if not (at_budget or self._rule):
            return
        facts = {"n": n, "tail": in_tail, **described(estimate)}
        if at_budget:
            self._at.append(facts | {"guaranteed": None if ends is None else rounded(ends)})
        if self._rule is not None and not self._reached:
            self._reached = bool(self._rule.reached(estimate))
            self._stopped = facts | {"reached": self._reached}

    def as_dict(self) -> dict[str, Any]:
        """As JSON takes it."""
        kept = self._guaranteed
        all_looks = None if kept is None else rounded(kept)
        return {"at": self._at, "stopped": self._stopped, "all_looks": all_looks}


def described(estimate: Estimate) -> dict[str, Any]:
    """Values (m,) and intervals (m, 2) as lists."""
    return {"values": rounded(estimate.values), "ends": rounded(estimate.intervals)}


def rounded(numbers: np.ndarray) -> list[Any]:
    """As JSON takes them."""
    return np.round(numbers, DECIMALS).tolist()


def guaranteed_of(estimate: Estimate) -> np.ndarray | None:
    """The guaranteed intervals (m, 2) of an estimate that has them; the range where it is open."""
    ends = getattr(estimate, "guaranteed_intervals", None)
    if ends is None:
        ends = getattr(estimate, "guaranteed_interval", None)
    if ends is None:
        return None
    pairs = np.asarray(ends, dtype=float).reshape(-1, 2)
    return np.where(np.isnan(pairs), np.array([-np.inf, np.inf]), pairs)


_task: Task  # of the workers, who inherit it


def _run(repeat: int) -> list[dict[str, Any]]:
    return run(_task, repeat)


def repeated(task: Task, repeats: int, jobs: int) -> list[list[dict[str, Any]]]:
    """All repeats; forked workers share the pool."""
    global _task
    _task = task
    first = [_run(0)]  # compiles what the workers then inherit, and fails where all would
    if jobs == 1 or repeats < 3:
        return first + [_run(repeat) for repeat in range(1, repeats)]
    with multiprocessing.get_context("fork").Pool(jobs) as workers:
        chunk = max(1, min(8, repeats // (4 * jobs)))
        return first + workers.map(_run, range(1, repeats), chunksize=chunk)


@dataclass(frozen=True)
class Asked:
    """What to run on a pool: others are measures estimated from the draws of the first."""

    measure: str
    others: tuple[str, ...]
    budgets: tuple[int, ...]
    stop: float | None
    repeats: int
    jobs: int
    guarantees: bool = True


def experiment_of(known: Known, pool: hs.Pool, asked: Asked) -> Experiment:
    """What the repeats of all designs have in common, with the design that one gets by default."""
    budgets = [budget for budget in asked.budgets if budget < pool.size]
    measure = measure_of(asked.measure, known)
    own = hs.Evaluation(pool, measure, random_state=0).design
    return plan(pool, known.labels, measure, [own], budgets, SEED, batch_size=BATCH)[0]


def records(
    known: Known, experiment: Experiment, asked: Asked, design: str
) -> Iterator[dict[str, Any]]:
    """What the repeats of a design found, one record for each measure."""
    start = time.perf_counter()
    others = tuple(measure_of(name, known).bind(experiment.pool.schema) for name in asked.others)
    ours = design == DEFAULT
    if not ours:  # of the others the error at the budgets is enough
        experiment = replace(experiment, name=design, design=designs.resolve(design))
        asked = replace(asked, stop=None)
    task = Task(experiment, others, asked.stop, tail_of(known), ours and asked.guarantees)
    found = repeated(task, asked.repeats, asked.jobs)
    seconds = (time.perf_counter() - start) / asked.repeats
    names = (asked.measure, *asked.others)
    for position, measure in enumerate((experiment.problem.measure, *others)):
        yield {
            **key(known, names[position], design, asked),
            **pool_facts(known, task.in_tail),
            "truth": truth_of(experiment, measure),
            "limit": limits(experiment) if position == 0 else None,
            "seconds": round(seconds, 4),
            "runs": [parts[position] for parts in found],
        }


def key(known: Known, measure: str, design: str, asked: Asked) -> dict[str, Any]:
    """What tells a record from others."""
    return {
        "kind": known.kind,
        "pool": known.name,
        "measure": measure,
        "drawn_for": asked.measure,
        "design": design,
        "budgets": list(asked.budgets),
        "repeats": asked.repeats,
        "stop": asked.stop,
    }


def truth_of(experiment: Experiment, measure: measures.Measure) -> list[float]:
    """The measure on the whole pool, (m,)."""
    problem = replace(experiment.problem, measure=measure)
    return rounded(replace(experiment, problem=problem).truth)


def limits(experiment: Experiment) -> list[float | None]:
    """The least variance of an unbiased design at each budget, where it is known and not zero."""
    counts = experiment.truth_counts
    found = [best_variance(experiment.problem, counts, n) for n in experiment.budgets]
    return [variance if np.isfinite(variance) and variance > 0 else None for variance in found]


def pool_facts(known: Known, in_tail: np.ndarray) -> dict[str, Any]:
    """Sizes, and whether most positives share one score with nine tenths of the pool."""
    facts: dict[str, Any] = {"size": len(known.labels), "several": known.scores.ndim > 1}
    if facts["several"]:
        return facts | {"positives": None, "tail_size": 0, "tied": False}
    _, place, counts = np.unique(known.scores, return_inverse=True, return_counts=True)
    shared = place == np.argmax(counts)
    positives = int(known.labels.sum())
    tied = bool(shared.mean() >= 0.9 and known.labels[shared].sum() > positives / 2)
    return facts | {"positives": positives, "tail_size": int(in_tail.sum()), "tied": tied}


def holds(ends: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Whether intervals (..., 2) hold the truth; NaN ends do not."""
    return (ends[..., 0] <= truth + ROUNDING) & (truth - ROUNDING <= ends[..., 1])
