"""Remarks in a journal that say how the page asks; the page knows what they mean."""

from __future__ import annotations

from collections.abc import Iterable

from haystat.study.sqlite_journal import Entry

MARK = "haystat page"


def page_remarks(entries: Iterable[Entry]) -> list[str]:
    """The remarks about the page, the oldest first.

    Remarks of people who label carry a name, so that they cannot pass for one.
    """
    return [
        str(entry.data.get("text", ""))
        for entry in entries
        if entry.kind == "note" and entry.who is None and MARK in entry.payload
    ]
