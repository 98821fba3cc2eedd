"""haystat new --multi-label: one study of items that may have several labels."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import haystat as hs
from haystat.cli import app
from haystat.errors import BadOption
from haystat.study import verify

TAGS = ("cat", "dog")
SIZE = 300


@pytest.fixture
def pictures(tmp_path):
    rng = np.random.default_rng(0)
    columns = {tag: rng.beta(0.3, 1.5, SIZE) for tag in TAGS}
    said = {f"is_{tag}": (columns[tag] > 0.4).astype(int) for tag in TAGS}
    frame = pd.DataFrame({"id": [f"p{i}" for i in range(SIZE)], **columns, **said})
    frame["text"] = [f"picture {i}" for i in range(SIZE)]
    frame.to_csv(tmp_path / "pictures.csv", index=False)
    return tmp_path, frame


def run(*arguments):
    return CliRunner().invoke(app, [str(one) for one in arguments])


def made(folder, *more):
    arguments = ["--id", "id", "--score", "cat", "--score", "dog", "--multi-label", "--seed", 1]
    path = folder / "tags.haystat"
    return path, run("new", path, folder / "pictures.csv", *arguments, *more)


def test_each_column_is_a_label_with_its_own_estimate_and_the_averages(pictures):
    folder, frame = pictures
    path, result = made(folder, "--threshold", 0.4)
    assert result.exit_code == 0, result.output
    asked = list(csv.DictReader(io.StringIO(run("ask", path, "-n", 600).stdout)))
    assert len(asked) == 600
    assert {row["label"] for row in asked} == {""}  # the answer, not what is asked about
    row = asked[0]
    assert row["item"] == f"{row['shown item']}/{row['shown label']}"
    assert row["text"] == f"picture {row['shown item'][1:]}"
    for row in asked:  # as predicted, but for one
        of = frame.set_index("id").loc[row["shown item"]]
        row["label"] = int(of[row["shown label"]] > 0.4)
    asked[0]["label"] = 1 - asked[0]["label"]
    with open(folder / "told.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, list(asked[0]))
        writer.writeheader()
        writer.writerows(asked)
    assert run("tell", path, folder / "told.csv").exit_code == 0
    found = json.loads(run("estimate", path, "--json").stdout)
    values = {one["name"]: one["value"] for one in found["components"]}
    wrong = asked[0]["shown label"]
    other = next(tag for tag in TAGS if tag != wrong)
    assert values[_name(values, other)] == 1.0
    assert 0.9 < values[_name(values, wrong)] < 1.0
    assert {"f1 macro", "f1 micro"} <= set(values)


def _name(values, tag):
    return next(name for name in values if tag in name)


def test_predictions_are_one_for_each_label(pictures):
    folder, frame = pictures
    path, result = made(folder, "--prediction", "is_cat", "--prediction", "is_dog")
    assert result.exit_code == 0, result.output
    with hs.Study.open(path) as study:
        n_predicted = sum(one.n_predicted for one in study.in_use)
    assert n_predicted == frame[["is_cat", "is_dog"]].to_numpy().sum()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--weight", "cat"], "leave out weight"),
        (["--compare"], "is for several systems"),
        (["--prediction", "is_cat"], "one for"),
    ],
    ids=str,
)
def test_what_does_not_go_with_it_is_refused(pictures, more, said):
    folder, _ = pictures
    path, result = made(folder, *more)
    assert isinstance(result.exception, BadOption)
    assert said in str(result.exception)
    assert not path.exists()


def test_it_goes_on_with_the_next_version_and_is_audited(pictures):
    """The study knows its file, so that a version, and further candidates, can be read from it."""
    folder, frame = pictures
    path, result = made(folder, "--candidates", 50)
    assert result.exit_code == 0, result.output
    with hs.Study.open(path) as study:
        study.tell({query.item: 0 for query in study.ask(400)})
    frame.assign(cat=1 - frame["cat"]).to_csv(folder / "better.csv", index=False)
    later = folder / "later.haystat"
    result = run("next", path, folder / "better.csv", "-o", later, "--measure", "recall")
    assert result.exit_code == 0, result.output
    with hs.Study.open(later) as study:
        assert study.n_carried == 400
        assert study.measure.components[0] == "recall cat"
        assert study.estimate().components[-2:] == ("recall macro", "recall micro")
    assert verify(path).ok
    assert verify(later).ok
