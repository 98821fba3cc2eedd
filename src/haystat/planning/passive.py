"""Labels that passive sampling would need."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from haystat.planning.worlds import World
from haystat.pool.problem import Problem


def passive_labels(
    problem: Problem, world: World, width: float, multiplier: Callable[[int], float]
) -> float:
    """n at which 2 z(n) sqrt(V / n) is the width, V the variance of what an item adds; at most M.

    multiplier is z, in standard errors on either side after n labels. V = Var(J loss) for an item
    picked at random (delta method), of the component that varies most.
    """
    variance = item_variance(problem, world)
    low, high = 2.0, float(problem.size)
    if 2 * multiplier(problem.size) * np.sqrt(variance / high) > width:
        return high
    while high - low > 1:
        middle = (low + high) / 2
        wide = 2 * multiplier(int(middle)) * np.sqrt(variance / middle) > width
        low, high = (middle, high) if wide else (low, middle)
    return float(np.ceil(high))


def item_variance(problem: Problem, world: World) -> float:
    """V, of the component with the largest."""
    share = world.counts / problem.size
    influence = problem.losses.influence(problem.losses.risk(share))
    mean = np.einsum("kc,kcm->m", share, influence)
    square = np.einsum("kc,kcm->m", share, influence**2)
    return float(np.max(square - mean**2))
