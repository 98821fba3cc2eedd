"""Answers in plain files: CSV, JSON lines, Parquet and Feather, in and out.

A file has a column `item` and a column `label`; `annotator` and `skipped` (a reason, or "yes") are
optional. A row with neither a label nor a skip is a question that is still open, and is passed
over: what `haystat ask` prints can be filled in and told as it is. A row with both is an error.

In CSV, a text that a spreadsheet would take for a formula has an apostrophe before it, which is
taken away again when the file is read.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from haystat.core.arguments import brief
from haystat.core.disk import existing_file, not_utf8, readable
from haystat.core.spelling import escaped, is_in, spelt, strict_json, unescaped
from haystat.core.table_writers import Row, print_rows, write_rows
from haystat.core.tables import read_columns, refuse_twins, spelling_of
from haystat.errors import AnswerError, ConflictingAnswer, FileError, UnknownName
from haystat.loop.questions import Query
from haystat.study.leases import StudyState
from haystat.study.study import Study

COLUMNS = ("item", "label", "annotator", "skipped", "time", "draws", "weight")
NEEDED, OPTIONAL = ("item", "label"), ("annotator", "skipped", "key")

LARGEST_CELL = 1 << 30  # characters; what an item shows to people may be long


@dataclass(frozen=True)
class Taken:
    """What became of the rows of a file."""

    labels: int = 0
    skips: int = 0
    corrections: int = 0
    known: int = 0
    open: int = 0


def take_rows(
    study: Study, rows: Iterable[Row], annotator: str | None = None, *, correct: bool = False
) -> Taken:
    """Tell a study what some rows say: all of it, or nothing if a row is wrong.

    annotator: for rows that name none. correct: take an answer that differs from the one known
    as a correction, instead of refusing it.
    """
    with study.together(), study.reading() as state:
        readings = [_read_row(state, number, row) for number, row in enumerate(rows, start=1)]
        told = [reading for reading in readings if reading is not None]
        told = [replace(reading, annotator=reading.annotator or annotator) for reading in told]
        plans = [_plan(state, reading, correct) for reading in told]
        _refuse_twice(state, told)
        groups: dict[str | None, dict[Any, Any]] = {}
        for reading, plan in zip(told, plans, strict=True):
            who = reading.annotator
            if plan == "labels":
                groups.setdefault(who, {})[reading.name] = reading.label
            elif plan == "skips":
                study.skip(reading.name, reading.reason, who)
            elif plan == "corrections":
                study.correct(reading.name, reading.label, reading.reason, who)
        for who, labels in groups.items():
            study.tell(labels, who)
    counts = {plan: plans.count(plan) for plan in ("labels", "skips", "corrections", "known")}
    return Taken(**counts, open=len(readings) - len(told))


def read_rows(path: str | Path) -> list[Row]:
    """The rows of a file of answers."""
    path = existing_file(path)
    try:
        with readable(path):
            return READERS.get(path.suffix.lower(), _read_table)(path)
    except UnicodeDecodeError:
        raise not_utf8(path) from None


def answer_rows(study: Study) -> list[dict[str, Any]]:
    """The newest answer about every item, with what its draws weigh.

    draws counts how often the item was drawn in finished stages; weight is the sum of p / q over
    these draws, so that sum(weight * loss) / sum(draws) estimates the mean loss.
    """
    with study.reading() as state:
        draws, weight = state.draw_totals()
        return [
            {
                "item": answer.item,
                "label": answer.label,
                "annotator": answer.who,
                "skipped": (answer.reason or "yes") if answer.label is None else None,
                "time": answer.time,
                "draws": draws.get(index, 0),
                "weight": weight.get(index, 0.0),
            }
            for index, answer in [(state.ledger.item_of(q), a) for q, a in state.answers()]
        ]


def write_answers(rows: Sequence[Row], path: str | Path) -> None:
    """Write the answers for people: in CSV and TSV, no text is taken for a formula."""
    for_spreadsheets = str(path).lower().endswith((".csv", ".tsv"))
    write_rows(_safe(rows) if for_spreadsheets else rows, path, COLUMNS)


def read_csv(lines: Iterable[str], name: str, separator: str = ",") -> list[Row]:
    """Rows of a CSV text with a header."""
    before = csv.field_size_limit(LARGEST_CELL)
    try:
        reader = csv.DictReader(lines, delimiter=separator)
        _check_columns(name, reader.fieldnames or ())
        return [_whole_row(name, reader, row) for row in reader]
    except csv.Error as error:
        raise FileError(f"{name} is not CSV: {error}") from None
    finally:
        csv.field_size_limit(before)


def read_json_lines(lines: Iterable[str], name: str) -> list[Row]:
    """Rows of a text with one JSON object a line."""
    rows: list[Row] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = strict_json(line)
        except (ValueError, RecursionError) as error:
            raise FileError(f"{name}, line {number} is not JSON: {error}") from None
        if not isinstance(row, dict):
            raise FileError(f"{name}, line {number} is not an object")
        _check_columns(name, row)
        rows.append(row)
    return rows


def item_named(state: StudyState, given: Any) -> Any:
    """The id of an item as people and files spell it: "17" and "17.0" may be the number 17."""
    value = given.item() if isinstance(given, np.generic) else given
    return spelt(value, state.questions.index_of)


def label_named(state: StudyState, given: Any) -> Any:
    """The label as people and files spell it: "1" and "1.0" may be the number 1, or the class.

    A text may also spell a label that is a number, and probabilities where answers may be soft.
    """
    value = given.item() if isinstance(given, np.generic) else given
    if state.pool.classes:
        value = spelt(value, state.questions.label_index)
        known = is_in(value, state.questions.label_index)
        if known or not state.ledger.soft or not isinstance(value, str):
            return value
    if not isinstance(value, str):
        return value
    try:
        found = strict_json(value)
    except (ValueError, RecursionError):
        return value
    return float(found) if type(found) is int else found


@dataclass(frozen=True)
class _Reading:
    """A row that says something: a label, or None and a reason; `name` is that of the question."""

    item: Any
    name: Any
    label: Any
    annotator: str | None
    reason: str


def _read_row(state: StudyState, number: int, row: Row) -> _Reading | None:
    label, skipped = row.get("label"), row.get("skipped")
    skipped = None if skipped is False else skipped  # a column of truth values
    if _is_missing(label) and _is_missing(skipped):
        return None
    if not _is_missing(label) and not _is_missing(skipped):
        raise AnswerError(
            f"row {number}: item {brief(row.get('item'))} has the label {brief(label)} and was "
            f"skipped ({brief(skipped)}); leave one of them empty; nothing was recorded"
        )
    item, key = item_named(state, row.get("item")), row.get("key")
    who = None if _is_missing(row.get("annotator")) else str(row.get("annotator"))
    name = item if _is_missing(key) else Query(item, str(key))
    try:
        state.questions.find(name)
        if _is_missing(label):
            return _Reading(item, name, None, who, str(skipped))
        value = state.questions.read(item, label_named(state, label))
        return _Reading(item, name, value, who, "")
    except AnswerError as error:
        raise type(error)(f"row {number}: {error}") from None


def _plan(state: StudyState, reading: _Reading, correct: bool) -> str:
    known = state.own(state.questions.find(reading.name), reading.annotator)
    if known is None:
        return "skips" if reading.label is None else "labels"
    if known.label == reading.label:
        return "known"
    if known.label is None:
        return "labels"
    if not correct:
        raise ConflictingAnswer(
            f"item {reading.item!r} was answered {known.label!r} and is now {reading.label!r}; "
            "take it as a correction with --correct; nothing was recorded"
        )
    return "corrections"


def _refuse_twice(state: StudyState, readings: Sequence[_Reading]) -> None:
    """Raise where one question has two answers: of anybody, or of one where it takes several."""
    seen: dict[Any, Any] = {}
    for reading in readings:
        who = None if state.rules.single else reading.annotator
        known = seen.setdefault((state.questions.find(reading.name), who), reading.label)
        if known != reading.label:
            raise ConflictingAnswer(
                f"item {reading.item!r} is both {known!r} and {reading.label!r} in "
                "one file; nothing was recorded"
            )


def _is_missing(value: Any) -> bool:
    """No value, or an empty one."""
    if isinstance(value, str):
        return not value.strip()
    return value is None or (isinstance(value, float) and np.isnan(value))


def _check_columns(name: str, present: Iterable[str]) -> None:
    given = [str(column) for column in present]
    for column in NEEDED:
        if column not in given:
            raise UnknownName(f"no column {column!r} in {name}; it has {brief(', '.join(given))}")
    refuse_twins(name, given, (*NEEDED, *OPTIONAL))


def _whole_row(name: str, reader: csv.DictReader[str], row: dict[str, Any]) -> Row:
    """A row with a field for every column, as it was before it was made safe for spreadsheets."""
    more = None in row  # under which the reader puts fields beyond the header
    if more or None in row.values():
        raise FileError(
            f"{name}, line {reader.line_num} has {'more' if more else 'fewer'} fields than the "
            "header; give every column a field, if need be an empty one"
        )
    return {column: unescaped(value) for column, value in row.items()}


def _read_csv_file(path: Path) -> list[Row]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return read_csv(file, str(path), spelling_of(path)[0])


def _read_json_file(path: Path) -> list[Row]:
    with path.open(encoding="utf-8-sig") as file:
        return read_json_lines(file, str(path))


def _read_table(path: Path) -> list[Row]:
    columns = read_columns(path, NEEDED, OPTIONAL)
    values = [column.tolist() for column in columns.values()]
    return [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]


def print_csv(rows: Sequence[Row], columns: Sequence[str], file: Any = None) -> None:
    """Rows as CSV for people and their spreadsheets, to a file or to standard output."""
    print_rows(_safe(rows), columns, file or sys.stdout, ",")


def _safe(rows: Sequence[Row]) -> list[Row]:
    return [{name: escaped(value) for name, value in row.items()} for row in rows]


#: file ending -> what reads answers from it as they are spelt; the others are read as tables
READERS: dict[str, Callable[[Path], list[Row]]] = {
    ".csv": _read_csv_file,
    ".tsv": _read_csv_file,
    ".jsonl": _read_json_file,
    ".ndjson": _read_json_file,
}
