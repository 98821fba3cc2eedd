"""Several whole numbers as one, by which engines group and look up rows faster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

CODE = "hs_code"


def fitting(sizes: Mapping[str, int]) -> dict[str, int]:
    """The first of some sizes, whose product a double can count."""
    total = np.cumprod(np.array(list(sizes.values()), dtype=np.float64))
    return dict(list(sizes.items())[: int(np.searchsorted(total, 2.0**53))])


def code_of(columns: Mapping[str, Any], sizes: Mapping[str, int]) -> Any:
    """One number for the values of some columns, each below its size."""
    first, *others = sizes
    code = columns[first]
    for name in others:
        code = code * sizes[name] + columns[name]
    return code


def row_code(rows: Any, sizes: Mapping[str, int]) -> Any:
    """The CODE of rows; in doubles, as step_function adds up."""
    return code_of({name: rows[name].cast("float64") for name in sizes}, sizes).cast("int64")


def decoded(table: pa.Table, sizes: Mapping[str, int]) -> pa.Table:
    """A table with keys instead of their CODE."""
    if not sizes:
        return table
    code = table[CODE].to_numpy().astype(np.int64)
    for name, size in reversed(list(sizes.items())):
        code, value = np.divmod(code, size)
        table = table.append_column(name, pa.array(value))
    return table.drop_columns([CODE])
