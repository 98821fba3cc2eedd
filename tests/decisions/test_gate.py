"""A gate passes what meets its requirements, fails what does not, and says when it cannot tell."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm
from typer.testing import CliRunner

import haystat as hs
from haystat.cli import app
from haystat.decisions.gate import INTERVALS
from haystat.decisions.requirements import parsed
from haystat.errors import BadOption, UnknownName
from haystat.inference.confidence_sequences import sequence_multiplier
from haystat.inference.credible import CredibleEstimate

pytest_plugins = ["pytester"]
SIZE = 3000


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    scores = rng.normal(-2, 2, SIZE)
    labels = (rng.random(SIZE) < 1 / (1 + np.exp(-2 * scores))).astype(int)
    worse = scores + rng.normal(0, 2, SIZE)
    return scores, worse, labels


@pytest.fixture(scope="module")
def evaluation(data):
    scores, _, labels = data
    found = hs.Evaluation(hs.Pool(scores, threshold=0.0, strata=32), "f1", random_state=1)
    found.run(lambda items: labels[items], budget=300)
    return found


@pytest.fixture(scope="module")
def path(data, tmp_path_factory):
    scores, worse, labels = data
    path = tmp_path_factory.mktemp("gate") / "two.haystat"
    pool = hs.Pool({"new": scores, "old": worse}, threshold=0.0, strata=32)
    measure = hs.measures.ForSystems(hs.measures.F1())
    with hs.Study.create(path, pool, measure, random_state=1) as study:
        for _ in range(3):
            study.tell({q.item: int(labels[q.item]) for q in study.ask(100)})
    return path


@pytest.mark.parametrize(
    ("need", "state"),
    [
        ("f1>=0.4", "pass"),
        ("f1 >= 0.99", "fail"),
        ("f1>=0.75", "undecided"),
        ("f1<=0.99", "pass"),
        ("f1<=0.4", "fail"),
        ("recall>=0.3", "pass"),
    ],
)
def test_states(evaluation, need, state):
    verdict = hs.gate(evaluation, need)
    assert verdict.state == state
    assert (verdict.passed, verdict.failed, verdict.undecided) == tuple(
        state == one for one in ("pass", "fail", "undecided")
    )


def test_a_requirement_names_the_options_of_its_measure(evaluation):
    verdict = hs.gate(evaluation, "fbeta:beta=2>=0.05", "system:precision_at_k:k=20>=0.01")
    assert verdict.checks[0].value == evaluation.estimate("fbeta:beta=2").value
    assert verdict.checks[0].value != evaluation.estimate("fbeta").value
    assert verdict.checks[1].value == evaluation.estimate("precision_at_k:k=20").value


def test_all_must_pass_and_one_is_enough_to_fail(evaluation):
    assert hs.gate(evaluation, "f1>=0.4", "recall>=0.3").passed
    assert hs.gate(evaluation, "f1>=0.4", "f1>=0.75").undecided
    assert hs.gate(evaluation, "f1>=0.75", "f1>=0.99").failed


def test_further_requirements_do_not_make_passing_harder_but_share_the_error_of_failing(evaluation):
    alone = hs.gate(evaluation, "f1>=0.6").checks[0]
    among = hs.gate(evaluation, "f1>=0.6", "recall>=0.1", "recall>=0.2").checks[0]
    assert among.low == alone.low
    assert among.high > alone.high


def test_the_fixed_interval_is_one_sided(evaluation):
    check = hs.gate(evaluation, "f1>=0.6", interval="fixed").checks[0]
    low, high = evaluation.estimate(level=0.9).interval
    assert (check.low, check.high) == pytest.approx((low, high), abs=1e-12)


def test_the_anytime_interval_is_stretched_like_a_confidence_sequence(evaluation):
    """On the worse side from where the draws end; on the better side from the level: further."""
    reach = sequence_multiplier(0.9, 300)
    drawn, nominal = norm.ppf(1 - 0.2 * 0.025), norm.ppf(0.975)
    check = hs.gate(evaluation, "f1>=0.6").checks[0]
    estimate = evaluation.estimate(level=0.95)
    value, (low, high) = estimate.value, estimate.interval
    assert check.low == pytest.approx(value - reach / drawn * (value - low))
    assert check.high == pytest.approx(value + reach / nominal * (high - value))
    loss = replace(estimate.at(0.9), lower_is_better=True).watched_intervals[0]
    assert loss[0] == pytest.approx(value - reach / nominal * (value - low))
    assert loss[1] == pytest.approx(value + reach / drawn * (high - value))


def test_of_a_difference_neither_side_is_the_worse(path):
    with hs.Study.open(path) as study:
        check = hs.gate(study, "f1>=baseline-0.1").checks[0]
        difference = study.estimate(hs.measures.Difference(hs.measures.F1(), "new", "old"))
    reach = sequence_multiplier(0.9, 300) / norm.ppf(0.975)
    ends = difference.value + reach * (np.array(difference.interval) - difference.value)
    assert (check.low, check.high) == pytest.approx(tuple(ends))


def test_the_guaranteed_interval_decides_without_the_model(evaluation):
    check = hs.gate(evaluation, "f1>=0.2", interval="guaranteed").checks[0]
    low, high = evaluation.estimate(level=0.9).guaranteed_interval
    assert (check.low, check.high) == pytest.approx((low, high), abs=1e-12)


def test_on_the_boundary_it_rarely_passes_although_one_looks_after_every_batch(data):
    scores, _, labels = data
    pool = hs.Pool(scores, threshold=0.0, strata=16)
    predicted = scores >= 0
    truth = 2 * labels[predicted].sum() / (predicted.sum() + labels.sum())
    passed = 0
    for seed in range(8):
        one = hs.Evaluation(pool, "f1", random_state=seed)
        for n in range(40, 241, 40):
            one.run(lambda items: labels[items], budget=n)
            if hs.gate(one, f"f1>={truth + 1e-9}").passed:
                passed += 1
                break
    assert passed <= 2  # eight runs at 5%: three or more have a chance of one in two hundred


def test_an_exact_posterior_rarely_passes_on_the_boundary_however_often_one_looks():
    """Means of normal values about 0, whose posterior is known, and the requirement to be above 0.

    At 5% in 400 runs 34 or more have a chance of one in two hundred; the interval for one look,
    at the level that its draws have, passes three times as often.
    """
    total = np.cumsum(np.random.default_rng(2).normal(size=(1000, 400)), axis=0)
    shape = norm.ppf((np.arange(400) + 0.5) / 400)[:, None]
    watched, once = np.zeros(400, dtype=bool), np.zeros(400, dtype=bool)
    for n in range(50, 1001, 50):
        value = total[n - 1] / n
        draws = value + shape / np.sqrt(n)
        about = ("mean", ("mean",) * 400, value, draws, 0.9, n, n, (-np.inf, np.inf))
        found = CredibleEstimate(*about, draws=draws, tail_share=0.2, lower_is_better=False)
        watched |= found.watched_intervals[:, 0] >= 0
        once |= value >= norm.ppf(0.95) / np.sqrt(n)
    assert watched.sum() < 34
    assert once.sum() > 60


def test_labels_left_follow_the_root_of_the_labels(evaluation):
    check = hs.gate(evaluation, "f1>=0.75").checks[0]
    reach, slack = (
        (check.value - check.low, check.value - 0.75)
        if check.value >= 0.75
        else (check.high - check.value, 0.75 - check.value)
    )
    expected = 300 * (reach / slack) ** 2 - 300
    if expected > SIZE - 300:
        assert check.labels_left is None
    else:
        assert check.labels_left == pytest.approx(expected, abs=1)


def test_nothing_is_decided_without_labels():
    verdict = hs.gate(hs.Evaluation(hs.Pool([0.1, 0.9], strata=1), random_state=0), "f1>=0.5")
    assert verdict.undecided


class TestReading:
    SCHEMA = hs.Pool({"new": [0.1, 0.9], "old": [0.2, 0.8]}, strata=1).schema
    THREE = hs.Pool({"a": [0.1], "b": [0.2], "baseline": [0.3]}, strata=1).schema

    @pytest.mark.parametrize(
        ("text", "name", "at_least", "bound"),
        [
            ("recall>=0.8", "recall", True, 0.8),
            (" old:precision <= .5 ", "precision", False, 0.5),
            ("f1>=baseline-0.01", "f1 difference", True, -0.01),
            ("f1>=baseline", "f1 difference", True, 0.0),
            ("old:f1>=baseline + 2e-2", "f1 difference", True, 0.02),
        ],
    )
    def test_what_people_write(self, text, name, at_least, bound):
        found = parsed(text, self.SCHEMA)
        assert (found.measure.name, found.at_least, found.bound) == (name, at_least, bound)

    def test_the_baseline_is_the_other_of_two_or_the_one_of_that_name_or_the_one_given(self):
        def pair(schema, *given):
            difference = parsed("f1>=baseline", schema, *given).measure
            return difference.system_a, difference.system_b

        assert pair(self.SCHEMA) == ("new", "old")
        assert pair(self.THREE) == ("a", "baseline")
        assert pair(self.THREE, "b") == ("a", "b")
        with pytest.raises(BadOption, match="can be compared with"):
            parsed("f1>=baseline", self.THREE, "c")
        several = hs.Pool({"a": [0.1], "b": [0.2], "c": [0.3]}, strata=1).schema
        with pytest.raises(BadOption, match="which system is the baseline"):
            parsed("f1>=baseline", several)
        alone = hs.Pool({"a": [0.1]}, strata=1).schema
        with pytest.raises(BadOption, match="a baseline is a second system"):
            parsed("f1>=baseline", alone)

    @pytest.mark.parametrize(
        "text", ["", "recall", "recall>0.8", "recall>=high", ">=0.5", 3, "f1>=1.2.3"]
    )
    def test_what_cannot_be_read_is_refused(self, text):
        with pytest.raises(BadOption):
            parsed(text, self.SCHEMA)

    def test_unknown_measures_systems_and_curves_are_refused(self):
        with pytest.raises(UnknownName):
            parsed("recal>=0.5", self.SCHEMA)
        with pytest.raises(UnknownName):
            parsed("newest:recall>=0.5", self.SCHEMA)
        with pytest.raises(BadOption, match="values; a requirement is about one"):
            parsed("pr_curve>=0.5", self.SCHEMA)


@pytest.mark.parametrize(
    "options", [{"level": 0.4}, {"interval": "wide"}, {"baseline": "x"}], ids=str
)
def test_wrong_options_are_refused(evaluation, options):
    with pytest.raises(BadOption):
        hs.gate(evaluation, "f1>=baseline" if "baseline" in options else "f1>=0.5", **options)
    with pytest.raises(BadOption, match="needs a requirement"):
        hs.gate(evaluation)


def run(*arguments):
    return CliRunner().invoke(app, ["gate", *map(str, arguments)])


def test_the_command_says_so_by_its_exit_code(path):
    passed = run(path, "--require", "recall>=0.2", "--require", "f1>=baseline-0.5")
    assert passed.exit_code == 0, passed.output
    assert "pass: recall>=0.2" in passed.stdout
    assert "items predicted positive" in passed.stdout
    assert run(path, "--require", "f1>=0.999").exit_code == 1
    undecided = run(path, "--require", "recall>=0.7", "--json", "--batch", "7")
    found = json.loads(undecided.stdout)
    assert undecided.exit_code == {"pass": 0, "fail": 1, "undecided": 3}[found["state"]]


def test_an_undecided_gate_shows_questions_that_anybody_may_take(path):
    with hs.Study.open(path) as study:
        value = float(study.estimate(hs.measures.F1(system="new")).value)
    first = json.loads(run(path, "--require", f"f1>={value}", "--json", "--batch", "5").stdout)
    again = json.loads(run(path, "--require", f"f1>={value}", "--json", "--batch", "5").stdout)
    assert len(first["questions"]) == 5
    assert first["questions"] == again["questions"]
    with hs.Study.open(path) as study:
        assert {q.item for q in study.ask(5, "ann")} == set(first["questions"])
        study.release("ann")


def test_the_fixture_of_pytest(pytester, path):
    pytester.makepyfile(
        f"""
        STUDY = {str(path)!r}
        def test_passes(haystat_gate):
            assert haystat_gate(STUDY, "recall>=0.2").passed
        def test_fails(haystat_gate):
            haystat_gate(STUDY, "f1>=0.999")
        def test_undecided(haystat_gate):
            haystat_gate(STUDY, "f1>=baseline+0.2", level=0.999999)
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["*fail at 95% from*"])
    pytester.makeini("[pytest]\nhaystat_undecided = skip")
    skipping = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    skipping.assert_outcomes(passed=1, failed=1, skipped=1)


def test_every_interval_says_what_it_is():
    assert all(text for _, text in INTERVALS.values())


def test_ends_of_a_verdict_are_values_that_the_measure_can_have(data):
    scores, _, labels = data
    few = hs.Evaluation(hs.Pool(scores, threshold=0.0, strata=32), "f1", random_state=1)
    few.run(lambda items: labels[items], budget=40)
    for check in hs.gate(few, "precision>=0.5", "recall>=0.5").checks:
        assert 0 <= check.low < check.value < check.high <= 1


@pytest.mark.parametrize("text", ["recall>=80", "prevalence<=5", "f1>=baseline-2", "recall>=-0.1"])
def test_a_requirement_that_decides_nothing_is_refused(data, text):
    pool = hs.Pool({"new": data[0], "baseline": data[1]}, threshold=0.0, strata=32)
    with pytest.raises(BadOption, match="decides nothing"):
        hs.gate(hs.Evaluation(pool), text)
