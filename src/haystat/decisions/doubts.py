"""Pools that can be evaluated but look wrong: what they look like, and what to do."""

from __future__ import annotations

import numpy as np

from haystat.measures.facts import PredictedClass
from haystat.pool.base import AnyPool
from haystat.pool.problem import Problem

NEARLY_ALL = 0.9  # of the items predicted positive, from which scores look reversed
TURNED = 0.25  # of the pairs of a predicted positive and a negative, in which it is higher


class PoolWarning(UserWarning):
    """A pool that looks wrong."""


def pool_doubts(pool: AnyPool, problem: Problem) -> list[str]:
    """What looks wrong about the predictions of a pool of two classes, with the remedy."""
    schema = pool.schema
    facts = problem.measure.facts() or ()
    if schema.n_classes != 2:
        return []
    found = []
    for fact in facts:
        if isinstance(fact, PredictedClass):
            column = fact.system_index
            of_cell = problem.cells.example.predictions[:, column]
            share = float(problem.cells.size[of_cell == 1].sum() / pool.size)
            low, high = schema.score_range[column]
            told_apart = schema.scored and low < high
            scores = f"Its scores go from {low:g} to {high:g}" if told_apart else ""
            found += _about(schema.systems[column], share, scores)
    return found + _order_doubts(problem)


def _order_doubts(problem: Problem) -> list[str]:
    """Whether what the scores, or the prior, claim falls where more systems predict positive."""
    cells = problem.cells
    said = cells.example.predictions.mean(axis=1)
    positive, negative = cells.size * said, cells.size * (1 - said)
    if not (positive.any() and negative.any()) or np.ptp(cells.prior[:, 1]) == 0:
        return []
    _, place = np.unique(cells.prior[:, 1], return_inverse=True)
    below = np.bincount(place, negative)
    rank = np.cumsum(below) - below / 2  # ties count as one half
    agreeing = float(positive @ rank[place]) / float(positive.sum() * negative.sum())
    if agreeing >= TURNED:
        return []
    return [
        "Items that are predicted positive have lower scores, or lower `probabilities`, than the "
        f"others in {1 - agreeing:.0%} of the pairs, so that labels are sought at the wrong end. "
        "Turn the scores round if low ones mean positive, such as distances, and give the "
        "probability of the second class, or let the predictions be made by a `threshold`."
    ]


def _about(system: str, share: float, scores: str) -> list[str]:
    other = "Give it `predictions`, or other ones"
    cut = f"{scores}: choose a `threshold` between them" if scores else other
    if share == 0:
        return [
            f"{system} predicts no item positive, so that there is no precision and recall is 0. "
            f"{cut}."
        ]
    if share > NEARLY_ALL:
        turned = ", or turn the scores round if low ones mean positive" if scores else ""
        return [
            f"{system} predicts {np.floor(share * 1000) / 10:g}% of the items positive, although "
            f"positives are thought to be rare. {cut}{turned}."
        ]
    return []
