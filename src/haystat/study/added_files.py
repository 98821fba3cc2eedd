"""The files of a study behind an engine with those of further rows, as Study.extend takes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from haystat.errors import PoolError
from haystat.study.pool_source import PoolFile

OWN = ("path", "more", "window", "show", "options")  # fields in which two PoolFiles may differ
RULES = ("threshold", "classes", "seed")  # options that are not about strata


def with_rows_of(known: PoolFile, rows: PoolFile, window: Any, options: Any) -> PoolFile:
    """The pool of a study with further rows, read from all files; raises if they are not alike.

    options: those of the pool of all rows.
    """
    mine, others = (_told(one) for one in (known, rows))
    unlike = [name for name in mine if mine[name] != others[name]]
    if unlike:
        said = [[one[name] for name in unlike] for one in (others, mine)]
        raise PoolError(
            f"the rows have other {unlike} than the pool: {said[0]} and not {said[1]}; make them "
            "alike"
        )
    added = replace(known, options={**_rules(known.options), **options})
    for path in (rows.path, *rows.more):
        added = added.with_more(path, window)
    return added


def _told(file: PoolFile) -> dict[str, Any]:
    """What is the same of files of one stream, by name."""
    fields = {name: value for name, value in asdict(file).items() if name not in OWN}
    return fields | {name: file.options.get(name) for name in RULES}


def _rules(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: options[name] for name in RULES if name in options}
