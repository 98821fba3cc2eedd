"""A measure within every value of a column: library, study, command line."""

from __future__ import annotations

import numpy as np
import pytest

import haystat as hs
from haystat.errors import BadOption, UnknownName
from haystat.measures import Precision, Recall, Within

RNG = np.random.default_rng(5)
SCORE = RNG.random(600)
TOPIC = np.where(RNG.random(600) < 0.5, "law", "geography")
LABEL = (RNG.random(600) < SCORE**2).astype(int)


def pool(**columns):
    return hs.Pool(SCORE, strata=8, columns={"topic": TOPIC, **columns})


@pytest.fixture(scope="module")
def answered():
    ev = hs.Evaluation(pool(), "prevalence", random_state=0)
    ev.run(lambda items: LABEL[items], budget=150)
    return ev


def test_each_group_has_the_value_that_it_has_alone(answered):
    found = answered.estimate(["precision", "recall"], by="topic")
    alone = [
        answered.estimate(Within(measure, column="topic", equals=topic))
        for measure in (Precision(), Recall())
        for topic in ("geography", "law")
    ]
    assert found.values.tolist() == [one.value for one in alone]
    assert found.intervals.tolist() == [list(one.interval) for one in alone]
    assert found.components[0] == "precision where topic='geography'"
    assert found.measure == "precision, recall by topic"


def test_without_a_measure_it_is_that_of_the_evaluation(answered):
    found = answered.estimate(by="topic")
    for value, topic in zip(found.values, ("geography", "law"), strict=True):
        assert value == pytest.approx(LABEL[topic == TOPIC].mean(), abs=0.1)


def test_a_study_and_the_command_line_say_the_same(answered, tmp_path, run):
    path = tmp_path / "s.haystat"
    with hs.Study.create(path, pool(), "prevalence", random_state=0) as study:
        study.tell({q.item: int(LABEL[q.item]) for q in study.ask(100)})
        known = study.estimate("recall", by="topic")
    found = run("estimate", path, "--measure", "recall", "--by", "topic", "--json")
    assert [one["value"] for one in found["components"]] == known.values.tolist()
    assert "recall where topic='law'" in run(
        "estimate", path, "--measure", "recall", "--by", "topic"
    )
    assert "no column 'theme'" in run("estimate", path, "--by", "theme", code=2)


def test_missing_values_are_no_group_and_too_many_are_refused():
    grade = np.where(np.arange(600) < 300, 1.0, np.nan)
    ev = hs.Evaluation(pool(grade=grade, row=np.arange(600)), random_state=0)
    ev.run(lambda items: LABEL[items], budget=50)
    assert ev.estimate(by="grade").components == ("f1 where grade=1.0",)
    with pytest.raises(BadOption, match="has 600 values"):
        ev.estimate(by="row")
    with pytest.raises(UnknownName, match="haystat new --column"):
        ev.estimate(by="theme")
