"""What a person does with a study: get questions, answer, skip, remark. Plain functions."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from haystat.errors import ConflictingAnswer
from haystat.study.answers import item_named, label_named
from haystat.study.fold import Fold
from haystat.study.journal import Entry
from haystat.study.questions import Question
from haystat.study.study import Study

LEASE = "5m"  # pages ask again for what they hold, as long as somebody looks at them
SECOND = "second opinion"
HELD_PER_DRAWN = 5  # questions in people's hands for each of a new stage, at the most


@dataclass(frozen=True)
class Told:
    """What became of an answer: recorded, known, corrected or a second opinion."""

    item: Any
    outcome: str


def hand_out(study: Study, n: int, seat: str) -> list[Question]:
    """Up to n questions for a seat, those first that it holds already.

    Where many people label at once, a stage is drawn for several of them: the answers to all that
    they hold are not known yet anyway. The order of the draws tells something about the score;
    inside a stage this one does not.
    """
    with study.reading() as fold:
        stage = max(len(fold.leases) // HELD_PER_DRAWN, 1)
    questions = study.ask(min(n, study.pool.size), seat, LEASE, stage)
    return sorted(questions, key=lambda question: _place(study.seed, question.key))


def _place(seed: int, key: str) -> tuple[int, bytes]:
    stage = int(key.partition(".")[0])
    return stage, hashlib.sha256(f"{seed} {key}".encode()).digest()


def blind_record(study: Study, question: Question) -> dict[str, Any]:
    """What the person sees: never a column that holds a score or a prediction."""
    source = study.settings.get("source") or {}
    hidden = {*source.get("score", ()), *source.get("prediction", ())}
    return {name: value for name, value in question.record.items() if name not in hidden}


def tell(
    study: Study,
    answers: Sequence[tuple[Any, Any]],
    who: str,
    correct: bool = False,
    reason: str = "changed on the page",
) -> list[Told]:
    """Take answers, (item, label) each: all of them, or none if one is wrong.

    About an item that somebody else has answered it is a second opinion. correct: replace one's
    own answer, if it differs, for the reason given.
    """
    with study.reading() as fold:
        plans = [_planned(fold, item, label, who, correct) for item, label in answers]
    values: dict[Any, Any] = {}
    for told, value in plans:
        if values.setdefault(told.item, value) != value:
            raise ConflictingAnswer(f"item {told.item!r} is answered twice; nothing was recorded")
    for told, value in plans:
        if told.outcome == "recorded":
            study.tell({told.item: value}, who)
        elif told.outcome == "corrected":
            study.correct(told.item, value, reason, who)
        elif told.outcome == SECOND:
            study.note(json.dumps({SECOND: value}), who, told.item)
    return [told for told, _ in plans]


def _planned(fold: Fold, item: Any, label: Any, who: str, correct: bool) -> tuple[Told, Any]:
    """What will become of an answer, and the label as the study spells it."""
    name, index = _found(fold, item)
    value = fold.checked_label(name, label_named(fold, label))
    known = fold.answers.get(index)
    if known is None or known.label is None:
        return Told(name, "recorded"), value
    if known.who != who:
        return Told(name, SECOND), value
    if known.label != value and correct:
        return Told(name, "corrected"), value
    if known.label != value:
        raise ConflictingAnswer(
            f"item {name!r} was answered {known.label!r} and is now {value!r}; send correct: true "
            "if the first was wrong; nothing was recorded"
        )
    return Told(name, "known"), value


def skip(study: Study, item: Any, reason: str, who: str) -> Told:
    """Record that somebody cannot tell; it takes back an answer of the same person."""
    with study.reading() as fold:
        name, index = _found(fold, item)
        known = fold.answers.get(index)
    if known is None:
        study.skip(name, reason, who)
        return Told(name, "recorded")
    if known.label is not None and known.who == who:
        study.correct(name, None, reason, who)
        return Told(name, "corrected")
    return Told(name, "known")


def said(study: Study, item: Any) -> list[dict[str, Any]]:
    """What the systems say about an item that was answered."""
    with study.reading() as fold:
        _, index = _found(fold, item)
        if index not in fold.answers:
            return []
        outputs = fold.pool.outputs(np.array([index]))
        return [
            {
                "system": system,
                "score": float(outputs.scores[0, column]),
                "prediction": str(fold.pool.classes[int(outputs.predictions[0, column])]),
            }
            for column, system in enumerate(fold.pool.schema.systems)
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
    fold: Fold, who: str, opinions: Sequence[tuple[Any, str | None, Any]], n: int
) -> list[Question]:
    """Items that others have answered and nobody else has looked at, for a second opinion."""
    seen = {item for item, _, _ in opinions}
    others = [
        index
        for index, answer in fold.answers.items()
        if answer.label is not None and answer.who != who and answer.item not in seen
    ]
    chosen = sorted(others, key=lambda i: hashlib.sha256(f"{who} {i}".encode()).digest())
    return [fold.question(index) for index in chosen[:n]]


def _found(fold: Fold, item: Any) -> tuple[Any, int]:
    name = item_named(fold, item)
    return name, fold.find(name)


def remark(study: Study, text: str, who: str, item: Any) -> None:
    """Write a remark into the journal; about an item, if it was asked about."""
    if item is None:
        study.note(text, who)
        return
    with study.reading() as fold:
        name, _ = _found(fold, item)
    study.note(text, who, name)
