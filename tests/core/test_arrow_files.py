"""Columns of a file are told alike, whatever its kind."""

from __future__ import annotations

import pandas as pd
import pytest

from haystat.core.arrow_files import ARROW, arrow_dataset, text_columns
from haystat.errors import FileError
from haystat.formats.base import read_table
from haystat.web.uploads import preview

FRAME = pd.DataFrame({"id": [1, 2, 3], "score": [0.25, 0.5, 0.75], "text": ["a", "b", "é"]})
WRITE = {
    "a.csv": lambda path: FRAME.to_csv(path, index=False),
    "semicolons.csv": lambda path: FRAME.to_csv(path, index=False, sep=";", decimal=","),
    "a.tsv": lambda path: FRAME.to_csv(path, index=False, sep="\t"),
    "a.parquet": FRAME.to_parquet,
    "a.pq": FRAME.to_parquet,
    "a.feather": FRAME.to_feather,
    "a.arrow": FRAME.to_feather,
    "a.jsonl": lambda path: FRAME.to_json(path, orient="records", lines=True),
    "a.ndjson": lambda path: FRAME.to_json(path, orient="records", lines=True),
}


@pytest.fixture(params=WRITE)
def path(request, tmp_path):
    WRITE[request.param](tmp_path / request.param)
    return tmp_path / request.param


def test_every_kind_is_tried():
    assert {f".{name.rpartition('.')[2]}" for name in WRITE} == set(ARROW)


def test_columns_and_values_are_the_same(path):
    assert arrow_dataset(path).schema.names == list(FRAME)
    table = read_table(path)
    assert {name: values.tolist() for name, values in table.items()} == FRAME.to_dict("list")


def test_columns_of_text_are_told_where_the_kind_tells(path):
    assert text_columns(path) == ([] if "json" in path.suffix else ["text"])


def test_the_page_shows_the_same_columns(path):
    found = preview(path)
    assert [(c["name"], c["type"]) for c in found["columns"]] == [
        ("id", "number"),
        ("score", "number"),
        ("text", "text"),
    ]
    assert found["columns"][1]["values"] == [0.25, 0.5, 0.75]


def test_a_damaged_file_is_one_error(tmp_path):
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1 and no more")
    for read in (text_columns, read_table, preview):
        with pytest.raises(FileError):
            read(path)
