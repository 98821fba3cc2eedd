"""What the person who labels gets to see, looked up by id: from the pool, or from side tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from haystat.arguments import brief
from haystat.engines.columns import ID, Columns
from haystat.engines.source import Source, find_source
from haystat.engines.tables import Side
from haystat.errors import BadOption, PoolChanged, PoolError

Rows = dict[str, list[Any]]


@dataclass(frozen=True)
class Lookup:
    """Where to look up the columns to show.

    sides: {column of the pool: (rows, key, columns to show)}. kept: rows that are here already,
    with the column ID first.
    """

    source: Source | None
    columns: Columns
    sides: Mapping[str, tuple[Source, str, tuple[str, ...]]] = field(default_factory=dict)
    kept: pa.Table | None = None

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
        """The same of pairs that are not in the pool: what the side tables know of their ids."""
        rows: Rows = {name: [pair[i] for pair in pairs] for i, name in enumerate(self.columns.id)}
        unknown: Rows = {name: [None] * len(pairs) for name in self.columns.show}
        known = {name: rows[name] for name in self.columns.show if name in rows}
        return unknown | known | self._of_sides(rows)

    def _of_sides(self, rows: Rows) -> Rows:
        result: Rows = {}
        for column, (side, key, show) in self.sides.items():
            if column not in rows:
                length = len(next(iter(rows.values())))
                result |= {f"{column}.{name}": [None] * length for name in show}
                continue
            keys = np.unique(np.array(rows[column], dtype=object))
            of_key = _joined(side, side.table[key], keys, list(show))
            shown = _ordered(of_key, ID, rows[column], side.name, show)
            result |= {f"{column}.{name}": values for name, values in shown.items()}
        return result


def make_lookup(source: Source, columns: Columns, sides: Mapping[str, Side] | None) -> Lookup:
    """The columns to show of a pool, with those of its side tables."""
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
    return Lookup(source, columns, found)


def blocked_among(source: Source, columns: Columns, ids: list[str]) -> set[str]:
    """Which of these pairs are rows of the pool."""
    found = _joined(source, columns.id_of(source.table), np.array(ids, dtype=object), [])
    return set(found[ID].to_pylist())


def _backend(source: Source) -> Any:
    return source.table.get_backend()


def _joined(source: Source, id: Any, ids: NDArray[Any], names: list[str]) -> pa.Table:
    """The rows of a table with these ids."""
    whole = id.type().is_integer() and not id.type().is_uint64()
    values = [int(v) if whole else str(v) for v in ids.tolist()]
    wanted = ibis.memtable(pa.table({"hs_wanted": pa.array(values)}))
    with source.reading():
        rows = source.table.select(**{ID: id}, **{name: source.table[name] for name in names})
        rows = rows.mutate(hs_sought=rows[ID].cast("int64" if whole else "string"))
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
