"""Warnings of the default design: what its interval takes from the prior, not from labels."""

import numpy as np

import haystat as hs


def run(scores, labels, threshold, budget=300):
    evaluation = hs.Evaluation(hs.Pool(scores, threshold=threshold), "f1", random_state=0)
    return evaluation.run(lambda items: labels[items], budget=budget)


def test_a_mass_of_equal_scores_is_named():
    rng = np.random.default_rng(0)
    scores = np.where(rng.random(50_000) < 0.95, 0.0, rng.random(50_000))
    labels = (rng.random(50_000) < scores**2).astype(int)
    labels[rng.choice(np.flatnonzero(scores == 0), 400, replace=False)] = 1
    (warning,) = run(scores, labels, 0.5).warnings
    assert "95% of the items share one score" in warning
    assert "Label more of them, or add a second score." in warning


def test_false_negatives_that_cannot_be_ruled_out_are_named():
    rng = np.random.default_rng(1)
    scores = rng.normal(-4, 1.5, 200_000)
    labels = (rng.random(200_000) < 1 / (1 + np.exp(-2 * scores))).astype(int)
    (warning,) = run(scores, labels, 1.0, budget=100).warnings
    assert "cannot rule out further false negatives" in warning
    assert "recall may be as low as 0." in warning


def test_nothing_is_said_where_labels_tell():
    rng = np.random.default_rng(2)
    scores = rng.normal(0, 1.5, 3_000)
    labels = (rng.random(3_000) < 1 / (1 + np.exp(-2 * scores))).astype(int)
    assert run(scores, labels, 0.0, budget=600).warnings == ()


def test_the_recall_that_is_named_is_where_its_interval_ends():
    rng = np.random.default_rng(0)
    scores = rng.normal(-4, 2, 50_000)
    labels = (rng.random(50_000) < 1 / (1 + np.exp(-1.3 * scores))).astype(int)
    evaluation = hs.Evaluation(hs.Pool(scores, threshold=0.0), "f1", random_state=1)
    (warning,) = evaluation.run(lambda items: labels[items], budget=100).warnings
    low, _ = evaluation.estimate("recall").interval
    assert f"recall may be as low as {low:.2g}." in warning


def test_a_recall_is_named_only_where_it_is_that_of_the_measure():
    rng = np.random.default_rng(0)
    scores = rng.normal(-4, 2, 50_000)
    labels = (rng.random(50_000) < 1 / (1 + np.exp(-1.3 * scores))).astype(int)
    given = {"threshold": 0.0, "columns": {"part": np.arange(50_000) % 3}}
    other = scores + rng.normal(0, 1, 50_000)
    pools = {
        "weighted": hs.Pool(scores, weight=rng.lognormal(0, 1, 50_000), **given),
        "one of two": hs.Pool({"a": scores, "b": other}, **given),
        "in groups": hs.Pool(scores, **given),
    }
    for name, pool in pools.items():
        evaluation = hs.Evaluation(pool, "recall", random_state=1)
        evaluation.run(lambda items: labels[items], budget=100)
        found = evaluation.estimate("recall", by="part" if name == "in groups" else None)
        (warning,) = (text for text in found.warnings if "false negatives" in text)
        assert "cannot rule out further false negatives below the threshold. Label" in warning
