"""What the model makes of signals, against formulas, brute force and runs with known labels."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import betaln, expit, logsumexp
from scipy.stats import betabinom, norm

import haystat as hs
from haystat.errors import BadSignal
from haystat.inference.posterior import posterior_shares
from haystat.models.curve import Assumed, Curve, Hints
from haystat.models.label_view import label_view
from haystat.models.posterior import THOROUGH, LabelModel
from haystat.models.ranks import ranks
from haystat.models.settings import ModelSettings
from haystat.pool.problem import pose

SIZE = 12_000


def hidden_pool(seed=0):
    """A score that misses a fifth of the positives, and a second model that sees them."""
    rng = np.random.default_rng(seed)
    label = rng.random(SIZE) < 0.02
    hidden = label & (rng.random(SIZE) < 0.2)
    score = rng.normal(-3, 1, SIZE) + 5 * (label & ~hidden)
    second = rng.normal(-3, 1, SIZE) + 4 * label
    return score, second, label.astype(int)


def posed(**signals):
    score, second, _ = hidden_pool()
    pool = hs.Pool(score, threshold=0.0, signals=signals or {"second": second})
    return pose(pool, hs.measures.resolve("f1").bind(pool.schema))


def run(score, label, signals, budget, seed, **options):
    pool = hs.Pool(score, threshold=0.0, signals=signals)
    evaluation = hs.Evaluation(pool, "f1", random_state=seed, **options)
    return evaluation.run(lambda items: label[items], budget=budget, batch_size=50)


def test_a_flat_tilt_is_no_tilt_to_the_last_bit():
    rng = np.random.default_rng(0)
    values = rng.uniform(0.01, 0.2, (4, 6))
    logit, low = rng.normal(size=(6, 9)), rng.random(9) < 0.6
    without = Assumed(*values).shares(logit, low, ~low)
    flat = Assumed(*values, np.zeros(6, dtype=np.int64)).shares(logit, 1.0 * low[None], ~low)
    for one, other in zip(without, flat, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_pool_without_signals_has_a_model_without_them():
    score, _, label = hidden_pool()
    pool = hs.Pool(score, threshold=0.0)
    view = label_view(pose(pool, hs.measures.resolve("f1").bind(pool.schema)), ModelSettings())
    assert view.model.curve.hints is None
    np.testing.assert_array_equal(view.model.curve.floor, view.model.curve.low)
    np.testing.assert_array_equal(view.parts[0], view.regions.of_cell)
    one, other = (run(score, label, signals, 150, 3) for signals in (None, {}))
    assert (one.value, one.interval) == (other.value, other.interval)
    assert one.signals == {}


def test_cells_keep_the_rank_that_they_have_without_signals():
    plain, cut = _plain(), posed()
    rank, threshold = ranks(cut)
    expected, same = ranks(plain)
    assert threshold == same
    by_item = expected[plain.cells.of_item]
    np.testing.assert_allclose(rank[cut.cells.of_item], by_item, rtol=1e-12)


def _plain():
    score, _, _ = hidden_pool()
    pool = hs.Pool(score, threshold=0.0)
    return pose(pool, hs.measures.resolve("f1").bind(pool.schema))


def test_tilts_average_one_and_terms_vanish_on_average_over_the_signal():
    problem = posed()
    view = label_view(problem, ModelSettings())
    curve, size = view.model.curve, view.model.size
    inside = curve.low & ~view.model.mass
    np.testing.assert_allclose(curve.hints.tilts[:, inside] @ size[inside], size[inside].sum())
    top = np.argmax(
        view.regions.total(problem.cells.size * problem.cells.signals.place[:, 0]) / size
    )
    assert curve.hints.tilts[1, top] > 10 * curve.hints.tilts[0, top]
    for term in curve.hints.terms.T:
        np.testing.assert_allclose(size @ term, 0, atol=1e-6 * size.sum())


def test_evidence_of_a_tilt_agrees_with_integration_on_a_grid():
    place, term = np.array([1.0, -1.0, -1.0, -2.0]), np.array([0.0, 1.5, -0.2, 0.1])
    low = np.array([False, True, True, True])
    tilts = np.array([[1.0, 1.0, 1.0, 1.0], [1.0, 8.0, 0.5, 0.5]])
    hints = Hints(term[:, None], np.array([0.5]), np.array([1.0]), tilts, np.array([0.7, 0.3]))
    basis = np.column_stack([np.ones(4), place, term])
    none = np.zeros(3, dtype=bool)
    curve = Curve(basis, np.array([0.0, 2.0, 0.5]), low, ~low, none, np.zeros(0), hints)
    settings = ModelSettings(bend_sds=(0.5,), shapes=(0.5,), concentrations=(40.0,))
    model = LabelModel(curve, np.array([50.0, 30.0, 900.0, 900.0]), none[:1].repeat(4), settings)
    n, x = np.array([20.0, 15.0, 30.0, 30.0]), np.array([15.0, 6.0, 1.0, 0.0])
    mixture = model.fitted(n, x, None, THOROUGH)

    axes = [np.linspace(-12, 12, 61), np.linspace(-4, 8, 41), np.linspace(-4, 5, 41)]
    grid = np.array(list(product(*axes)))
    precision = curve.precision(np.array([0.5]), np.ones(1), settings)[0]
    prior = norm.logpdf(grid, curve.mean, precision**-0.5)
    share = expit(grid @ basis.T)
    for point in (3, 5, 13, 15):  # middling rates, flat and tilted
        rate, tilt = mixture.assumed.rate[point], mixture.assumed.tilt[point]
        below, above = rate * tilts[tilt] * low, settings.wrong * ~low
        p = below + (1 - below - above) * share
        yes, no = 0.5 / (1 - p) + 40 * p, 0.5 / p + 40 * (1 - p)
        height = betabinom.logpmf(x, n, yes, no).sum(axis=1) + prior.sum(axis=1)
        volume = np.prod([axis[1] - axis[0] for axis in axes])
        exact = logsumexp(height) + np.log(volume)
        constant = betabinom.logpmf(x, n, yes, no).sum(axis=1)[0] - _height(n, x, yes, no)[0]
        assert mixture.fits.evidence[point] + constant == pytest.approx(exact, abs=0.3)


def _height(n, x, yes, no):
    return np.sum(betaln(yes + x, no + n - x) - betaln(yes, no), axis=1)


def test_positives_that_the_score_hides_are_found_by_a_signal():
    errors = {"with": [], "without": []}
    for seed in range(6):
        score, second, label = hidden_pool(seed)
        predicted = score >= 0
        truth = 2 * np.sum(predicted & (label == 1)) / (predicted.sum() + label.sum())
        for kind, signals in (("with", {"second": second}), ("without", None)):
            errors[kind].append(run(score, label, signals, 400, seed).value - truth)
    root = {kind: np.sqrt(np.mean(np.square(found))) for kind, found in errors.items()}
    assert root["with"] < 0.5 * root["without"]


def test_a_useful_signal_saves_labels_and_noise_does_not():
    score, second, label = hidden_pool()
    noise = np.random.default_rng(9).normal(size=SIZE)
    saved = run(score, label, {"second": second, "noise": noise}, 400, 0).signals
    assert saved["second"] > 100
    assert saved["noise"] < 0.25 * saved["second"]


def test_a_signal_that_is_the_label_is_refused_after_a_hundred_labels():
    score, _, label = hidden_pool()
    pool = hs.Pool(score, threshold=0.0, signals={"judge": label})
    evaluation = hs.Evaluation(pool, "f1", random_state=0)
    assert evaluation.run(lambda items: label[items], budget=100, batch_size=50).n_labels == 100
    with pytest.raises(BadSignal, match=r"'judge' agrees with all .* labels .* the label itself"):
        evaluation.run(lambda items: label[items], budget=200, batch_size=50)


def test_a_judge_that_errs_now_and_then_is_welcome():
    score, _, label = hidden_pool()
    wrong = np.random.default_rng(1).random(SIZE) < 0.02
    assert run(score, label, {"judge": np.where(wrong, 1 - label, label)}, 300, 0).n_labels == 300


def test_labels_known_from_before_go_with_signals():
    score, second, label = hidden_pool()
    pool = hs.Pool(score, threshold=0.0, signals={"second": second})
    predicted = np.flatnonzero(score >= 0)[:60]
    known = {int(item): int(label[item]) for item in predicted}
    evaluation = hs.Evaluation(pool, "f1", random_state=0, known=known)
    estimate = evaluation.run(lambda items: label[items], budget=300, batch_size=50)
    hard = score >= 0
    truth = 2 * np.sum(label[hard]) / (hard.sum() + label.sum())
    low, high = estimate.interval
    assert low <= truth <= high


@pytest.mark.parametrize("kind", ["census", "found", "sample"])
def test_with_labels_known_from_before_signals_may_be_worth_nothing_too(kind):
    """The view without signals tells of the known labels what that of a pool without any does."""
    score, second, label = hidden_pool()
    rng = np.random.default_rng(8)
    chance = np.where(score >= 0, 0.9, 0.05)
    items = np.flatnonzero(rng.random(SIZE) < chance).tolist()
    inclusion = tuple(chance[items].tolist()) if kind == "sample" else ()
    known = hs.Known(kind, {item: int(label[item]) for item in items}, inclusion)
    states = []
    for signals in ({"second": second}, None):
        pool = hs.Pool(score, threshold=0.0, signals=signals)
        evaluation = hs.Evaluation(pool, "f1", random_state=0, known=known)
        evaluation.run(lambda items: label[items], budget=100, batch_size=50)
        states.append(evaluation.state.ledger.state)
    helped, alone = states
    plain = helped.view.plain
    assert plain.model.curve.hints is None
    assert plain.model.size.sum() == alone.view.model.size.sum()
    counts = np.zeros_like(helped.labelled), np.zeros_like(alone.labelled)
    told = [one.events(count) for one, count in zip((plain, alone.view), counts, strict=True)]
    # Ranks of cells that known labels cut apart differ a little.
    np.testing.assert_allclose(*(np.sum(one, axis=1) for one in told), rtol=0.05)
    if kind == "sample":
        assert plain.events(counts[0])[0].sum() > 100
        assert plain.without_samples().events(counts[0])[0].sum() == 0
        assert helped.view.without_samples().plain.events(counts[0])[0].sum() == 0
    assert helped.plain.labelled.sum() == helped.labelled.sum()


def test_a_signal_that_is_turned_round_cuts_the_same_cells():
    score, second, _ = hidden_pool()
    one, other = (
        hs.Pool(score, threshold=0.0, signals={"second": sign * second}).signals for sign in (1, -1)
    )
    np.testing.assert_array_equal(one.band, other.band)
    np.testing.assert_allclose(one.place, other.place, atol=1e-4)
    flagged = second > 0  # a verdict stays as it is given
    pool = hs.Pool(score, threshold=0.0, signals={"fine": ~flagged})
    np.testing.assert_array_equal(pool.signals.band[:, 0] == 1, ~flagged)


@pytest.mark.parametrize("tells", [True, False])
def test_labels_decide_whether_signals_are_worth_something(tells):
    """Labels that go with the signal speak for the view with it, all others for the plain one."""
    problem = posed()
    view, cells = label_view(problem, ModelSettings()), problem.cells
    rng = np.random.default_rng(3)
    score, _, label = hidden_pool()
    told = rng.choice(SIZE, 2000, replace=False)
    if not tells:
        label = (rng.random(SIZE) < expit(1.5 * score)).astype(int)
    counts = np.zeros((len(cells), 2), dtype=np.int64)
    np.add.at(counts, (cells.of_item[told], label[told]), 1)
    found = {}
    for name, one in (("with", view), ("without", view.plain)):
        n, events = one.events(counts)
        found[name] = one.model.fitted(n, events, None, THOROUGH).evidence
    assert (found["with"] > found["without"] + 2) is tells
    both = posterior_shares(view, view.model.curve.mean[None], counts, np.random.default_rng(0))
    alone = posterior_shares(
        replace(view, plain=None), view.model.curve.mean[None], counts, np.random.default_rng(0)
    )
    chance = expit(found["without"] - found["with"])
    other = np.mean(np.any(both != alone, axis=1))
    assert abs(other - chance) < 4 * np.sqrt(chance * (1 - chance) / len(both)) + 1e-9
