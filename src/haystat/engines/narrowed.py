"""What is kept of the past of a pool that goes on with further rows: that of the rows that stay."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from haystat.engines.joined import Joined, common, holds, others, parts_of, stacked
from haystat.engines.passes import sought_alike
from haystat.engines.past import Past
from haystat.engines.pool import EnginePool
from haystat.engines.source import Source


def narrowed(past: Past, pool: EnginePool) -> Past:
    """The past of the rows of a pool that the pool before has, if all others are new.

    So tables that have left the window are not read again. Where a further row has the id of one
    that left, the past stays whole, and rows are looked up in it by their ids.
    """
    source = pool.source
    if not isinstance(source, Joined):
        return past
    known = common(source, past.source)
    whole = holds(source, past.source) or not _comes_again(past, known, pool)
    return _within(past, known) if whole else past


def _within(past: Past, known: Source) -> Past:
    """The past of some rows of the pool before, without the tables that were made of others."""
    before = past.past
    if not parts_of(known):
        before = None
    elif before is not None and holds(past.source, before.source):
        before = _within(before, common(known, before.source))
    return replace(past, source=known, past=before, _kept={})


def _comes_again(past: Past, known: Source, pool: EnginePool) -> bool:
    """Whether a row that is none of those known has the id of a row of the pool before."""
    source = pool.source
    assert source is not None  # _check of the version
    new, gone = others(source, known), others(past.source.moved_to(source), known)
    if not new or not gone:
        return False
    tables = [*new, *gone]
    own = [pool.layout.columns] * len(new) + [past.layout.columns] * len(gone)
    ids = sought_alike(*(one.id_of(table) for one, table in zip(own, tables, strict=True)))
    named = [table.select(hs_id=id) for table, id in zip(tables, ids, strict=True)]
    mine, theirs = stacked(named[: len(new)]), stacked(named[len(new) :])
    with source.reading():
        found: Any = mine.semi_join(theirs, "hs_id").limit(1).to_pyarrow()
    return bool(found.num_rows)
