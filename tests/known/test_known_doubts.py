"""Known labels that are not what they claim are flagged; those that are, are not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import haystat as hs
from haystat.decisions.doubts import PoolWarning
from haystat.decisions.known_doubts import known_doubts

SIZE, N = 20_000, 400


@pytest.fixture(scope="module")
def scored():
    rng = np.random.default_rng(3)
    scores = rng.beta(0.3, 3, SIZE).round(6)
    return scores, (rng.random(SIZE) < scores).astype(int)


def drawn_sample(truth, chance, seed, claimed=None):
    """A sample of N items with a chance in proportion to `chance`, which claims equal ones."""
    rng = np.random.default_rng(seed)
    index = rng.choice(SIZE, N, replace=False, p=chance / chance.sum())
    return hs.Known.sample({int(i): int(truth[i]) for i in index}, claimed or N / SIZE)


def flagged(pool, truth, chance, repeats):
    return [bool(known_doubts(pool, [drawn_sample(truth, chance, r)])) for r in range(repeats)]


def test_a_random_sample_is_rarely_questioned(scored):
    scores, truth = scored
    assert np.mean(flagged(hs.Pool(scores), truth, np.ones(SIZE), 100)) <= 0.03


@pytest.mark.parametrize("bias", ["high scores", "positives", "low scores"])
def test_a_sample_that_prefers_some_items_is_flagged(scored, bias):
    """Items that are preferred are four times as likely; flagged in at least 90% of the runs."""
    scores, truth = scored
    preferred = {
        "high scores": scores > np.quantile(scores, 0.9),
        "positives": truth == 1,
        "low scores": scores < np.quantile(scores, 0.5),
    }[bias]
    assert np.mean(flagged(hs.Pool(scores), truth, np.where(preferred, 4.0, 1.0), 40)) >= 0.9


def test_unequal_inclusion_probabilities_are_taken_into_account(scored):
    scores, truth = scored
    pool = hs.Pool(scores)
    chance = np.where(scores > 0.3, 0.2, 0.01)
    honest, claims_equal = [], []
    for seed in range(20):
        index = np.flatnonzero(np.random.default_rng(seed).random(SIZE) < chance)
        labels = {int(i): int(truth[i]) for i in index}
        known = hs.Known.sample(labels, {int(i): chance[i] for i in index})
        honest.append(bool(known_doubts(pool, [known])))
        claims = hs.Known.sample(labels, len(index) / SIZE)
        claims_equal.append(bool(known_doubts(pool, [claims])))
    assert np.mean(honest) <= 0.05
    assert np.mean(claims_equal) >= 0.9


def test_a_sample_of_what_a_census_left_is_taken_for_one(scored):
    """Beside a census of a fifth of the items; told as the whole pool's, a sample is flagged."""
    scores, truth = scored
    top = np.flatnonzero(scores >= np.quantile(scores, 0.8))
    rest = np.setdiff1d(np.arange(SIZE), top)
    census = hs.Known.sample({int(i): int(truth[i]) for i in top}, 1.0)
    assert census.kind == "census"
    beside, alone = [], []
    for seed in range(20):
        index = np.random.default_rng(seed).choice(rest, N, replace=False)
        sample = hs.Known.sample({int(i): int(truth[i]) for i in index}, N / len(rest))
        beside.append(bool(known_doubts(hs.Pool(scores), [census, sample])))
        alone.append(bool(known_doubts(hs.Pool(scores), [sample])))
    assert np.mean(beside) <= 0.05
    assert np.mean(alone) >= 0.9


def test_a_sample_that_is_smaller_than_its_probabilities_make_likely_is_flagged(scored):
    scores, truth = scored
    (said,) = known_doubts(hs.Pool(scores), [drawn_sample(truth, np.ones(SIZE), 1, claimed=0.1)])
    assert "stand for 4,000, and it is taken from 20,000" in said


def test_labels_that_differ_from_those_asked_for_among_items_alike_are_flagged(scored):
    """By label alone, within narrow bands of the score: they are spread like a sample."""
    scores, truth = scored
    pool = hs.Pool(scores)
    order = np.argsort(scores, kind="stable")
    counts = {"honest": 0, "biased": 0}
    for seed in range(3):
        rng = np.random.default_rng(seed)
        bands = np.array_split(order, N)
        honest = [rng.choice(band) for band in bands]
        biased = [rng.choice(band[truth[band] == truth[band].max()]) for band in bands]
        for name, index in (("honest", honest), ("biased", biased)):
            known = hs.Known.sample({int(i): int(truth[i]) for i in index}, N / SIZE)
            evaluation = hs.Evaluation(pool, known=known, random_state=seed)
            estimate = evaluation.run(lambda items: truth[np.asarray(items)], 250, 125)
            counts[name] += labels_questioned(estimate)
    assert counts["honest"] == 0
    assert counts["biased"] == 3


def test_a_sample_with_too_many_positives_is_flagged_although_it_is_spread_like_one():
    """Few labels asked for lie among the same scores; what tells is how many positives it has."""
    rng = np.random.default_rng(5)
    truth = (rng.random(SIZE) < 0.025).astype(int)
    pool = hs.Pool(rng.normal(0, 1, SIZE) + 1.5 * truth, threshold=2.0)
    found = {"honest": 0, "biased": 0}
    for seed in range(5):
        for name, favour in (("honest", 1.0), ("biased", 4.0)):
            known = drawn_sample(truth, np.where(truth == 1, favour, 1.0), seed)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                evaluation = hs.Evaluation(pool, known=known, random_state=seed)
            estimate = evaluation.run(lambda items: truth[np.asarray(items)], 250, 125)
            found[name] += labels_questioned(estimate)
    assert found["honest"] == 0
    assert found["biased"] >= 3


def test_samples_with_unequal_probabilities_are_held_against_the_labels_asked_for(scored):
    scores, truth = scored
    pool, chance = hs.Pool(scores), np.where(scores > 0.3, 0.2, 0.01)
    for favour, questioned in ((1.0, False), (6.0, True)):
        drawn = np.random.default_rng(1).random(SIZE) < np.where(truth == 1, favour, 1.0) * chance
        known = hs.Known.sample(
            {int(i): int(truth[i]) for i in np.flatnonzero(drawn)},
            {int(i): chance[i] for i in np.flatnonzero(drawn)},
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            evaluation = hs.Evaluation(pool, design="adaptive", known=known, random_state=0)
        estimate = evaluation.run(lambda items: truth[np.asarray(items)], 300, 150)
        assert labels_questioned(estimate) is questioned


def labels_questioned(estimate):
    return any("where a random one would have" in said for said in estimate.warnings)


def test_a_census_that_lacks_items_of_its_region_is_flagged(scored):
    scores, truth = scored
    pool = hs.Pool(scores)
    top = np.flatnonzero(scores >= 0.5)
    whole = {int(i): int(truth[i]) for i in top}
    assert known_doubts(pool, [hs.Known.census(whole)]) == []
    gone = sorted(whole, key=lambda i: scores[i])[5:12]
    part = {i: label for i, label in whole.items() if i not in gone}
    (said,) = known_doubts(pool, [hs.Known.census(part)])
    assert "lacks 7 items" in said
    assert "hs.Known.found" in said


def test_a_census_of_a_subpopulation_is_one(scored):
    scores, truth = scored
    land = np.where(np.arange(SIZE) % 50 == 0, "is", "de")
    pool = hs.Pool(scores, columns={"land": land})
    known = hs.Known.census({int(i): int(truth[i]) for i in np.flatnonzero(land == "is")})
    assert known_doubts(pool, [known]) == []


def test_doubts_are_warned_of_kept_and_repeated_with_every_estimate(scored, tmp_path):
    scores, truth = scored
    known = drawn_sample(truth, np.where(scores > 0.3, 9.0, 1.0), 0)
    with pytest.warns(PoolWarning, match="not spread like one"):
        evaluation = hs.Evaluation(hs.Pool(scores), known=known, random_state=0)
    evaluation.run(lambda items: truth[np.asarray(items)], 50)
    for said in (evaluation.doubts, evaluation.estimate().warnings):
        assert any("not spread like one" in text for text in said)
    evaluation.save(tmp_path / "log")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again = hs.Evaluation.load(tmp_path / "log", hs.Pool(scores))
    assert again.doubts == evaluation.doubts
