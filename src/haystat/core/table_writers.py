"""Rows as a file for other tools: CSV, TSV, JSON lines, Parquet and Feather, by its ending."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from haystat.core.arguments import checked_path
from haystat.core.disk import whole_file
from haystat.errors import BadOption, FileError

Row = Mapping[str, Any]


def write_rows(rows: Sequence[Row], path: str | Path, columns: Sequence[str]) -> None:
    """Write the columns of some rows, whole or not at all."""
    path = checked_path("the file to write", path)
    writer = WRITERS.get(path.suffix.lower())
    if writer is None:
        raise FileError(f"{path} is of no known kind; give a name ending in {', '.join(WRITERS)}")
    try:
        with whole_file(path) as draft:
            writer(rows, draft, columns)
    except ImportError as error:
        raise FileError(f"{path} needs {error.name}: pip install 'haystat[frames]'") from None


def print_rows(rows: Sequence[Row], columns: Sequence[str], file: Any, separator: str) -> None:
    """Rows with a header, fields apart by a separator."""
    writer = csv.DictWriter(
        file, columns, extrasaction="ignore", lineterminator="\n", delimiter=separator
    )
    writer.writeheader()
    writer.writerows(rows)


def _write_text(separator: str, rows: Sequence[Row], path: Path, columns: Sequence[str]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        print_rows(rows, columns, file, separator)


def _write_json_lines(rows: Sequence[Row], path: Path, columns: Sequence[str]) -> None:
    with path.open("w", encoding="utf-8") as file:
        for row in rows:
            line = {column: row.get(column) for column in columns}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def _write_parquet(rows: Sequence[Row], path: Path, columns: Sequence[str]) -> None:
    from pyarrow import parquet

    parquet.write_table(_table(rows, columns), path)


def _write_feather(rows: Sequence[Row], path: Path, columns: Sequence[str]) -> None:
    from pyarrow import feather

    feather.write_feather(_table(rows, columns), path)


def _table(rows: Sequence[Row], columns: Sequence[str]) -> Any:
    import pyarrow

    try:
        return pyarrow.table({name: [row.get(name) for row in rows] for name in columns})
    except pyarrow.ArrowInvalid as error:
        raise BadOption(f"the rows do not fit a table ({error}); write .jsonl instead") from None


#: file ending -> what writes rows to it
WRITERS: dict[str, Callable[[Sequence[Row], Path, Sequence[str]], None]] = {
    ".csv": partial(_write_text, ","),
    ".tsv": partial(_write_text, "\t"),
    ".jsonl": _write_json_lines,
    ".ndjson": _write_json_lines,
    ".parquet": _write_parquet,
    ".feather": _write_feather,
}
