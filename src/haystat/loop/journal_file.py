"""A journal in memory as a file: JSON lines, whole or not at all."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from haystat.core.arguments import checked_path
from haystat.core.disk import readable, whole_file
from haystat.errors import LogError
from haystat.loop.journal import Line

FORMAT = 2


def write_log(path: str | Path, settings: Mapping[str, Any], lines: list[Line]) -> None:
    """Write settings and entries."""
    with whole_file(path) as draft, draft.open("w", encoding="utf-8") as file:
        for record in ({"haystat": FORMAT, **settings}, *map(asdict, lines), {"end": len(lines)}):
            file.write(json.dumps(record) + "\n")


def read_log(path: str | Path) -> tuple[dict[str, Any], list[Line]]:
    """The settings and entries of a file; LogError on anything but a whole file of ours."""
    path = checked_path("the path of a log", path)
    with readable(path):
        records = list(_records(path))
    settings = records[0] if records else {}
    made = settings.pop("haystat", None)
    if made == 1:
        raise LogError(
            f"{path} is a log of format 1, of haystat 0.1.0; this version reads format {FORMAT}. "
            "Load it with pip install haystat==0.1.0, or start anew"
        )
    if made != FORMAT:
        raise LogError(f"{path} is not a haystat log of format {FORMAT}")
    if records[-1] != {"end": len(records) - 2}:
        raise LogError(f"{path} is cut short: {len(records)} lines and no end; use a copy")
    try:
        return settings, [Line(**record) for record in records[1:-1]]
    except TypeError as error:
        raise LogError(f"{path} is damaged: an entry makes no sense ({error})") from None


def _records(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            try:
                record = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise LogError(f"{path}, line {number} is damaged: {error}") from None
            if not isinstance(record, dict):
                raise LogError(f"{path}, line {number} is damaged: not a record")
            yield record
