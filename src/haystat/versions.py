"""The next version of an evaluation: which labels it carries over, and what they stand for."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from haystat.arguments import brief, checked_text
from haystat.designs.continued import continued
from haystat.errors import BadOption
from haystat.journal import moment
from haystat.measures.outputs import BoolArray, FloatArray, IntArray
from haystat.pool.cells import Cells
from haystat.pool.memory import Pool
from haystat.pool.order import keys_of
from haystat.pool.version import Drawn, VersionPool, order_seed, places_in
from haystat.state import Answer, State

LONGEST_NAME = 100  # characters
VERSIONS = 2**31 + 2**30  # added to the number of a version, for a randomness of its own
UNITS = {"h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}


@dataclass(frozen=True)
class Version:
    """The next version of a pool, and the answers about the items that were drawn before.

    seed is that of its draws.
    """

    name: str
    number: int
    seed: int
    pool: VersionPool
    answers: dict[int, Answer]

    def settings(self) -> dict[str, Any]:
        """What the version adds to the settings of an evaluation."""
        drawn = self.pool.drawn
        packed = zlib.compress(drawn.level.astype(np.uint8).tobytes(), 6)
        about = {
            "name": self.name,
            "number": self.number,
            "order": self.pool.seed,
            "level": base64.b64encode(packed).decode(),
            "inclusion": drawn.inclusion.tolist(),
            "item": drawn.item.tolist(),
        }
        return {"version": about}

    def entry(self, cells: Cells) -> dict[str, Any]:
        """The first entry of the version's journal: labels as a stage that is answered."""
        order = self.pool.candidates(cells)
        assert cells.before is not None
        inclusion, rows, answers = cells.before.inclusion, [], []
        for cell in np.flatnonzero(cells.before.drawn).tolist():
            for rank in range(int(cells.before.drawn[cell])):
                item = order.take(cell, rank)
                told = self.answers[item]
                rows.append([told.item, cell, 1, 1 / float(inclusion[cell])])
                answers.append([told.label, told.who, told.time, told.reason])
        return {
            "name": self.name,
            "labels": len(rows),
            "new": rows,
            "again": [],
            "inclusion": inclusion.tolist(),
            "answers": answers,
        }


def next_version(
    state: State,
    old: Pool,
    settings: Mapping[str, Any],
    pool: Any,
    name: str | None,
    max_age: Any,
    now: datetime,
) -> Version:
    """What the next version of an evaluation begins with.

    old is the pool of `state`, whole; settings are those of its evaluation.
    """
    continued(state.ledger.design)  # or an error
    if state.ledger.soft or not state.pool.classes:
        raise BadOption("only labels that are classes, of a deterministic oracle, are carried over")
    number = int(settings.get("version", {}).get("number", 1)) + 1
    given = f"v{number}" if name is None else checked_text("the name of a version", name)
    if not given or len(given) > LONGEST_NAME:
        raise BadOption(f"the name of a version has 1 to {LONGEST_NAME} characters, not {name!r}")
    if not isinstance(pool, Pool):
        raise BadOption(
            f"the pool is {brief(pool)}, a {type(pool).__name__}; a next version takes an hs.Pool"
        )
    place = places_in(old, pool)
    oldest = None if max_age is None else now - age(max_age)
    inclusion, kept = carried(state, old, oldest)
    there = place >= 0
    of_item = np.where(there, inclusion[place], 0.0)
    is_drawn = there & kept[place]
    seed = version_seed(int(settings["seed"]), number)
    drawn = Drawn.of(of_item, is_drawn, keys_of(pool.ids), seed)
    version = VersionPool.following(pool, drawn, order_seed(old.seed or 0, number))
    told = {state.ledger.item_of(question): answer for question, answer in state.answers()}
    answers = {item: told[int(place[item])] for item in drawn.item.tolist()}
    return Version(given, number, seed, version, answers)


def carried(state: State, old: Pool, oldest: datetime | None) -> tuple[FloatArray, BoolArray]:
    """How likely each item of a pool was to have an answer by now, and whether it has, (M,) each.

    Answers from before `oldest` do not count. What was asked and has no answer that counts is taken
    as missing at random among the items that were as likely to be asked about.
    """
    ledger = state.ledger
    kept = np.zeros(old.size, dtype=bool)
    for question, answer in state.answers():
        kept[ledger.item_of(question)] = oldest is None or moment(answer.time) >= oldest
    if not ledger.stages:
        return np.zeros(old.size), kept
    drawn = ledger.stages[-1].inclusion
    assert drawn is not None  # of a design without replacement
    level, of_cell = np.unique(drawn, return_inverse=True)
    of_item = of_cell.reshape(-1)[cells_of(state, old)]
    asked = np.zeros(old.size, dtype=bool)
    for stage in ledger.stages:
        asked[stage.item[: stage.n_new]] = True
    n_asked, n_kept = (np.bincount(of_item[which], minlength=len(level)) for which in (asked, kept))
    overall = n_kept.sum() / max(int(n_asked.sum()), 1)
    counted = level * np.where(n_asked > 0, n_kept / np.maximum(n_asked, 1), overall)
    return counted[of_item], kept


def cells_of(state: State, old: Pool) -> IntArray:
    """The cell of each item of the pool that a state is about, (M,)."""
    return old.cells(state.measure).of_item.astype(np.int64)


def version_pool(settings: Mapping[str, Any], pool: Any) -> Any:
    """The pool of an evaluation: with what was drawn before, if it is a next version."""
    about = settings.get("version")
    if about is None:
        return pool
    packed = zlib.decompress(base64.b64decode(about["level"]))
    level = np.frombuffer(packed, dtype=np.uint8)
    if len(level) != pool.size:
        raise BadOption(
            f"the pool has {pool.size} items and the version was made of {len(level)}; give the "
            "pool that it was made of"
        )
    drawn = Drawn(level, np.array(about["inclusion"]), np.array(about["item"], dtype=np.int64))
    return VersionPool.following(pool, drawn, int(about["order"]))


def version_seed(seed: int, number: int) -> int:
    """The seed of a version's draws, from that of the first."""
    numbers = np.random.SeedSequence(seed, spawn_key=(VERSIONS + number,))
    return int(numbers.generate_state(1, np.uint64)[0] >> np.uint64(1))


def age(given: Any) -> timedelta:
    """A length of time: a timedelta, or a text such as "90d", "12h" or "4w"."""
    if isinstance(given, timedelta):
        length = given
    else:
        number, unit = (given[:-1], given[-1:]) if isinstance(given, str) else ("", "")
        try:
            length = timedelta(seconds=float(number) * UNITS[unit])
        except (ValueError, KeyError, OverflowError):
            raise BadOption(
                f"max_age is {brief(given)}; give a timedelta, or a text such as '90d', '12h', '4w'"
            ) from None
    if length <= timedelta(0):
        raise BadOption(f"max_age is {brief(given)}; give a time longer than nothing")
    return length
