"""What notebooks show: cards, tables, pictures and pages, from the numbers of the object."""

from __future__ import annotations

import html
import io
import re
import sys

import matplotlib as mpl
import numpy as np
import pytest
from jinja2 import UndefinedError

import haystat as hs
from haystat.core.progress import progress_bar
from haystat.display.card import Bar, Card, card_html, number
from haystat.display.render import environment

mpl.use("Agg")

RNG = np.random.default_rng(0)
SCORES = RNG.normal(-3, 1.5, 3000)
LABELS = (RNG.random(3000) < 1 / (1 + np.exp(1 - 2 * SCORES))).astype(int)


def oracle(items):
    return [int(LABELS[item]) for item in items]


@pytest.fixture(scope="module")
def pool():
    return hs.Pool(SCORES, threshold=0.0)


@pytest.fixture(scope="module")
def evaluation(pool):
    made = hs.Evaluation(pool, ["f1", "precision"], random_state=0)
    made.run(oracle, budget=100)
    return made


@pytest.fixture(scope="module")
def comparison():
    two = hs.Pool({"old": SCORES, "<new>": SCORES + RNG.normal(0, 1, 3000)}, threshold=0.0)
    return hs.compare(two, oracle=oracle, budget=100, random_state=0)


@pytest.fixture(scope="module")
def plan(pool):
    return hs.plan(pool, "f1", width=0.5, worlds=2)


@pytest.fixture(scope="module")
def decisions(evaluation):
    """A cut, a verdict, and what changed in a version with 300 further items."""
    newer = np.append(SCORES + RNG.normal(0, 0.5, 3000), RNG.normal(-3, 1.5, 300))
    later = evaluation.next(hs.Pool(newer, threshold=0.0))
    return [
        evaluation.threshold(precision=0.5),
        hs.gate(evaluation, "recall>=0.1", "f1>=0.99"),
        hs.change(evaluation, later, "f1"),
    ]


@pytest.fixture(scope="module")
def objects(pool, evaluation, comparison, plan, decisions):
    curve = evaluation.estimate("pr_curve")
    return [
        pool,
        evaluation,
        evaluation.estimate(),
        evaluation.estimate("f1"),
        curve,
        comparison,
        plan,
        *decisions,
    ]


def texts(markup):
    """The text of a card without its style."""
    return html.unescape(re.sub(r"<style>.*?</style>|<[^>]+>", " ", markup, flags=re.DOTALL))


def test_every_object_has_a_card_a_table_a_picture_and_a_page(objects, tmp_path):
    for one in objects:
        assert "<svg" in one._repr_html_() or "<table" in one._repr_html_()
        assert len(one.to_frame()) > 0
        assert one.plot().figure is not None
        path = tmp_path / "page.html"
        one.report(path)
        assert "<html" in path.read_text(encoding="utf-8")
        assert "object at 0x" not in repr(one)
    mpl.pyplot.close("all")


def test_a_card_has_the_numbers_of_the_estimate(evaluation):
    estimate = evaluation.estimate()
    shown = texts(estimate._repr_html_())
    for value, (low, high) in zip(estimate.values, estimate.intervals, strict=True):
        assert f"{value:.3f}" in shown
        assert f"{low:.3f} to {high:.3f}" in shown


def test_cards_say_which_system_is_better_and_what_makes_a_plan_hard(comparison, plan):
    (duel,) = comparison.against_best
    verdict = f"{duel.verdict(comparison.level)}."
    whose = "" if duel.told else f"{duel.system} and {duel.other}: "
    assert whose + verdict in comparison._card().facts
    assert "What makes it hard, by share of the error:" in plan._card().facts


def test_cards_of_decisions_have_their_numbers(decisions):
    cut, verdict, changed = decisions
    shown = texts(cut._repr_html_())
    assert f"{cut.threshold:.6g} predicts {cut.certified.n_predicted:,} positive" in shown
    assert f"{cut.certified.recall[0]:.3f}" in shown
    named = [bar.name for bar in verdict._card().bars]
    assert named == ["recall>=0.1: undecided", "f1>=0.99: fail"]
    bars = {bar.name: bar.interval for bar in changed._card().bars}
    parts = {"change": changed.change, "by the model": changed.model, "by the data": changed.data}
    assert bars == {name: f"{number(p.low)} to {number(p.high)}" for name, p in parts.items()}
    assert any("more labels" in fact for fact in verdict._card().facts)
    assert "3,000 items of both, 300 new ones, 0 gone." in texts(changed._repr_html_())


def test_an_estimate_of_several_measures_prints_its_values(evaluation):
    estimate = evaluation.estimate()
    for name, value in zip(estimate.components, estimate.values, strict=True):
        assert re.search(rf"{name} +{value:.4g}".replace(".", r"\."), str(estimate))


@pytest.mark.parametrize(
    "package", [f"haystat.{room}" for room in ("display", "report", "experiments", "web")]
)
def test_templates_escape_what_they_are_given_and_know_every_name(package):
    templates = environment(package)
    assert templates.list_templates()
    assert templates.from_string("{{ x }}").render(x="<b>'\"") == "&lt;b&gt;&#39;&#34;"
    with pytest.raises(UndefinedError):
        templates.from_string("{{ y }}").render(x=1)


def test_names_in_a_card_are_escaped(comparison):
    assert "<new>" not in comparison._repr_html_()
    assert "<new>" in texts(comparison._repr_html_())


def test_a_card_sets_no_colour_of_text_or_ground_so_that_it_suits_dark_notebooks(objects):
    for one in objects:
        style = one._repr_html_()
        assert not re.search(r"[;{ ]color\s*:", style)
        assert not re.search(r"background(-color)?\s*:(?!\s*none)", style)


def test_the_frame_of_a_curve_has_thresholds_as_numbers(evaluation):
    estimate = evaluation.estimate("pr_curve")
    frame = estimate.to_frame()
    assert list(frame.columns[:3]) == ["threshold", "precision", "precision_low"]
    assert frame["threshold"].is_monotonic_increasing
    n = len(frame)
    np.testing.assert_array_equal(frame["recall"], estimate.values[n:])
    np.testing.assert_array_equal(frame["recall_high"], estimate.intervals[n:, 1])


def test_the_display_of_a_curve_draws_what_was_estimated_and_the_cut_in_use(evaluation):
    shown = hs.CurveDisplay.from_evaluation(evaluation).plot(name="ours")
    estimate = evaluation.estimate("pr_curve")
    n = len(estimate.thresholds)
    known = np.isfinite(estimate.values[:n]) & np.isfinite(estimate.values[n:])
    np.testing.assert_array_equal(shown.line_.get_ydata(), estimate.values[:n][known])
    labels = [text.get_text() for text in shown.ax_.get_legend().get_texts()]
    assert "ours" in labels
    assert any(label.startswith("threshold") for label in labels)
    wide = hs.CurveDisplay.from_estimate(estimate, simultaneous=True)
    narrow = hs.CurveDisplay.from_estimate(estimate)
    assert np.all(wide.band[known, 1] >= narrow.band[known, 1] - 1e-12)
    mpl.pyplot.close("all")


def test_roc_curves_have_the_false_positive_rate_along_x(evaluation):
    shown = hs.CurveDisplay.from_evaluation(evaluation, "roc_curve")
    assert (shown.x_name, shown.y_name) == ("false positive rate", "recall")


def test_what_is_no_curve_says_so(evaluation):
    with pytest.raises(hs.HaystatError, match="no curve"):
        hs.CurveDisplay.from_estimate(evaluation.estimate("f1"))


def test_an_evaluation_draws_its_estimate_after_each_stage(evaluation):
    axes = evaluation.plot()
    labels = axes.get_lines()[0].get_xdata()
    assert list(labels) == [50, 100]
    assert axes.get_lines()[0].get_ydata()[-1] == evaluation.estimate().values[0]
    mpl.pyplot.close("all")


def test_the_frame_of_an_evaluation_has_every_answer(evaluation):
    frame = evaluation.to_frame()
    assert len(frame) == evaluation.n_labels
    assert list(frame["label"]) == [int(LABELS[item]) for item in frame["item"]]
    assert list(frame["system_score"]) == [SCORES[item] for item in frame["item"]]


def test_an_evaluation_without_labels_says_so(pool):
    fresh = hs.Evaluation(pool, "f1", random_state=0)
    assert "No labels yet" in texts(fresh._repr_html_())
    assert "nan" not in texts(fresh._repr_html_())
    assert "0 labels" in repr(fresh)


def test_a_comparison_without_labels_says_so():
    two = hs.Pool({"a": SCORES, "b": -SCORES}, threshold=0.0)
    fresh = hs.Evaluation(two, hs.measures.Differences(hs.measures.F1()), random_state=0)
    found = hs.compare(fresh)
    assert "no labels yet" in str(found)
    assert "nan" not in str(found) + texts(found._repr_html_())


def test_reports_go_where_their_name_says(evaluation, tmp_path):
    for ending in ("html", "md", "json"):
        evaluation.report(tmp_path / f"r.{ending}")
        assert (tmp_path / f"r.{ending}").stat().st_size > 500
    with pytest.raises(hs.HaystatError, match="end the name in"):
        evaluation.report(tmp_path / "r.pdf")
    with pytest.raises(hs.HaystatError, match=r"end the name in \.html"):
        evaluation.estimate().report(tmp_path / "r.pdf")


def test_a_missing_package_is_named_with_its_extra(evaluation, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(hs.HaystatError, match=r"pip install 'haystat\[frames\]'"):
        evaluation.to_frame()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(hs.HaystatError, match=r"pip install 'haystat\[plots\]'"):
        evaluation.estimate().plot()


def test_progress_stays_visible(monkeypatch):
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)
    with progress_bar("labels", 40, shown=True) as advance:
        advance(40)
    last = written.getvalue().rstrip("\n").split("\r")[-1]
    assert last.startswith("labels")
    assert "40/40" in last


@pytest.mark.parametrize("in_notebook", [True, False])
def test_progress_goes_on_from_the_labels_that_are_there(pool, monkeypatch, in_notebook):
    evaluation = hs.Evaluation(pool, "f1", random_state=0)
    evaluation.run(oracle, budget=20, batch_size=20)
    out, err = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setattr("rich.console._is_jupyter", lambda: in_notebook)
    evaluation.run(oracle, budget=60, batch_size=20, progress=True)
    written, other = (out, err) if in_notebook else (err, out)
    counts = re.findall(r"(\d+)/60", written.getvalue())
    assert counts[0] == "40"
    assert counts[-1] == "60"
    assert other.getvalue() == ""


def test_a_bar_without_an_interval_has_no_picture():
    card = Card("t", bars=(Bar("a", np.nan, np.nan, np.nan), Bar("b", 0.5, 0.4, 0.6)))
    assert card_html(card).count("<svg") == 1
    assert number(float("nan")) == "unknown"


def test_a_level_next_to_nothing_has_a_card(evaluation):
    assert evaluation.estimate("f1", level=1e-16)._repr_html_()
