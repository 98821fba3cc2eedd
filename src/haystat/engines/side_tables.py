"""Tables beside a pool: more about its records, and those whose pairs were blocked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

MISSED = 0.1  # matches that blocking is expected to miss, for each that it produced


@dataclass(frozen=True)
class Side:
    """A table with more about the records of a pair: `show` columns, found by its `key`.

    source: as hs.open_pool takes it.
    """

    source: Any
    show: Sequence[str]
    key: str = "id"
    table: str | None = None


@dataclass(frozen=True)
class Unblocked:
    """The tables whose pairs were blocked: ids, or a source and its `key` column.

    right: None if the pairs are of one table, each pair once and no record with itself.
    missed: how many matches blocking is expected to have missed, for each among the blocked; it
    shapes the first draws, and no estimate depends on it.
    near: columns of both tables by which pairs outside the blocks are told that may be matches all
    the same: those that share a rare word or value have strata of their own, by how much they
    share. pairs: a table of such pairs instead, with the two ids named as in the pool and a column
    `nearness`, larger is nearer: neighbours of embeddings, of a sorted list.
    """

    left: Any
    right: Any = None
    key: str = "id"
    missed: float = MISSED
    near: Sequence[str] = ()
    pairs: Any = None
