"""Worlds that the scores leave possible: how many positives each cell may hold.

A world follows the scores' own claim, bent by a miscalibration, as long as that claim is credible;
else, and sometimes anyway, the share of positives falls like a power of the rank, by how much is
anybody's guess. In some worlds a few undetected positives lie among the predicted negatives.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from haystat.core.arrays import FloatArray, IntArray
from haystat.errors import BadOption
from haystat.models.curve import minus_logit, walk_basis
from haystat.models.ranks import n_predicted, predicted_low, ranks
from haystat.pool.problem import Problem

CREDIBLE = 4.0  # times more or fewer positives claimed by the scores than predicted
CLAIM_SHARE = 0.75  # of the worlds that follow a credible claim
CLAIM_SHIFT, CLAIM_STRETCH = 0.7, 0.25  # standard deviations: of the logit, of its log slope
LEVEL, LEVEL_SD = -0.5, 1.2  # logit of the share of positives at the decision threshold
SLOPE, SLOPE_SD = 2.0, 0.35  # of the logit by -logit(rank): median, and deviation of its log
BEND_SD = 0.3  # of a segment's slope about that
BALANCE_SD = 0.8  # of log(positives / predicted positives): thresholds are set with care
UNDETECTED_SHARE = 0.3  # of the worlds that have undetected positives
UNDETECTED_SCALE, MOST_UNDETECTED = 3.0, 100.0  # median of their number, and a cap
TRIES = 100


@dataclass(frozen=True)
class World:
    """Items of each cell under each of two labels, counts (K, 2), and the measure there (m,)."""

    counts: IntArray
    values: FloatArray


def draw_worlds(problem: Problem, n: int, rng: np.random.Generator) -> list[World]:
    """n worlds in which the measure is defined."""
    if problem.numeric or problem.n_classes != 2:
        what = "numbers" if problem.numeric else f"{problem.n_classes} classes"
        raise BadOption(
            f"a plan is made for labels of two classes, and these are {what}; label a few hundred "
            "items and look at Estimate.interval"
        )
    worlds: list[World] = []
    for _ in range(n * TRIES):
        world = _world(problem, rng)
        if np.isfinite(world.values).all():
            worlds.append(world)
        if len(worlds) == n:
            return worlds
    raise BadOption(
        f"{problem.measure.name} is 0/0 in nearly every world that the scores leave possible; "
        "nothing may be predicted positive: set `threshold` or `predictions`"
    )


def _world(problem: Problem, rng: np.random.Generator) -> World:
    size = problem.cells.size
    claimed = is_credible(problem) and rng.random() < CLAIM_SHARE
    share = _claimed(problem, rng) if claimed else _balanced(problem, rng)
    low = predicted_low(problem)
    if low.any() and rng.random() < UNDETECTED_SHARE:
        n_more = min(UNDETECTED_SCALE * abs(rng.standard_cauchy()), MOST_UNDETECTED)
        share = np.where(low, np.minimum(share + n_more / size[low].sum(), 1.0), share)
    positive = rng.binomial(size, share)
    counts = np.stack([size - positive, positive], axis=1)
    with np.errstate(all="ignore"):
        values = problem.measure.value(problem.losses.risk(counts / problem.size))
    return World(counts, np.atleast_1d(values))


def is_credible(problem: Problem) -> bool:
    """Whether the scores claim about as many positives as are predicted."""
    cells = problem.cells
    claimed = float(cells.size @ cells.prior[:, 1])
    return 1 / CREDIBLE <= claimed / n_predicted(problem) <= CREDIBLE


def _claimed(problem: Problem, rng: np.random.Generator) -> FloatArray:
    """The scores' claim, shifted and stretched on the logit scale, (K,)."""
    shift = rng.normal(0, CLAIM_SHIFT)
    stretch = np.exp(rng.normal(0, CLAIM_STRETCH))
    return np.asarray(expit(shift + stretch * logit(problem.cells.prior[:, 1])))


def _balanced(problem: Problem, rng: np.random.Generator) -> FloatArray:
    """A falling share that makes about as many positives as are predicted, (K,)."""
    for _ in range(TRIES):
        share = _falling(problem, rng)
        excess = np.log(float(problem.cells.size @ share) / n_predicted(problem))
        if rng.random() < np.exp(-(excess**2) / 2 / BALANCE_SD**2):
            break
    return share


def _falling(problem: Problem, rng: np.random.Generator) -> FloatArray:
    """A share that falls like a power of the rank, with bends, (K,)."""
    rank, threshold = ranks(problem)
    t = minus_logit(rank)
    place = t - float(np.clip(minus_logit(np.array([threshold]))[0], t.min(), t.max()))
    walk, length = walk_basis(place)
    slope = SLOPE * np.exp(rng.normal(0, SLOPE_SD))
    bends = walk @ rng.normal(0, BEND_SD / np.sqrt(length))
    return np.asarray(expit(rng.normal(LEVEL, LEVEL_SD) + slope * place + bends))
