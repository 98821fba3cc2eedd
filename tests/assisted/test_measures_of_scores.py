"""The default design on measures of scores: intervals from the same draws as those of F1."""

from __future__ import annotations

import numpy as np
import pytest

import haystat as hs
from haystat.measures import ROCAUC, PRCurve, ROCCurve

SIZE = 6000
CUTS = [-1.0, 0.0, 1.0]


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(5)
    scores = rng.normal(-3, 1.5, SIZE)
    labels = (rng.random(SIZE) < 1 / (1 + np.exp(-1.5 * scores))).astype(int)
    pool = hs.Pool(scores, threshold=0.0, strata=32)
    found = []
    for seed in range(6):
        evaluation = hs.Evaluation(pool, "f1", random_state=seed)
        evaluation.run(lambda items: labels[items], budget=200)
        found.append(evaluation)
    return pool, labels, found


def truth(pool, labels, measure):
    bound = hs.measures.resolve(measure).bind(pool.schema)
    outputs = pool.outputs(np.arange(pool.size))
    return bound.value(bound.risk(outputs, labels, np.full(pool.size, 1 / pool.size)))


def covered(case, measure):
    pool, labels, evaluations = case
    expected = truth(pool, labels, measure)
    ends = np.stack([evaluation.estimate(measure).intervals for evaluation in evaluations])
    return (ends[..., 0] <= expected + 1e-12) & (expected <= ends[..., 1] + 1e-12)


@pytest.mark.parametrize(
    "measure",
    ["prevalence", "lift", "recall_at_fpr", "precision_at_k", "recall_at_k", ROCAUC(64)],
    ids=str,
)
def test_intervals_cover_the_truth(case, measure):
    # 6 runs at 95%: three or fewer hits have a chance of one in five hundred.
    assert covered(case, measure).mean() > 3 / 6


def test_points_of_the_roc_curve_are_covered_like_those_of_the_pr_curve(case):
    of_roc, of_pr = (
        covered(case, ROCCurve(thresholds=CUTS)),
        covered(case, PRCurve(thresholds=CUTS)),
    )
    assert np.all(of_roc.mean(axis=0) >= of_pr.mean(axis=0))


def test_draws_of_the_false_positive_rate_keep_whole_numbers_together():
    """False positives 10 or 11, positives between 20 and 40 of 1,000: two steps, not a smear."""
    rng = np.random.default_rng(0)
    false = np.where(np.arange(400) < 380, 10, 11)
    positive = rng.integers(20, 41, 400)
    curve = ROCCurve(thresholds=[0.0]).bind(hs.Pool(np.linspace(-1, 1, 1000)).schema)
    risks = np.stack([false + 15, np.full(400, 15), positive], axis=1) / 1000
    rate = curve.values(risks)[:, 0]
    order = np.argsort(rate, kind="stable")
    np.testing.assert_allclose(rate[order], false / (1000 - np.sort(positive)))
    np.testing.assert_array_equal(false[order], false)
