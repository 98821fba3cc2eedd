"""Questions: how people name what they were asked, and what they may answer.

Inside, a question is a number: the item's position if an item has one label, the number of the
draw if every draw is asked (stochastic oracle). Outside it is a Query, its key, or the item.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from haystat.arguments import brief
from haystat.errors import AnswerError, UnknownItem, UnknownLabel
from haystat.ledger import Ledger
from haystat.ledger_stochastic import StochasticLedger
from haystat.log import Label
from haystat.pool.base import NamedPool
from haystat.pool.checks import LARGEST

LONGEST_KEY = 100  # characters; ours are shorter
ROUNDING = 1e-6  # by which probabilities may miss a sum of one


@dataclass(frozen=True)
class Query:
    """A question: what is this item's label? `key` names the draw that asks."""

    item: Any
    key: str


class Questions:
    """The questions of a ledger by their names, and the answers they take."""

    def __init__(self, pool: NamedPool, ledger: Ledger | StochasticLedger) -> None:
        self._pool = pool
        self._ledger = ledger
        self._label_index = {label: index for index, label in enumerate(pool.classes)}
        self._asked_ids: dict[Any, int] = {}
        self._n_stages = 0  # whose items are among the asked ids

    def query(self, question: int) -> Query:
        """The question as people see it."""
        item = self.item_of(question)
        return Query(self._pool.id_of(item), self._key(question, item))

    def of_stage(self, number: int) -> list[int]:
        """The questions that a stage asks."""
        if isinstance(self._ledger, StochasticLedger):
            return self._ledger.questions_of(number)
        stage = self._ledger.stages[number]
        return [int(item) for item in stage.item[: stage.n_new]]

    def item_of(self, question: int) -> int:
        """Position of the item that is asked about."""
        if isinstance(self._ledger, StochasticLedger):
            return self._ledger.item_of(question)
        return question

    def find(self, name: Any) -> int:
        """The question with this name: a Query, a key, or an item that was asked about once."""
        if isinstance(name, Query):
            question = self._by_key(name.key) if isinstance(name.key, str) else None
            if question is None or self.query(question) != name:
                raise UnknownItem(f"{name} was never asked; nothing was recorded")
            return question
        by_key = self._by_key(name) if isinstance(name, str) else None
        if by_key is None:
            return self._about(self._position(name), name)
        try:
            item = self._position(name)
        except UnknownItem:
            return by_key
        if self.item_of(by_key) == item:
            return by_key
        raise AnswerError(
            f"{name!r} is both an item and the key of a question about another one; answer with "
            "the Query objects that ask() returned: nothing was recorded"
        )

    def read(self, name: Any, answer: Any) -> Label:
        """An answer as the log keeps it, or an error."""
        value = answer.item() if isinstance(answer, np.generic) else answer
        if not self._pool.classes:
            return _number(name, value)
        try:
            return self._label_index[value]
        except (KeyError, TypeError):
            pass
        stochastic = isinstance(self._ledger, StochasticLedger)
        share = self._shares(name, value) if stochastic else None
        if share is not None:
            return share
        soft = ", nor probabilities of them" if stochastic else ""
        raise UnknownLabel(
            f"label {brief(answer)} of item {brief(name)} is not one of "
            f"{list(self._pool.classes)}{soft}; add it to `classes` when you create the "
            "pool; nothing was recorded"
        )

    def show(self, label: Label) -> Any:
        """An answer of the log as people gave it."""
        return self._pool.classes[label] if isinstance(label, int) else label

    def _shares(self, name: Any, value: Any) -> tuple[float, ...] | None:
        """A soft answer as probabilities of all classes; None if it is none at all."""
        classes = self._pool.classes
        if isinstance(value, float) and len(classes) == 2:
            value = [1 - value, value]
        if isinstance(value, Mapping) and set(value) <= set(classes):
            value = [value.get(label, 0.0) for label in classes]
        if not isinstance(value, Sequence | np.ndarray) or isinstance(value, str | bytes):
            return None
        try:
            share = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            return None
        if share.shape != (len(classes),):
            return None
        if not (np.all(share >= 0) and abs(share.sum() - 1) <= ROUNDING):
            raise AnswerError(
                f"the answer {brief(value)} of item {brief(name)} is no distribution over "
                f"{list(classes)}; probabilities are at least 0 and sum to 1: nothing was recorded"
            )
        return tuple((share / share.sum()).tolist())

    def _key(self, question: int, item: int) -> str:
        if not isinstance(self._ledger, StochasticLedger):
            return f"{self._ledger.stage_of[item]}.{item}"
        stage = self._ledger.stage_of(question)
        start = self._ledger.questions_of(stage)[0]
        draws = self._ledger.questions_about(item)
        repeat = bisect_right(draws, question) - bisect_right(draws, start - 1)
        return f"{stage}.{item}" if repeat == 1 else f"{stage}.{item}.{repeat}"

    def _by_key(self, key: str) -> int | None:
        parts = key.split(".")
        if (
            len(parts) not in (2, 3)
            or len(key) > LONGEST_KEY
            or not all(part.isdecimal() for part in parts)
        ):
            return None
        stage, item, repeat = (*map(int, parts), 1)[:3]
        asked = self._asked_about(item)
        if isinstance(self._ledger, StochasticLedger) and stage < len(self._ledger.stages):
            asked = asked[bisect_left(asked, self._ledger.questions_of(stage)[0]) :]
        question = asked[repeat - 1] if 0 < repeat <= len(asked) else None
        # What is not written as we write it is no key of ours.
        return question if question is not None and self._key(question, item) == key else None

    def _position(self, name: Any) -> int:
        """Position of the item with this id: of one that was asked about, as the ledger has it."""
        stages = self._ledger.stages
        for stage in stages[self._n_stages :]:
            new = stage.item[: stage.n_new].tolist()
            self._asked_ids.update((self._pool.id_of(item), item) for item in new)
        self._n_stages = len(stages)
        value = name.item() if isinstance(name, np.generic) else name
        known = self._asked_ids.get(value) if type(value) in (int, str) else None
        return self._pool.index_of(name) if known is None else known

    def _about(self, item: int, name: Any) -> int:
        asked = self._asked_about(item)
        if not asked:
            raise UnknownItem(
                f"item {brief(name)} was never asked about; its label cannot be weighted. "
                "Answer only what ask() returned; nothing was recorded"
            )
        if len(asked) > 1:
            keys = [self._key(question, item) for question in asked]
            raise AnswerError(
                f"item {name!r} was asked about {len(asked)} times; say which question is "
                f"answered, by its key, one of {keys}: nothing was recorded"
            )
        return asked[0]

    def _asked_about(self, item: int) -> list[int]:
        if isinstance(self._ledger, StochasticLedger):
            return self._ledger.questions_about(item)
        return [item] if item in self._ledger.stage_of else []


def checked_answers(answers: Any) -> None:
    """Raise unless answers are by what they answer."""
    if not isinstance(answers, Mapping):
        raise AnswerError(
            f"answers are {brief(answers)}, a {type(answers).__name__}; give a dict, "
            "{item: label, …}; nothing was recorded"
        )


def _number(name: Any, value: Any) -> float:
    """An answer that is a number."""
    usable = isinstance(value, int | float) and not isinstance(value, bool)
    if not usable or not abs(value) <= LARGEST:
        raise AnswerError(
            f"the answer {brief(value)} of item {brief(name)} is no finite number, and the labels "
            "of the pool are numbers: nothing was recorded"
        )
    return float(value)
