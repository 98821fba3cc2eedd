"""The sweep: a judge read the tail; what it says, what that rests on, and when it is doubted."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from scipy.special import expit, logit
from typer.testing import CliRunner

import haystat as hs
from haystat.cli import app
from haystat.models.label_view import label_view
from haystat.models.settings import ModelSettings
from haystat.models.sweep import flat_view, shares_seen, swept_view
from haystat.pool.problem import pose

SIZE = 20_000


def made(n_hidden, seed=0, n_positive=60):
    """Scores, labels and a kind of each item; some positives are far below the threshold."""
    rng = np.random.default_rng(seed)
    label = (np.arange(SIZE) < n_positive).astype(int)
    score = np.where(label == 1, rng.normal(3, 0.8, SIZE), rng.normal(-4, 1, SIZE))
    score[:n_hidden] = rng.normal(-4, 1, n_hidden)
    kind = rng.choice(["film", "song"], SIZE, p=[0.7, 0.3])
    return score, label, kind


def judged(label, sees=0.9, alarms=0.002, seed=1):
    rng = np.random.default_rng(seed)
    return rng.random(SIZE) < np.where(label == 1, sees, alarms)


def evaluated(score, label, budget=400, columns=None, **signals):
    pool = hs.Pool(score, threshold=0.0, columns=columns, signals=signals or None)
    evaluation = hs.Evaluation(pool, "f1", random_state=0)
    evaluation.run(lambda items: label[items], budget=budget, batch_size=100)
    return evaluation


def width(estimate):
    return estimate.interval[1] - estimate.interval[0]


def truth_of(score, label):
    hard = score >= 0
    return 2 * label[hard].sum() / (hard.sum() + label.sum())


def test_the_share_that_a_judge_sees_has_the_quantiles_of_many_draws():
    rng = np.random.default_rng(0)
    known = rng.beta(37.5, 3.5, 400_000)
    drawn = expit(logit(known) - np.abs(rng.normal(size=len(known))))
    middles = (np.arange(6) + 0.5) / 6
    np.testing.assert_allclose(shares_seen(40, 37), np.quantile(drawn, middles), atol=0.005)


def test_hidden_positives_lie_among_the_flagged_in_the_given_share():
    score, label, _ = made(5)
    pool = hs.Pool(score, threshold=0.0, signals={"judge": judged(label)})
    problem = pose(pool, hs.measures.resolve("f1").bind(pool.schema))
    view = label_view(problem, ModelSettings())
    flagged = problem.cells.signals.band[view.regions.first, 0] == 1
    read = np.ones_like(flagged)
    model = swept_view(view, flagged, read, np.array([0.6, 0.9])).model
    low = model.curve.low
    found = model.curve.hints.tilts[:, low] * model.size[low]
    np.testing.assert_allclose(found.sum(axis=1), model.size[low].sum())
    np.testing.assert_allclose(found[:, flagged[low]].sum(axis=1) / found.sum(axis=1), [0.6, 0.9])
    assert np.all(flat_view(view).model.curve.hints.tilts == 1)


def test_a_sweep_of_an_empty_tail_makes_the_interval_at_most_half_as_wide():
    score, label, _ = made(0)
    swept = evaluated(score, label, judge=judged(label)).estimate()
    alone = evaluated(score, label).estimate()
    assert width(swept) < 0.5 * width(alone)
    low, high = swept.interval
    assert low <= truth_of(score, label) <= high


def test_it_says_what_it_was_tested_on_and_what_the_interval_is_without_it():
    score, label, _ = made(8)
    judge = judged(label)
    evaluation = evaluated(score, label, 700, judge=judge)  # all predicted positives
    estimate = evaluation.estimate()
    sweep = estimate.sweep
    known = [a.item for a in evaluation.answers if a.label == 1 and score[a.item] >= 0]
    assert sweep.holds
    assert (sweep.judge, sweep.n_known, sweep.n_flagged) == (
        "judge",
        len(known),
        judge[known].sum(),
    )
    told = {a.item for a in evaluation.answers}
    left = [item for item in np.flatnonzero(label) if item not in told and score[item] < 0]
    assert len(left) <= sweep.hidden < 30
    assert width(sweep.other) > 1.5 * width(estimate)
    low, high = sweep.other.interval
    assert f"f1 {low:.4g} to {high:.4g}" in estimate.warnings[-1]
    assert width(estimate.at(0.5).sweep.other) < width(sweep.other)


def test_with_all_of_45_known_positives_flagged_next_to_none_is_left():
    score, label, _ = made(0, n_positive=45)
    estimate = evaluated(score, label, 500, judge=judged(label, sees=1.0)).estimate()
    assert (estimate.sweep.n_known, estimate.sweep.n_flagged) == (45, 45)
    assert estimate.sweep.hidden <= 2


def test_a_judge_that_is_blind_to_a_kind_is_doubted_by_name():
    score, label, kind = made(10)
    judge = judged(np.where(kind == "song", 0, label))
    estimate = evaluated(score, label, columns={"kind": kind}, judge=judge).estimate()
    assert not estimate.sweep.holds
    assert re.search(r"flags 0 of \d+ known positives with kind = song", estimate.warnings[-1])
    assert "does not rest on it" in estimate.warnings[-1]
    assert estimate.interval != estimate.sweep.other.interval


def test_a_judge_that_misses_known_positives_is_doubted():
    score, label, _ = made(0)
    estimate = evaluated(score, label, judge=judged(label, sees=0.65)).estimate()
    assert "flags only" in estimate.sweep.doubt


def test_positives_found_where_the_judge_leaves_next_to_none_speak_against_it():
    score, label, _ = made(60, n_positive=120)
    judge = judged(np.where(score < 0, 0, label), sees=1.0)
    estimate = evaluated(score, label, 600, judge=judge).estimate()
    assert "not all that labels found" in estimate.sweep.doubt


def test_a_verdict_that_is_another_cut_of_the_score_is_doubted():
    """It flags what is predicted positive, rightly or not, and knows nothing of the hidden."""
    score, label, _ = made(0)
    score[-12:] = np.linspace(0.2, 2, 12)  # predicted positive, wrongly
    estimate = evaluated(score, label, judge=score > -1.5).estimate()
    assert re.search(r"(\d+) of \1 known negatives that are predicted", estimate.sweep.doubt)
    told = evaluated(score, label, judge=judged(label) | (np.arange(SIZE) == SIZE - 1)).estimate()
    assert told.sweep.holds


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_a_signal_that_flags_much_is_no_judge(share):
    score, label, _ = made(0)
    half = np.random.default_rng(2).random(SIZE) < share
    assert evaluated(score, label, 300, region=half).estimate().sweep is None


def test_a_study_and_the_command_line_say_the_same(tmp_path):
    score, label, _ = made(4)
    pool = hs.Pool(score, threshold=0.0, signals={"judge": judged(label)}, seed=1)
    path = tmp_path / "s.haystat"
    with hs.Study.create(path, pool, "f1", random_state=0) as study:
        study.tell({query.item: int(label[query.item]) for query in study.ask(300)})
        expected = study.estimate()
    shown = CliRunner().invoke(app, ["estimate", str(path)]).output
    assert "assumes that judge sees hidden positives" in shown.replace("\n", " ")
    told = json.loads(CliRunner().invoke(app, ["estimate", str(path), "--json"]).output)["sweep"]
    assert told["holds"]
    assert told["n_known"] == expected.sweep.n_known
    np.testing.assert_allclose(told["other_intervals"][0], expected.sweep.other.interval)
