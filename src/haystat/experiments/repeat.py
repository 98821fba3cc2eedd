"""One repeat of an experiment: a whole evaluation on a pool whose labels are known."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.designs.base import Design
from haystat.designs.optimal import Optimum, divergence, optimal_proposal
from haystat.inference.estimate import Estimate
from haystat.loop.estimates import estimate_from
from haystat.loop.ledger import Ledger
from haystat.loop.state import LEDGERS
from haystat.pool.memory import Pool
from haystat.pool.problem import Problem

BLOCK = 1 << 16  # items whose losses are held at a time
ROUNDING = 1e-12  # by which a known value may miss the truth


@dataclass(frozen=True)
class Experiment:
    """What all repeats of one design have in common.

    name is what tables call the design; label (M,) is the class index of each item, or the number;
    budgets ascend. share (M, C), given for a stochastic oracle, is the chance of each answer. With
    keep_values the last estimate is kept component by component.
    """

    name: str
    pool: Pool
    problem: Problem
    label: IntArray
    design: Design
    budgets: tuple[int, ...]
    batch_size: int = 50
    level: float = 0.95
    seed: int = 0
    keep_values: bool = False
    share: FloatArray | None = None

    @property
    def has_optimum(self) -> bool:
        """Whether the best proposal is known: items have one label each, which is a class."""
        return self.problem.oracle == "deterministic" and not self.problem.numeric

    @cached_property
    def truth_counts(self) -> IntArray:
        """Items of each cell under each label, (K, C)."""
        shape = (len(self.problem.cells), self.problem.n_classes)
        code = self.problem.cells.of_item.astype(np.int64) * shape[1] + self.label
        return np.bincount(code, minlength=shape[0] * shape[1]).reshape(shape)

    @cached_property
    def truth(self) -> FloatArray:
        """The measure on the whole pool, (m,)."""
        measure, risk = self.problem.measure, np.zeros(self.problem.measure.n_risk)
        for start in range(0, self.pool.size, BLOCK):
            rows = np.arange(start, min(start + BLOCK, self.pool.size))
            outputs, weight = self.pool.outputs(rows), np.full(len(rows), 1.0 / self.pool.size)
            if self.share is None:
                risk += measure.risk(outputs, self.label[rows], weight)
                continue
            for c, share in enumerate(self.share[rows].T):
                risk += measure.risk(outputs, np.full(len(rows), c), weight * share)
        with np.errstate(all="ignore"):
            return np.atleast_1d(measure.value(risk))

    @cached_property
    def optimum(self) -> Optimum:
        """The best proposal."""
        return optimal_proposal(self.problem, self.truth_counts)


@dataclass(frozen=True)
class Record:
    """What one repeat found, a number for each budget.

    Over the components of the measure that are defined: square is the sum of the squared errors,
    error the sum of the errors; undefined counts the other components. covered is the share of
    components whose interval holds the truth, width the median width of an interval; covered_clt
    and width_clt are those of the plain interval. kl is the divergence from the proposal to the
    optimal one. values (m,) is the last estimate, if kept.
    """

    repeat: int
    square: list[float]
    error: list[float]
    undefined: list[int]
    covered: list[float]
    width: list[float]
    covered_clt: list[float]
    width_clt: list[float]
    n_labels: list[int]
    n_draws: list[int]
    kl: list[float]
    seconds: list[float]
    values: list[float] | None = None

    def as_dict(self) -> dict[str, Any]:
        """As JSON takes it."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def run_repeat(experiment: Experiment, repeat: int) -> Record:
    """The evaluation number `repeat`; its randomness depends on that and the seed alone."""
    start = time.perf_counter()
    order_seed, draw_seed = seeds(experiment.seed, repeat)
    problem = experiment.problem
    candidates = experiment.pool.candidates(problem.cells, seed=order_seed)
    ledger = LEDGERS[problem.oracle](problem, experiment.design, candidates, draw_seed)
    answer = oracle(experiment, repeat)
    found: list[dict[str, Any]] = []
    for budget in experiment.budgets:
        advance(ledger, answer, budget, experiment.batch_size)
        estimate = estimate_from(experiment.pool, ledger, problem.measure, experiment.level)
        facts = compare(estimate, experiment.truth)
        facts["n_labels"] = ledger.n_labels
        facts["n_draws"] = estimate.n_draws
        facts["kl"] = _kl(experiment, ledger)
        facts["seconds"] = time.perf_counter() - start
        found.append(facts)
    columns = {name: [facts[name] for facts in found] for name in found[0]}
    values = estimate.values.tolist() if experiment.keep_values else None
    return Record(repeat, **columns, values=values)


def seeds(seed: int, repeat: int) -> tuple[int, int]:
    """Seed of the order of the items, and of the draws."""
    child = np.random.SeedSequence(seed, spawn_key=(repeat,))
    order_seed, draw_seed = child.generate_state(2, np.uint64)
    return int(order_seed), int(draw_seed)


def oracle(experiment: Experiment, repeat: int) -> Callable[[IntArray], list[Any]]:
    """Answers about items at positions (n,): their label, or a draw from the chances."""
    if experiment.share is None:
        return lambda item: experiment.label[item].tolist()
    edges = np.cumsum(experiment.share, axis=1)
    edges[:, -1] = 1.0  # else rounding could leave a gap at the top
    rng = np.random.default_rng(np.random.SeedSequence(experiment.seed, spawn_key=(repeat, 1)))
    return lambda item: (edges[item] <= rng.random(len(item))[:, None]).sum(axis=1).tolist()


def advance(
    ledger: Ledger,
    answer: Callable[[IntArray], list[Any]],
    budget: int,
    batch_size: int,
) -> None:
    """Draw and answer stages until `budget` labels are in, or nothing is left to draw."""
    while ledger.n_labels < budget:
        stage = ledger.draw(min(batch_size, budget - ledger.n_labels))
        if stage.n_new == 0:
            return
        ledger.add_stage(stage)
        questions = ledger.questions_of(len(ledger.stages) - 1)
        labels = answer(stage.item[: stage.n_new])
        ledger.add_labels(dict(zip(questions, labels, strict=True)))


def compare(estimate: Estimate, truth: FloatArray) -> dict[str, Any]:
    """How far an estimate is from the truth (m,); components without a truth are passed over."""
    exists = np.isfinite(truth)
    error = (estimate.values - truth)[exists]
    defined = np.isfinite(error)
    covered, width = hold(estimate.intervals[exists][defined], truth[exists][defined])
    covered_clt, width_clt = hold(estimate.clt_intervals[exists][defined], truth[exists][defined])
    n = max(len(error), 1)
    return {
        "square": float(np.sum(error[defined] ** 2)),
        "error": float(np.sum(error[defined])),
        "undefined": int(np.sum(~defined)),
        "covered": covered / n,
        "width": width,
        "covered_clt": covered_clt / n,
        "width_clt": width_clt,
    }


def hold(intervals: FloatArray, truth: FloatArray) -> tuple[float, float]:
    """How many of the intervals (m, 2) hold the truth (m,), and their median width."""
    low, high = intervals.T
    inside = (low - ROUNDING <= truth) & (truth <= high + ROUNDING)
    width = float(np.median(high - low)) if len(truth) else float("nan")
    return float(np.sum(inside)), width


def _kl(experiment: Experiment, ledger: Ledger) -> float:
    """KL from the proposal of the next stage to the optimal one; NaN if there is no proposal."""
    design, problem = experiment.design, experiment.problem
    proposal = design.propose(problem, ledger.state)
    if proposal is None or not experiment.has_optimum:
        return float("nan")
    item, label = ledger.known()
    labelled = np.zeros_like(experiment.truth_counts)
    np.add.at(labelled, (problem.cells.of_item[item], label), 1)
    return divergence(problem, proposal, experiment.truth_counts, labelled, experiment.optimum)
