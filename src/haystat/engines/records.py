"""What the person who labels gets to see, looked up by id: from the pool, or from side tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from haystat.core.arguments import brief
from haystat.engines.columns import ID, Columns
from haystat.engines.passes import sought, wanted_ids
from haystat.engines.side_tables import Side, Unblocked
from haystat.engines.source import Source, find_source
from haystat.errors import BadOption, PoolChanged, PoolError

Rows = dict[str, list[Any]]
#: endings of the columns of the left and right record of a pair
ENDS = (("_l", "_r"), ("_left", "_right"))
#: columns that name the table of the left and right record, as Splink calls them
ORIGINS = ("source_dataset_l", "source_dataset_r")


@dataclass(frozen=True)
class Lookup:
    """Where to look up the columns to show.

    sides: {column of the pool: (rows, key, columns to show)}. kept: rows that are here already,
    with the column ID first. tables: of the left and right record of pairs that are not in the
    pool, with their keys; their `name` is shown as name_l and name_r. origins: what such pairs
    have in columns that name the table of a record.
    """

    source: Source | None
    columns: Columns
    sides: Mapping[str, tuple[Source, str, tuple[str, ...]]] = field(default_factory=dict)
    kept: pa.Table | None = None
    tables: tuple[tuple[Source, str], ...] = ()
    origins: Mapping[str, Any] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns to show."""
        of_sides = [f"{c}.{name}" for c, (_, _, show) in self.sides.items() for name in show]
        return (*self.columns.show, *of_sides)

    def records(self, ids: NDArray[Any]) -> Mapping[str, Sequence[Any]]:
        """The columns to show of the items with these ids, each (n,)."""
        if not self.names:
            return {}
        if self.kept is not None:
            return _ordered(self.kept, ID, ids.tolist(), "the sketch", self.names)
        if self.source is None:
            raise PoolError("the columns to show are not in the sketch; open it with its source")
        own = list(dict.fromkeys([*self.columns.show, *self.sides]))
        found = _joined(self.source, self.columns.id_of(self.source.table), ids, own)
        rows = _ordered(found, ID, ids.tolist(), self.source.name, own)
        return {name: rows[name] for name in self.columns.show} | self._of_sides(rows)

    def of_pairs(self, pairs: Sequence[tuple[Any, Any]]) -> Mapping[str, Sequence[Any]]:
        """The same of pairs that are not in the pool: what the tables know of their ids."""
        if not pairs:
            return {name: [] for name in self.names}
        rows: Rows = {name: [pair[i] for pair in pairs] for i, name in enumerate(self.columns.id)}
        shown = self.columns.show
        result: Rows = {name: [self.origins.get(name)] * len(pairs) for name in shown}
        for side, (table, key) in enumerate(self.tables):
            fields = _fields(shown, side, table.table.schema().names)
            keys = [pair[side] for pair in pairs]
            found = _looked_up(table, key, keys, list(dict.fromkeys(fields.values())))
            result |= {name: found[column] for name, column in fields.items()}
        known = {name: rows[name] for name in shown if name in rows}
        return result | known | self._of_sides(rows)

    def _of_sides(self, rows: Rows) -> Rows:
        result: Rows = {}
        for column, (side, key, show) in self.sides.items():
            if column not in rows:
                length = len(next(iter(rows.values())))
                result |= {f"{column}.{name}": [None] * length for name in show}
                continue
            shown = _looked_up(side, key, rows[column], show)
            result |= {f"{column}.{name}": values for name, values in shown.items()}
        return result


def make_lookup(
    source: Source,
    columns: Columns,
    sides: Mapping[str, Side] | None,
    unblocked: Unblocked | None = None,
) -> Lookup:
    """The columns to show of a pool, with those of its side tables.

    Of pairs of which some were not blocked both ids are always among them, and where the pool
    names the table of each record, that too: nothing else says which records a pair is made of.
    """
    found = {}
    given = {} if sides is None else sides
    if not isinstance(given, Mapping) or not all(isinstance(s, Side) for s in given.values()):
        raise BadOption(f"sides are {brief(sides)}; give {{column: Side(…)}}")
    for column, side in given.items():
        rows = find_source(side.source, side.table, _backend(source))
        schema = rows.table.schema()
        for name in (side.key, *side.show):
            if name not in schema.names:
                raise BadOption(f"no column {name!r} in {rows.name}; it has {list(schema.names)}")
        found[column] = (rows, side.key, tuple(side.show))
    missing = [column for column in found if column not in source.table.schema().names]
    if missing:
        raise BadOption(f"sides are named after columns of the pool, and there is no {missing[0]}")
    if unblocked is None:
        return Lookup(source, columns, found)
    schema = source.table.schema().names
    origins = {name: _only_value(source, name) for name in ORIGINS if name in schema}
    show = tuple(dict.fromkeys([*columns.id, *origins, *columns.show]))
    lists = [unblocked.left, unblocked.left if unblocked.right is None else unblocked.right]
    of_rows = [table for table in lists if not isinstance(table, list | tuple | np.ndarray)]
    tables = [(find_source(table, None, _backend(source)), unblocked.key) for table in of_rows]
    return Lookup(
        source,
        replace(columns, show=show),
        found,
        tables=tuple(tables) if len(tables) == len(lists) else (),
        origins=origins,
    )


def blocked_among(source: Source, columns: Columns, ids: list[str]) -> set[str]:
    """Which of these pairs are rows of the pool."""
    found = _joined(source, columns.id_of(source.table), np.array(ids, dtype=object), [])
    return set(found[ID].to_pylist())


def _backend(source: Source) -> Any:
    return source.table.get_backend()


def _only_value(source: Source, name: str) -> Any:
    """The value that a column has in all rows, else None."""
    with source.reading():
        found = source.table.select(name).distinct().limit(2).to_pyarrow()[name].to_pylist()
    return found[0] if len(found) == 1 else None


def _fields(shown: Sequence[str], side: int, present: Sequence[str]) -> dict[str, str]:
    """Columns to show of the left or right record, and what its table calls them."""
    ends = [pair[side] for pair in ENDS]
    named = {name: name.removesuffix(end) for name in shown for end in ends if name.endswith(end)}
    return {name: column for name, column in named.items() if column in present}


def _looked_up(table: Source, key: str, keys: Sequence[Any], names: Sequence[str]) -> Rows:
    """Columns of the records with these keys, in their order."""
    unique = np.unique(np.array(keys, dtype=object))
    found = _joined(table, table.table[key], unique, list(names))
    return _ordered(found, ID, keys, table.name, names)


def _joined(source: Source, id: Any, ids: NDArray[Any], names: list[str]) -> pa.Table:
    """The rows of a table with these ids."""
    wanted = ibis.memtable(pa.table({"hs_wanted": wanted_ids(id, ids.tolist())}))
    with source.reading():
        rows = source.table.select(**{ID: id}, **{name: source.table[name] for name in names})
        rows = rows.mutate(hs_sought=sought(rows[ID]))
        joined = rows.join(wanted, [("hs_sought", "hs_wanted")], how="inner")
        return joined.select(ID, *names).to_pyarrow()


def _ordered(
    table: pa.Table, id: str, ids: Sequence[Any], where: str, names: Sequence[str]
) -> Rows:
    """Columns of the rows with these ids, in their order."""
    place = {str(value): row for row, value in enumerate(table[id].to_pylist())}
    rows = [place.get(str(value)) for value in ids]
    if None in rows:
        missing = ids[rows.index(None)]
        raise PoolChanged(f"{where} has no row with id {missing!r} any more; put it back")
    taken = table.take(pa.array(rows, type=pa.int64()))
    return {name: [_shown(value) for value in taken[name].to_pylist()] for name in names}


def _shown(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)
