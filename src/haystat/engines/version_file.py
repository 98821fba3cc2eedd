"""What a study or a log keeps of a version behind an engine: enough to find its rows again.

The level of a row follows from the table before, so that is named here with all that tells the kind
of its rows; its own past is inside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from haystat.engines.joined import Joined, Part, joined, parts_of
from haystat.engines.past import EARLIER, Past, Told
from haystat.engines.pool import EnginePool
from haystat.engines.signals import EngineSignal
from haystat.engines.sketch_file import (
    array_from,
    array_text,
    grid_from,
    grid_text,
    layout_from,
    layout_text,
    signals_from,
    table_from,
    table_text,
)
from haystat.engines.source import Source, files_of, find_source
from haystat.engines.version import EngineDrawn, EngineVersion
from haystat.errors import BadOption, PoolError


def encode_version(pool: EngineVersion) -> dict[str, Any]:
    """What was drawn of the pool before, and where its rows are."""
    drawn, there = pool.drawn, pool.still_there()
    stays = np.array([one in there for one in drawn.ids], dtype=bool)
    about: dict[str, Any] = {"ids": [drawn.ids[k] for k in np.flatnonzero(stays).tolist()]}
    if drawn.share:
        about |= {"ask_again": drawn.share, "again": drawn.again[stays].tolist()}
    earlier = [asdict(one) for one in pool.layout.signals if one.column == EARLIER]
    return about | {"engine": {"past": _past(pool.past), "signals": earlier}}


def decode_version(about: Mapping[str, Any], pool: Any) -> EngineVersion:
    """The version of a pool that was opened again."""
    if type(pool) is not EnginePool or pool.source is None:
        raise BadOption(
            "the version was made of pools behind an engine; give its table again: hs.open_pool"
        )
    share, ids = float(about.get("ask_again", 0.0)), tuple(about["ids"])
    again = np.array(about.get("again", [False] * len(ids)), dtype=bool)
    drawn = EngineDrawn(np.array(about["inclusion"]), ids, again, share)
    past = _past_from(about["engine"]["past"], pool)
    found: tuple[EngineSignal, ...] = signals_from(about["engine"])
    return EngineVersion.following(
        pool, past, drawn, found[0] if found else None, int(about["order"])
    )


def _past(past: Past) -> dict[str, Any]:
    layout, source = past.layout, past.source
    return {
        "source": _source_text(source),
        **layout_text(layout),
        "classes": layout.classes,
        "levels": layout.levels,
        "bins": [[system, grid_text(grid)] for system, grid in layout.bins],
        "signals": [asdict(one) for one in layout.signals],
        "key": table_text(past.key),
        "kind": array_text(past.kind),
        "told": None if past.told is None else asdict(past.told),
        "past": None if past.past is None else _past(past.past),
    }


def _past_from(given: dict[str, Any], pool: EnginePool) -> Past:
    layout = replace(
        layout_from(given, tuple(given["classes"])),
        levels=given["levels"],
        bins=tuple((system, grid_from(grid)) for system, grid in given["bins"]),
    )
    told = given["told"]
    if told is not None:
        step = None if told["step"] is None else tuple(told["step"])
        told = Told(tuple(told["level"]), told["new_level"], step)
    before = None if given["past"] is None else _past_from(given["past"], pool)
    key, kind = table_from(given["key"]), array_from(given["kind"])
    return Past(_source(given["source"], pool), layout, key, kind, told, before)


def _source_text(source: Source) -> dict[str, Any]:
    """Where the rows of a pool are."""
    if isinstance(source, Joined):
        return {"parts": [{**_source_text(p.source), "above": p.above} for p in source.parts]}
    pattern = None if source.pattern is None else _absolute(source.pattern)
    return {"name": source.name, "pattern": pattern, "table": source.table_name}


def _source(given: Mapping[str, Any], pool: EnginePool) -> Source:
    """The rows of an earlier version, where the rows of the pool are."""
    assert pool.source is not None
    if "parts" not in given:
        return _table(given, pool.source)
    parts = [
        Part(_table(one, pool.source), tuple((column, value) for column, value in one["above"]))
        for one in given["parts"]
    ]
    return joined(parts)


def _table(given: Mapping[str, Any], source: Source) -> Source:
    """A table of an earlier version; one that the pool has, too, is not opened again."""
    if given["pattern"] is None:
        raise BadOption(
            f"the version before was made of {given['name']}, which is in no file, so that the "
            "version cannot be opened again; put its rows into a file and make the version anew"
        )
    pattern = _found(given["pattern"], source.lead)
    for part in parts_of(source):
        own = part.source
        if own.pattern is not None and (_absolute(own.pattern), own.table_name) == (
            _absolute(pattern),
            given["table"],
        ):
            return own
    backend = None if source.lead.is_database else source.table.get_backend()
    try:
        return find_source(pattern, given["table"], backend)
    except FileNotFoundError:
        raise PoolError(
            f"{given['pattern']}, the table of an earlier version, is not there, and how likely "
            "rows were to be drawn follows from it; put it back"
        ) from None


def _found(pattern: str, source: Source) -> str:
    """Files that have moved are looked for beside those of the pool."""
    if files_of(pattern) or source.pattern is None:
        return pattern
    beside = str(Path(source.pattern).parent / Path(pattern).name)
    return beside if files_of(beside) else pattern


def _absolute(pattern: str) -> str:
    return str(Path(pattern).absolute())
