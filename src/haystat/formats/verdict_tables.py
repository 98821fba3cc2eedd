"""Tables with a column for each thing a judge says: name/value and name/rationale, or alike."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from haystat.formats.base import read_table
from haystat.formats.log_files import is_json_lines, json_lines, read_document
from haystat.formats.traces import Verdict, verdict_of

Row = Mapping[str, Any]
TABLES = (".parquet", ".pq", ".csv", ".feather", ".arrow")
ADVICE = "write JSON lines or Parquet"


def read_rows(path: Path) -> Iterator[Row]:
    """Rows of a table: Parquet, CSV, Feather, JSON lines, or JSON as pandas writes it."""
    if path.suffix.lower() in TABLES:
        table = read_table(path)
        columns = [column.tolist() for column in table.values()]
        yield from (dict(zip(table, row, strict=True)) for row in zip(*columns, strict=True))
    elif is_json_lines(path):
        lines = list(json_lines(path))
        # A document without line ends looks like one line.
        yield from _rows(lines[0][1]) if len(lines) == 1 else (row for _, row in lines)
    else:
        yield from _rows(read_document(path, ADVICE))


def _rows(document: Any) -> Sequence[Row]:
    """Rows of JSON that pandas wrote: a list of records, {columns, data}, or {column: {row: …}}."""
    if isinstance(document, dict) and isinstance(document.get("data"), list):
        names = document.get("columns")
        if names is None:
            return _checked(document["data"])
        return [dict(zip(names, row, strict=True)) for row in document["data"]]
    if isinstance(document, list):
        return _checked(document)
    if document and all(isinstance(column, dict) for column in document.values()):
        keys = list(next(iter(document.values())))
        return [{name: column.get(k) for name, column in document.items()} for k in keys]
    return _checked([document])


def _checked(rows: Sequence[Any]) -> Sequence[Row]:
    if not all(isinstance(row, dict) for row in rows):
        raise ValueError("a table has rows that are no objects")
    return rows


def verdicts_in(row: Row, values: Sequence[str], reasons: Sequence[str]) -> dict[str, Verdict]:
    """The verdicts in the columns of a row that end in one of `values`; reasons stand beside.

    >>> row = {"tone/value": "no", "tone/rationale": "rude", "request": "Hi"}
    >>> verdicts_in(row, ["/value"], ["/rationale"])["tone"].reason
    'rude'
    """
    found: dict[str, Verdict] = {}
    for ending in values:
        for column, value in row.items():
            name = column.removesuffix(ending)
            if name == column or not name or name in found:
                continue
            reason = next((row[name + end] for end in reasons if row.get(name + end)), "")
            verdict = verdict_of(value, reason)
            if verdict is not None:
                found[name] = verdict
    return found


def cell(row: Row, names: Sequence[str]) -> Any:
    """The first of some columns that has a value."""
    return next((row[name] for name in names if _is_there(row.get(name))), None)


def parsed(value: Any) -> Any:
    """What a text of JSON holds, or the value itself."""
    if not isinstance(value, str) or value[:1] not in '[{"':
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _is_there(value: Any) -> bool:
    return value is not None and value == value and value != ""
