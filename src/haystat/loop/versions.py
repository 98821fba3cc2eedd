"""The next version of an evaluation: which labels it carries over, and what they stand for."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from haystat.core.arguments import brief, checked_text
from haystat.core.arrays import FloatArray, IntArray
from haystat.designs.continued import continued
from haystat.errors import BadOption, LogError
from haystat.loop.journal import moment, stamp
from haystat.loop.state import Answer, State
from haystat.pool.cells import Cells
from haystat.pool.extended import extended
from haystat.pool.items import places_in
from haystat.pool.memory import Pool
from haystat.pool.permanent_numbers import keys_of
from haystat.pool.version import (
    MOST_LEVELS,
    Drawn,
    VersionPool,
    earlier_steps,
    in_memory,
    order_seed,
    with_earlier,
)

LONGEST_NAME = 100  # characters
VERSIONS = 2**31 + 2**30  # added to the number of a version, for a randomness of its own
UNITS = {"h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}


@dataclass(frozen=True)
class Version:
    """The next version of a pool, and the answers about the items that were drawn before, by id.

    pool is a VersionPool, or behind an engine an EngineVersion. seed is that of its draws; answers
    from before `oldest` were left out; ancestors are the seeds of the versions before it.
    """

    name: str
    number: int
    seed: int
    pool: Any
    answers: Mapping[Any, Answer]
    oldest: datetime | None
    ancestors: tuple[int, ...]

    def settings(self) -> dict[str, Any]:
        """What the version adds to the settings of an evaluation."""
        about = {
            "name": self.name,
            "number": self.number,
            "ancestors": list(self.ancestors),
            "oldest": None if self.oldest is None else stamp(self.oldest),
            "order": self.pool.seed,
            "inclusion": self.pool.drawn.inclusion.tolist(),
        }
        return {"version": about | self._of_pool()}

    def _of_pool(self) -> dict[str, Any]:
        """What was drawn of the pool before, as it is written down."""
        pool = self.pool
        if hasattr(type(pool), "still_there"):
            from haystat.engines.version_file import encode_version  # Ibis is slow to import

            return encode_version(pool)
        drawn = pool.drawn
        about: dict[str, Any] = {
            "level": _packed(drawn.level.astype(_width(drawn.inclusion))),
            "item": drawn.item.tolist(),
        }
        if drawn.share:
            about |= {"ask_again": drawn.share, "again": drawn.again.tolist()}
        if pool.earlier is not None:
            about["earlier"] = _packed(pool.earlier)
        if pool.to_fit:
            about["fitted_to"] = _labels(pool, self.answers)
        return about

    def entry(self, cells: Cells) -> dict[str, Any]:
        """The first entry of the version's journal: labels as a stage that is answered."""
        return {"name": self.name, **carried_data(self.pool, cells, self.answers)}


def carried_data(pool: Any, cells: Cells, told: Mapping[Any, Answer]) -> dict[str, Any]:
    """Answers about the items that were drawn before, by id, as a journal keeps them.

    Where a share s is asked about again, two stages follow each other: what is kept was drawn with
    the probability p (1 - s), and the questions that are asked again bring that to p.
    """
    assert cells.before is not None
    inclusion, n_drawn, drawn = cells.before.inclusion, cells.before.drawn, pool.drawn
    ranks = np.zeros_like(n_drawn), n_drawn - pool.again_in(cells), n_drawn
    order = pool.candidates(cells)

    def stage(first: IntArray, end: IntArray, chance: FloatArray) -> dict[str, Any]:
        rows, answers = [], []
        for cell in np.flatnonzero(end > first).tolist():
            for rank in range(int(first[cell]), int(end[cell])):
                known = told[pool.id_of(order.take(cell, rank))]
                rows.append([known.item, cell, 1, 1 / float(chance[cell])])
                answers.append([known.label, known.who, known.time, known.reason])
        found = {"labels": len(rows), "new": rows, "again": [], "answers": answers}
        return {**found, "inclusion": chance.tolist()}

    if not drawn.share:
        return stage(ranks[0], ranks[2], inclusion)
    kept = stage(ranks[0], ranks[1], inclusion * (1 - drawn.share))
    return {**kept, "asked_again": stage(ranks[1], ranks[2], inclusion)}


def next_version(
    state: State,
    old: Any,
    settings: Mapping[str, Any],
    pool: Any,
    name: str | None,
    max_age: Any,
    now: datetime,
    most_levels: int = MOST_LEVELS,
    ask_again: float = 0.0,
) -> Version:
    """What the next version of an evaluation begins with.

    old is the pool of `state`, whole; settings are those of its evaluation. Signals of the pool
    that are to be fitted are fitted to the labels that are carried over. ask_again: the share of
    these whose items are asked about anew.
    """
    checked_share(ask_again, pool)
    continued(state.ledger.design)  # or an error
    if state.ledger.soft or not state.pool.classes:
        raise BadOption("only labels that are classes, of a deterministic oracle, are carried over")
    number = int(settings.get("version", {}).get("number", 1)) + 1
    given = f"v{number}" if name is None else checked_text("the name of a version", name)
    if not given or len(given) > LONGEST_NAME:
        raise BadOption(f"the name of a version has 1 to {LONGEST_NAME} characters, not {name!r}")
    oldest = None if max_age is None else now - age(max_age)
    inclusion, told = carried(state, oldest)
    seed = version_seed(int(settings["seed"]), number)
    follow = _following_behind_engine if is_behind_engine(pool) else _following_in_memory
    order = order_seed(old.seed or 0, number)
    before = Carried(state, old, inclusion, told, seed, order, most_levels, float(ask_again))
    version = follow(before, pool)
    answers = {answer.item: answer for answer in told.values()}
    ancestors = (*ancestors_of(settings), int(settings["seed"]))
    return Version(given, number, seed, version, answers, oldest, ancestors)


def is_behind_engine(pool: Any) -> bool:
    """Whether the items of a pool are rows that an engine reads."""
    return hasattr(type(pool), "layout_of")


def extended_pool(pool: Any, rows: Any, window: Any, options: Mapping[str, Any]) -> Any:
    """The items of a pool and further ones, in memory or behind an engine."""
    if not is_behind_engine(pool):
        return extended(pool, rows, window, **options)[0]
    from haystat.engines.extended import extended as extended_rows  # Ibis is slow to import

    return extended_rows(pool, rows, window, **options)


@dataclass(frozen=True)
class Carried:
    """What a version starts from: the old pool whole, how likely its items were to be drawn.

    inclusion (K,) is by its cell, told has the answers by its position; seed is that of the new
    draws, order that of the items.
    """

    state: State
    old: Any
    inclusion: FloatArray
    told: Mapping[int, Answer]
    seed: int
    order: int
    most_levels: int
    ask_again: float


def _following_in_memory(before: Carried, pool: Any) -> VersionPool:
    old, told = before.old, before.told
    pool = in_memory(pool)
    place = places_in(in_memory(old), pool)
    of_item = before.inclusion[old.cells(before.state.measure).of_item]
    kept = np.zeros(old.size, dtype=bool)
    kept[list(told)] = True
    there = place >= 0
    chance, was_drawn = np.where(there, of_item[place], 0.0), there & kept[place]
    keys = keys_of(pool.ids)
    drawn = Drawn.of(chance, was_drawn, keys, before.seed, before.most_levels)
    drawn = drawn.asking_again(before.ask_again, keys, before.seed) if before.ask_again else drawn
    earlier = earlier_steps(old, pool, place)
    label = [told[int(place[item])].label for item in drawn.item.tolist()]
    pool = fitted_to(with_earlier(pool, earlier), drawn.item, label)
    return VersionPool.following(pool, drawn, before.order, earlier=earlier)


def _following_behind_engine(before: Carried, pool: Any) -> Any:
    from haystat.engines.version import following  # Ibis is slow to import

    place = {answer.item: index for index, answer in before.told.items()}
    return following(
        before.old,
        pool,
        before.state.measure,
        before.inclusion,
        place,
        seed=before.seed,
        order=before.order,
        most=before.most_levels,
        ask_again=before.ask_again,
    )


def carried(state: State, oldest: datetime | None) -> tuple[FloatArray, dict[int, Answer]]:
    """How likely an item of each cell was to have an answer by now, (K,), and the answers by item.

    Answers from before `oldest` do not count. What was asked and has no answer that counts is taken
    as missing at random among the items that were as likely to be asked about.
    """
    ledger = state.ledger
    if state.known.parts:
        raise BadOption(
            "labels that were known before the first question are not carried over to another "
            "version; make an evaluation of it with known=…"
        )
    told = {ledger.item_of(question): answer for question, answer in state.answers()}
    if oldest is not None:
        told = {item: answer for item, answer in told.items() if moment(answer.time) >= oldest}
    n_cells = len(ledger.problem.cells)
    if not ledger.stages:
        return np.zeros(n_cells), told
    inclusion = ledger.stages[-1].inclusion
    assert inclusion is not None  # of a design without replacement
    level, of_cell = np.unique(inclusion, return_inverse=True)
    of_cell = of_cell.reshape(-1)
    n_asked = np.bincount(of_cell, weights=ledger.asked, minlength=len(level))
    cell = ledger.problem.cells.of_item[np.array(list(told), dtype=np.int64)]
    n_kept = np.bincount(of_cell[cell], minlength=len(level))
    overall = n_kept.sum() / max(n_asked.sum(), 1.0)
    counted = level * np.where(n_asked > 0, n_kept / np.maximum(n_asked, 1.0), overall)
    return np.asarray(counted[of_cell]), told


def version_pool(settings: Mapping[str, Any], pool: Any) -> Any:
    """The pool of an evaluation: with what was drawn before, if it is a next version."""
    about = settings.get("version")
    if about is None:
        return pool
    if "engine" in about:
        from haystat.engines.version_file import decode_version  # Ibis is slow to import

        return decode_version(about, pool)
    level = _unpacked(about["level"], _width(about["inclusion"]))
    if len(level) != pool.size:
        raise BadOption(
            f"the pool has {pool.size} items and the version was made of {len(level)}; give the "
            "pool that it was made of"
        )
    drawn = Drawn(
        level,
        np.array(about["inclusion"]),
        np.array(about["item"], dtype=np.int64),
        np.array(about.get("again", []), dtype=np.int64),
        float(about.get("ask_again", 0.0)),
    )
    earlier = _unpacked(about["earlier"], np.uint8) if "earlier" in about else None
    pool = with_earlier(pool, earlier)
    if "fitted_to" in about:
        pool = fitted_to(pool, drawn.item, about["fitted_to"])
    return VersionPool.following(pool, drawn, int(about["order"]), earlier=earlier)


def checked_share(given: Any, pool: Any) -> None:
    """Raise unless this share of the labels can be asked about again."""
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if not is_number or not 0 <= given < 1:
        raise BadOption(f"ask_again is {brief(given)}; give a share from 0 to below 1, as 0.05")
    if given and getattr(pool, "to_fit", ()):
        raise BadOption(
            "ask_again does not go with signals that are fitted to labels; leave out one of them"
        )


def fitted_to(pool: Pool, item: IntArray, label: Sequence[Any]) -> Pool:
    """The pool with its signals fitted to labels of items, (n,) each; None is no label."""
    told = [number for number, one in enumerate(label) if one is not None]
    return pool.fitted(item[told], [label[k] for k in told]) if pool.to_fit else pool


def _labels(pool: VersionPool, answers: Mapping[Any, Answer]) -> list[Any]:
    return [answers[pool.id_of(item)].label for item in pool.drawn.item.tolist()]


def _packed(numbers: NDArray[Any]) -> str:
    return base64.b64encode(zlib.compress(numbers.tobytes(), 6)).decode()


def _unpacked(text: str, kind: type[np.integer[Any]]) -> NDArray[Any]:
    try:
        return np.frombuffer(zlib.decompress(base64.b64decode(text)), dtype=kind)
    except (TypeError, ValueError, zlib.error) as error:
        raise LogError(f"what was drawn before the version is damaged ({error})") from None


def _width(inclusion: Sequence[float] | FloatArray) -> type[np.integer[Any]]:
    """The type of the numbers of levels, of which there are as many as probabilities."""
    return np.uint8 if len(inclusion) <= 256 else np.uint16


def ancestors_of(settings: Mapping[str, Any]) -> tuple[int, ...]:
    """The seeds of the versions before that of these settings, the first one first."""
    return tuple(settings.get("version", {}).get("ancestors", ()))


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
