"""What a server takes on: rows and cells of a file, letters of a record.

Files are measured before they are read: a small one may unpack to more than there is memory for.
A larger pool is made into a study by `haystat new`, which has the machine to itself.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from haystat.core.arrow_files import ARROW
from haystat.core.tables import SEPARATORS
from haystat.errors import FileError, first_line
from haystat.web.conversations import cut_conversation
from haystat.web.fields import MOST_COLUMNS

MOST_ROWS = 5_000_000
MOST_CELLS = 20_000_000
LARGEST_TEXT = 1 << 29  # bytes of all cells that are read
LARGEST_FOOTER = 16 << 20  # bytes in which a Parquet file describes itself
LONGEST_LINE = 1 << 20  # bytes of the names of a CSV file's columns
LONGEST_CELL = 20_000  # letters that somebody reads before an answer
LARGEST_RECORD = 200_000
LARGEST_REPLY = 4_000_000
BLOCK = 1 << 20


class TooLarge(FileError):
    """A file is more than a server takes on."""


def check_table(path: Path, names: Collection[str] | None = None) -> None:
    """Raise when a file is too much for a server. names: the columns to read; by default none."""
    kind = ARROW.get(path.suffix.lower())
    if kind in CHECKS:
        CHECKS[kind](path, names or ())


def _check_csv(path: Path, names: Collection[str]) -> None:
    with path.open("rb") as file:
        head = file.readline(LONGEST_LINE)
        if len(head) == LONGEST_LINE:
            raise TooLarge(f"{path.name}: its first line has more than {LONGEST_LINE:,} bytes")
        _check_columns(path, max(map(head.decode("latin-1").count, SEPARATORS)) + 1)
        n_rows = 1
        while names and (block := file.read(BLOCK)):
            n_rows += max(block.count(b"\n"), block.count(b"\r"))  # either ends a line
        _check_rows(path, n_rows, len(names))


def _check_parquet(path: Path, names: Collection[str]) -> None:
    from pyarrow import ArrowException, parquet

    with path.open("rb") as file:
        file.seek(max(path.stat().st_size - 8, 0))
        if int.from_bytes(file.read(8)[:4], "little") > LARGEST_FOOTER:
            raise TooLarge(f"{path.name} describes itself in more than {LARGEST_FOOTER:,} bytes")
    try:
        metadata = parquet.read_metadata(path)
        _check_columns(path, metadata.num_columns)
        chunks = [
            metadata.row_group(group).column(column)
            for group in range(metadata.num_row_groups if names else 0)
            for column in range(metadata.num_columns)
        ]
        read = [c for c in chunks if c.path_in_schema.partition(".")[0] in names]
        _check_rows(path, metadata.num_rows, len(names))
        _check_cells(path, sum(chunk.num_values for chunk in read))
        _check_bytes(path, sum(chunk.total_uncompressed_size for chunk in read))
        _check_texts(path, read)
    except TooLarge:
        raise
    except (OSError, ValueError, ArrowException) as error:
        raise unreadable(path, error) from None


#: what Arrow calls a file -> what is checked before it is read
CHECKS = {"parquet": _check_parquet, "csv": _check_csv}


def unreadable(path: Path, error: Exception) -> FileError:
    """What to say about a file that Arrow does not take."""
    reason = first_line(error).replace(str(path), path.name)
    return FileError(f"{path.name} cannot be read; is it damaged? ({reason:.200})")


def _check_texts(path: Path, chunks: list[Any]) -> None:
    """A text may stand in a file once and in its column a million times."""
    texts = [chunk for chunk in chunks if chunk.physical_type == "BYTE_ARRAY"]
    packed = [c for c in texts if "." in c.path_in_schema or "DELTA_BYTE_ARRAY" in c.encodings]
    # What cannot be unpacked step by step: no text is longer than all of them.
    size = sum(chunk.num_values * chunk.total_uncompressed_size for chunk in packed)
    _check_bytes(path, size)
    rest = {chunk.path_in_schema for chunk in texts} - {c.path_in_schema for c in packed}
    for name in sorted(rest):
        size += _unpacked(path, name)
        _check_bytes(path, size)


def _unpacked(path: Path, name: str) -> int:
    """Bytes of all texts of a column, which are not made for that."""
    from pyarrow import compute, parquet

    size = 0
    with parquet.ParquetFile(path, read_dictionary=[name]) as file:
        for batch in file.iter_batches(columns=[name]):
            column = batch.column(0)
            lengths = compute.binary_length(column.dictionary)
            size += compute.sum(compute.take(lengths, column.indices)).as_py() or 0
            if size > LARGEST_TEXT:
                break
    return size


def _check_columns(path: Path, n_columns: int) -> None:
    if n_columns > MOST_COLUMNS:
        raise TooLarge(f"{path.name} has {n_columns:,} columns; {MOST_COLUMNS:,} are the most here")


def _check_rows(path: Path, n_rows: int, n_columns: int) -> None:
    if n_rows > MOST_ROWS:
        raise _too_large(path, f"{n_rows:,} rows", f"{MOST_ROWS:,}")
    _check_cells(path, n_rows * n_columns)


def _check_cells(path: Path, n_cells: int) -> None:
    if n_cells > MOST_CELLS:
        raise _too_large(path, f"{n_cells:,} cells to read", f"{MOST_CELLS:,}")


def _check_bytes(path: Path, size: int) -> None:
    if size > LARGEST_TEXT:
        raise _too_large(path, "more than that to read", f"{LARGEST_TEXT >> 20} MB")


def _too_large(path: Path, has: str, most: str) -> TooLarge:
    return TooLarge(
        f"{path.name} has {has}; {most} are the most on this page: make the study with haystat new"
    )


def cut_record(record: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """A record that people can read, and its letters: long texts are cut, and say so."""
    found: dict[str, Any] = {}
    left = LARGEST_RECORD
    for name, value in record.items():
        found[name], letters = _cut(value, min(LONGEST_CELL, left), left)
        left = max(left - letters - len(name), 0)
    return found, LARGEST_RECORD - left


def _cut(value: Any, most: int, left: int) -> tuple[Any, int]:
    """A value of at most `most` letters; a conversation may take all that are left."""
    if value is None or isinstance(value, int | float):
        return value, 8
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    chat = cut_conversation(text, left, most) if len(text) > most else None
    if chat is not None:
        return chat, len(chat)
    if len(text) <= most:
        return value, len(text)
    return f"{text[:most]} … ({len(text):,} letters in all)", most
