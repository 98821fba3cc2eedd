"""Known labels in files as people and other tools write them, whole or damaged."""

from __future__ import annotations

import random

import numpy as np
import pandas as pd
import pytest

import haystat as hs
from haystat.errors import AnswerError, HaystatError, UnknownItem, UnknownLabel
from haystat.pool.known import checked_known, read_known

KNOWN = pd.DataFrame({"item": [3, 4, 5], "label": [0, 1, 1]})


def known_in(path, an_id=0, classes=(0, 1)):
    """What a file says about a pool whose ids look like an_id."""
    return {i: y for part in checked_known(path, classes, an_id) for i, y in part.labels.items()}


@pytest.mark.parametrize(
    "text",
    [
        "item,label\n3,0\n4,1\n5,1\n6,\n7, \n",
        "item,label\n3.0,0.0\n4.0,1.0\n5.0,1.0\n6.0,\n",
        "id;label\n3;0\n4;1\n5;1\n",
    ],
)
def test_rows_without_a_label_are_passed_over_and_numbers_are_as_pandas_writes_them(tmp_path, text):
    path = tmp_path / "known.csv"
    path.write_text(text)
    found = known_in(path)
    assert found == {3: 0, 4: 1, 5: 1}
    assert {type(value) for pair in found.items() for value in pair} == {int}
    assert known_in(path, "3") == {"3": 0, "4": 1, "5": 1}
    assert known_in(path, "3", ("0", "1")) == {"3": "0", "4": "1", "5": "1"}


def test_labels_are_the_class_that_they_spell(tmp_path):
    path = tmp_path / "known.parquet"
    pd.DataFrame({"item": ["3", "4"], "label": [True, False]}).to_parquet(path)
    labels = list(known_in(path).values())
    assert labels == [1, 0]
    assert {type(label) for label in labels} == {int}


@pytest.mark.parametrize(
    ("columns", "error"),
    [
        ({"item": [[1], [2]], "label": [0, 1]}, AnswerError),
        ({"item": [{"a": 1}, {"a": 2}], "label": [0, 1]}, AnswerError),
        ({"item": [1, 2], "label": [[0], [1]]}, UnknownLabel),
        ({"item": [1, 1], "label": [0, 1]}, AnswerError),
        ({"item": ["1", "1.0"], "label": [0, 1]}, AnswerError),
        ({"item": np.array([1, 2], dtype="M8[ns]"), "label": [0, 1]}, UnknownItem),
        ({"item": [1.5, 2.0], "label": [0, 1]}, UnknownItem),
        ({"item": [1, 2], "label": ["yes", "no"]}, UnknownLabel),
    ],
)
def test_what_is_no_id_or_no_label_is_one_error(tmp_path, columns, error):
    path = tmp_path / "known.parquet"
    pd.DataFrame(columns).to_parquet(path)
    with pytest.raises(error):
        hs.Evaluation(hs.Pool(np.linspace(0, 1, 9), strata=3), known=path)


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather", "jsonl"])
def test_a_damaged_file_is_one_error_or_labels(tmp_path, ending):
    path, rng = tmp_path / f"known.{ending}", random.Random(0)
    if ending == "jsonl":
        KNOWN.to_json(path, orient="records", lines=True)
    else:
        getattr(KNOWN, f"to_{ending}")(path, **({"index": False} if ending == "csv" else {}))
    whole = path.read_bytes()
    for _ in range(40):
        damaged = bytearray(whole)
        place = rng.randrange(len(damaged))
        damaged[place : place + rng.randrange(1, 60)] = rng.randbytes(rng.randrange(30))
        path.write_bytes(damaged)
        try:
            read_known(path)
            known_in(path)
        except HaystatError:
            pass
