"""Labelled pools from files: Parquet, CSV, Feather and the HDF5 layout of the paper's pools."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from haystat.errors import BadOption, FileError, UnknownName
from haystat.pool.memory import Pool

Columns = Mapping[str, NDArray[Any]]
PAPER_LABEL, PAPER_SCORE, PAPER_PREDICTION = "labels", "scores", "preds"


@dataclass(frozen=True)
class LabelledPool:
    """A pool and the true label of each of its items, (M,)."""

    name: str
    pool: Pool
    labels: NDArray[Any]


def read_pool(
    path: str | Path,
    label: str | None = None,
    scores: Sequence[str] = (),
    predictions: Sequence[str] = (),
    **options: Any,
) -> LabelledPool:
    """A pool from the named columns of a file; no other column is read.

    Several score columns are several systems, each with its column of predictions if any are
    given. In an HDF5 file of the paper the columns need no naming, and a system without
    predictions predicts a positive from score 0 on. `options` are those of Pool.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no file {path}")
    is_paper = path.suffix.lower() in PAPER_SUFFIXES
    label = label or (PAPER_LABEL if is_paper else None)
    scores = list(scores) or ([PAPER_SCORE] if is_paper else [])
    if label is None or not scores:
        raise BadOption("name the columns that hold the label and the score: --label, --score")
    if predictions and len(predictions) != len(scores):
        raise BadOption(
            f"{len(predictions)} prediction columns for {len(scores)} score columns; give one for "
            "each, in the same order"
        )
    optional = [PAPER_PREDICTION] if is_paper and not predictions else []
    columns = read_columns(path, [label, *scores, *predictions], optional)
    given = {s: columns[p] for s, p in zip(scores, predictions, strict=False)}
    if optional and len(scores) == 1:
        given = {scores[0]: _paper_predictions(columns, scores[0])}
    systems = {name: columns[name] for name in scores}
    return LabelledPool(path.stem, Pool(systems, given or None, **options), columns[label])


def read_columns(path: Path, names: Sequence[str], optional: Sequence[str] = ()) -> Columns:
    """The named columns of a file as arrays, and of the optional ones those that are there."""
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise FileError(f"{path} is of no known kind; give a file ending in {', '.join(READERS)}")
    with _readable(path):
        columns = reader(path, names, optional)
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        raise FileError(f"the columns of {path} differ in length: {lengths}")
    return columns


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


def _read_parquet(path: Path, names: Sequence[str], optional: Sequence[str]) -> Columns:
    from pyarrow import parquet

    with parquet.ParquetFile(path) as file:
        chosen = _chosen(path, file.schema_arrow.names, names, optional)
        return _arrays(file.read(columns=chosen))


def _read_feather(path: Path, names: Sequence[str], optional: Sequence[str]) -> Columns:
    import pyarrow
    from pyarrow import feather

    with pyarrow.memory_map(str(path)) as source:
        # A file of the older Feather format has no schema that can be read on its own.
        old = source.read(4) == b"FEA1"
        present = None if old else pyarrow.ipc.open_file(source).schema.names
    present = present or feather.read_table(path).column_names
    return _arrays(feather.read_table(path, columns=_chosen(path, present, names, optional)))


def _read_csv(path: Path, names: Sequence[str], optional: Sequence[str]) -> Columns:
    from pyarrow import csv

    with csv.open_csv(path) as file:
        present = file.schema.names
    options = csv.ConvertOptions(include_columns=_chosen(path, present, names, optional))
    return _arrays(csv.read_csv(path, convert_options=options))


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


def _paper_predictions(columns: Columns, score: str) -> NDArray[Any]:
    if PAPER_PREDICTION in columns:
        return columns[PAPER_PREDICTION]
    return np.asarray(columns[score] >= 0, dtype=np.int64)


Reader = Callable[[Path, Sequence[str], Sequence[str]], Columns]

#: file ending -> what reads it
READERS: dict[str, Reader] = {
    ".parquet": _read_parquet,
    ".pq": _read_parquet,
    ".csv": _read_csv,
    ".feather": _read_feather,
    ".arrow": _read_feather,
    ".h5": _read_hdf5,
    ".hdf5": _read_hdf5,
}
PAPER_SUFFIXES = tuple(suffix for suffix, reader in READERS.items() if reader is _read_hdf5)
