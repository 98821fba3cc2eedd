"""The state of an evaluation: the fold of its journal, in memory or in a study alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from haystat.designs.base import Design
from haystat.designs.continued import continued
from haystat.errors import LogError, StorageError
from haystat.loop.annotators import DISAGREEMENT, Agreement, Rules, agreement
from haystat.loop.journal import Entry
from haystat.loop.known_labels import NOTHING_KNOWN, KnownLabels
from haystat.loop.ledger import Ledger
from haystat.loop.ledger_stochastic import StochasticLedger
from haystat.loop.questions import Query, Questions
from haystat.loop.stages import NO_ANSWER, Label, Stage
from haystat.measures.base import Measure
from haystat.pool.base import AnyPool
from haystat.pool.problem import pose

OPEN = Rules()  # anybody may answer, and one answer settles a question
#: what an oracle is like -> the ledger of its answers
LEDGERS: dict[str, type[Ledger]] = {
    "deterministic": Ledger,
    "stochastic": StochasticLedger,
}


@dataclass(frozen=True)
class Answer:
    """What somebody said about an item: a label, or None and a reason where nobody can tell."""

    item: Any
    label: Any
    who: str | None
    time: str
    reason: str = ""


class State:
    """An evaluation after some entries of its journal.

    `votes` has who said what about each question, in the order of the first answers; the ledger
    knows what counts.
    """

    def __init__(
        self,
        pool: AnyPool,
        measure: Measure,
        design: Design,
        seed: int,
        oracle: str = "deterministic",
        rules: Rules = OPEN,
        known: KnownLabels = NOTHING_KNOWN,
    ) -> None:
        self.pool = pool
        self.measure = measure
        self.rules = rules
        self._single = rules.single
        self.known = known
        problem = pose(pool, measure, oracle)
        if problem.cells.before is not None:
            design = continued(design)
        order = pool.candidates(problem.cells)
        items, label = known.of_items(pool, problem, order)
        problem = known.seen_from(pool, problem, items, label)
        self.ledger = LEDGERS[oracle](problem, design, order, seed)
        self.questions = Questions(pool, self.ledger)
        if known.parts:
            self.ledger.know(items, label)
            self.questions.asked([pool.id_of(item) for item in items.tolist()], items)
        self.votes: dict[int, dict[str | None, Answer]] = {}
        self.last: Any = None
        self.started = ""
        self.n_carried = 0  # labels from an earlier version
        self.asked_again: dict[int, Answer] = {}  # questions of it, and the answers they had
        self._drawn: tuple[Any, Any] = (None, None)  # the newest stage, as it is written and as is
        self._take: dict[str, Callable[[Any], None]] = {
            "created": self._created,
            "candidates": lambda entry: None,
            "note": lambda entry: None,
            "carried": self._carried,
            "stage": self._stage,
            "answer": self._answer,
            "skip": self._skip,
            "correction": self._correction,
        }

    def apply(self, entry: Entry) -> None:
        """Take the next entry into account."""
        if entry.kind not in self._take:
            raise LogError(f"entry {entry.seq} is a {entry.kind!r}, which is unknown here")
        try:
            self._take[entry.kind](entry)
        except (LogError, StorageError):
            raise
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise LogError(f"entry {entry.seq} ({entry.kind}) makes no sense: {error!r}") from None
        self.last = entry

    @property
    def n_entries(self) -> int:
        """Entries taken into account."""
        return 0 if self.last is None else int(self.last.seq)

    def answer_to(self, question: int) -> Answer | None:
        """What counts as the answer, and who said it first; None while the question is open."""
        label = self.ledger.label_of.get(question)
        if label is None:
            return None
        votes = list(self.votes[question].values())
        value = self.questions.shown(label)
        same = [vote for vote in votes if vote.label == value]
        return same[0] if same else Answer(votes[-1].item, value, None, votes[-1].time)

    def answers(self) -> Iterator[tuple[int, Answer]]:
        """Questions that are answered, in the order of their first answers, and what counts."""
        for question in self.votes:
            answer = self.answer_to(question)
            if answer is not None:
                yield question, answer

    def draw_totals(self) -> tuple[dict[int, int], dict[int, float]]:
        """Draws and summed weights of every item, by position, over the finished stages."""
        draws: dict[int, int] = {}
        weights: dict[int, float] = {}
        columns = (column.tolist() for column in self.ledger.draws())
        for item, count, weight in zip(*columns, strict=True):
            draws[item] = draws.get(item, 0) + count
            weights[item] = weights.get(item, 0.0) + count * weight
        return draws, weights

    @property
    def skipped(self) -> list[Answer]:
        """What somebody saw and nobody could tell."""
        return [answer for _, answer in self.answers() if answer.label is None]

    def own(self, question: int, annotator: str | None) -> Answer | None:
        """The answer that somebody may repeat or correct: what counts, or his or her own."""
        if self._single:
            return self.answer_to(question)
        return self.votes.get(question, {}).get(annotator)

    def needs(self, question: int, annotator: str | None) -> bool:
        """Whether an answer of this annotator would help to settle the question."""
        if question in self.ledger.label_of:
            return False
        return self.rules.needs(self.votes.get(question, {}), annotator)

    def query(self, question: int) -> Query:
        """The question as people see it."""
        return self.questions.query(question)

    def stage_data(self, stage: Stage, n: int) -> dict[str, Any]:
        """A stage as the journal keeps it: ids, so that it can be read without the pool."""
        k = stage.n_new
        ids = [self.pool.id_of(item) for item in stage.item.tolist()]
        cell = self.ledger.problem.cells.of_item[stage.item[:k]].tolist()
        count, weight = stage.count.tolist(), stage.weight.tolist()
        new = zip(ids[:k], cell, count[:k], weight[:k], strict=True)
        again = zip(ids[k:], count[k:], weight[k:], strict=True)
        data = {"labels": n, "new": [[*row] for row in new], "again": [[*row] for row in again]}
        if stage.inclusion is not None:
            data["inclusion"] = stage.inclusion.tolist()
        self._drawn = data, stage
        return data

    def stage_from(self, data: dict[str, Any]) -> Stage:
        """The stage that `stage_data` wrote, provided that its new items are next in line."""
        n_asked = self.ledger.asked.tolist()
        known = dict(self.questions.index_of) if self.ledger.soft else {}
        new = []
        for item, cell, _, _ in data["new"]:
            if item not in known:
                known[item] = self.ledger.take(cell, n_asked[cell])
                n_asked[cell] += 1
                if self.pool.id_of(known[item]) != item:
                    raise LogError(f"item {item!r} is not the next one of cell {cell}")
            new.append(known[item])
        again = [self.questions.index_of[item] for item, _, _ in data["again"]]
        rows = data["new"] + data["again"]
        return Stage(
            np.array(new + again, dtype=np.int64),
            np.array([row[-2] for row in rows], dtype=np.int64),
            np.array([row[-1] for row in rows], dtype=np.float64),
            len(new),
            np.array(data["inclusion"]) if "inclusion" in data else None,
        )

    def question_at(self, item: Any, key: str | None = None) -> int:
        """The question that the journal names by its item, and its key if that has several."""
        if key is not None:
            return self.questions.at(key)
        (question,) = self.ledger.questions_about(self.questions.index_of[item])
        return question

    def _created(self, entry: Entry) -> None:
        self.started = entry.time

    def _stage(self, entry: Entry) -> None:
        self._add_stage(entry.data)

    def _add_stage(self, given: dict[str, Any]) -> None:
        data, stage = self._drawn
        if data is not given:  # read from a file, or of another state
            stage = self.stage_from(given)
        self.questions.asked([row[0] for row in given["new"]], stage.item)
        self.ledger.add_stage(stage)

    def _carried(self, entry: Entry) -> None:
        """Items that were drawn in an earlier version are a stage that is answered at once.

        Those that are asked about again are one that is open.
        """
        known = self._brought(entry.data)
        self.votes.update({question: {one.who: one} for question, one in known.items()})
        self.ledger.add_labels({q: self.label_of(one.label) for q, one in known.items()})
        self.n_carried = self.ledger.n_told
        if "asked_again" in entry.data:
            self.asked_again = self._brought(entry.data["asked_again"])

    def _brought(self, data: dict[str, Any]) -> dict[int, Answer]:
        """Add a stage of items that were drawn before; the answers they had, by question."""
        self._add_stage(data)
        rows = zip(data["new"], data["answers"], strict=True)
        return {
            self.question_at(item): Answer(item, plain(label), who, time, reason)
            for (item, *_), (label, who, time, reason) in rows
        }

    def agreement(self) -> Agreement:
        """How far the answers about the same item agree, over all annotators and repeats."""
        return agreement(
            (self.ledger.item_of(question), who, self.label_of(vote.label))
            for question, votes in self.votes.items()
            for who, vote in votes.items()
            if vote.label is not None
        )

    def _answer(self, entry: Entry) -> None:
        data = entry.data["labels"]
        votes = [self._vote(entry, item, label, "", *key) for item, label, *key in data]
        self.ledger.add_labels({question: label for part in votes for question, label in part})

    def _skip(self, entry: Entry) -> None:
        data = entry.data
        voted = self._vote(entry, data["item"], None, data["reason"], data.get("key"))
        self.ledger.add_labels(dict(voted))

    def _correction(self, entry: Entry) -> None:
        data = entry.data
        given = data["item"], data["label"], data["reason"], data.get("key")
        self.ledger.add_labels(dict(self._vote(entry, *given, again=True)))

    def _vote(
        self,
        entry: Entry,
        item: Any,
        label: Any,
        reason: str,
        key: str | None = None,
        *,
        again: bool = False,
    ) -> list[tuple[int, Label | None]]:
        """Count an answer; the label of its question if that may have changed.

        A question that is settled stays so unless somebody corrects it.
        """
        question = self.question_at(item, key)
        answer = Answer(item, plain(label), entry.who, entry.time, reason)
        votes = self.votes.setdefault(question, {})
        if again and self._single:
            votes.clear()  # whoever agreed with what was wrong
        votes.pop(entry.who, None)
        votes[entry.who] = answer
        self.answered(question, entry.who)
        if again or self._single or question not in self.ledger.label_of:
            return [(question, self._decided(votes))]
        return []

    def answered(self, question: int, who: str | None) -> None:
        """Somebody has answered a question."""

    def n_held(self, questions: Sequence[int], now: datetime) -> int:
        """How many of these open questions are in somebody's hands; in memory nobody holds any."""
        return 0

    def record_of(self, index: int) -> dict[str, Any]:
        """What people see of an item; in memory nothing is kept of it."""
        return {}

    def _decided(self, votes: dict[str | None, Answer]) -> Label | None:
        """The label that answers settle; None while they do not."""
        if self._single:  # a label settles what others had skipped
            given = (answer.label for answer in votes.values() if answer.label is not None)
            return self.label_of(next(given, None))
        labels = {who: self.label_of(answer.label) for who, answer in votes.items()}
        return DISAGREEMENT[self.rules.disagreement](labels, self.rules.answers_per_item)

    def label_of(self, value: Any) -> Label:
        """A label of the journal as the ledger keeps it."""
        return NO_ANSWER if value is None else self.questions.label_of(value)


def plain(label: Any) -> Any:
    """A soft answer is a tuple, as it was before it was JSON."""
    return tuple(label) if isinstance(label, list) else label
