"""The rows of one file or of several, as if they were of one, and a window over the newest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from haystat.core.arrays import IntArray
from haystat.core.tables import Columns, read_columns, read_rows
from haystat.errors import BadOption


@dataclass(frozen=True)
class FileRows:
    """Which rows of some files there are: those at index (M,), numbered through all files.

    first (F,) is the number of the first row of each file.
    """

    paths: tuple[Path, ...]
    first: IntArray
    index: IntArray

    def read(self, names: Sequence[str], at: IntArray) -> Columns:
        """The named columns of the rows at some positions."""
        row = self.index[at]
        file = np.searchsorted(self.first, row, side="right") - 1
        order, parts = np.argsort(file, kind="stable"), []
        for number in np.unique(file).tolist():
            inside = row[order][file[order] == number] - self.first[number]
            parts.append(read_rows(self.paths[number], names, inside))
        back = np.argsort(order, kind="stable")
        return {name: _joined(name, self.paths, [p[name] for p in parts])[back] for name in names}

    @property
    def used(self) -> tuple[Path, ...]:
        """The files that have a row in the window."""
        file = np.searchsorted(self.first, self.index, side="right") - 1
        return tuple(self.paths[number] for number in np.unique(file).tolist())


def read_files(
    paths: Sequence[Path], names: Sequence[str], window: tuple[str, float] | None
) -> tuple[Columns, FileRows]:
    """The named columns of all files, as far as they are in the window, and which rows they are."""
    parts = [read_columns(path, names) for path in paths]
    table = {name: _joined(name, paths, [part[name] for part in parts]) for name in names}
    size = [len(part[names[0]]) for part in parts]
    first = np.cumsum([0, *size[:-1]])
    index = np.arange(sum(size))
    if window is not None:
        from haystat.pool.extended import in_window  # slow to import, seldom needed

        index = np.flatnonzero(in_window(window, table, sum(size)))
        table = {name: values[index] for name, values in table.items()}
    return table, FileRows(tuple(paths), first, index)


def _joined(name: str, paths: Sequence[Path], parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """A column of all files; raises if it is text in one and numbers in another."""
    if len(parts) == 1:
        return parts[0]
    is_text = [part.dtype.kind in "OSUT" for part in parts]
    if len({*is_text}) > 1:
        text, other = paths[is_text.index(True)], paths[is_text.index(False)]
        raise BadOption(
            f"column {name!r} is text in {text} and is not in {other}; write it alike in all files"
        )
    return np.concatenate(parts)
