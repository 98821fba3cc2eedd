"""Columns to show to the person who labels, by the positions of items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from haystat.core.arrays import IntArray
from haystat.pool.base import AnyPool
from haystat.pool.checks import checked_columns
from haystat.study.sketch_codec import Records, no_records


def records_of(pool: AnyPool, show: Mapping[str, Any] | None) -> Records:
    """What to show of a pool's items: the given columns, or those that the pool can look up."""
    own: Records | None = getattr(pool, "records", None)
    return checked_show(show, pool.size) if own is None or show is not None else own


def records_from(show: Mapping[str, Sequence[Any] | NDArray[Any]]) -> Records:
    """Columns to show, each as long as the pool."""
    columns = {name: np.asarray(values) for name, values in show.items()}
    if not columns:
        return no_records

    def records(index: IntArray) -> dict[str, Any]:
        return {name: listed(values[index]) for name, values in columns.items()}

    return records


def checked_show(show: Mapping[str, Any] | None, size: int) -> Records:
    """Columns to show that a user gives; raises when their length is not the pool's."""
    return records_from(checked_columns(show, size))


def listed(values: NDArray[Any]) -> list[Any]:
    """Values of a column as plain ones."""
    # numpy gives times of nanoseconds as bare integers.
    return list((values.astype(str) if values.dtype.kind in "mM" else values).tolist())
