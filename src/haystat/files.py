"""Named columns of a file: Parquet, CSV, Feather, JSON lines and HDF5."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from haystat.errors import FileError, UnknownName

Columns = Mapping[str, NDArray[Any]]


def read_columns(path: Path, names: Sequence[str], optional: Sequence[str] = ()) -> Columns:
    """The named columns of a file as arrays, and of the optional ones those that are there."""
    table = _read(path, names, optional)
    columns = table if isinstance(table, dict) else _arrays(table)
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise FileError(f"the columns of {path} differ in length: {lengths}")
    return columns


def read_rows(path: Path, names: Sequence[str], rows: NDArray[np.int64]) -> Columns:
    """The named columns of a file at some rows: texts of the other rows are never made."""
    table = _read(path, names, ())
    if isinstance(table, dict):
        return {name: values[rows] for name, values in table.items()}
    return _arrays(table.take(rows))


def _read(path: Path, names: Sequence[str], optional: Sequence[str]) -> Any:
    """An Arrow table, or a dictionary of arrays."""
    if not path.is_file():
        raise FileNotFoundError(f"no file {path}")
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise FileError(f"{path} is of no known kind; give a file ending in {', '.join(READERS)}")
    with _readable(path):
        return reader(path, names, optional)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn whatever a library says about a damaged file into one line."""
    try:
        yield
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
    return list(dict.fromkeys([*names, *(name for name in optional if name in present)]))


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

    with csv.open_csv(path) as file:
        present = file.schema.names
    options = csv.ConvertOptions(include_columns=_chosen(path, present, names, optional))
    return csv.read_csv(path, convert_options=options)


def _read_json_lines(path: Path, names: Sequence[str], optional: Sequence[str]) -> Any:
    from pyarrow import json

    table = json.read_json(path)
    return table.select(_chosen(path, table.column_names, names, optional))


def _read_hdf5(path: Path, names: Sequence[str], optional: Sequence[str]) -> Columns:
    import h5py

    with h5py.File(path, "r") as file:
        present = [name for name, entry in file.items() if isinstance(entry, h5py.Dataset)]
        chosen = _chosen(path, present, names, optional)
        columns = {name: file[name][()] for name in chosen}
    # Some writers keep a column as (M, 1).
    return {name: v[:, 0] if v.ndim == 2 and v.shape[1] == 1 else v for name, v in columns.items()}


def _arrays(table: Any) -> Columns:
    return {name: np.asarray(table[name].to_numpy()) for name in table.column_names}


Reader = Callable[[Path, Sequence[str], Sequence[str]], Any]

#: file ending -> what reads it
READERS: dict[str, Reader] = {
    ".parquet": _read_parquet,
    ".pq": _read_parquet,
    ".csv": _read_csv,
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
    ".feather": _read_feather,
    ".arrow": _read_feather,
    ".h5": _read_hdf5,
    ".hdf5": _read_hdf5,
}
