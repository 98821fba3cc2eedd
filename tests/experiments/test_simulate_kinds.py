"""simulate and bench for stochastic oracles and labels that are numbers."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import haystat as hs
from haystat.errors import BadOption, LengthMismatch, PoolError
from haystat.experiments.repeat import oracle
from haystat.experiments.simulate import plan


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(0)
    scores = rng.normal(-2, 1.5, 800)
    return hs.Pool(scores, strata=16), 1 / (1 + np.exp(-scores))


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(1)
    predicted = rng.normal(0, 3, 800)
    deviation = np.exp(rng.normal(0, 0.8, 800))
    return predicted, deviation, predicted + deviation * rng.normal(size=800)


def test_a_stochastic_oracle_may_be_asked_more_often_than_there_are_items(noisy):
    pool, chance = noisy
    frame = hs.simulate(
        pool,
        chance,
        "f1",
        ["passive", "adaptive"],
        [300, 1200],
        repeats=20,
        batch_size=100,
        oracle="stochastic",
    )
    predicted = pool.scores[:, 0] >= 0
    truth = np.sum(chance * predicted) / np.sum((chance + predicted) / 2)
    np.testing.assert_allclose(frame.truth, truth)
    np.testing.assert_array_equal(frame.n_labels, frame.budget)
    assert frame.kl.isna().all()
    assert frame.limit.isna().all()
    assert np.all(np.abs(frame.bias) < 4 * np.sqrt(frame.mse / 20))
    passive = frame[frame.design == "passive"].mse.to_numpy()
    assert np.all(passive > frame[frame.design == "adaptive"].mse.to_numpy())


def test_hard_labels_and_distributions_are_chances_too(noisy):
    pool, chance = noisy
    hard = (chance > 0.5).astype(int)
    options = {"budgets": [100], "repeats": 3, "oracle": "stochastic", "designs": ["passive"]}
    certain = hs.simulate(pool, hard, "f1", **options)
    both = hs.simulate(pool, np.eye(2)[hard], "f1", **options)
    assert certain.mse[0] == both.mse[0]
    deterministic = hs.simulate(pool, hard, "f1", ["passive"], [100], repeats=3)
    assert certain.truth[0] == deterministic.truth[0]


@pytest.mark.parametrize("measure", ["mae", "r2"])
def test_numbers(numbers, measure):
    predicted, deviation, label = numbers
    pool = hs.Pool(predicted, classes=None, deviations=deviation, strata=16)
    designs = ["passive", "stratified", "importance", "adaptive"]
    frame = hs.simulate(pool, label, measure, designs, [100, 800], repeats=20)
    error = label - predicted
    truth = {"mae": np.abs(error).mean(), "r2": 1 - np.mean(error**2) / label.var()}[measure]
    np.testing.assert_allclose(frame.truth, truth)
    assert np.all(frame[frame.budget == 800].mse < 1e-18)  # all labels
    mse = frame[frame.budget == 100].set_index("design").mse
    assert mse["passive"] > 1.5 * mse["adaptive"]
    assert frame.kl.isna().all()


def test_every_repeat_hears_other_answers(noisy):
    pool, chance = noisy
    (experiment,) = plan(pool, chance, "f1", ["passive"], [10], oracle="stochastic")
    items = np.arange(800)
    first, second = (oracle(experiment, repeat)(items) for repeat in (0, 1))
    assert first == oracle(experiment, 0)(items)
    assert first != second
    # Their frequency is the chance: 800 independent answers, in standard errors.
    error = (np.array(first) - chance).sum() / np.sqrt(np.sum(chance * (1 - chance)))
    assert abs(error) < 4


def test_results_do_not_depend_on_the_number_of_jobs(noisy):
    pool, chance = noisy
    one, two = (
        hs.simulate(
            pool, chance, "f1", ["adaptive"], [200], repeats=6, jobs=jobs, oracle="stochastic"
        )
        for jobs in (1, 2)
    )
    assert one.mse[0] == two.mse[0]


def test_bad_input_is_refused(noisy, numbers):
    pool, chance = noisy
    predicted, _, label = numbers
    number_pool = hs.Pool(predicted, classes=None, strata=4)
    with pytest.raises(BadOption, match="oracle is 'guess'"):
        hs.simulate(pool, chance, oracle="guess")
    with pytest.raises(BadOption, match="asks about an item once"):
        hs.simulate(pool, chance, designs=["stratified"], oracle="stochastic")
    with pytest.raises(PoolError, match="at least 0 and sum to 1"):
        hs.simulate(pool, 2 * chance, oracle="stochastic")
    with pytest.raises(LengthMismatch):
        hs.simulate(pool, chance[:-1], oracle="stochastic")
    bad = label.copy()
    bad[3] = np.nan
    with pytest.raises(BadOption, match="nan at position 3"):
        hs.simulate(number_pool, bad, "mae")


def test_bench_reads_chances_and_numbers(noisy, numbers, haystat, tmp_path):
    pool, chance = noisy
    pd.DataFrame({"s": pool.scores[:, 0], "p": chance}).to_parquet(tmp_path / "chances.parquet")
    predicted, deviation, label = numbers
    frame = pd.DataFrame({"f": predicted, "sd": deviation, "y": label})
    frame.to_parquet(tmp_path / "numbers.parquet")
    common = ("--budgets", "100", "--repeats", "5", "--strata", "8", "--json", "-")
    done = haystat(
        "bench", tmp_path / "chances.parquet", "--label", "p", "--score", "s",
        "--oracle", "stochastic", *common,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0]["n_labels"] == 100
    done = haystat(
        "bench", tmp_path / "numbers.parquet", "--label", "y", "--score", "f",
        "--deviation", "sd", "--classes", "numbers", "--measure", "rmse", *common,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = {row["design"]: row for row in json.loads(done.stdout)}
    assert rows["adaptive"]["truth"] == pytest.approx(np.sqrt(np.mean((label - predicted) ** 2)))
