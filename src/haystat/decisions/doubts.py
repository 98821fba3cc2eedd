"""Pools that can be evaluated but look wrong: what they look like, and what to do."""

from __future__ import annotations

import numpy as np

from haystat.measures.facts import PredictedClass
from haystat.pool.base import AnyPool
from haystat.pool.problem import Problem

NEARLY_ALL = 0.9  # of the items predicted positive, from which scores look reversed


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
    return found


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
