"""The log of the assisted design: saved, corrected, incomplete, in a study."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import haystat as hs
from haystat.errors import BadOption, HaystatError
from haystat.study import verify


def same(one, other):
    """Whether two estimates agree bit for bit."""
    return (
        one.values.tobytes() == other.values.tobytes()
        and one.draws.tobytes() == other.draws.tobytes()
        and one.intervals.tobytes() == other.intervals.tobytes()
        and one.guaranteed_intervals.tobytes() == other.guaranteed_intervals.tobytes()
    )


def ask_and_tell(ev, label, n):
    items = [query.item for query in ev.ask(n)]
    ev.tell({item: int(label[item]) for item in items})
    return items


def test_a_saved_evaluation_goes_on_bit_for_bit(tmp_path, pool_of):
    pool, label = pool_of(500)
    ev = hs.Evaluation(pool, "f1", "assisted", random_state=4, hidden=0.05, uniform=(0.05, 0.2))
    for n in (20, 1, 30):
        ask_and_tell(ev, label, n)
    ev.ask(5)
    ev.save(tmp_path / "log")
    again = hs.Evaluation.load(tmp_path / "log", pool)
    assert again.design == ev.design
    assert again.design.hidden == 0.05
    assert same(ev.estimate(), again.estimate())
    assert [q.item for q in ev.pending] == [q.item for q in again.pending]
    for one in (ev, again):
        one.tell({q.item: int(label[q.item]) for q in one.pending})
    assert [q.item for q in ev.ask(20)] == [q.item for q in again.ask(20)]
    assert same(ev.estimate("recall"), again.estimate("recall"))


def test_a_study_gives_the_numbers_of_an_evaluation(tmp_path, pool_of):
    pool, label = pool_of(500)
    ev = hs.Evaluation(pool, "f1", "assisted", random_state=4)
    study = hs.Study.create(tmp_path / "s", pool, measure="f1", design="assisted", random_state=4)
    for n in (20, 30):
        items = [question.item for question in study.ask(n)]
        assert items == ask_and_tell(ev, label, n)
        study.tell({item: int(label[item]) for item in items})
    assert same(ev.estimate(), study.estimate())
    assert same(ev.estimate("recall"), study.estimate("recall"))
    study.close()
    with hs.Study.open(tmp_path / "s") as again:
        assert same(ev.estimate(), again.estimate())
        assert [q.item for q in again.ask(10)] == [q.item for q in ev.ask(10)]


def test_a_correction_counts_as_if_the_answer_had_been_right_at_once(tmp_path, pool_of):
    """Of the labels, that is: items drawn before the correction stay drawn."""
    pool, label = pool_of(500)
    studies = []
    for name in ("slip", "plain"):
        path = tmp_path / name
        study = hs.Study.create(path, pool, measure="f1", design="assisted", random_state=4)
        items = [question.item for question in study.ask(30)]
        answers = {item: int(label[item]) for item in items}
        if name == "slip":
            answers[items[3]] = 1 - answers[items[3]]
        study.tell(answers)
        if name == "slip":
            study.correct(items[3], int(label[items[3]]))
        studies.append(study)
    one, other = studies
    assert same(one.estimate(), other.estimate())
    assert [q.item for q in one.ask(10)] == [q.item for q in other.ask(10)]


def test_a_correction_of_an_old_stage_moves_the_estimate_and_keeps_the_draws(tmp_path, pool_of):
    pool, label = pool_of(500)
    with hs.Study.create(tmp_path / "s", pool, measure="f1", design="assisted") as study:
        for _ in range(3):
            items = [question.item for question in study.ask(20)]
            study.tell({item: int(label[item]) for item in items})
        before, inclusion = study.estimate(), _inclusion(study)
        study.correct(items[0], 1 - int(label[items[0]]))
        assert study.estimate().value != before.value
        np.testing.assert_array_equal(_inclusion(study), inclusion)


def _inclusion(study):
    with study.reading() as fold:
        return fold.ledger.inclusion


def test_a_study_passes_the_audit_and_its_settings_are_recorded(tmp_path, pool_of):
    pool, label = pool_of(500)
    path = tmp_path / "s"
    options = {"mass": 0.2, "bend_sds": (0.2, 0.5, 0.7)}
    with hs.Study.create(
        path, pool, measure="f1", design="assisted", random_state=4, **options
    ) as study:
        for n in (20, 1, 30):
            study.tell({q.item: int(label[q.item]) for q in study.ask(n)})
        study.correct(study.answers[0].item, 1 - int(label[study.answers[0].item]))
        study.tell({q.item: int(label[q.item]) for q in study.ask(10)})
    verdict = verify(path)
    assert verdict.ok, verdict.findings
    with hs.Study.open(path) as again, again.reading() as fold:
        design = fold.ledger.design
    assert (design.mass, design.bend_sds, design.method) == (0.2, (0.2, 0.5, 0.7), 7)


def test_a_study_of_the_first_release_is_refused_by_one_line_that_names_it():
    path = Path(__file__).parents[1] / "fixtures" / "v0.1.0" / "default.haystat"
    with pytest.raises(HaystatError, match=r"haystat.*0\.1\.0") as caught:
        hs.Study.open(path).estimate()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("method", [None, 1, 2, 3, 4, 5, 6, 8])
def test_another_method_is_refused_by_one_line_that_names_it(tmp_path, pool_of, method):
    """A log without a method is of 0.1.0, whose settings were others."""
    pool, label = pool_of(100)
    ev = hs.Evaluation(pool, "f1", "assisted", random_state=4)
    ask_and_tell(ev, label, 10)
    ev.save(tmp_path / "log")
    lines = (tmp_path / "log").read_text().splitlines()
    settings = json.loads(lines[0])
    options = {"method": method, "slope": 2.0}
    if method is None:
        options = {"rare": 0.01, "slope": 1.5, "slope_sd": 1.5, "bend_sd": 1.0, "cap": 0.05}
    _put(settings, "options", options)
    (tmp_path / "log").write_text("\n".join([json.dumps(settings), *lines[1:]]) + "\n")
    with pytest.raises(HaystatError, match=rf"method {method or 1} .*assisted") as caught:
        hs.Evaluation.load(tmp_path / "log", pool)
    assert "\n" not in str(caught.value)
    assert ("0.1.0" in str(caught.value)) == (method in (None, 1))


def _put(tree, name, value):
    """Replace the value of a name, wherever it stands in nested dicts."""
    for key, part in tree.items():
        if key == name:
            tree[key] = value
        elif isinstance(part, dict):
            _put(part, name, value)


def test_a_stochastic_oracle_and_numbers_are_refused_with_a_way_out(pool_of):
    pool, _ = pool_of(50)
    with pytest.raises(BadOption, match=r"stochastic oracle .*'adaptive'"):
        hs.Evaluation(pool, "f1", "assisted", oracle="stochastic")
    numbers = hs.Pool(np.arange(50.0), classes=None)
    with pytest.raises(BadOption, match="numbers; use design='adaptive'"):
        hs.Evaluation(numbers, "mse", "assisted")


@pytest.mark.parametrize(
    "options",
    [
        {"uniform": (0, 0.3)},
        {"uniform": (0.1,)},
        {"uniform": 0.1},
        {"slope": float("nan")},
        {"uniform": (0.5, 0.3)},
        {"uniform": (0.5, 1.3)},
        {"slope_sd": 0},
        {"bend_sds": (0.3, -1)},
        {"hidden": 0},
        {"mass_sd": -1},
        {"method": 1},
        {"least": 0},
        {"rare": 0},
        {"dense": 0},
        {"by_cell": -0.1},
        {"by_cell": 1.1},
    ],
)
def test_options_out_of_range_are_refused_by_name(pool_of, options):
    pool, _ = pool_of(50)
    with pytest.raises(BadOption, match=next(iter(options))):
        hs.Evaluation(pool, "f1", "assisted", **options)
