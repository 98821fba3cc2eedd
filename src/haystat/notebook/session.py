"""Questions one after the other, with a way back: what the widget shows and what people do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from haystat.core.arguments import brief, checked_integer
from haystat.errors import BadOption

Record = Callable[[Any], dict[str, Any]]
KEYS = "123456789"


class Session:
    """Somebody who labels an evaluation or a study.

    names: the labels as people see them, one a class. record: what to show of an item. batch:
    questions that are drawn at a time, between which the design learns.
    """

    def __init__(
        self, loop: Any, record: Record, question: str, names: Sequence[str], batch: int = 10
    ) -> None:
        classes = tuple(loop.pool.classes)
        if names and len(names) != len(classes):
            raise BadOption(f"{len(names)} names for the {len(classes)} labels {list(classes)}")
        self.loop = loop
        self.record = record
        self.question = question or "Which label is right?"
        self.classes = classes
        self.names = [str(name) for name in (names or classes)]
        self.keys = ["f", "j"] if len(classes) == 2 else list(KEYS[: len(classes)])
        self.batch = checked_integer("batch", batch, smallest=1)
        self.waiting: list[Any] = list(loop.pending)
        self.past: list[Any] = []
        self.back = 0

    @property
    def current(self) -> Any:
        """The question on the screen; None when there is nothing left to ask."""
        if self.back:
            return self.past[-self.back]
        if not self.waiting:
            left = self.loop.pool.size - self.loop.n_labels
            self.waiting = list(self.loop.ask(min(self.batch, left))) if left else []
        return self.waiting[0] if self.waiting else None

    def answer(self, label: Any) -> None:
        """Take the label of the question on the screen; a changed mind is a correction."""
        question = self.current
        if question is None:
            return
        if self.back:
            self.loop.correct(question, label, "changed in the notebook")
            self.back -= 1
        else:
            self.loop.tell({question: label})
            self.past.append(self.waiting.pop(0))

    def skip(self, reason: str = "") -> None:
        """Nobody can tell."""
        question = self.current
        if question is None:
            return
        if self.back:
            self.loop.correct(question, None, reason)
            self.back -= 1
        else:
            self.loop.skip(question, reason)
            self.past.append(self.waiting.pop(0))

    def go(self, step: int) -> None:
        """Back to earlier questions (1) and forward again (-1)."""
        self.back = min(max(self.back + step, 0), len(self.past))

    def view(self) -> dict[str, Any]:
        """All that the widget shows, ready for JSON."""
        question = self.current
        shown: dict[str, Any] = {
            "question": None,
            "back": self.back,
            "labels": self.loop.n_labels,
            "estimate": self._estimate(),
        }
        if question is not None:
            record = {name: _plain(value) for name, value in self.record(question.item).items()}
            shown["question"] = {"item": _plain(question.item), "record": record}
        return shown

    def _estimate(self) -> dict[str, Any] | None:
        estimate = self.loop.estimate()
        value, (low, high) = float(estimate.values[0]), estimate.intervals[0].tolist()
        if not np.isfinite([value, low, high]).all():
            return None
        return {"name": estimate.components[0], "value": value, "low": low, "high": high}


def record_of(loop: Any, show: Any) -> Record:
    """What to show of an item: columns in the order of the pool, a function, or what a study has.

    show: a table or {column: values}, one value an item; a function of the item; None.
    """
    if callable(show):
        return lambda item: dict(show(item))
    if show is None:
        return lambda item: _known(loop, item)
    if not isinstance(show, Mapping) and not hasattr(show, "columns"):
        raise BadOption(f"show is {brief(show)}; give a table, a dict of columns or a function")
    names = [str(name) for name in (show if isinstance(show, Mapping) else show.columns)]
    columns = {name: np.asarray(show[name]) for name in names}
    for name, values in columns.items():
        if len(values) != loop.pool.size:
            raise BadOption(
                f"column {name!r} to show has {len(values)} values, the pool {loop.pool.size} items"
            )
    return lambda item: {name: c[loop.pool.index_of(item)] for name, c in columns.items()}


def _known(loop: Any, item: Any) -> dict[str, Any]:
    """What a study keeps of an item; nothing where there is none."""
    with loop.reading() as state:
        found = state.record_of(state.questions.index_of[item])
    return dict(found)


def _plain(value: Any) -> Any:
    """A value as JSON has it."""
    value = value.item() if isinstance(value, np.generic) else value
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)
