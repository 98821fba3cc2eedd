"""Files as people and other tools write them: zeros, encodings, twins, short rows, formulas."""

from __future__ import annotations

import csv
import json

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import haystat as hs
from haystat.core.spelling import escaped, spelt, unescaped
from haystat.core.tables import read_columns
from haystat.errors import AnswerError, FileError, UnknownItem
from haystat.formats.base import read_objects
from haystat.formats.trec import read_qrels, read_run
from haystat.study import PoolFile
from haystat.study.answer_files import answer_rows, read_rows, take_rows, write_answers


def write(path, text, encoding="utf-8"):
    path.write_bytes(text.encode(encoding))
    return path


@pytest.fixture
def study(tmp_path):
    """A study whose ids are integers, and three questions of it."""
    pool = hs.Pool(np.linspace(0.05, 0.95, 12), ids=np.arange(1250, 1262), strata=3)
    with hs.Study.create(tmp_path / "s.haystat", pool, random_state=0) as made:
        made.ask(3)
        yield made


def table_of(ids):
    return "key,score\n" + "".join(f"{id},{i / 20}\n" for i, id in enumerate(ids))


ZEROS = [f"{number:05d}" for number in range(960, 972)]


def test_ids_with_leading_zeros_stay_texts(tmp_path):
    path = write(tmp_path / "pool.csv", table_of(ZEROS))
    pool, _ = PoolFile(str(path), ("score",), "key").read()
    assert pool.ids.tolist() == ZEROS
    opened = hs.open_pool(path, id="key", score="score", strata=4)
    queries = hs.Evaluation(opened, random_state=0).ask(12)
    assert {query.item for query in queries} == set(ZEROS)
    path = write(tmp_path / "pool.csv", table_of(range(960, 972)))
    assert PoolFile(str(path), ("score",), "key").read()[0].ids.tolist() == list(range(960, 972))


def test_a_text_in_another_encoding_is_an_error_that_names_the_column(tmp_path):
    text = "key,score,name\n1,0.5,café\n2,0.7,tea\n"
    path = write(tmp_path / "pool.csv", text, "latin-1")
    with pytest.raises(FileError, match=r"column 'name' of .*pool.csv is not text in UTF-8; save"):
        read_columns(path, ["name"])
    with pytest.raises(FileError, match="is not text in UTF-8"):
        hs.open_pool(path, id="key", score="score", show=["name"])
    path = write(tmp_path / "head.csv", "clé,score\n1,0.5\n", "latin-1")
    with pytest.raises(FileError, match="not text in UTF-8"):
        read_columns(path, ["score"])


def test_bytes_that_are_utf8_are_texts(tmp_path):
    parquet.write_table(pa.table({"name": [b"caf\xc3\xa9"]}), tmp_path / "a.parquet")
    assert read_columns(tmp_path / "a.parquet", ["name"])["name"].tolist() == ["café"]
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["name"] = ["café"]
        file["short"] = np.array([b"ab"])
    found = read_columns(tmp_path / "a.h5", ["name", "short"])
    assert found["name"].tolist() == ["café"]
    assert found["short"].tolist() == ["ab"]


def test_two_columns_of_one_name_are_refused_where_they_matter(tmp_path, study):
    path = write(tmp_path / "pool.csv", "key,score,score,x,x\n1,0.5,0.6,1,2\n")
    with pytest.raises(FileError, match="2 columns 'score'; rename or drop all but one"):
        read_columns(path, ["key", "score"])
    with pytest.raises(FileError, match="2 columns 'score'"):
        hs.open_pool(path, id="key", score="score")
    assert read_columns(path, ["key"])["key"].tolist() == [1]
    path = write(tmp_path / "answers.csv", "item,label,label\n1250,0,1\n")
    with pytest.raises(FileError, match="2 columns 'label'"):
        read_rows(path)
    path = write(tmp_path / "answers.jsonl", '{"item": 1250, "label": 0, "label": 1}\n')
    with pytest.raises(FileError, match="'label' is given twice"):
        read_rows(path)


@pytest.mark.parametrize(
    ("row", "which"), [("1250", "fewer"), ("1250,1,ann", "more")], ids=["short", "long"]
)
def test_a_row_without_a_field_for_every_column_is_an_error(tmp_path, row, which):
    path = write(tmp_path / "answers.csv", f"item,label\n1251,0\n\n{row}\n")
    with pytest.raises(FileError, match=f"line 4 has {which} fields than the header"):
        read_rows(path)


def test_a_row_with_a_label_and_a_skip_is_an_error(study):
    item = study.pending[0].item
    rows = [{"item": item, "label": 1, "skipped": "cannot tell"}]
    with pytest.raises(AnswerError, match=r"row 1: .* has the label 1 and was skipped"):
        take_rows(study, rows)
    assert take_rows(study, [{"item": item, "label": 1, "skipped": False}]).labels == 1


def test_the_label_false_is_a_label(tmp_path):
    pool = hs.Pool(np.linspace(0.05, 0.95, 12), classes=(False, True), strata=3)
    with hs.Study.create(tmp_path / "s.haystat", pool, random_state=0) as study:
        rows = [{"item": question.item, "label": False} for question in study.ask(3)]
        assert take_rows(study, rows).labels == 3


@pytest.mark.parametrize("constant", ["NaN", "Infinity"])
def test_a_label_that_is_no_value_is_an_error_in_json(tmp_path, constant):
    line = f'{{"item": 1250, "label": {constant}}}\n'
    with pytest.raises(FileError, match=f"{constant} is no value; leave it out"):
        read_rows(write(tmp_path / "answers.jsonl", line))
    with pytest.raises(FileError, match=f"{constant} is no value"):
        read_objects(write(tmp_path / "answers.json", f"[{line}]"))


def test_a_run_without_a_finite_score_is_an_error(tmp_path):
    path = write(tmp_path / "run", "301 Q0 FT1 1 0.5 t\n301 Q0 FT2 2 nan t\n")
    with pytest.raises(FileError, match="gives FT2 the score nan; give finite numbers"):
        read_run(path)


DEEP = "[" * 100_000


@pytest.mark.parametrize("text", [DEEP, '{"item": ' + DEEP + "]" * 100_000 + ', "label": 1}'])
def test_json_without_end_is_one_error(tmp_path, text):
    path = write(tmp_path / "deep.jsonl", f"{text}\n")
    calls = (
        lambda: read_rows(path),
        lambda: read_objects(path),
        lambda: read_columns(path, ["item"]),
        lambda: hs.Evaluation.load(path, hs.Pool([0.1, 0.9], strata=1)),
    )
    for call in calls:
        with pytest.raises(hs.HaystatError, match=r"deep.jsonl"):
            call()


def test_brackets_in_a_text_are_not_deep(tmp_path):
    sad = json.dumps({"score": 0.5, "text": ':[ \\" {' * 300})
    path = write(tmp_path / "sad.jsonl", f"{sad}\n")
    assert read_columns(path, ["score"])["score"].tolist() == [0.5]


def test_a_cell_of_ten_megabytes_is_read(tmp_path, study):
    item = study.pending[0].item
    path = write(tmp_path / "big.csv", f"item,label,text\n{item},1,{'x' * 10_000_000}\n")
    assert take_rows(study, read_rows(path)).labels == 1
    path = write(tmp_path / "big.csv", f"item,label\n{item},{'x' * 10_000_000}\n")
    with pytest.raises(hs.HaystatError) as caught:
        take_rows(study, read_rows(path))
    assert len(str(caught.value)) < 500


def test_whole_numbers_as_pandas_writes_them_are_taken(tmp_path, study):
    items = [question.item for question in study.pending]
    frame = pd.DataFrame({"item": [*items[:2], None], "label": [1, 0, None]})
    frame.to_csv(tmp_path / "answers.csv", index=False)
    assert ".0,1.0" in (tmp_path / "answers.csv").read_text()
    rows = [row for row in read_rows(tmp_path / "answers.csv") if row["item"]]
    assert take_rows(study, rows).labels == 2
    assert take_rows(study, [{"item": f"{items[2]}.0", "label": "1.0"}]).labels == 1
    path = write(tmp_path / "qrels", "301 0 FT1 1.0\n")
    assert read_qrels(path, (0, 1))[0].label == 1


def test_other_spellings_of_a_number_are_not_taken(study):
    item = study.pending[0].item
    for name in (f"0{item}", f"{item}.5", f"{item}e0", f"{item}_0"):
        with pytest.raises(UnknownItem):
            take_rows(study, [{"item": name, "label": 1}])


def test_what_is_known_as_it_stands_is_meant_as_it_stands():
    assert spelt("1", {1: 0, "1": 1}) == "1"
    assert spelt("1.0", {1: 0, "1.0": 1}) == "1.0"
    assert spelt(True, {"true", "false"}) == "true"
    assert spelt([1], {1}) == [1]


FORMULAS = [
    "=1+1",
    "@SUM(A1)",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "\t=1",
    "'quoted",
    "''",
    "plain",
    "-5",
]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_escaped_and_comes_back(text):
    assert unescaped(escaped(text)) == text
    assert escaped(text).startswith("'") == (text not in ("plain", "-5"))


def test_answers_go_out_without_formulas_and_come_back_as_they_were(tmp_path):
    pool = hs.Pool(np.linspace(0.05, 0.95, 9), ids=FORMULAS, strata=3)
    with hs.Study.create(tmp_path / "s.haystat", pool, random_state=0) as study:
        study.tell({q.item: 1 for q in study.ask(9)}, "=HYPERLINK(0)")
        write_answers(answer_rows(study), tmp_path / "answers.csv")
        with (tmp_path / "answers.csv").open(encoding="utf-8", newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert not [cell for cell in cells if cell.startswith(("=", "@", "+", "\t"))]
        rows = read_rows(tmp_path / "answers.csv")
        assert {row["item"] for row in rows} == set(FORMULAS)
        assert {row["annotator"] for row in rows} == {"=HYPERLINK(0)"}
        assert take_rows(study, rows).known == 9
