"""Questions: how people name what they were asked, and what they may answer.

Inside, a question is a number that its ledger gives it. Outside it is a Query, its key, or the
item, provided that it was asked about once.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from haystat.core.arguments import brief
from haystat.core.arrays import IntArray
from haystat.errors import AnswerError, UnknownItem, UnknownLabel
from haystat.loop.ledger import Ledger
from haystat.loop.stages import NO_ANSWER, Label, Stage
from haystat.pool.base import AnyPool
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

    def __init__(self, pool: AnyPool, ledger: Ledger) -> None:
        self._pool = pool
        self._ledger = ledger
        self.index_of: dict[Any, int] = {}  # of items that were asked about
        self.label_index = {label: index for index, label in enumerate(pool.classes)}

    def asked(self, ids: Sequence[Any], item: IntArray) -> None:
        """Remember which items were asked about."""
        self.index_of.update(zip(ids, item.tolist(), strict=False))

    def query(self, question: int) -> Query:
        """The question as people see it."""
        item = self._ledger.item_of(question)
        return Query(self._pool.id_of(item), self._key(question, item))

    def to_come(self, stage: Stage) -> list[Query]:
        """The questions that the next stage will ask."""
        number, seen = len(self._ledger.stages), Counter[int]()
        queries = []
        for item in stage.item[: stage.n_new].tolist():
            seen[item] += 1
            repeat = "" if seen[item] == 1 else f".{seen[item]}"
            queries.append(Query(self._pool.id_of(item), f"{number}.{item}{repeat}"))
        return queries

    def find(self, name: Any) -> int:
        """The question with this name: a Query, a key, or an item that was asked about once."""
        key = getattr(name, "key", name)
        question = self._by_key(key) if isinstance(key, str) else None
        if key is not name:
            if question is None or self.query(question).item != name.item:
                raise UnknownItem(f"{name} was never asked; nothing was recorded")
            return question
        item = self._position(name)
        if question is None or item is None:
            return self._about(item, name) if question is None else question
        if self._ledger.item_of(question) == item:
            return question
        raise AnswerError(
            f"{name!r} is both an item and the key of a question about another one; answer with "
            "the Query objects that ask() returned: nothing was recorded"
        )

    def at(self, key: str) -> int:
        """The question with this key."""
        question = self._by_key(key)
        if question is None:
            raise KeyError(key)
        return question

    def read(self, name: Any, answer: Any) -> Any:
        """An answer as the journal keeps it, or an error: a class, a number, or probabilities."""
        value = answer.item() if isinstance(answer, np.generic) else answer
        if not self._pool.classes:
            return _number(name, value)
        try:
            return self._pool.classes[self.label_index[value]]
        except (KeyError, TypeError):
            pass
        share = self._shares(name, value) if self._ledger.soft else None
        if share is not None:
            return share
        soft = ", nor probabilities of them" if self._ledger.soft else ""
        raise UnknownLabel(
            f"label {brief(answer)} of item {brief(getattr(name, 'item', name))} is not one of "
            f"{list(self._pool.classes)}{soft}; add it to `classes` when you create the "
            "pool; nothing was recorded"
        )

    def label_of(self, value: Any) -> Label:
        """An answer of the journal as the ledger keeps it."""
        is_class = self._pool.classes and not isinstance(value, tuple)
        return self.label_index[value] if is_class else value

    def shown(self, label: Label) -> Any:
        """A label of the ledger as people gave it; None where nobody can tell."""
        if not isinstance(label, int):
            return label
        return None if label == NO_ANSWER else self._pool.classes[label]

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
        stage = self._ledger.stage_of(question)
        asked, repeat = self._ledger.questions_about(item), 1
        if len(asked) > 1:
            start = self._ledger.questions_of(stage)[0]
            repeat = bisect_right(asked, question) - bisect_left(asked, start)
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
        asked = self._ledger.questions_about(item)
        if len(asked) > 1 and stage < len(self._ledger.stages):
            asked = asked[bisect_left(asked, self._ledger.questions_of(stage)[0]) :]
        question = asked[repeat - 1] if 0 < repeat <= len(asked) else None
        # What is not written as we write it is no key of ours.
        return question if question is not None and self._key(question, item) == key else None

    def _position(self, name: Any) -> int | None:
        """Position of the item with this id, if it was asked about."""
        value = name.item() if isinstance(name, np.generic) else name
        return self.index_of.get(value) if type(value) in (int, str) else None

    def _about(self, item: int | None, name: Any) -> int:
        asked = [] if item is None else self._ledger.questions_about(item)
        if item is not None and not asked:
            raise UnknownItem(
                f"the label of item {brief(name)} was known beforehand and is not asked for; make "
                "a new evaluation to change it; nothing was recorded"
            )
        if item is None or not asked:
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
