"""A pool behind an engine with further rows, as pool/extended.py has it for pools in memory.

The rows of the pool and the further ones become the parts of one source. A row of the pool before
is the same row in the next version: nothing is looked up by its id.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from haystat.core.arguments import brief
from haystat.engines.build import checked_options, make_pool
from haystat.engines.columns import Columns
from haystat.engines.joined import joined, parts_of, windowed
from haystat.engines.passes import sought_alike
from haystat.engines.past import EARLIER
from haystat.engines.pool import EnginePool
from haystat.engines.source import Source
from haystat.errors import BadOption, PoolError
from haystat.pool.extended import repeated


def extended(
    old: Any,
    rows: Any,
    window: Any = None,
    *,
    strata: int | str | None = None,
    stratify: Any = "csf",
    branching: int = 2,
    parents: Any = None,
    seed: int = 0,
    candidates: int | None = None,
) -> EnginePool:
    """The rows of a pool and further ones, as far as they are in a window (column, length).

    Options are those of hs.open_pool.
    """
    _check(old, rows)
    layout = rows.layout
    given = (layout.columns.stratum or 256) if strata is None else strata
    shown = tuple(name for name in layout.columns.show if name in old.layout.columns.show)
    stratum = given if isinstance(given, str) else None
    columns = replace(layout.columns, show=shown, stratum=stratum)
    same_threshold = len(set(layout.thresholds)) == 1 and not columns.predictions
    options = checked_options(
        layout.classes,
        layout.thresholds[0] if same_threshold else None,
        given,
        stratify,
        branching,
        parents,
        seed,
        old.settings.candidates if candidates is None else candidates,
    )
    source = _both(getattr(old, "given", old).source, rows.source, columns, window)
    pool = make_pool(source, columns, options, signals={}, sides=None, unblocked=None)
    pool.lookup = replace(pool.lookup, sides=rows.lookup.sides)
    return pool


def _both(pool: Source, rows: Source, columns: Columns, window: Any) -> Source:
    """The rows of a pool and further ones, as far as they are in a window."""
    before = [replace(one, source=one.source.moved_to(rows)) for one in parts_of(pool)]
    kept = windowed([*before, *parts_of(rows)], window)
    stay = [one for one in kept[: len(before)] if one is not None]
    come = [one for one in kept[len(before) :] if one is not None]
    if stay and come:
        _check_ids(joined(stay), joined(come), columns)
    return joined([*stay, *come], columns.named)


def _check(old: Any, rows: Any) -> None:
    """Raise unless rows can be added to a pool."""
    for which, one in (("pool", old), ("further pool", rows)):
        if not hasattr(type(one), "layout_of"):
            raise BadOption(
                f"the {which} is {brief(one)}; rows are added to a pool in memory (hs.Pool) from "
                "one in memory, and to one behind an engine from another (hs.open_pool)"
            )
        if one.source is None or one.size != one.summary.size:
            raise BadOption(
                f"the {which} is {one!r}, some of whose items have no rows; open its table with "
                "hs.open_pool, without unblocked pairs"
            )
    if hasattr(rows, "given"):
        raise BadOption("the further pool has a past already; open its table with hs.open_pool")
    own = [one.name for one in (*old.layout.signals, *rows.layout.signals) if one.column != EARLIER]
    if own:
        raise BadOption(
            f"a pool with signals {own} cannot be extended; make one of all rows, use next()"
        )
    for what, of in KINDS.items():
        mine, others = of(old), of(rows)
        if mine != others:
            raise PoolError(
                f"the rows have the {what} {others} and the pool {mine}; make them alike"
            )
    if not old.classes:
        raise BadOption("labels that are numbers cannot be carried over; make a new pool")


def _sides(pool: EnginePool) -> list[Any]:
    return [(at, rows.name, key, show) for at, (rows, key, show) in pool.lookup.sides.items()]


#: what the rows and the pool have in common; tables are put together by the names of columns
KINDS: dict[str, Callable[[Any], Any]] = {
    "classes": lambda pool: list(pool.classes),
    "systems": lambda pool: list(pool.systems),
    "weight": lambda pool: pool.schema.weight,
    "columns": lambda pool: sorted(pool.layout.columns.facts),
    "column of ids": lambda pool: list(pool.layout.columns.id),
    "column of predictions": lambda pool: list(pool.layout.columns.predictions),
    "column of probabilities": lambda pool: list(pool.layout.columns.probabilities),
    "thresholds": lambda pool: [] if pool.layout.columns.predictions else [*pool.layout.thresholds],
    "side tables": _sides,
}


def _check_ids(pool: Source, rows: Source, columns: Columns) -> None:
    """Raise if the rows repeat an id of the pool, of all its ids."""
    ids = sought_alike(*(columns.id_of(one.table) for one in (pool, rows)))
    mine, others = (one.table.select(hs_id=id) for one, id in zip((pool, rows), ids, strict=True))
    with rows.reading():
        same = others.semi_join(mine, "hs_id").aggregate(example=lambda t: t.hs_id.min())
        (found,) = same.to_pyarrow()["example"].to_pylist()
    if found is not None:
        raise repeated(found)
