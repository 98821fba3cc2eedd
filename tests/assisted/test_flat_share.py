"""A score that tells nothing: its probability by integration, and where labels go with it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logit
from scipy.stats import norm

import haystat as hs
from haystat.designs.assisted import Assisted, sees_labels_alone
from haystat.models.curve import Curve
from haystat.models.flat import flat_share, share_to_ask_by
from haystat.models.posterior import QUICK, QUICK_MIXTURE, THOROUGH, LabelModel, mean_root
from haystat.models.settings import ModelSettings


@pytest.mark.parametrize(("n", "x"), [(40, 0), (40, 7), (500, 12), (30, 30)])
def test_probability_and_mean_root_of_the_flat_share_are_integrals(n, x):
    def density(p):
        return norm.pdf(logit(p), 0, 2.0) / (p * (1 - p)) * p**x * (1 - p) ** (n - x) / scale

    likely = min(max(x, 0.5), n - 0.5) / n
    scale = likely**x * (1 - likely) ** (n - x)  # so that quad sees a number of size one
    near = np.clip(np.array([0.25, 0.5, 1, 2, 4]) * min(likely, 1 - likely), 0, 0.5)
    ends = near if likely < 0.5 else 1 - near
    total = quad(density, 0, 1, points=ends, limit=500)[0]
    root = quad(lambda p: np.sqrt(p) * density(p), 0, 1, points=ends, limit=500)[0]
    evidence, found = flat_share(n, x, 2.0)
    assert evidence == pytest.approx(np.log(total * scale), abs=1e-4)
    assert found == pytest.approx(root / total, rel=1e-4)


def line_model(mass=(False, False, False, False)):
    """Four regions, a line without bends and no hidden positives."""
    place = np.array([-3.0, -1.0, 1.0, 3.0])
    basis, never = np.column_stack([np.ones(4), place]), np.zeros(4, dtype=bool)
    settings = ModelSettings(bend_sds=(1.0,), shapes=(0.02,), concentrations=(1e7,))
    curve = Curve(basis, np.array([0.0, 2.0]), never, never, never[:2], np.zeros(0))
    return LabelModel(curve, np.full(4, 1000.0), np.array(mass), settings)


def asked_by(model, n, x):
    n, x = np.array(n, dtype=float), np.array(x, dtype=float)
    mixture = model.fitted(n, x, None, THOROUGH)
    curve = mean_root(model, mixture, n, x)
    return curve, share_to_ask_by(model, mixture, curve, n, x)


def test_shares_are_weighed_by_how_probable_curve_and_flat_make_the_labels():
    """The probability of the labels by a line, by integration over its two coefficients."""
    n, x = np.array([30, 30, 30, 30]), np.array([1, 2, 1, 4])
    a, b = np.meshgrid(np.linspace(-30, 30, 1201), np.linspace(-10, 14, 961), indexing="ij")
    height = norm.logpdf(a, 0, 5) + norm.logpdf(b, 2, 1.5)
    for place, labels, events in zip([-3.0, -1.0, 1.0, 3.0], n, x, strict=True):
        eta = a + b * place
        height -= events * np.logaddexp(0, -eta) + (labels - events) * np.logaddexp(0, eta)
    by_line = np.exp(height).sum() * 0.05 * 0.025
    evidence, root = flat_share(120, 8, 5.0)
    chance = np.exp(evidence) / (np.exp(evidence) + by_line)
    assert 0.2 < chance < 0.98  # both count
    curve, share = asked_by(line_model(), n, x)
    # Laplace's approximation of the line's is a few percent off.
    expected = (chance * root + (1 - chance) * np.sqrt(curve)) ** 2
    np.testing.assert_allclose(share, expected, rtol=0.05)
    assert np.all(np.abs(share / curve - 1)[[0, 3]] > 0.2)


def test_before_the_first_label_and_in_a_mass_the_curve_alone_speaks():
    curve, share = asked_by(line_model(), [0] * 4, [0] * 4)
    assert np.array_equal(curve, share)
    model = line_model(mass=(True, False, False, False))
    curve, share = asked_by(model, [200, 30, 30, 30], [100, 1, 1, 1])
    assert share[0] == curve[0]
    _, other = asked_by(model, [200, 30, 30, 30], [0, 1, 1, 1])
    np.testing.assert_allclose(share[1:], other[1:])  # labels of a mass say nothing about a score


def run(scores, label, measure="prevalence", budgets=(50,) * 8, **options):
    ev = hs.Evaluation(hs.Pool(scores, **options), measure, random_state=1)
    for n in budgets:
        ev.tell({query.item: int(label[query.item]) for query in ev.ask(n)})
    return ev


def uneven(ev):
    """How unlike the sizes of items are: coefficient of variation over the pool."""
    ledger = ev.state.ledger
    size = ledger.problem.cells.size
    sizes = Assisted(by_region=0.0).sizes(ledger.problem, ledger.state)
    mean = np.average(sizes, weights=size)
    return np.sqrt(np.average((sizes - mean) ** 2, weights=size)) / mean


def test_labels_are_spread_evenly_where_the_score_tells_nothing_and_not_where_it_tells():
    rng = np.random.default_rng(3)
    label, noise = rng.random(10_000) < 0.03, rng.random(10_000)
    useless = run(noise, label)
    assert uneven(useless) < 0.1
    good = run(noise * 0.4 + 0.5 * label, label)
    assert uneven(good) > 1


def test_a_measure_that_looks_at_predictions_is_asked_about_by_the_curve_alone():
    rng = np.random.default_rng(3)
    label, noise = rng.random(2000) < 0.05, rng.random(2000)
    for measure, alone in [("prevalence", True), ("f1", False), ("accuracy", False)]:
        ev = run(noise, label, measure, (50, 50))
        ledger = ev.state.ledger
        assert sees_labels_alone(ledger.problem) == alone
        state, effort = ledger.state, QUICK_MIXTURE if alone else QUICK
        labels = state.view.events(state.labelled)
        start = Assisted().start(ledger.problem, np.random.default_rng(0))
        state = Assisted().fitted(ledger.problem, replace(start, labelled=state.labelled))
        mixture = state.view.model.fitted(*labels, start.modes, effort)
        by_curve = mean_root(state.view.model, mixture, *labels)
        share = state.view.shares(by_curve, state.labelled)
        assert np.array_equal(share, state.share) != alone
    both = hs.Evaluation(hs.Pool(noise), ["prevalence", "recall"], random_state=1)
    assert not sees_labels_alone(both.state.ledger.problem)
