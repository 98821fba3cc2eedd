"""simulate: honest summaries, the same numbers for any number of workers, nothing lost."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t as student

import haystat as hs
from haystat.errors import BadOption, BudgetError, LengthMismatch, UnknownLabel, UnknownName
from haystat.experiments.repeat import run_repeat, seeds
from haystat.experiments.simulate import plan, run
from haystat.experiments.summary import RESAMPLES, resamples, summarise, total_mse

COLUMNS = "design budget mse mse_low mse_high bias coverage median_width seconds".split()


def numbers(frame):
    """All that must not depend on the machine."""
    return frame.drop(columns="seconds")


def test_one_row_for_each_design_and_budget(data):
    frame = hs.simulate(data.pool, data.labels, budgets=[60, 30], repeats=3)
    assert list(frame.columns[: len(COLUMNS)]) == COLUMNS
    assert list(zip(frame.design, frame.budget, strict=True)) == [
        ("assisted", 30),
        ("assisted", 60),
        ("adaptive", 30),
        ("adaptive", 60),
        ("passive", 30),
        ("passive", 60),
    ]
    assert (frame.n_labels == frame.budget).all()
    assert (frame.repeats == 3).all()


def test_the_number_of_workers_does_not_matter(data):
    def simulated(jobs):
        names = list(hs.designs.DESIGNS)
        return hs.simulate(data.pool, data.labels, "f1", names, [40, 90], 7, jobs=jobs)

    pd.testing.assert_frame_equal(
        numbers(simulated(1)), numbers(simulated(2)), check_exact=True, rtol=0, atol=0
    )


def test_the_seed_decides(data):
    def mse(seed):
        frame = hs.simulate(data.pool, data.labels, budgets=[60], repeats=4, random_state=seed)
        return frame.mse.tolist()

    assert mse(3) == mse(3)
    assert mse(3) != mse(4)


def test_a_repeat_does_not_depend_on_how_many_there_are(data):
    experiments = plan(data.pool, data.labels, "f1", ["adaptive"], [50], 5)
    few, many = (run(experiments, repeats)[0] for repeats in (2, 4))
    assert [r.square for r in few] == [r.square for r in many[:2]]
    assert len({seeds(5, repeat) for repeat in range(100)}) == 100


def test_simulate_and_evaluation_estimate_alike(data):
    experiment = plan(data.pool, data.labels, "f1", ["adaptive"], [50, 120], 5)[0]
    record = run_repeat(experiment, 0)
    order_seed, draw_seed = seeds(5, 0)
    pool = hs.Pool(data.scores, strata=16, seed=order_seed)
    evaluation = hs.Evaluation(pool, "f1", "adaptive", random_state=draw_seed)
    evaluation.run(lambda items: data.labels[items], budget=50)
    estimate = evaluation.run(lambda items: data.labels[items], budget=120)
    truth = float(experiment.truth[0])
    assert record.error[-1] == estimate.value - truth
    low, high = estimate.interval
    assert record.width[-1] == high - low
    assert record.covered[-1] == (low <= truth <= high)
    half = student.ppf(0.975, estimate.n_draws - 1) * estimate.std_error
    low, high = max(estimate.value - half, 0), min(estimate.value + half, 1)
    assert record.width_clt[-1] == pytest.approx(high - low)
    assert record.covered_clt[-1] == (low <= truth <= high)
    assert record.n_draws[-1] == estimate.n_draws


@pytest.mark.parametrize("design", ["adaptive", "stratified", "passive"])
def test_with_every_label_the_error_is_gone(data, design):
    frame = hs.simulate(data.pool, data.labels, "f1", [design], [600], 2)
    assert frame.mse[0] < 1e-25
    assert frame.coverage[0] == 1
    assert frame.truth[0] == pytest.approx(f1(data))


def f1(data):
    predicted, actual = data.scores >= 0, data.labels == 1
    return 2 * np.sum(predicted & actual) / (predicted.sum() + actual.sum())


def test_the_summary_is_that_of_the_errors(data):
    experiment = plan(data.pool, data.labels, "accuracy", ["passive"], [40], 1)[0]
    records = run([experiment], 30)[0]
    row = summarise(experiment, records)[0]
    errors = np.array([record.error[0] for record in records])
    assert row["mse"] == pytest.approx(np.mean(errors**2))
    assert row["bias"] == pytest.approx(errors.mean())
    assert row["coverage"] == np.mean([record.covered[0] for record in records])
    assert row["median_width"] == np.median([record.width[0] for record in records])
    assert row["coverage_clt"] == np.mean([record.covered_clt[0] for record in records])
    assert row["median_width_clt"] == np.median([record.width_clt[0] for record in records])
    assert row["median_width_clt"] < row["median_width"]


def test_the_bootstrap_band_has_the_width_of_a_normal_one():
    rng = np.random.default_rng(0)
    square = rng.normal(0, 1, 400) ** 2
    counts = resamples(400, seed=1)
    assert counts.shape == (RESAMPLES, 400)
    assert (counts.sum(axis=1) == 400).all()
    again = total_mse(counts @ square, np.full(RESAMPLES, 400.0), 1)
    # The standard error of a mean of squared normals is sqrt(2 / n).
    assert again.std() == pytest.approx(np.sqrt(2 / 400), rel=0.15)
    low, high = np.quantile(again, [0.025, 0.975])
    assert low < square.mean() < high


def test_undefined_repeats_are_counted_and_not_covered(data):
    frame = hs.simulate(data.pool, data.labels, "f1", ["passive"], [3], 40)
    undefined = int(frame.undefined[0])
    assert 0 < undefined < 40
    assert frame.coverage[0] <= (40 - undefined) / 40
    assert np.isfinite(frame.mse[0])


def test_all_undefined_gives_nan_and_not_zero(data):
    labels = np.zeros(600, dtype=int)
    labels[np.argmin(data.scores)] = 1
    pool = hs.Pool(data.scores, np.zeros(600, dtype=int), strata=4)
    frame = hs.simulate(pool, labels, "recall", ["passive"], [2], 3)
    assert frame.undefined[0] == 3
    assert np.isnan(frame.mse[0])
    assert frame.coverage[0] == 0


def test_curves_add_up_over_components(data):
    measure = hs.measures.PRCurve(n_thresholds=8)
    frame = hs.simulate(data.pool, data.labels, measure, ["adaptive", "passive"], [60, 600], 5)
    assert (frame.components == 16).all()
    assert frame.mse[1] < 1e-20
    assert frame.undefined[2] > frame.undefined[0]
    assert frame.coverage.between(0, 1).all()


def test_several_systems_at_once(data, frame):
    pool = hs.Pool({"s": frame.s, "t": frame.t}, strata=8)
    measure = hs.measures.ForSystems(hs.measures.F1())
    result = hs.simulate(pool, frame.y, measure, ["adaptive"], [50, 600], 3)
    assert (result.components == 2).all()
    assert result.mse[1] < 1e-20


def test_designs_with_one_name_are_told_apart(data):
    two = [hs.designs.Adaptive(), hs.designs.Adaptive(delta=0.2)]
    frame = hs.simulate(data.pool, data.labels, "f1", two, [30], 2)
    assert frame.design.nunique() == 2
    assert "delta=0.2" in frame.design[1]


def test_kl_is_known_where_there_is_a_proposal(data):
    names = ["adaptive", "passive", "stratified"]
    frame = hs.simulate(data.pool, data.labels, "f1", names, [100], 3).set_index("design")
    assert 0 < frame.kl["adaptive"] < frame.kl["passive"]
    assert np.isnan(frame.kl["stratified"])


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"budgets": [601]}, BudgetError),
        ({"budgets": []}, BadOption),
        ({"budgets": [0]}, BadOption),
        ({"designs": ["nonsense"]}, UnknownName),
        ({"designs": []}, BadOption),
        ({"designs": ["passive", "passive"]}, BadOption),
        ({"designs": ["oasis"], "measure": "accuracy"}, BadOption),
        ({"measure": "nonsense"}, UnknownName),
        ({"repeats": 0}, BadOption),
        ({"jobs": 0}, BadOption),
        ({"batch_size": 0}, BadOption),
        ({"level": 95}, BadOption),
        ({"labels": [0, 1]}, LengthMismatch),
        ({"labels": ["a"] * 600}, UnknownLabel),
        ({"labels": [float("nan")] * 600}, UnknownLabel),
    ],
)
def test_wrong_arguments_are_refused(data, change, error):
    arguments = {"labels": data.labels, "budgets": [50], "repeats": 2} | change
    with pytest.raises(error):
        hs.simulate(data.pool, **arguments)
