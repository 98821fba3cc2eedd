"""A pool with further items, and a window over the newest of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from haystat.core.arguments import brief
from haystat.core.arrays import BoolArray, IntArray
from haystat.errors import BadOption, DuplicateId, PoolError, UnknownName
from haystat.pool.known import plain
from haystat.pool.memory import Pool
from haystat.pool.version import EARLIER, in_memory


def extended(pool: Pool, rows: Pool, window: Any = None, **options: Any) -> tuple[Pool, IntArray]:
    """The items of a pool and further ones, and which of both they are, (M,).

    They are numbered as if `rows` followed `pool`. window: (column, length), to keep only items
    whose column is less than `length` below its largest value. options: those of hs.Pool.
    """
    pool, rows = in_memory(pool), in_memory(rows)
    for what in ("classes", "systems"):
        mine, others = getattr(pool, what), getattr(rows, what)
        if mine != others:
            raise PoolError(
                f"the rows have the {what} {list(others)} and the pool {list(mine)}; make them "
                "alike"
            )
    weight = pool.schema.weight
    if rows.schema.weight != weight:
        raise PoolError(
            f"items of the pool count by {weight!r} and the rows by {rows.schema.weight!r}; make "
            "them alike"
        )
    if set(pool.columns) != set(rows.columns):
        raise PoolError(
            f"the rows have the columns {sorted(rows.columns)} and the pool "
            f"{sorted(pool.columns)}; make them alike"
        )
    signals = {name for one in (pool, rows) if one.signals for name in one.signals.names}
    if signals - {EARLIER} or pool.to_fit or rows.to_fit:
        raise BadOption("a pool with signals cannot be extended; make one of all rows, use next()")
    if not pool.classes:
        raise BadOption("labels that are numbers cannot be carried over; make a new pool")
    columns = {
        name: np.concatenate([pool.columns[name], rows.columns[name]]) for name in pool.columns
    }
    ids = np.concatenate([pool.ids, rows.ids])
    index = np.flatnonzero(in_window(window, columns, len(ids)))
    unique, first = np.unique(ids[index], return_index=True)
    if len(unique) < len(index):
        raise repeated(np.delete(ids[index], first)[0])
    scores = {
        name: np.concatenate([pool.class_scores(name), rows.class_scores(name)])[index]
        for name in pool.systems
    }
    joined = Pool(
        scores,
        _predictions(pool, rows, index),
        ids=ids[index],
        columns={name: values[index] for name, values in columns.items()},
        classes=pool.classes,
        **{"weight": weight, **options},
    )
    return joined, index


def repeated(id: Any) -> DuplicateId:
    """What is said of rows that repeat an id of the pool."""
    return DuplicateId(
        f"the rows repeat ids of the pool, such as {plain(id)!r}; give every item an id of its own"
    )


def _predictions(pool: Pool, rows: Pool, index: IntArray) -> dict[str, Any]:
    """What each system predicts, in terms of the classes."""
    parts = [one.outputs(np.arange(one.size)).predictions for one in (pool, rows)]
    named = np.asarray(pool.classes)[np.concatenate(parts)[index]]
    return {name: named[:, place] for place, name in enumerate(pool.systems)}


def in_window(window: Any, columns: Mapping[str, Any], size: int) -> BoolArray:
    """Which items a window (column, length) keeps, (M,)."""
    if window is None:
        return np.ones(size, dtype=bool)
    column, length = checked_window(window)
    check_column(column, columns)
    try:
        kept = np.asarray(columns[column] > columns[column].max() - length, dtype=bool)
    except (TypeError, ValueError):
        raise no_window(window) from None
    if not kept.any():
        raise none_left(window)
    return kept


def checked_window(window: Any) -> tuple[str, Any]:
    """A column and a length; raises unless it is that."""
    is_pair = isinstance(window, tuple | list) and len(window) == 2
    if not is_pair or not isinstance(window[0], str):
        raise no_window(window)
    column, length = window
    if isinstance(length, int | float) and not length > 0:
        raise BadOption(f"the window has length {length:g}; give one above 0, such as ('day', 30)")
    return column, length


def check_column(column: str, names: Iterable[str]) -> None:
    """Raise unless the column of a window is there."""
    if column not in names:
        raise UnknownName(f"no column {column!r} for a window; there are {', '.join(names)}")


def no_window(window: Any) -> BadOption:
    """What is said of something else than a column and a length."""
    return BadOption(f"window is {brief(window)}; give a column and a length, such as ('day', 30)")


def none_left(window: Any) -> BadOption:
    """What is said of a window without items."""
    return BadOption(
        f"no item is in the window {brief(window)}; give a column without missing values"
    )
