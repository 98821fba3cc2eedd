"""What a person does with a study: get questions, answer, skip, remark. Plain functions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from haystat.errors import ConflictingAnswer
from haystat.loop.questions import Query
from haystat.measures.outputs import Outputs
from haystat.study.answer_files import item_named, label_named
from haystat.study.leases import StudyState
from haystat.study.question import Question
from haystat.study.sqlite_journal import Entry
from haystat.study.study import Study
from haystat.study.versions import hidden_columns

LEASE = "5m"  # pages ask again for what they hold, as long as somebody looks at them
SECOND = "second opinion"
CHANGED = "changed on the page"
#: numbers beyond it are not the same any more once a browser has read them
LARGEST_NUMBER = (1 << 53) - 1
HELD_PER_DRAWN = 5  # questions in people's hands for each of a new stage, at the most


@dataclass(frozen=True)
class Told:
    """What became of an answer: recorded, known, corrected or a second opinion."""

    item: Any
    outcome: str


def hand_out(study: Study, n: int, who: str, seat: str) -> list[Question]:
    """Up to n questions for a person at a seat, those first that the seat holds already.

    Where many people label at once, a stage is drawn for several of them: the answers to all that
    they hold are not known yet anyway. The order of the draws tells something about the score;
    inside a stage this one does not.
    """
    with study.reading() as state:
        stage = max(len(state.leases) // HELD_PER_DRAWN, 1)
    questions = study.ask(min(n, study.pool.size), who, LEASE, stage, seat)
    return sorted(questions, key=lambda question: _place(study.seed, question.key))


def _place(seed: int, key: str) -> tuple[int, bytes]:
    stage = int(key.partition(".")[0])
    return stage, hashlib.sha256(f"{seed} {key}".encode()).digest()


def blind_record(study: Study, question: Question) -> dict[str, Any]:
    """What the person sees: never a column that holds a score or a prediction."""
    hidden = set(hidden_columns(study.settings))
    return {name: value for name, value in question.record.items() if name not in hidden}


class Given(NamedTuple):
    """An answer as it came: the item, the key of the question if the item has several, a label."""

    item: Any
    label: Any
    key: str | None = None


def tell(
    study: Study,
    answers: Sequence[tuple[Any, ...]],
    who: str,
    correct: bool = False,
    reason: str = CHANGED,
) -> list[Told]:
    """Take answers, as in Given: all of them, or none if one is wrong.

    About what somebody else has settled it is a second opinion. correct: replace one's own answer,
    if it differs, for the reason given.
    """
    with study.reading() as state:
        plans = [_planned(state, Given(*given), who, correct) for given in answers]
    values: dict[Any, Any] = {}
    for _, name, value in plans:
        if values.setdefault(name, value) != value:
            raise ConflictingAnswer(
                f"item {getattr(name, 'item', name)!r} is answered twice; nothing was recorded"
            )
    for told, name, value in plans:
        if told.outcome == "recorded":
            study.tell({name: value}, who)
        elif told.outcome == "corrected":
            study.correct(name, value, reason, who)
        elif told.outcome == SECOND:
            study.note(json.dumps({SECOND: value}), who, told.item)
    return [told for told, _, _ in plans]


def _planned(state: StudyState, given: Given, who: str, correct: bool) -> tuple[Told, Any, Any]:
    """What will become of an answer, the name of its question, the label as the study spells it."""
    item, name, question = found(state, given.item, given.key)
    value = state.questions.read(item, label_named(state, given.label))
    known = state.own(question, who)
    if known is None or known.label is None:
        return Told(item, "recorded"), name, value
    if known.who != who:
        return Told(item, SECOND), name, value
    if known.label != value and correct:
        return Told(item, "corrected"), name, value
    if known.label != value:
        raise ConflictingAnswer(
            f"item {item!r} was answered {known.label!r} and is now {value!r}; send correct: true "
            "if the first was wrong; nothing was recorded"
        )
    return Told(item, "known"), name, value


def skip(study: Study, item: Any, reason: str, who: str, key: str | None = None) -> Told:
    """Record that somebody cannot tell; it takes back an answer of the same person."""
    with study.reading() as state:
        item, name, question = found(state, item, key)
        known = state.own(question, who)
    if known is None:
        study.skip(name, reason, who)
        return Told(item, "recorded")
    if known.label is not None and known.who == who:
        study.correct(name, None, reason, who)
        return Told(item, "corrected")
    return Told(item, "known")


def said(study: Study, item: Any) -> list[dict[str, Any]]:
    """What the systems say about an item that was answered."""
    with study.reading() as state:
        index = state.questions.index_of.get(item_named(state, item), -1)
        if not any(question in state.votes for question in state.ledger.questions_about(index)):
            return []
        outputs = state.pool.outputs(np.array([index]))
        return [
            {
                "system": system,
                "score": float(outputs.scores[0, column]),
                "prediction": predicted(state, outputs, column),
            }
            for column, system in enumerate(state.pool.schema.systems)
        ]


def second_opinions(entries: Iterable[Entry]) -> list[tuple[Any, str | None, Any]]:
    """Item, person and label of every second opinion in a journal."""
    return [found for entry in entries if (found := second_opinion(entry)) is not None]


def second_opinion(entry: Entry) -> tuple[Any, str | None, Any] | None:
    """What an entry says if it is a second opinion."""
    if entry.kind != "note" or SECOND not in entry.payload or "item" not in entry.data:
        return None
    try:
        given = json.loads(entry.data["text"])
        return entry.data["item"], entry.who, given[SECOND]
    except (ValueError, TypeError, KeyError):
        return None


def to_review(
    state: StudyState, who: str, opinions: Sequence[tuple[Any, str | None, Any]], n: int
) -> list[Question]:
    """Items that others have answered and nobody else has looked at, for a second opinion."""
    seen = {item for item, _, _ in opinions}
    others = [
        question
        for question, answer in state.answers()
        if answer.label is not None and answer.who != who and answer.item not in seen
    ]
    chosen = sorted(others, key=lambda i: hashlib.sha256(f"{who} {i}".encode()).digest())
    return [state.query(question) for question in chosen[:n]]


def found(state: StudyState, item: Any, key: str | None = None) -> tuple[Any, Any, int]:
    """An item as the study spells it, the name of the question about it, and its number."""
    item = item_named(state, item)
    name = item if key is None or not state.ledger.soft else Query(item, key)
    return item, name, state.questions.find(name)


def predicted(state: StudyState, outputs: Outputs, column: int) -> str:
    """The prediction of a system for people: a class, or the number itself."""
    classes = state.pool.classes
    if not classes:
        return f"{outputs.scores[0, column]:g}"
    return str(classes[int(outputs.predictions[0, column])])


def remark(study: Study, text: str, who: str, item: Any) -> None:
    """Write a remark into the journal; about an item, if it was asked about."""
    if item is None:
        study.note(text, who)
        return
    with study.reading() as state:
        name = item_named(state, item)
    study.note(text, who, name)


def named(item: Any) -> Any:
    """An id as a browser can hold it."""
    is_large = isinstance(item, int) and abs(item) > LARGEST_NUMBER
    return str(item) if is_large else item
