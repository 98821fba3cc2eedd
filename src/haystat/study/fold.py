"""The fold of a journal: what was asked, who holds what, what was answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from haystat.arguments import brief
from haystat.designs.base import Design
from haystat.errors import StorageError, StudyError, UnknownItem, UnknownLabel
from haystat.ledger import Ledger, pose
from haystat.log import NO_ANSWER, Answers, Stage
from haystat.measures.base import Measure
from haystat.study.journal import Entry, check_link, moment
from haystat.study.questions import Question
from haystat.study.sketch import SketchPool


@dataclass(frozen=True)
class Lease:
    """Who holds a question, and until when nobody else gets it."""

    who: str | None
    until: datetime


@dataclass(frozen=True)
class Answer:
    """What is known about an item: its label, or None and a reason where somebody cannot tell."""

    item: Any
    label: Any
    who: str | None
    time: str
    reason: str = ""


class Fold:
    """A study after some entries of its journal."""

    def __init__(self, pool: SketchPool, measure: Measure, design: Design, seed: int) -> None:
        self.pool = pool
        self.measure = measure
        problem = pose(pool, measure)
        order = pool.candidates(problem.cells)
        self.ledger = Ledger(problem, design, order, seed)
        self.last: Entry | None = None
        self.started = ""
        self.answers: dict[int, Answer] = {}
        self.leases: dict[int, Lease] = {}
        self.index_of: dict[Any, int] = {}  # of items that were asked about
        self.label_index = {label: index for index, label in enumerate(pool.classes)}
        self._n_asked = [0] * len(problem.cells)
        self._take: dict[str, Callable[[Entry], None]] = {
            "created": self._created,
            "candidates": lambda entry: None,
            "note": lambda entry: None,
            "stage": self._stage,
            "lease": self._lease,
            "release": self._release,
            "answer": self._answer,
            "skip": self._skip,
            "correction": self._correction,
        }

    def apply(self, entry: Entry) -> None:
        """Take the next entry into account."""
        check_link(self.last, entry)
        if entry.kind not in self._take:
            raise StudyError(f"entry {entry.seq} is a {entry.kind!r}, which is unknown here")
        try:
            self._take[entry.kind](entry)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            if isinstance(error, StudyError | StorageError):
                raise
            raise StudyError(
                f"entry {entry.seq} ({entry.kind}) makes no sense: {error!r}"
            ) from None
        self.last = entry

    @property
    def n_entries(self) -> int:
        return 0 if self.last is None else self.last.seq

    @property
    def skipped(self) -> list[Answer]:
        """Items that somebody saw and could not tell."""
        return [answer for answer in self.answers.values() if answer.label is None]

    def find(self, item: Any) -> int:
        """Position of an item that was asked about."""
        value = item.item() if isinstance(item, np.generic) else item
        index = self.index_of.get(value) if type(value) in (int, str) else None
        if index is None:
            raise UnknownItem(
                f"item {brief(item)} was never asked about; its label cannot be weighted. "
                "Answer only what ask() returned; nothing was recorded"
            )
        return index

    def checked_label(self, item: Any, label: Any) -> Any:
        """One of the pool's classes."""
        value = label.item() if isinstance(label, np.generic) else label
        try:
            return self.pool.classes[self.label_index[value]]
        except (KeyError, TypeError):
            raise UnknownLabel(
                f"label {brief(label)} of item {brief(item)} is not one of "
                f"{list(self.pool.classes)}; nothing was recorded"
            ) from None

    def question(self, index: int) -> Question:
        """The question about an item as people see it."""
        key = f"{self.ledger.stage_of[index]}.{index}"
        return Question(self.pool.id_of(index), key, self.pool.record_of(index))

    def open_questions(self) -> list[int]:
        """Items asked about that have no answer, in the order asked."""
        return self.ledger.pending

    def is_free(self, index: int, now: datetime) -> bool:
        """Whether nobody holds the question."""
        lease = self.leases.get(index)
        return lease is None or lease.until <= now

    def held_by(self, who: str, now: datetime) -> list[int]:
        """Open questions that somebody holds, in the order asked."""
        held = {i for i, lease in self.leases.items() if lease.who == who and lease.until > now}
        return [index for index in self.open_questions() if index in held] if held else []

    def stage_data(self, stage: Stage, n: int) -> dict[str, Any]:
        """A stage as the journal keeps it: ids, so that it can be read without the sketch."""
        cell = self.ledger.problem.cells.of_item[stage.item].tolist()
        columns = (stage.item.tolist(), cell, stage.count.tolist(), stage.weight.tolist())
        rows = [[self.pool.id_of(i), *rest] for i, *rest in zip(*columns, strict=True)]
        again = [[item, count, weight] for item, _, count, weight in rows[stage.n_new :]]
        data = {"labels": n, "new": rows[: stage.n_new], "again": again}
        if stage.inclusion is not None:
            data["inclusion"] = stage.inclusion.tolist()
        return data

    def stage_from(self, data: dict[str, Any]) -> Stage:
        """The stage that `stage_data` wrote, provided that its new items are next in line."""
        n_asked: dict[int, int] = {}
        new = []
        for item, cell, _, _ in data["new"]:
            rank = self._n_asked[cell] + n_asked.get(cell, 0)
            index = self.pool.items.take(cell, rank)
            if self.pool.id_of(index) != item:
                raise StudyError(f"item {item!r} is not the next one of cell {cell}")
            n_asked[cell] = n_asked.get(cell, 0) + 1
            new.append(index)
        again = [self.index_of[item] for item, _, _ in data["again"]]
        return Stage(
            np.array(new + again, dtype=np.int64),
            np.array([row[-2] for row in data["new"] + data["again"]], dtype=np.int64),
            np.array([row[-1] for row in data["new"] + data["again"]], dtype=np.float64),
            len(new),
            np.array(data["inclusion"]) if "inclusion" in data else None,
        )

    def _created(self, entry: Entry) -> None:
        self.started = entry.time

    def _stage(self, entry: Entry) -> None:
        stage = self.stage_from(entry.data)
        for (item, cell, _, _), index in zip(entry.data["new"], stage.item.tolist(), strict=False):
            self.index_of[item] = index
            self._n_asked[cell] += 1
        self.ledger.apply(stage)

    def _lease(self, entry: Entry) -> None:
        lease = Lease(entry.who, moment(entry.data["until"]))
        self.leases.update({self.index_of[item]: lease for item in entry.data["items"]})

    def _release(self, entry: Entry) -> None:
        for item in entry.data["items"]:
            self.leases.pop(self.index_of[item], None)

    def _answer(self, entry: Entry) -> None:
        self._tell(entry, [(item, label, "") for item, label in entry.data["labels"]])

    def _skip(self, entry: Entry) -> None:
        self._tell(entry, [(entry.data["item"], None, entry.data["reason"])])

    def _correction(self, entry: Entry) -> None:
        data = entry.data
        self._tell(entry, [(data["item"], data["label"], data["reason"])])

    def _tell(self, entry: Entry, answers: list[tuple[Any, Any, str]]) -> None:
        labels = {}
        for item, label, reason in answers:
            index = self.index_of[item]
            labels[index] = NO_ANSWER if label is None else self.label_index[label]
            self.answers[index] = Answer(item, label, entry.who, entry.time, reason)
            self.leases.pop(index, None)
        self.ledger.apply(Answers(labels))
