"""hs.plan answers before there is a label, and is about right."""

from __future__ import annotations

import json
import sys

import numpy as np
import pandas as pd
import pytest

import haystat as hs
from haystat import cli
from haystat.errors import BadOption, UnknownName


@pytest.fixture(scope="module")
def wide(pool):
    return hs.plan(pool, "f1", 0.2, worlds=12)


def test_a_plan_is_within_a_factor_of_two_of_what_it_takes(pool, scored, wide):
    needed = []
    for seed in range(8):
        ev = hs.Evaluation(hs.Pool(scored[0], seed=seed), "f1", "assisted", random_state=seed)
        ev.run(lambda items: scored[1][items], budget=4000, until=hs.Width(0.2))
        needed.append(ev.n_labels)
    assert 0.5 <= wide.labels / np.median(needed) <= 2


def test_a_plan_brackets_its_median_and_beats_passive_sampling(wide):
    assert wide.reachable
    assert wide.low <= wide.labels <= wide.high
    assert wide.labels < wide.passive
    assert wide.reached > 0.5


def test_a_narrower_interval_takes_more_labels(pool, wide):
    assert hs.plan(pool, "f1", 0.1, worlds=12).labels > wide.labels


def test_an_ordinary_interval_takes_fewer_labels_than_one_for_all_times(pool):
    options = {"design": "adaptive", "worlds": 4, "cap": 4000}
    fixed = hs.plan(pool, "f1", 0.3, interval="fixed", **options)
    assert fixed.labels < hs.plan(pool, "f1", 0.3, interval="anytime", **options).labels


def test_the_same_random_state_gives_the_same_plan(pool, wide):
    assert hs.plan(pool, "f1", 0.2, worlds=12, random_state=0) == wide


def test_a_width_that_the_cap_does_not_allow_is_said_to_be_out_of_reach(pool):
    found = hs.plan(pool, "f1", 0.01, cap=100, worlds=4)
    assert not found.reachable
    assert found.labels is None
    assert found.high is None
    assert "not with 100 labels" in str(found)


def test_causes_are_shares_of_the_error_the_largest_first(wide):
    shares = [cause.share for cause in wide.hard]
    assert shares == sorted(shares, reverse=True)
    assert 0.8 < sum(shares) <= 1.0 + 1e-9
    assert all(str(cause) in str(wide) for cause in wide.hard)


def test_the_system_that_is_hard_to_tell_is_named(scored):
    rng = np.random.default_rng(0)
    pool = hs.Pool({"good": scored[0], "noise": rng.random(4000) ** 20})
    found = hs.plan(pool, hs.measures.ForSystems(hs.measures.F1()), 0.3, worlds=4)
    assert set(found.components) <= {"good:f1", "noise:f1"}
    assert sum(found.components.values()) == pytest.approx(1)


@pytest.mark.parametrize("measure", ["precision", "recall", "accuracy", "mcc", "balanced_accuracy"])
def test_other_measures_can_be_planned(pool, measure):
    assert hs.plan(pool, measure, 0.3, worlds=3, cap=2000).low is not None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"width": 0}, "width is 0"),
        ({"width": float("nan")}, "width is nan"),
        ({"width": 10}, "width is 10, and f1 goes from 0 to 1"),
        ({"level": 1.5}, "level is 1.5"),
        ({"interval": "wide"}, "interval is 'wide'"),
        ({"cap": 10}, "cap is 10"),
        ({"worlds": 0}, "worlds is 0"),
        ({"worlds": 2.5}, "worlds is 2.5"),
        ({"interval": "falling"}, "interval is 'falling'"),
        ({"random_state": -1}, "random_state is -1"),
    ],
)
def test_bad_options_are_named(pool, options, words):
    with pytest.raises(BadOption, match=words):
        hs.plan(pool, **options)


def test_unknown_names_are_named(pool):
    with pytest.raises(UnknownName, match="f11"):
        hs.plan(pool, "f11")
    with pytest.raises(UnknownName, match="assist"):
        hs.plan(pool, design="assist")


def test_labels_of_more_than_two_classes_or_numbers_are_refused():
    three = hs.Pool(np.random.default_rng(0).random((50, 3)), classes=("a", "b", "c"))
    with pytest.raises(BadOption, match="3 classes"):
        hs.plan(three, "accuracy")
    numbers = hs.Pool(np.linspace(0, 1, 50), classes=None)
    with pytest.raises(BadOption, match="numbers"):
        hs.plan(numbers, "mse", design="adaptive")


@pytest.fixture(scope="module")
def file(scored, tmp_path_factory):
    path = tmp_path_factory.mktemp("plan") / "pool.parquet"
    frame = pd.DataFrame({"s": scored[0], "t": scored[0][::-1], "hard": (scored[0] > 0.4) * 1})
    frame.to_parquet(path)
    return path


@pytest.fixture
def haystat(monkeypatch, capsys):
    """Run the command line in this process: code, standard output, standard error."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["haystat", *map(str, arguments)])
        code = 0
        try:
            cli.main()
        except SystemExit as error:
            code = error.code or 0
        return code, *capsys.readouterr()

    return run


def test_the_command_says_what_the_function_says(haystat, file, pool, wide):
    quick = ("--width", "0.2", "--worlds", "12")
    code, out, _ = haystat("plan", file, "--score", "s", *quick, "--json")
    assert code == 0
    found = json.loads(out)
    assert found["labels"] == wide.labels
    assert found["reachable"] is True
    assert found["hard"][0]["where"] == wide.hard[0].where
    code, out, _ = haystat("plan", file, "--score", "s", "--prediction", "hard", *quick)
    assert code == 0
    assert "Passive sampling" in out


def test_the_command_plans_for_several_systems(haystat, file):
    scores = ("--score", "s", "--score", "t")
    code, out, _ = haystat("plan", file, *scores, "--width", "0.5", "--worlds", "2", "--json")
    assert code == 0
    assert set(json.loads(out)["components"]) <= {"s:f1", "t:f1"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "--score"),
        (("--score", "nothing"), "nothing"),
        (("--score", "s", "--width", "-1"), "width is -1"),
        (("--score", "s", "--measure", "f11"), "f11"),
        (("--score", "s", "--prediction", "hard", "--prediction", "hard"), "2 prediction columns"),
    ],
)
def test_a_wrong_input_is_one_clear_line_and_exit_2(haystat, file, arguments, words):
    code, _, err = haystat("plan", file, *arguments)
    assert code == 2
    assert words in err
    assert "Traceback" not in err
