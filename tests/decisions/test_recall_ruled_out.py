"""A cut for a recall stands where labels rule out that positives below it break it."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest

import haystat as hs
from haystat.decisions.candidate_thresholds import LabelsBelow, labels_below
from haystat.decisions.certify import Need, labels_to_rule_out, ruled_out
from haystat.decisions.threshold_draws import CutDraws


def draws_of(hit, predicted):
    """One draw, of shares of the pool."""
    hit, predicted = np.array([hit]), np.array(predicted)
    return CutDraws(np.arange(len(predicted), dtype=float), predicted, hit, hit.max(axis=1))


def test_ruled_out_by_the_binomial_distribution():
    """b = 0.08 * 0.2 / 0.8 = 0.02 of the pool, of 0.9, 0.5 and 0.01 that lie below."""
    draws = draws_of([0.08, 0.08, 0.08], [0.1, 0.5, 0.99])
    for n, k in ((134, 0), (135, 0), (212, 1), (211, 1)):
        chance = sum(
            comb(n, j) * (0.02 / 0.9) ** j * (1 - 0.02 / 0.9) ** (n - j) for j in range(k + 1)
        )
        below = LabelsBelow(np.array([n, 10, 0]), np.array([float(k), 0.0, 0.0]))
        found = ruled_out(draws, Need("recall", 0.8), below, 0.95)
        assert found.tolist() == [chance <= 0.05, False, True]


def test_where_everything_is_predicted_nothing_is_to_be_ruled_out():
    draws = draws_of([0.0, 0.0], [1.0, 0.4])
    below = LabelsBelow(np.array([0, 50]), np.zeros(2))
    assert ruled_out(draws, Need("recall", 0.8), below, 0.95).tolist() == [True, False]
    assert ruled_out(draws, Need("recall", 1.0), below, 0.95).tolist() == [True, False]
    draws = draws_of([0.1, 0.1], [1.0, 0.4])
    assert ruled_out(draws, Need("recall", 5e-324), below, 0.95).all()  # and nothing overflows


def test_other_requirements_need_no_labels_below():
    draws = draws_of([0.08], [0.1])
    below = LabelsBelow(np.array([0]), np.zeros(1))
    for name in ("precision", "false_positive_rate"):
        assert ruled_out(draws, Need(name, 0.5), below, 0.95).all()


def test_positives_that_break_a_recall_are_seldom_ruled_out():
    """Of samples without replacement, at most 5%; without such positives, nearly all."""
    rng = np.random.default_rng(0)
    size, n, hit = 10_000, 400, 320
    breaking = hit // 4
    draws = draws_of([hit / (size + 1000)], [1000 / (size + 1000)])
    found = rng.hypergeometric(breaking, size - breaking, n, 4000)
    passed = [
        ruled_out(draws, Need("recall", 0.8), LabelsBelow(np.array([n]), np.array([k])), 0.95)[0]
        for k in found.astype(float)
    ]
    assert 0 < np.mean(passed) < 0.05 + 2 * np.sqrt(0.05 * 0.95 / 4000)
    none = LabelsBelow(np.array([n]), np.zeros(1))
    assert ruled_out(draws, Need("recall", 0.8), none, 0.95).all()


def test_so_many_labels_as_are_needed_rule_them_out():
    """Of the labels that are spread evenly, half lie below a cut that predicts half of the pool."""
    draws, need = draws_of([0.08], [0.5]), Need("recall", 0.8)
    needed = labels_to_rule_out(draws, need, 0, 0.95)
    for n, enough in ((needed / 2 - 1, False), (needed / 2 + 1, True)):
        below = LabelsBelow(np.array([int(n)]), np.zeros(1))
        assert ruled_out(draws, need, below, 0.95)[0] == enough
    assert labels_to_rule_out(draws_of([0.08], [1.0]), need, 0, 0.95) is None


def test_labels_below_each_cut_are_counted():
    rng = np.random.default_rng(1)
    scores, labels = rng.normal(size=500).round(1), rng.integers(0, 2, 500)
    pool = hs.Pool(scores, threshold=0.5, strata=16)
    known = hs.Known.found({i: int(labels[i]) for i in range(60)})
    one = hs.Evaluation(pool, "f1", known=known, random_state=0)
    asked = [query.item for query in one.ask(80)]
    one.tell({i: int(labels[i]) for i in asked})
    cuts = np.unique(scores)
    found = labels_below(one.state.pool, *one.state.ledger.drawn_shares(), cuts, None)
    asked = np.array(asked)
    assert found.n.tolist() == [int(np.sum(scores[asked] < cut)) for cut in cuts]
    assert found.positive.tolist() == [labels[asked[scores[asked] < cut]].sum() for cut in cuts]


def test_soft_labels_count_in_part():
    pool = hs.Pool([0.1, 0.2, 0.8, 0.9], threshold=0.5, strata=2)
    one = hs.Evaluation(pool, "f1", "passive", oracle="stochastic", random_state=0)
    one.tell({query.key: {0: 0.25, 1: 0.75} for query in one.ask(6)})
    item, share = one.state.ledger.drawn_shares()
    assert len(item) == 6
    np.testing.assert_allclose(share, [[0.25, 0.75]] * 6)


@pytest.fixture(scope="module")
def hiding():
    """Two of five positives are scored like negatives."""
    rng = np.random.default_rng(5)
    labels = np.zeros(12_000, dtype=int)
    labels[:60] = 1
    scores = rng.normal(labels * 6.0, 1.0)
    scores[:24] = rng.normal(0, 1, 24)
    return scores, labels


def test_a_recall_is_kept_where_positives_hide_among_the_negatives(hiding):
    scores, labels = hiding
    pool = hs.Pool(scores, threshold=3.5, strata=64)
    missed, higher = 0, []
    for seed in range(6):
        one = hs.Evaluation(pool, hs.measures.Threshold(recall=0.8), random_state=seed)
        one.run(lambda items: labels[items], budget=200)
        choice = one.threshold(recall=0.8)
        cut = choice.threshold
        higher += [(choice.higher, cut)] if choice.higher is not None else []
        missed += labels[scores >= cut].sum() < 0.8 * labels.sum()
    assert missed == 0
    assert higher
    assert all(hoped > cut for hoped, cut in higher)


def test_the_answer_says_what_would_raise_the_cut(hiding):
    scores, labels = hiding
    pool = hs.Pool(scores, threshold=3.5, strata=64)
    one = hs.Evaluation(pool, hs.measures.Threshold(recall=0.8), random_state=0)
    one.run(lambda items: labels[items], budget=200)
    choice = one.threshold(recall=0.8)
    assert f"The model would cut at {choice.higher:.6g}" in choice.sentence
    assert f"About {choice.labels_needed:,} labels" in choice.sentence
    assert choice.labels_needed > 200
    assert choice.to_dict()["higher"] == choice.higher


def test_most_labels_for_a_recall_are_spread_evenly(hiding):
    scores, labels = hiding
    pool = hs.Pool(scores, threshold=3.5, strata=64)
    above = []
    for need in ({"recall": 0.8}, {"precision": 0.8}):
        one = hs.Evaluation(pool, hs.measures.Threshold(**need), random_state=0)
        one.run(lambda items: labels[items], budget=200)
        items, _ = one.state.ledger.drawn_shares()
        above.append(np.mean(scores[items] < 2.5))
    assert above[0] > 0.6
    assert above[1] < above[0]
