"""The best proposal when the truth is known: a yardstick for simulations.

Symbols, from Prop. 2 of the paper: v(x) = p(x) |J loss(x, y(x))| and q* = v / sum v, with
p(x) = 1 / M. truth (K, C) counts the items of each cell under each label, labelled (K, C) those
of them whose label is known. Where a cell holds items with different losses, q* is the best of
the proposals that are constant on cells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.designs.base import Proposal
from haystat.inference.diagnostics import kl_divergence
from haystat.pool.problem import Problem


@dataclass(frozen=True)
class Optimum:
    """q*(x) of an item of each cell under each label (K, C), and the smallest tr Sigma."""

    probability: FloatArray
    total_variance: float


def optimal_proposal(problem: Problem, truth: IntArray) -> Optimum:
    """Prop. 2: q* and tr Sigma = (sum v)^2 - |J R|^2.

    If no item moves the measure every proposal is optimal, and q* is uniform.
    """
    norm, shift = _norm_and_shift(problem, truth)
    v_total = np.sum(truth * norm) / problem.size
    if v_total == 0:
        return Optimum(np.full(norm.shape, 1 / problem.size), 0.0)
    # The difference of two nearly equal squares can come out below zero by rounding.
    variance = max(float(v_total**2 - shift @ shift), 0.0)
    return Optimum(norm / (problem.size * v_total), variance)


def total_variance(
    problem: Problem, proposal: Proposal, truth: IntArray, labelled: IntArray
) -> float:
    """tr Sigma = E[p |J loss|^2 / q] - |J R|^2 of a proposal; infinite where it misses a loss."""
    norm, shift = _norm_and_shift(problem, truth)
    count, square = _by_knowledge(truth, labelled, norm**2, norm**2)
    _, probability = _by_knowledge(
        truth,
        labelled,
        np.broadcast_to(proposal.unlabelled[:, None], truth.shape),
        proposal.labelled,
    )
    moved = (count > 0) & (square > 0)
    with np.errstate(divide="ignore"):
        weight = 1 / (problem.size * probability[moved])
    return float(np.sum(count[moved] * square[moved] * weight) / problem.size - shift @ shift)


def divergence(
    problem: Problem,
    proposal: Proposal,
    truth: IntArray,
    labelled: IntArray,
    optimum: Optimum | None = None,
) -> float:
    """KL from the proposal to q*, sum q* log(q* / q) over the items of the pool.

    optimum is `optimal_proposal(problem, truth)`, for those who ask many times.
    """
    best = (optimum or optimal_proposal(problem, truth)).probability
    count, optimal = _by_knowledge(truth, labelled, best, best)
    _, given = _by_knowledge(
        truth,
        labelled,
        np.broadcast_to(proposal.unlabelled[:, None], truth.shape),
        proposal.labelled,
    )
    return kl_divergence(count * optimal, count * given)


def _norm_and_shift(problem: Problem, truth: IntArray) -> tuple[FloatArray, FloatArray]:
    """|J loss| (K, C) and J R (m,) at the true risk R."""
    risk = problem.losses.risk(truth / problem.size)
    norm = np.sqrt(problem.losses.sensitivity(risk))
    shift = problem.measure.jacobian(risk) @ risk
    return norm, np.sqrt(problem.measure.component_weights()) * shift


def _by_knowledge(
    truth: IntArray, labelled: IntArray, unknown: FloatArray, known: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Items without and with a known label as groups: their counts and a value of each, (2KC,)."""
    count = np.concatenate([(truth - labelled).ravel(), labelled.ravel()])
    return count, np.concatenate([unknown.ravel(), known.ravel()])
