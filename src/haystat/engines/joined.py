"""Rows of several tables as those of one: what was added one after the other, less old rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from functools import reduce
from typing import Any

import ibis
from ibis.expr import datatypes

from haystat.core.arguments import brief
from haystat.engines.columns import check_present
from haystat.engines.source import Source, find_source
from haystat.errors import BadOption
from haystat.pool.extended import check_column, checked_window, no_window, none_left

Above = tuple[tuple[str, Any], ...]  # columns, and the value that each is above


@dataclass(frozen=True)
class Part:
    """Rows of one table: those whose columns are above some values, as windows have left them."""

    source: Source
    above: Above = ()

    def holds(self, other: Part) -> bool:
        """Whether all rows of another part are among those of this one."""
        values = dict(other.above)
        inside = all(column in values and values[column] >= value for column, value in self.above)
        return inside and self.source.same_rows(other.source)

    def within(self, above: Above) -> Part:
        """The rows that are above further values."""
        values = dict(self.above)
        for column, value in above:
            values[column] = max(values[column], value) if column in values else value
        return replace(self, above=tuple(values.items()))

    def rows(self) -> Any:
        """The rows, with all their columns."""
        table = self.source.table
        return table.filter(_is_above(table, self.above)) if self.above else table

    def left_out_by(self, above: Above) -> Any:
        """The rows that are not above some values."""
        rows = self.rows()
        return rows.filter(~_is_above(rows, above))


@dataclass(frozen=True)
class Joined(Source):
    """Rows of several parts, as one table with the columns that they have in common.

    stored: whether what is worked out about its rows is worth a table of its own.
    """

    parts: tuple[Part, ...] = ()
    stored: bool = True

    def check(self) -> None:
        """Raise unless the files are what they were."""
        if self.before is not None:
            self.before.check()
        for part in self.parts:
            part.source.check()

    def same_rows(self, other: Source) -> bool:
        """Whether another source has the very same rows."""
        return holds(self, other) and holds(other, self)

    def moved_to(self, other: Source) -> Source:
        """The same rows where those of another source are."""
        return joined([replace(one, source=one.source.moved_to(other)) for one in self.parts])

    @property
    def lead(self) -> Source:
        """The first of the tables."""
        return self.parts[0].source


def joined(parts: Sequence[Part], names: Iterable[str] = (), stored: bool = True) -> Joined:
    """The rows of parts that one engine reads; raises unless all have the columns `names`."""
    for part in parts:
        for name in names:
            check_present(name, part.source.table.schema(), part.source.name)
    if not parts:
        return Joined(None, "no table", stored=stored)
    first = parts[0].source.name
    name = first if len(parts) == 1 else f"{first} and {len(parts) - 1} more"
    files = tuple(file for part in parts for file in part.source.files)
    table = _union(parts, frozenset(names))
    return Joined(table, name, files=files, parts=tuple(parts), stored=stored)


def find_rows(
    given: Any, table: str | None, engine: Any, window: Any, names: Iterable[str]
) -> Source:
    """The rows of one source, or of a list of them, as far as they are in a window."""
    if isinstance(given, Source):
        return given
    if window is None and not isinstance(given, list | tuple):
        return find_source(given, table, engine)
    several = list(given) if isinstance(given, list | tuple) else [given]
    parts = windowed(_opened(several, table, engine), window)
    return joined([part for part in parts if part is not None], names)


def used(paths: Sequence[str], table: str | None, engine: Any, window: Any) -> list[str]:
    """The files that have a row in a window."""
    parts = windowed(_opened(paths, table, engine), window)
    return [path for path, part in zip(paths, parts, strict=True) if part is not None]


def _opened(given: Sequence[Any], table: str | None, engine: Any) -> list[Part]:
    """Sources as one engine reads them."""
    if not given:
        raise BadOption("the list of sources is empty; name a file, or several")
    lead = find_source(given[0], table, engine)
    backend = lead.table.get_backend()
    more = (find_source(one, table, backend).moved_to(lead) for one in given[1:])
    return [Part(one) for one in (lead, *more)]


def windowed(parts: Sequence[Part], window: Any) -> list[Part | None]:
    """What a window (column, length) leaves of each part; None of one that has no row in it."""
    if window is None:
        return list(parts)
    column, length = checked_window(window)
    for part in parts:
        check_column(column, part.source.table.columns)
    largest = [_largest(part, column, window) for part in parts]
    known = [one for one in largest if one is not None]
    try:
        first = max(known) - length
    except ValueError:  # no rows at all
        raise none_left(window) from None
    except TypeError:
        raise no_window(window) from None
    if not any(one > first for one in known):
        raise none_left(window)
    above = ((column, _plain(first)),)
    return [
        part.within(above) if one is not None and one > first else None
        for part, one in zip(parts, largest, strict=True)
    ]


def parts_of(source: Source) -> tuple[Part, ...]:
    """The parts of a source: of a single table one."""
    return source.parts if isinstance(source, Joined) else (Part(source),)


def holds(outer: Source, inner: Source) -> bool:
    """Whether each part of a source is within one of another."""
    return all(any(q.holds(p) for q in parts_of(outer)) for p in parts_of(inner))


def common(outer: Source, inner: Source) -> Joined:
    """The rows of a source that another has, from the same tables."""
    found = [
        q.within(p.above)
        for q in parts_of(outer)
        for p in parts_of(inner)
        if q.source.same_rows(p.source)
    ]
    return joined(found, stored=False)


def others(outer: Source, inner: Source) -> list[Any]:
    """Tables of the rows of a source that another has not."""
    tables = []
    for part in parts_of(outer):
        same = [one for one in parts_of(inner) if part.source.same_rows(one.source)]
        if not same:
            tables.append(part.rows())
        elif not same[0].holds(part):
            tables.append(part.left_out_by(same[0].above))
    return tables


def stacked(tables: Sequence[Any]) -> Any:
    """The rows of tables with the same columns, one after the other; kinds of number are made one.

    Raises ValueError with the name of a column that is of types that do not go together.
    """
    if len(tables) == 1:
        return tables[0]
    kinds = {}
    for name in tables[0].columns:
        try:
            kinds[name] = _common_kind([t.schema()[name] for t in tables])
        except Exception:  # whatever Ibis says of types that do not go together
            raise ValueError(name) from None
    return ibis.union(*(table.select(list(kinds)).cast(kinds) for table in tables))


def _common_kind(kinds: Sequence[Any]) -> Any:
    """A type that holds the values of all; that of Ibis would round floats beside decimals."""
    if not all(kind.is_numeric() for kind in kinds) or len(set(kinds)) == 1:
        return datatypes.highest_precedence(kinds)
    if not all(kind.is_integer() or (kind.is_decimal() and kind.scale == 0) for kind in kinds):
        return datatypes.float64
    signed = {kind.is_signed_integer() for kind in kinds}
    if len(signed) == 1 and all(kind.is_integer() for kind in kinds):
        return datatypes.highest_precedence(kinds)
    if any(kind.is_decimal() or kind.is_uint64() for kind in kinds):
        return datatypes.Decimal(38, 0)
    return datatypes.int64


def _union(parts: Sequence[Part], needed: frozenset[str]) -> Any:
    """The rows of all parts, with the columns that they have in common."""
    tables = [part.rows() for part in parts]
    names = [n for n in tables[0].columns if all(n in table.columns for table in tables)]
    while True:
        try:
            return stacked([table.select(names) for table in tables])
        except ValueError as error:
            (name,) = error.args
            if name in needed:
                kinds = {part.source.name: part.source.table.schema()[name] for part in parts}
                raise _unlike(name, kinds) from None
            names.remove(name)


def _unlike(name: str, kinds: dict[str, Any]) -> BadOption:
    (first, kind), *more = kinds.items()
    other = next(one for one in more if one[1] != kind)
    return BadOption(
        f"column {name!r} is {kind} in {first} and {other[1]} in {other[0]}; write it alike in all "
        "tables"
    )


def _largest(part: Part, column: str, window: Any) -> Any:
    """The largest value of a column; None if there are no rows."""
    with part.source.reading():
        kind = part.source.table[column].type()
        if not (kind.is_numeric() or kind.is_temporal()):
            raise BadOption(
                f"window is {brief(window)}, and column {column!r} is {kind} in "
                f"{part.source.name}; give a column and a length of numbers or times"
            )
        found = part.rows().aggregate(largest=lambda t: t[column].max()).to_pyarrow()
    (value,) = found["largest"].to_pylist()
    if value != value:  # NaN
        raise none_left(window)
    return float(value) if isinstance(value, Decimal) else value


def _plain(value: Any) -> Any:
    """A value as a file of JSON has it: a time as text, in an order of texts that is its own."""
    return value.isoformat() if isinstance(value, date) else value


def _is_above(table: Any, above: Above) -> Any:
    """Whether each row is above some values."""
    found = []
    for column, value in above:
        is_time = isinstance(value, str)
        least = ibis.literal(value).cast(table[column].type()) if is_time else value
        found.append(table[column] > least)
    return reduce(lambda one, other: one & other, found)
