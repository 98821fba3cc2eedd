"""A measure within every group of items that a column of the pool tells apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from haystat import measures
from haystat.core.arguments import brief
from haystat.errors import BadOption, UnknownName
from haystat.measures.base import Measure
from haystat.measures.combine import Several
from haystat.measures.within import Within
from haystat.pool.base import View
from haystat.pool.cells import Cells

MOST_GROUPS = 50


def within_each(measure: Any, column: str, pool: View, cells: Cells) -> Measure:
    """The measure, or each of several, within every value that a column of the pool has.

    cells are those that the items were drawn from.
    """
    listed = isinstance(measure, Sequence) and not isinstance(measure, str)
    parts = [measures.resolve(one) for one in (measure if listed else [measure])]
    values = _values(column, pool, cells)
    return Several([Within(part, column=column, equals=one) for part in parts for one in values])


def _values(column: str, pool: View, cells: Cells) -> list[Any]:
    """The values of a column among the items at hand, ascending; missing ones make no group."""
    known = pool.schema.columns
    if not isinstance(column, str) or column not in known:
        raise UnknownName(
            f"no column {brief(column)}; the pool has {list(known)}. Name the columns that hold "
            "groups when you make it: columns=, or haystat new --column"
        )
    found: set[Any] = set()
    for outputs in pool.specimens(cells):
        found.update(outputs.columns[column].tolist())
    values = [value for value in found if value is not None and value == value]
    if not 0 < len(values) <= MOST_GROUPS:
        raise BadOption(
            f"column {column!r} has {len(values):,} values; a measure is estimated by at most "
            f"{MOST_GROUPS} groups. Make a column of fewer"
        )
    return sorted(values, key=lambda value: (isinstance(value, str), value))
