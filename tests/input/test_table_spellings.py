"""Files as spreadsheets and pandas write them: other separators, decimal commas, labels 1.0."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import haystat as hs
from haystat.cli import app
from haystat.core.tables import read_columns, spelling_of
from haystat.web.options import kept_options

FRAME = pd.DataFrame(
    {
        "id": range(400),
        "score": np.random.default_rng(0).normal(-1, 1, 400),
        "name": [f"item {i}; or, so" for i in range(400)],
        "true_label": ["yes"] * 400,
        "size": np.arange(400) / 7,
    }
)


def run(*words):
    found = CliRunner().invoke(app, [str(word) for word in words])
    assert found.exit_code == 0, found.output
    return found.output


@pytest.mark.parametrize(
    ("name", "separator", "point"),
    [
        ("a.csv", ",", "."),
        ("a.csv", ";", ","),
        ("a.csv", ";", "."),
        ("a.csv", "|", "."),
        ("a.tsv", "\t", "."),
        ("a.tsv", "\t", ","),
    ],
)
def test_separators_and_decimal_commas_are_told_from_the_file(tmp_path, name, separator, point):
    path = tmp_path / name
    FRAME.to_csv(path, sep=separator, decimal=point, index=False)
    assert spelling_of(path) == (separator, point)
    columns = read_columns(path, ["id", "score", "name"])
    np.testing.assert_allclose(columns["score"], FRAME["score"])
    assert list(columns["id"]) == list(FRAME["id"])
    assert columns["name"][3] == "item 3; or, so"


def test_leading_zeros_are_kept_with_any_separator(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("id\tscore\n007\t0,5\n012\t0,25\n", encoding="utf-8")
    columns = read_columns(path, ["id", "score"])
    assert columns["id"].tolist() == ["007", "012"]
    assert columns["score"].tolist() == [0.5, 0.25]


def test_a_column_of_labels_that_pandas_saved_with_gaps_is_taken(tmp_path):
    study, batch = tmp_path / "s.haystat", tmp_path / "batch.csv"
    FRAME.to_csv(tmp_path / "pool.csv", index=False)
    run("new", study, tmp_path / "pool.csv", "--id", "id", "--score", "score", "--seed", 1)
    batch.write_text(run("ask", study, "-n", 6), encoding="utf-8")
    answers = pd.read_csv(batch)
    answers["label"] = [1, 0, np.nan, 1, 0, np.nan]
    answers.to_csv(batch, sep=";", index=False)
    assert "1.0" in batch.read_text(encoding="utf-8")
    run("tell", study, batch)
    with hs.Study.open(study) as opened:
        assert [answer.label for answer in opened.answers] == [1, 0, 1, 0]


def test_without_show_people_see_the_columns_of_text_that_give_nothing_away(tmp_path):
    study = tmp_path / "s.haystat"
    FRAME.to_csv(tmp_path / "pool.csv", sep=";", decimal=",", index=False)
    said = run("new", study, tmp_path / "pool.csv", "--id", "id", "--score", "score")
    assert "The labeller will see name." in said
    with hs.Study.open(study) as opened:
        assert set(opened.ask(1)[0].record) == {"name"}


def test_a_signal_is_not_shown_unless_somebody_names_it(tmp_path):
    FRAME.assign(opinion=["no", "yes"] * (len(FRAME) // 2)).to_csv(
        tmp_path / "pool.csv", index=False
    )
    options = ["--id", "id", "--score", "score", "--signal", "opinion"]
    run("new", tmp_path / "a.haystat", tmp_path / "pool.csv", *options)
    with hs.Study.open(tmp_path / "a.haystat") as opened:
        assert set(opened.ask(1)[0].record) == {"name"}
    run("new", tmp_path / "b.haystat", tmp_path / "pool.csv", *options, "--show", "opinion")
    with hs.Study.open(tmp_path / "b.haystat") as opened:
        assert set(opened.ask(1)[0].record) == {"opinion"}


def test_the_command_line_sets_the_question_its_names_keys_pictures_and_guidelines(tmp_path):
    study, rules = tmp_path / "s.haystat", tmp_path / "rules.txt"
    FRAME.to_csv(tmp_path / "pool.csv", index=False)
    rules.write_text("Say yes if in doubt.", encoding="utf-8")
    page = ["--question", "Is it so?", "--names", "No,Yes", "--keys", "d,k"]
    page += ["--image", "name", "--guidelines", rules]
    run("new", study, tmp_path / "pool.csv", "--id", "id", "--score", "score", *page)
    with hs.Study.open(study) as opened:
        options = kept_options(opened.entries)
        assert set(opened.ask(1)[0].record) == {"name"}
    assert (options.prompt, options.names, options.keys) == ("Is it so?", ("No", "Yes"), ("d", "k"))
    assert (options.images, options.guidelines) == (("name",), "Say yes if in doubt.")


@pytest.mark.parametrize("keys", ["s,k", "d,d", "dd,k", "D,k"])
def test_keys_that_cannot_be_used_are_refused_before_anything_is_made(tmp_path, keys):
    FRAME.to_csv(tmp_path / "pool.csv", index=False)
    words = ["new", tmp_path / "s.haystat", tmp_path / "pool.csv", "--score", "score"]
    found = CliRunner().invoke(app, [*map(str, words), "--keys", keys])
    assert found.exit_code != 0
    assert "key" in str(found.exception)
    assert not (tmp_path / "s.haystat").exists()


def test_a_plan_shows_how_far_it_is(tmp_path):
    FRAME.to_csv(tmp_path / "pool.csv", index=False)
    words = ["plan", tmp_path / "pool.csv", "--score", "score", "--width", 0.6, "--worlds", 2]
    found = CliRunner().invoke(app, [*map(str, words)])
    assert "worlds rehearsed" in found.stderr
    assert "2/2" in found.stderr
    assert "worlds rehearsed" not in found.stdout
    assert CliRunner().invoke(app, [*map(str, words), "--quiet"]).stderr == ""


def test_compare_without_labels_says_what_to_do(tmp_path):
    study = tmp_path / "s.haystat"
    FRAME.assign(other=FRAME["score"] + 1).to_csv(tmp_path / "pool.csv", index=False)
    scores = ["--score", "score", "--score", "other"]
    run("new", study, tmp_path / "pool.csv", "--id", "id", *scores, "--compare")
    said = run("compare", study)
    assert "no labels yet" in said
    assert "nan" not in said
