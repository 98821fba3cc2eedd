"""Rows as files of other tools."""

from __future__ import annotations

import pandas as pd
import pytest

from haystat.core.table_writers import WRITERS, write_rows
from haystat.errors import FileError

ROWS = [{"item": 1, "text": 'a\tb, "c"', "score": 0.25}, {"item": 2, "text": "é", "score": None}]
READ = {
    ".csv": pd.read_csv,
    ".tsv": lambda path: pd.read_csv(path, sep="\t"),
    ".jsonl": lambda path: pd.read_json(path, lines=True),
    ".ndjson": lambda path: pd.read_json(path, lines=True),
    ".parquet": pd.read_parquet,
    ".feather": pd.read_feather,
}


@pytest.mark.parametrize("ending", WRITERS)
def test_pandas_reads_what_was_written(tmp_path, ending):
    path = tmp_path / f"rows{ending}"
    write_rows(ROWS, path, ("item", "text", "score"))
    found = READ[ending](path)
    assert found.item.tolist() == [1, 2]
    assert found.text.tolist() == [row["text"] for row in ROWS]
    assert found.score[0] == 0.25
    assert pd.isna(found.score[1])


def test_an_unknown_ending_is_refused_with_those_that_are_known(tmp_path):
    with pytest.raises(FileError, match=r"no known kind; give a name ending in \.csv, \.tsv"):
        write_rows(ROWS, tmp_path / "rows.xls", ("item",))
    assert not list(tmp_path.iterdir())
