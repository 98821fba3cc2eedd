"""The state of a study: an evaluation's, and who holds which question until when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from haystat.loop.journal import Entry, moment
from haystat.loop.questions import Query
from haystat.loop.state import State
from haystat.study.question import Question
from haystat.study.sketch_pool import SketchPool


class StudyState(State):
    """A study after some entries of its journal; leases are {question: {who: until}}."""

    pool: SketchPool

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.leases: dict[int, dict[str | None, datetime]] = {}
        self.after: frozenset[str] = frozenset()  # columns that wait for the answer
        self._take |= {"lease": self._lease, "release": self._release}

    def query(self, question: int) -> Question:
        """The question as people see it."""
        asked, item = super().query(question), self.ledger.item_of(question)
        shown = {k: v for k, v in self.pool.record_of(item).items() if k not in self.after}
        return Question(asked.item, asked.key, shown)

    def revealed(self, item: Any) -> dict[str, Any]:
        """The columns of an item that wait for its answer; none before it has one."""
        index = self.questions.index_of.get(item, -1) if type(item) in (int, str) else -1
        if not any(question in self.votes for question in self.ledger.questions_about(index)):
            return {}
        return {k: v for k, v in self.pool.record_of(index).items() if k in self.after}

    def is_free(self, question: int, now: datetime, who: str | None = None) -> bool:
        """Whether nobody else holds the question, or others may still answer it."""
        leases = self.leases.get(question)
        if leases is None:
            return True
        holders = [holder for holder, until in leases.items() if until > now]
        n_others = len(holders) - (who is not None and who in holders)  # of None there are many
        return n_others < max(self.rules.answers_per_item - len(self.votes.get(question, ())), 1)

    def n_held(self, questions: Sequence[int], now: datetime) -> int:
        """How many of these open questions are in somebody's hands."""
        return sum(not self.is_free(question, now) for question in questions)

    def record_of(self, index: int) -> dict[str, Any]:
        """What people see of an item."""
        return self.pool.record_of(index)

    def is_held(self, question: int, who: str | None, now: datetime) -> bool:
        """Whether this one holds the question."""
        leases = self.leases.get(question)
        until = None if leases is None else leases.get(who)
        return until is not None and until > now

    def held_by(self, who: str | None, now: datetime) -> list[int]:
        """Open questions that somebody holds, in the order asked."""
        return [question for question in self.ledger.pending if self.is_held(question, who, now)]

    def free_for(
        self, annotator: str | None, holder: str | None, now: datetime, n: int
    ) -> list[int]:
        """The first n open questions that somebody may be handed, in the order asked."""
        free = (
            question
            for question in self.ledger.pending
            if self.is_free(question, now, holder)
            and not self.is_held(question, holder, now)
            and self.needs(question, annotator)
        )
        return list(islice(free, n))

    def may_begin(self, annotator: str | None) -> bool:
        """Whether a stage may be begun for somebody: not for one who only settles disputes."""
        return self.rules.needs({}, annotator)

    def named(self, queries: Sequence[Query]) -> dict[str, Any]:
        """Questions as the journal names them: by items, and by keys if these have several."""
        items = [query.item for query in queries]
        return (
            {"items": items, "keys": [q.key for q in queries]}
            if self.ledger.soft
            else {"items": items}
        )

    def find_about(self, name: Any) -> int:
        """Some question about an item, or the one of this name."""
        index = self.questions.index_of.get(name) if type(name) in (int, str) else None
        return self.questions.find(name) if index is None else self.ledger.questions_about(index)[0]

    def answered(self, question: int, who: str | None) -> None:
        """Whoever held the question has answered it, or somebody else did and settles it."""
        if self.rules.single:
            self.leases.pop(question, None)
        else:
            self._give_back(question, who)

    def asked_in(self, data: Mapping[str, Any]) -> list[int]:
        """The questions that `named` wrote."""
        items = data["items"]
        keys = data.get("keys", [None] * len(items))
        return [self.question_at(item, key) for item, key in zip(items, keys, strict=True)]

    def _lease(self, entry: Entry) -> None:
        until = moment(entry.data["until"])
        for question in self.asked_in(entry.data):
            self.leases.setdefault(question, {})[entry.who] = until

    def _release(self, entry: Entry) -> None:
        for question in self.asked_in(entry.data):
            self._give_back(question, entry.who)

    def _give_back(self, question: int, who: str | None) -> None:
        held = self.leases.get(question, {})
        held.pop(who, None)
        if not held:
            self.leases.pop(question, None)
