"""Versions of a study: in files that hold all that came before, whatever happens on the way."""

from __future__ import annotations

import inspect
import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import haystat as hs
from haystat.cli import app
from haystat.errors import BadOption, StudyError, StudyExists
from haystat.loop import versions
from haystat.report.charts import LETTER, frame
from haystat.report.collect import collect
from haystat.report.markdown import markdown_page
from haystat.report.page import html_page
from haystat.study import Study, audit, verify
from haystat.study.label_bank import known_labels
from haystat.study.versions import earlier_versions

KILLED = Path(__file__).with_name("killed.py")


@pytest.fixture
def first(world, tmp_path):
    with Study.create(tmp_path / "cats.haystat", world.pool(0), random_state=1) as study:
        world.answer(study, 120)
        yield study


def test_a_study_goes_on_as_an_evaluation_does(world, first):
    evaluation = hs.Evaluation(world.pool(0), random_state=1)
    world.answer(evaluation, 120)
    later, same = first.next(world.pool(1)), evaluation.next(world.pool(1))
    for _ in range(2):
        assert world.answer(later, 40) == world.answer(same, 40)
    assert later.estimate().interval == same.estimate().interval
    assert later.estimate("recall").value == same.estimate("recall").value
    with Study.open(later.path) as again:
        assert again.estimate().value == same.estimate().value
        assert again.n_carried == same.n_carried


def test_a_weighted_study_goes_on_as_an_evaluation_does(make_world, tmp_path):
    world = make_world()
    amount = np.random.default_rng(5).lognormal(0, 1.5, 3000).round(3)
    pools = [world.pool(version, weight=amount) for version in (0, 1)]
    evaluation = hs.Evaluation(pools[0], "recall", random_state=1)
    world.answer(evaluation, 120)
    with Study.create(tmp_path / "money.haystat", pools[0], "recall", random_state=1) as study:
        world.answer(study, 120)
        later = study.next(pools[1])
    same = evaluation.next(pools[1])
    assert world.answer(later, 40) == world.answer(same, 40)
    assert later.estimate().interval == same.estimate().interval
    assert later.estimate("precision").interval == same.estimate("precision").interval
    assert later.threshold(f1="best").threshold is not None
    with later.next(pools[0]) as third:
        assert third.n_carried == same.next(pools[0]).n_carried
    later.close()


def test_a_version_goes_on_where_its_pool_is_not(world, first):
    path = first.next(world.pool(1)).path
    with Study.open(path) as later:
        world.answer(later, 60)
        assert later.estimate().n_labels == later.n_carried + 60
    with Study.open(path) as later, pytest.raises(StudyError, match="open it with the pool"):
        later.next(world.pool(0))
    with Study.open(path, pool=world.pool(1)) as later:
        assert later.next(world.pool(0)).path.name == "cats-v3.haystat"


def test_a_dry_cell_of_a_version_is_filled_up_from_its_pool(world, first):
    later = first.next(world.pool(1), candidates=1)
    world.answer(later, 400)
    assert later.n_labels == later.n_carried + 400
    assert verify(later.path).ok


def test_an_audit_goes_through_all_versions(world, first):
    second = first.next(world.pool(1))
    world.answer(second, 30)
    third = second.next(world.pool(0))
    world.answer(third, 30)
    verdict = verify(third.path)
    assert verdict.ok
    assert verdict.n_versions == 3
    assert verdict.estimate.interval == third.estimate().interval


def test_hundreds_of_versions_take_no_more_files_or_depth_than_three(world, first, monkeypatch):
    depths, replayed = set(), audit._replayed

    def watched(*given):
        depths.add(len(inspect.stack()))
        return replayed(*given)

    newest = first
    for number in range(2, 6):
        newest = newest.next(world.pool(number % 2))
    monkeypatch.setattr(audit, "_replayed", watched)
    assert verify(newest.path).n_versions == 5
    assert max(depths) - min(depths) <= 1
    earlier = list(earlier_versions(newest, Study))
    assert len(earlier) == 4
    for study in earlier:
        with pytest.raises(StudyError, match="was closed"):
            study.connection()


def test_an_earlier_version_that_was_replaced_is_a_finding(world, first):
    path = first.next(world.pool(1)).path
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE sketch SET content = zeroblob(9) WHERE name = 'previous'")
    with pytest.raises(StudyError, match="the study before this one"):
        Study.open(path).version_estimates()
    assert not verify(path).ok


def test_damage_to_an_earlier_version_is_one_error(world, first):
    path = first.next(world.pool(1)).path
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    found = 0
    for start in range(4096, len(whole) - 4096, 4096):
        path.write_bytes(whole[:start] + rng.bytes(4096) + whole[start + 4096 :])
        try:
            with Study.open(path, read_only=True) as study:
                known_labels(study)
        except StudyError:
            found += 1
    assert found > 0


def test_an_audit_finds_a_label_that_was_not_carried_over_as_it_was(world, first, monkeypatch):
    def forged(pool, cells, told):
        data = versions_carried(pool, cells, told)
        data["answers"][7][0] = 1 - data["answers"][7][0]
        return data

    versions_carried = versions.carried_data
    monkeypatch.setattr(versions, "carried_data", forged)
    (finding,) = verify(first.next(world.pool(1)).path).findings
    assert "had no such label before" in str(finding)


def test_an_audit_finds_an_exaggerated_probability(world, first, monkeypatch):
    honest = versions.carried

    def forged(state, oldest):
        inclusion, told = honest(state, oldest)
        return np.sqrt(inclusion), told

    monkeypatch.setattr(versions, "carried", forged)
    path = first.next(world.pool(1)).path
    monkeypatch.undo()
    assert "less likely" in str(verify(path).findings[0])


@pytest.mark.parametrize("moment", ["write", "_publish", "never"])
def test_a_process_killed_while_it_adds_a_version_loses_nothing(tmp_path, moment):
    path = tmp_path / "cats.haystat"
    scores = np.linspace(-4, 2, 400)
    pool = hs.Pool(scores, strata=8, threshold=0.0, seed=0)
    with Study.create(path, pool, random_state=1) as study:
        study.tell({question.item: int(scores[question.item] > 0) for question in study.ask(60)})
        before = study.entries
    ended = subprocess.run([sys.executable, str(KILLED), str(path), moment], check=False)
    assert ended.returncode == -9
    assert verify(path).ok
    target = tmp_path / "cats-v2.haystat"
    with Study.open(path, pool=pool) as study:
        assert study.entries == before
        if moment == "never":
            assert verify(target).ok
            return
        assert not target.exists()
        with study.next(hs.Pool(scores[::-1].copy(), strata=8, threshold=0.0, seed=0)) as later:
            assert later.n_carried == 60
    assert verify(target).ok


def test_a_version_overwrites_nothing(world, first):
    first.next(world.pool(1), "v2").close()
    with pytest.raises(StudyExists):
        first.next(world.pool(1), "v2")


def test_labels_of_a_version_say_whose_they_are_and_since_when(world, tmp_path):
    now = datetime(2026, 1, 1, tzinfo=UTC)
    clock = lambda: now  # noqa: E731
    pool, path = world.pool(0), tmp_path / "cats.haystat"
    with Study.create(path, pool, random_state=1, clock=clock) as study:
        asked = [question.item for question in study.ask(50, "ann")]
        study.tell({item: world.label[item] for item in asked}, "ann")
        now += timedelta(days=60)
        recent = [question.item for question in study.ask(20, "bob")]
        study.tell({item: world.label[item] for item in recent}, "bob")
        later = study.next(world.pool(1), "march", max_age="30d")
    new = world.answer(later, 10)
    rows = known_labels(later)
    assert {row.item for row in rows} == {*asked, *recent, *new}
    there = set(world.ids[1].tolist())
    for row in rows:
        assert row.label == world.label[row.item]
        assert row.version == ("march" if row.item in new else "v1")
        assert row.counts == ((row.item in there and row.item not in asked) or row.item in new)
    assert {row.annotator for row in rows} == {"ann", "bob", None}
    assert {row.time[:10] for row in rows} == {"2026-01-01", "2026-03-02"}


def test_a_report_has_a_line_over_the_versions(world, first, tmp_path):
    second = first.next(world.pool(1), "march <1>")
    world.answer(second, 30)
    found = collect(second)
    assert [row["name"] for row in found["versions"]] == ["v1", "march <1>"]
    assert found["versions"][0]["value"] == first.estimate().value
    assert found["versions"][1]["carried"] == second.n_carried
    page = html_page(found)
    assert "From version to version" in page
    picture = page[page.index("From version to version") :].partition("</svg>")[0]
    assert picture.count("march &lt;1&gt;</text>") == picture.count(">v1</text>") == 1
    assert "march &lt;1&gt;" in page
    assert "## From version to version" in markdown_page(found)
    assert "From version to version" not in html_page(collect(first))


def test_names_of_versions_stand_below_the_line_as_far_as_there_is_room():
    few = frame((0.5, 2.5), names=("v1", "a name that is much too long")).x
    assert few.ticks == [(1.0, "v1"), (2.0, "a name that i…")]
    many = frame((0.5, 60.5), names=[f"day {n}" for n in range(1, 61)]).x
    shown = [many.at(place) for place, _ in many.ticks]
    assert many.ticks[-1] == (60.0, "day 60")
    assert 4 < len(shown) < 15
    assert np.diff(shown).min() >= LETTER * len("day 60")


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def command(*words):
        result = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout

    return command


def write_pool(path, world, version):
    rows = zip(world.ids[version].tolist(), world.scores[version].tolist(), strict=True)
    lines = [f"{item},{score!r},item {item}" for item, score in rows]
    path.write_text("\n".join(["id,score,name", *lines]) + "\n")


def test_commands_for_the_next_version(world, run, tmp_path):
    for version, name in enumerate(("jan.csv", "feb.csv")):
        write_pool(tmp_path / name, world, version)
    options = ("--id", "id", "--score", "score", "--threshold", "0", "--show", "name")
    run("new", "a.haystat", "jan.csv", *options, "--strata", "32", "--seed", "3")
    with Study.open("a.haystat") as study:
        world.answer(study, 100)
    made = json.loads(run("next", "a.haystat", "feb.csv", "-o", "b.haystat", "--json"))
    assert made["version"] == "v2"
    assert 0 < made["carried"] < 100
    assert made["left_open"] == 0
    young = run("next", "a.haystat", "feb.csv", "-o", "c.haystat", "--max-age", "1h", "--json")
    assert json.loads(young)["carried"] == made["carried"]
    with Study.open("b.haystat") as study:
        world.answer(study, 40)
        assert study.settings["measure"] == "f1"
        n_labels = study.n_labels
    found = json.loads(run("change", "a.haystat", "b.haystat", "--json"))
    assert found["n_labels"] > n_labels  # labels of items that are gone
    assert found["model"]["low"] <= found["model"]["value"] <= found["model"]["high"]
    assert "by the data" in run("change", "a.haystat", "b.haystat", "--measure", "recall")
    with Study.open("b.haystat") as study:
        study.ask(2)
    assert "2 questions wait" in run("next", "b.haystat", "feb.csv", "-o", "d.haystat")
    rows = json.loads(run("labels", "b.haystat", "--json"))
    assert len(rows) == 140
    assert sum(row["counts"] for row in rows) == n_labels
    assert "counting" in run("labels", "b.haystat")
    assert f"{made['carried']} carried over" in run("status", "b.haystat")
    assert run("labels", "b.haystat", "--csv").count("\n") == 141
    run("labels", "b.haystat", "-o", "labels.csv")
    assert Path("labels.csv").read_text().count("\n") == 141
    assert "version" in run("verify", "b.haystat")
    assert f"{made['carried']} labels of an earlier version" in run("log", "b.haystat")
    exported = run("export", "b.haystat")
    assert exported.count("\n") == n_labels + 1


@pytest.mark.parametrize("name", ["a/b", "a\0b"])
def test_a_name_that_no_file_can_have_is_refused(tmp_path, name):
    pool = hs.Pool([0.1, 0.2, 0.3, 0.7, 0.8, 0.9], strata=2)
    with hs.Study.create(tmp_path / "cats.haystat", pool, "accuracy", random_state=0) as study:
        with pytest.raises(BadOption, match="part of a file's name"):
            study.next(pool, name)
        study.next(pool, name, path=tmp_path / "other.haystat").close()
