"""hs.compare: which system is better, by how much, and when that is known."""

from __future__ import annotations

import json
import sys

import numpy as np
import pandas as pd
import pytest

import haystat as hs
from haystat import cli
from haystat.comparison.duels import duels, labels_left
from haystat.errors import BadOption, NoSupport, UnknownName
from haystat.measures import F1, Brier, Difference, Differences, Recall, Several, Within

SIZE = 3000


@pytest.fixture(scope="module")
def data():
    """Scores of three systems, the first best, the last useless; and labels."""
    rng = np.random.default_rng(4)
    signal = rng.normal(-3, 1.8, SIZE)
    label = (rng.random(SIZE) < 1 / (1 + np.exp(-1.5 * signal))).astype(int)
    scores = {
        "sharp": signal,
        "blunt": signal + rng.normal(0, 1.5, SIZE),
        "noise": rng.normal(-3, 1.8, SIZE),
    }
    return scores, label


@pytest.fixture(scope="module")
def pool(data):
    return hs.Pool(data[0], strata=64)


@pytest.fixture(scope="module")
def found(pool, data):
    return hs.compare(pool, oracle=lambda items: data[1][items], budget=900, random_state=0)


def f1(prediction, label):
    return 2 * (prediction @ label) / (prediction.sum() + label.sum())


def truth(data):
    scores, label = data
    return {name: f1((values >= 0).astype(int), label) for name, values in scores.items()}


def test_differences_are_those_of_all_pairs(pool, data):
    bound = Differences(F1()).bind(pool.schema)
    assert bound.components == (
        "sharp:f1 - blunt:f1",
        "sharp:f1 - noise:f1",
        "blunt:f1 - noise:f1",
    )
    every = np.arange(SIZE)
    risk = bound.risk(pool.outputs(every), data[1], np.full(SIZE, 1 / SIZE))
    a, b, c = truth(data).values()
    assert bound.value(risk) == pytest.approx([a - b, a - c, b - c])


def test_differences_of_two_systems_are_their_difference(pool, data):
    one = Differences(F1(), ("blunt", "sharp")).bind(pool.schema)
    other = Difference(F1(), "blunt", "sharp").bind(pool.schema)
    risk = np.array([0.02, 0.05, 0.03, 0.06])[: one.n_risk]
    assert one.value(risk) == pytest.approx(other.value(risk))
    assert one.jacobian(risk) == pytest.approx(other.jacobian(risk))


def test_the_best_system_wins(found):
    assert found.winner == found.best == "sharp"
    assert [row.system for row in found.standings] == ["sharp", "blunt", "noise"]
    assert all(duel.labels_left == 0 for duel in found.against_best)
    assert "sharp is better than blunt at 95%" in str(found)


def test_it_stops_as_soon_as_the_best_is_known(found):
    assert found.n_labels < 900


def test_a_duel_is_the_same_from_both_sides(found):
    one, other = found.duel("sharp", "noise"), found.duel("noise", "sharp")
    assert one.difference == -other.difference
    assert (one.low, one.high) == (-other.high, -other.low)
    assert one.winner == other.winner == "sharp"
    with pytest.raises(BadOption, match="no pair"):
        found.duel("sharp", "dull")


def test_intervals_of_the_differences_hold(pool, data):
    values = truth(data)
    held = []
    for seed in range(20):
        ev = hs.Evaluation(
            hs.Pool(data[0], strata=64, seed=seed), Differences(F1()), "assisted", random_state=seed
        )
        ev.run(lambda items: data[1][items], budget=300)
        held += [
            pair.low <= values[pair.system] - values[pair.other] <= pair.high
            for pair in hs.compare(ev, interval="fixed").pairs
        ]
    assert np.mean(held) >= 0.93


def test_two_equal_systems_are_never_told_apart(data):
    scores, label = data
    pool = hs.Pool({"a": scores["sharp"], "b": scores["sharp"].copy()}, strata=32)
    found = hs.compare(pool, oracle=lambda items: label[items], budget=200, random_state=0)
    assert found.winner is None
    assert found.against_best[0].difference == 0


def test_all_labels_make_the_comparison_exact(data):
    scores = {name: values[:300] for name, values in data[0].items()}
    label = data[1][:300]
    pool = hs.Pool(scores, strata=16)
    ev = hs.Evaluation(pool, Differences(F1()), "assisted", random_state=0)
    ev.run(lambda items: label[items], budget=300)
    found = hs.compare(ev)
    values = truth((scores, label))
    for pair in found.pairs:
        assert pair.low == pytest.approx(values[pair.system] - values[pair.other])
        assert pair.high == pytest.approx(pair.low)


def test_an_evaluation_of_one_measure_is_compared_by_another(pool, data):
    ev = hs.Evaluation(pool, "f1", "assisted", random_state=0)
    ev.run(lambda items: data[1][items], budget=300)
    assert hs.compare(ev).measure == "f1"
    found = hs.compare(ev, "recall", systems=("blunt", "noise"), level=0.9)
    assert found.measure == "recall"
    assert {row.system for row in found.standings} == {"blunt", "noise"}


def test_labels_that_cannot_speak_of_the_other_system_are_refused(pool, data):
    ev = hs.Evaluation(pool, "precision", "adaptive", random_state=0)
    ev.run(lambda items: data[1][items], budget=50)
    with pytest.raises(NoSupport, match="differences"):
        hs.compare(ev, "precision")


def test_a_lower_error_wins(data):
    scores = {name: 1 / (1 + np.exp(-1.5 * values)) for name, values in data[0].items()}
    pool = hs.Pool(scores, strata=16)
    answer = lambda items: data[1][items]  # noqa: E731
    found = hs.compare(pool, "brier", oracle=answer, budget=600, random_state=0)
    assert found.best == "sharp"
    turned = hs.compare(pool, "brier", oracle=answer, budget=600, better="higher", random_state=0)
    assert turned.best == "noise"


def test_a_lower_error_wins_in_a_group_too(data):
    scores = {name: 1 / (1 + np.exp(-1.5 * values)) for name, values in data[0].items()}
    group = Within(Brier(), mask=np.arange(SIZE) % 4 > 0)
    answer = lambda items: data[1][items]  # noqa: E731
    pool = hs.Pool(scores, strata=16)
    found = hs.compare(pool, group, oracle=answer, budget=300, random_state=0)
    assert found.best == "sharp"


def test_labels_left_follow_the_root_law():
    assert labels_left(0.1, -0.1, 0.3, 100) == 300
    assert labels_left(-0.1, -0.3, 0.1, 100) == 300
    assert labels_left(0.0, -0.1, 0.1, 100) is None
    assert labels_left(0.1, -np.inf, np.inf, 100) is None


def test_more_labels_than_items_are_not_promised():
    estimate = hs.Estimate(
        "f1", ("a - b",), np.array([1e-4]), np.array([[0.1]]), 0.95, 200, 200, (-1, 1)
    )
    duel = duels(estimate, ("a", "b"), "higher", "fixed", 1000)[0]
    assert duel.labels_left is None
    assert "not before all items are labelled" in duel.verdict(0.95)


def test_the_rule_needs_differences(pool, data):
    ev = hs.Evaluation(pool, Several([F1(), Recall()]), "assisted", random_state=0)
    with pytest.raises(BadOption, match="no differences of all pairs"):
        ev.run(lambda items: data[1][items], budget=50, until=hs.Decided())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "no labels yet"),
        ({"level": 2}, "level is 2"),
        ({"interval": "wide"}, "interval is 'wide'"),
        ({"better": "faster"}, "better is 'faster'"),
        ({"systems": ("sharp",)}, "two or more different"),
        ({"systems": ("sharp", "sharp")}, "two or more different"),
        ({"systems": "sharp"}, "two or more different"),
    ],
)
def test_bad_options_are_named(pool, options, words):
    with pytest.raises(BadOption, match=words):
        hs.compare(pool, **options)


def test_bad_sources_are_named(pool, data):
    with pytest.raises(BadOption, match="two or more different"):
        hs.compare(hs.Pool(data[0]["sharp"]), oracle=lambda items: items)
    with pytest.raises(BadOption, match="is no pool"):
        hs.compare([1, 2, 3])
    with pytest.raises(UnknownName, match="dull"):
        hs.compare(pool, systems=("sharp", "dull"), oracle=lambda items: data[1][items])
    with pytest.raises(BadOption, match="asks its own questions"):
        hs.compare(hs.Evaluation(pool), oracle=lambda items: items)


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


def test_a_study_is_made_and_read_from_the_command_line(haystat, data, tmp_path):
    file, study = tmp_path / "pool.parquet", tmp_path / "cats.haystat"
    pd.DataFrame(data[0]).to_parquet(file)
    scores = ("--score", "sharp", "--score", "noise")
    new = ("new", study, file, *scores, "--design", "assisted", "--seed", "0")
    assert haystat(*new, "--compare", "--measure", "f1,recall")[0] == 2
    assert haystat(*new, "--compare")[0] == 0
    with hs.Study.open(study) as opened:
        opened.tell({q.item: int(data[1][q.item]) for q in opened.ask(200)})
        expected = hs.compare(opened)
    code, out, _ = haystat("compare", study, "--json")
    assert code == 0
    shown = json.loads(out)
    assert shown["winner"] == expected.winner
    assert shown["against_best"][0]["difference"] == expected.against_best[0].difference
    code, out, _ = haystat("compare", study, "--measure", "recall")
    assert code == 0
    assert "sharp - noise" in out
    code, _, err = haystat("compare", study, "--systems", "sharp")
    assert code == 2
    assert "two or more different" in err
