"""A weak system beside strong ones: what only the weak one predicts positive may hide positives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import haystat as hs
from haystat.measures import F1, ForSystems, Prevalence

POOL = Path(__file__).parents[3] / "shared" / "pools" / "kdd-smtp.parquet"
RUNS = 4


def test_the_prevalence_of_several_systems_is_one_number():
    rng = np.random.default_rng(0)
    scores = {"a": rng.normal(-3, 2, 2000), "b": rng.normal(-3, 2, 2000)}
    evaluation = hs.Evaluation(hs.Pool(scores, threshold=0.0), ForSystems(Prevalence()))
    assert evaluation.state.measure.components == ("prevalence",)
    both = ForSystems(F1(), ["a", "b"])
    assert hs.Evaluation(evaluation.pool, both).state.measure.components == ("a:f1", "b:f1")


@pytest.mark.skipif(not POOL.exists(), reason="the pools with known truth are not here")
def test_positives_that_only_a_weak_system_sees_are_not_ruled_out_by_a_few_labels():
    """1,658 items are predicted positive by iforest alone: one is, and 1,000 labels miss it."""
    frame = pd.read_parquet(POOL)
    names = ("logreg", "gbm", "iforest")
    label = frame.label.to_numpy(int)
    scores = {name: frame[f"score_{name}"].to_numpy(float) for name in names}
    predicted = {name: frame[f"pred_{name}"].to_numpy(int) for name in names}
    weak = predicted["iforest"] == 1
    truth = 2 * label[weak].sum() / (weak.sum() + label.sum())
    pool = hs.Pool(scores, predicted)
    covered = 0
    for seed in range(RUNS):
        evaluation = hs.Evaluation(pool, ForSystems(F1()), random_state=seed)
        estimate = evaluation.run(lambda items: label[items], budget=1000)
        low, high = np.array(estimate.intervals)[names.index("iforest")]
        covered += low <= truth <= high
    assert covered >= RUNS - 1
