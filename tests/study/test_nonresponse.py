"""With items that nobody can label, the estimate is about the others."""

from __future__ import annotations

import numpy as np
import pytest

import haystat as hs
from haystat import designs
from haystat.loop.estimates import estimate_from
from haystat.loop.ledger import Ledger
from haystat.loop.stages import NO_ANSWER
from haystat.pool.problem import pose

SIZE, REPEATS = 300, 300


def one_estimate(pool, problem, design, label, seed):
    ledger = Ledger(problem, design, pool.candidates(problem.cells, seed), seed)
    for _ in range(4):
        stage = ledger.draw(30)
        ledger.add_stage(stage)
        ledger.add_labels({item: int(label[item]) for item in stage.item[: stage.n_new].tolist()})
    value = estimate_from(pool, ledger, problem.measure, 0.95).value
    return value, ledger.unanswered_share()


@pytest.mark.parametrize("design", ["passive", "importance", "adaptive"])
@pytest.mark.parametrize("measure", ["accuracy", "f1"])
def test_the_estimate_is_of_the_items_that_can_be_labelled(measure, design):
    rng = np.random.default_rng(0)
    scores = 1 / (1 + np.exp(-rng.normal(-0.5, 1.5, SIZE)))
    label = (rng.random(SIZE) < scores).astype(int)
    # What is hard for the system is hard for people, so draws fall on such items more often.
    lost = rng.random(SIZE) < np.where(np.abs(scores - 0.5) < 0.25, 0.6, 0.02)
    told = np.where(lost, NO_ANSWER, label)
    pool = hs.Pool(scores, strata=8)
    problem = pose(pool, hs.measures.resolve(measure).bind(pool.schema))
    chosen = designs.resolve(design)
    runs = [one_estimate(pool, problem, chosen, told, seed) for seed in range(REPEATS)]
    (value, share), (error, share_error) = np.mean(runs, axis=0), np.std(runs, axis=0)
    assert abs(value - truth(pool, problem, label, ~lost)) < 4 * error / np.sqrt(REPEATS)
    assert abs(share - lost.mean()) < 4 * share_error / np.sqrt(REPEATS)
    assert abs(value - truth(pool, problem, label, np.ones(SIZE, dtype=bool))) > 0.02


def truth(pool, problem, label, kept):
    index = np.flatnonzero(kept)
    share = np.full(len(index), 1 / len(index))
    return problem.measure.value(problem.measure.risk(pool.outputs(index), label[index], share))[0]
