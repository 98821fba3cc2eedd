"""The guaranteed interval of the default design, from an evaluation as users run it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit
from scipy.stats import binom

import haystat as hs
from haystat.designs.clocks import stage_rates
from haystat.errors import NoSupport
from haystat.inference.assisted import assisted_from
from haystat.inference.fractions import linear_fractional
from haystat.inference.guaranteed_interval import logical_bounds
from haystat.inference.sample import stage_rng
from haystat.loop.stages import NO_ANSWER

REPEATS, LOOKS = 100, (60, 150)


def rare_positives():
    """Scores that fail to see a third of the positives."""
    rng = np.random.default_rng(1)
    z = rng.normal(-3, 1.5, 400)
    label = (rng.random(400) < expit(z)).astype(int)
    label[rng.choice(np.flatnonzero(z < -2), 12, replace=False)] = 1
    return hs.Pool(expit(z), strata=8), label


def misled():
    """A third of the positives lie in a tail of which few items are drawn."""
    rng = np.random.default_rng(2)
    label = (rng.random(1000) < np.where(np.arange(1000) < 100, 0.9, 0.05)).astype(int)
    return hs.Pool(1 - np.arange(1000) / 1000, (np.arange(1000) < 100).astype(int)), label


@pytest.mark.parametrize(("make", "measure"), [(rare_positives, "f1"), (misled, "recall")])
def test_the_truth_is_kept_at_all_looks_together(make, measure, oracle, truth):
    pool, label = make()
    exact = truth(measure, pool, label)[0]
    missed = 0
    for seed in range(REPEATS):
        ev = hs.Evaluation(pool, measure, "assisted", random_state=seed, n_draws=10)
        ends = []
        for n in LOOKS:
            ev.run(oracle(label), n, 50)
            ends.append(ev.estimate().guaranteed_interval)
        low, high = np.array(ends).T
        assert np.all((low >= 0) & (high <= 1))
        missed += not np.all((low <= exact + 1e-9) & (exact <= high + 1e-9))
    assert missed <= binom.ppf(0.999, REPEATS, 0.05)


def test_the_interval_shrinks_to_the_value(oracle, truth):
    pool, label = rare_positives()
    ev = hs.Evaluation(pool, "f1", "assisted", random_state=0)
    widths = []
    for n in (10, 100, 300, 399):
        ev.run(oracle(label), n, 50)
        low, high = ev.estimate().guaranteed_interval
        widths.append(high - low)
    assert np.all(np.diff(widths) < 0)
    assert widths[-1] < 0.03
    ev.run(oracle(label), 400, 50)
    np.testing.assert_allclose(ev.estimate().guaranteed_interval, truth("f1", pool, label)[0])


def test_its_draws_are_those_of_the_evaluation(oracle):
    """Labels, cells and rates: the bounds of what the other items may be show what was counted."""
    pool, label = rare_positives()
    ev = hs.Evaluation(pool, "f1", "assisted", random_state=3)
    estimate = ev.run(oracle(label), 60, 20)
    guarantee = estimate.guarantee
    assert len(guarantee.draws.cell) == 60
    assert guarantee.draws.rates.shape == (3, len(guarantee.draws.size))
    # Every stage can speak about every cell of which an item is left.
    drawn = [guarantee.draws.cell[guarantee.draws.stage < stage] for stage in range(3)]
    n_drawn = [np.bincount(cell, minlength=len(guarantee.draws.size)) for cell in drawn]
    assert np.all((guarantee.draws.rates > 0) | (np.array(n_drawn) == guarantee.draws.size))
    # The rates of the first stage are those that the design drew with, up to a factor.
    start = ev.design.start(ev.state.ledger.problem, stage_rng(ev.seed, 0))
    size = guarantee.draws.size
    used = stage_rates(
        ev.design.sizes(ev.state.ledger.problem, start), 0.0 * size, size, 20, ev.design.least
    )
    drawn = np.isfinite(used)
    ratio = guarantee.draws.rates[0, drawn] / used[drawn]
    np.testing.assert_allclose(ratio, ratio[0])
    assert np.ptp(used[drawn]) > used[drawn].min()
    totals = linear_fractional(guarantee.measure, 0, guarantee.example, 2)
    low, high = logical_bounds(guarantee.draws, *totals)
    item, known = ev.state.ledger.known()
    predicted = pool.outputs(np.arange(400)).predictions[:, 0]
    worst, best = 1 - predicted, predicted.copy()
    worst[item], best[item] = known, known
    expected = [2 * np.sum(y * predicted) / (y.sum() + predicted.sum()) for y in (worst, best)]
    np.testing.assert_allclose((low, high), expected)


def test_several_measures_have_an_interval_each(oracle):
    pool, label = rare_positives()
    ev = hs.Evaluation(pool, ["precision", "recall"], "assisted", random_state=3)
    both = ev.run(oracle(label), 60, 20).guaranteed_intervals
    assert both.shape == (2, 2)
    for name, ends in zip(("precision", "recall"), both, strict=True):
        np.testing.assert_allclose(ev.estimate(name).guaranteed_interval, ends)


def test_an_item_without_an_answer_may_have_any_label(ledger_after):
    """So the interval is no narrower than with its label."""
    pool, label = rare_positives()
    widths = []
    for told in (label, np.where(np.arange(400) % 5 == 0, NO_ANSWER, label)):
        ledger = ledger_after(pool, "f1", told, [80], 3)
        estimate = assisted_from(pool, ledger, ledger.problem.measure, 0.95)
        low, high = estimate.guaranteed_interval
        widths.append(high - low)
    assert widths[1] > widths[0]


def test_averages_over_classes_have_none_and_say_so(three_classes, oracle):
    pool, label = three_classes(120)
    ev = hs.Evaluation(pool, "balanced_accuracy", "assisted", random_state=1)
    estimate = ev.run(oracle(label), 30, 15)
    with pytest.raises(NoSupport, match="not a ratio of two totals over the pool"):
        _ = estimate.guaranteed_interval
    macro = ev.estimate(hs.measures.Macro(hs.measures.F1()))
    with pytest.raises(NoSupport, match="no guaranteed interval"):
        _ = macro.guaranteed_interval
    low, high = ev.estimate("accuracy").guaranteed_interval
    assert 0 <= low < high <= 1


@pytest.mark.parametrize("design", ["adaptive", "passive", "stratified"])
def test_other_designs_have_none_and_say_so(pool_of, oracle, design):
    pool, label = pool_of(300)
    estimate = hs.Evaluation(pool, "f1", design, random_state=0).run(oracle(label), 40, 20)
    with pytest.raises(NoSupport, match=r"needs finished stages of the default design.*interval"):
        _ = estimate.guaranteed_interval
