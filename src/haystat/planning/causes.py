"""What makes it hard: in which part of the pool the error that is left comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from haystat.core.arrays import BoolArray, FloatArray
from haystat.models.ranks import predicted_low, ranks
from haystat.planning.rehearsal import Rehearsal
from haystat.planning.worlds import World
from haystat.pool.problem import Problem

NEAR = 5.0  # times as many items as are predicted positive: how far "just below" reaches
LEAST_SHARE = 0.05  # of the error, to be worth a word


@dataclass(frozen=True)
class Cause:
    """A part of the pool and the share of the squared error that is left in it.

    items, positives and labels are how many are there, expected and labelled, on average over the
    worlds.
    """

    where: str
    share: float
    items: int
    positives: float
    labels: int

    def __str__(self) -> str:
        return (
            f"{self.share:.0%} from {self.where}: {self.items:,} items, about "
            f"{self.positives:,.0f} positive, {self.labels:,} labelled"
        )


def causes(
    problem: Problem, worlds: Sequence[World], runs: Sequence[Rehearsal]
) -> tuple[Cause, ...]:
    """Parts of the pool by the error that is left in them, the largest first."""
    parts = regions(problem)
    left = np.mean([_left(problem, w, r) for w, r in zip(worlds, runs, strict=True)], axis=0)
    total = max(float(left.sum()), 1e-300)
    positives = np.mean([world.counts[:, 1] for world in worlds], axis=0)
    labelled = np.mean([run.labelled for run in runs], axis=0)
    found = [
        Cause(
            where,
            float(left[part].sum() / total),
            int(problem.cells.size[part].sum()),
            float(positives[part].sum()),
            int(labelled[part].sum()),
        )
        for where, part in parts.items()
    ]
    worth = [cause for cause in found if cause.share >= LEAST_SHARE]
    return tuple(sorted(worth, key=lambda cause: -cause.share))


def widest_components(problem: Problem, runs: Sequence[Rehearsal]) -> dict[str, float]:
    """Components by how often theirs was the last interval to be narrow enough."""
    last = [int(np.argmax(run.widths[-1])) for run in runs]
    names = problem.measure.components
    counts = np.bincount(last, minlength=len(names)) / len(last)
    return {names[i]: float(counts[i]) for i in np.argsort(-counts) if counts[i] > 0}


def regions(problem: Problem) -> dict[str, BoolArray]:
    """Cells (K,) by what the systems say about them."""
    predictions = problem.cells.example.predictions
    agreed = np.all(predictions == predictions[:, :1], axis=1)
    low = predicted_low(problem)
    rank, threshold = ranks(problem)
    near = rank <= threshold * (1 + NEAR)
    parts = {
        "items predicted positive": agreed & ~low,
        "items on which the systems disagree": ~agreed,
        "predicted negatives just below the threshold": low & near,
        "predicted negatives far below the threshold": low & ~near,
    }
    return {where: part for where, part in parts.items() if part.any()}


def _left(problem: Problem, world: World, run: Rehearsal) -> FloatArray:
    """Variance that is left in each cell, N (1 / P - 1) p (1 - p) |j|^2, as shares of all, (K,)."""
    share = world.counts[:, 1] / problem.cells.size
    influence = problem.losses.influence(problem.losses.risk(world.counts / problem.size))
    step = np.einsum("km,m->k", (influence[:, 1] - influence[:, 0]) ** 2, _weights(problem))
    reach = np.maximum(run.labelled, 0.5) / problem.cells.size
    inclusion = reach if run.inclusion is None else run.inclusion
    odds = 1 / np.clip(inclusion, 1e-12, 1) - 1
    variance = problem.cells.size * odds * share * (1 - share) * step
    return np.asarray(variance / max(float(variance.sum()), 1e-300))


def _weights(problem: Problem) -> FloatArray:
    return problem.measure.component_weights()
