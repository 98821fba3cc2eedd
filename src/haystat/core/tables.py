"""Named columns of a file: Parquet, CSV and TSV, Feather, JSON lines and HDF5."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from haystat.core.disk import existing_file, not_utf8, shown_path
from haystat.errors import FileError, UnknownName

Columns = Mapping[str, NDArray[Any]]
LEADING_ZERO = "^[+-]?0[0-9]"
SEPARATORS = (",", ";", "\t", "|")
SNIFFED = 1 << 16  # bytes from which a CSV file's spelling is told
DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+(?:[eE][+-]?[0-9]+)?")
DECIMAL_POINT = re.compile(r"[+-]?[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?")
DEEPEST = 100  # lists and objects of JSON within each other
STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')


def read_columns(path: Path, names: Sequence[str], optional: Sequence[str] = ()) -> Columns:
    """The named columns of a file as arrays, and of the optional ones those that are there."""
    table = _read(path, names, optional)
    columns = table if isinstance(table, dict) else _arrays(path, table)
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise FileError(f"the columns of {path} differ in length: {lengths}")
    return columns


def read_rows(path: Path, names: Sequence[str], rows: NDArray[np.int64]) -> Columns:
    """The named columns of a file at some rows: texts of the other rows are never made."""
    table = _read(path, names, ())
    if isinstance(table, dict):
        return {name: values[rows] for name, values in table.items()}
    return _arrays(path, table.take(rows))


def _read(path: Path, names: Sequence[str], optional: Sequence[str]) -> Any:
    """An Arrow table, or a dictionary of arrays."""
    existing_file(path)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise FileError(f"{path} is of no known kind; give a file ending in {', '.join(READERS)}")
    with readable_table(path):
        return reader(path, names, optional)


@contextmanager
def readable_table(path: Path) -> Iterator[None]:
    """Turn whatever a library says about a damaged file into one line."""
    try:
        yield
    except UnicodeDecodeError:
        raise not_utf8(path) from None
    except ImportError as error:
        raise FileError(f"{path} needs {error.name}: pip install 'haystat[frames,paper]'") from None
    except (UnknownName, FileError, MemoryError):
        raise
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FileError(f"{path} cannot be read; is it cut short or damaged? ({reason})") from None


def _chosen(
    path: Path, present: Sequence[str], names: Sequence[str], optional: Sequence[str]
) -> list[str]:
    """The columns to read, each once; raises when a needed one is missing."""
    for name in names:
        if name not in present:
            listed = ", ".join(list(present)[:20]) + (" …" if len(present) > 20 else "")
            raise UnknownName(f"no column {name!r} in {path}; it has {listed}")
    refuse_twins(str(path), present, {*names, *optional})
    return list(dict.fromkeys([*names, *(name for name in optional if name in present)]))


def refuse_twins(where: str, present: Sequence[str], wanted: Collection[str]) -> None:
    """Raise when a column that is wanted is there twice: which of the two would it be?"""
    for name, n in Counter(present).items():
        if n > 1 and name in wanted:
            raise FileError(f"{where} has {n} columns {name!r}; rename or drop all but one")


def _read_parquet(path: Path, names: Sequence[str], optional: Sequence[str]) -> Any:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        chosen = _chosen(path, file.schema_arrow.names, names, optional)
        return file.read(columns=chosen)


def _read_feather(path: Path, names: Sequence[str], optional: Sequence[str]) -> Any:
    import pyarrow
    from pyarrow import feather

    with pyarrow.memory_map(str(path)) as source:
        # A file of the older Feather format has no schema that can be read on its own.
        old = source.read(4) == b"FEA1"
        present = None if old else pyarrow.ipc.open_file(source).schema.names
    present = present or feather.read_table(path).column_names
    return feather.read_table(path, columns=_chosen(path, present, names, optional))


def _read_csv(path: Path, names: Sequence[str], optional: Sequence[str]) -> Any:
    from pyarrow import csv

    separator, point = spelling_of(path)
    parse = csv.ParseOptions(delimiter=separator)
    with csv.open_csv(path, parse_options=parse) as file:
        present = file.schema.names
    chosen = _chosen(path, present, names, optional)
    convert = csv.ConvertOptions(include_columns=chosen, decimal_point=point)
    table = csv.read_csv(path, parse_options=parse, convert_options=convert)
    return _with_leading_zeros(path, table, parse)


def spelling_of(path: Path) -> tuple[str, str]:
    """What separates the fields of a CSV file, and what the decimal point is.

    The separator is the one of , ; tab | that the header has most of, a comma in doubt. Where it is
    no comma, numbers such as 0,25 have a decimal comma, unless some have a point.
    """
    with path.open("rb") as file:
        lines = file.read(SNIFFED).decode("utf-8-sig", errors="replace").splitlines()
    header = re.sub(r'"[^"]*"', "", lines[0]) if lines else ""
    separator = max(SEPARATORS, key=header.count)
    if separator == ",":
        return separator, "."
    fields = [f.strip('" ') for line in lines[1:] for f in line.split(separator)]
    commas = sum(DECIMAL_COMMA.fullmatch(f) is not None for f in fields)
    points = sum(DECIMAL_POINT.fullmatch(f) is not None for f in fields)
    return separator, "," if commas > points else "."


def _with_leading_zeros(path: Path, table: Any, parse: Any) -> Any:
    """A CSV column in which a whole number begins with 0 is text: 00966 and 966 are two ids."""
    import pyarrow
    from pyarrow import compute, csv

    numbers = [f.name for f in table.schema if pyarrow.types.is_integer(f.type)]
    if not numbers:
        return table
    as_text = csv.ConvertOptions(
        include_columns=numbers, column_types=dict.fromkeys(numbers, pyarrow.string())
    )
    texts = csv.read_csv(path, parse_options=parse, convert_options=as_text)
    for name in numbers:
        if compute.any(compute.match_substring_regex(texts[name], LEADING_ZERO)).as_py():
            table = table.set_column(table.column_names.index(name), name, texts[name])
    return table


def _read_json_lines(path: Path, names: Sequence[str], optional: Sequence[str]) -> Any:
    from pyarrow import json

    refuse_deep_json(path)
    table = json.read_json(path)
    return table.select(_chosen(path, table.column_names, names, optional))


def refuse_deep_json(path: Path) -> None:
    """Raise on brackets within brackets without end, on which Arrow's reader overruns the stack."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            if json_depth(line) > DEEPEST and json_depth(STRING.sub(b"", line)) > DEEPEST:
                raise FileError(
                    f"{shown_path(path)}, line {number} nests more than {DEEPEST} lists and objects"
                )


def json_depth(line: bytes) -> int:
    """How many brackets are open at most; those inside texts count too."""
    if line.count(b"{") + line.count(b"[") <= DEEPEST:
        return 0
    code = np.frombuffer(line, dtype=np.uint8)
    opened = ((code == ord("{")) | (code == ord("["))).astype(np.int64)
    closed = ((code == ord("}")) | (code == ord("]"))).astype(np.int64)
    return int(np.cumsum(opened - closed).max())


def _read_hdf5(path: Path, names: Sequence[str], optional: Sequence[str]) -> Columns:
    import h5py

    with h5py.File(path, "r") as file:
        present = [name for name, entry in file.items() if isinstance(entry, h5py.Dataset)]
        chosen = _chosen(path, present, names, optional)
        is_text = {name: h5py.check_string_dtype(file[name].dtype) for name in chosen}
        columns = {n: file[n].asstr()[()] if is_text[n] else file[n][()] for n in chosen}
    # Some writers keep a column as (M, 1).
    return {name: v[:, 0] if v.ndim == 2 and v.shape[1] == 1 else v for name, v in columns.items()}


def _arrays(path: Path, table: Any) -> Columns:
    return {name: np.asarray(_text(path, name, table[name])) for name in table.column_names}


def _text(path: Path, name: str, column: Any) -> NDArray[Any]:
    """A column as an array; bytes, as which Arrow reads texts of unknown encoding, are UTF-8."""
    import pyarrow

    kind = column.type
    if pyarrow.types.is_binary(kind) or pyarrow.types.is_large_binary(kind):
        try:
            column = column.cast(pyarrow.large_string())
        except pyarrow.ArrowInvalid:
            raise not_utf8(path, name) from None
    return np.asarray(column.to_numpy())


Reader = Callable[[Path, Sequence[str], Sequence[str]], Any]

#: file ending -> what reads it
READERS: dict[str, Reader] = {
    ".parquet": _read_parquet,
    ".pq": _read_parquet,
    ".csv": _read_csv,
    ".tsv": _read_csv,
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    ".feather": _read_feather,
    ".arrow": _read_feather,
    ".h5": _read_hdf5,
    ".hdf5": _read_hdf5,
}
