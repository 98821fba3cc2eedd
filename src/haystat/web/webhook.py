"""Label Studio tells us about annotations as they are made: its webhooks, received.

A remark in the journal keeps which annotation an answer came from, because Label Studio says only
the number of one that was deleted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from haystat.errors import AnswerError, BadOption, FileError, HaystatError
from haystat.formats.base import Reply
from haystat.formats.label_studio import task_replies
from haystat.loop.annotators import checked_name
from haystat.study.answer_files import label_named
from haystat.study.sqlite_journal import Entry
from haystat.study.study import Study
from haystat.web import labelling
from haystat.web.body import checked_text, json_body
from haystat.web.routes.api import room_of

#: what Label Studio calls its events
MADE = ("ANNOTATION_CREATED", "ANNOTATIONS_CREATED", "ANNOTATION_UPDATED")
DELETED = ("ANNOTATION_DELETED", "ANNOTATIONS_DELETED")
LARGEST = 16 << 20
MARK = "label-studio"  # of remarks
UNKNOWN = (
    "these annotations were not received here, so it is not known which answers they gave; take "
    "them back with haystat correct STUDY ITEM="
)
BANNED = (
    "Label Studio bans webhooks to loopback and private addresses unless it runs with "
    "SSRF_PROTECTION_ENABLED=false; `haystat import --url … --watch` needs no webhook."
)


@dataclass(frozen=True)
class Annotation:
    """What somebody said in Label Studio; label None where they could not tell."""

    id: int | str | None
    item: Any
    label: Any
    who: str
    reason: str = ""


async def label_studio(request: Request) -> Response:
    """Take what people answered in Label Studio; other events are heard and passed over."""
    room = await room_of(request)
    given = await json_body(request, LARGEST)
    action = given.get("action")
    if action in DELETED:
        numbers = read_deletion(given)
        found = await room.queue.write(lambda study: withdraw(study, numbers))
    elif action in MADE:
        annotations = read_event(given, room.study.pool.fingerprint)
        found = await room.queue.write(lambda study: take(study, annotations))
    else:
        return JSONResponse({"taken": [], "passed_over": ascii(action)[:80]})
    room.watch.changed()
    return JSONResponse(found)


def read_event(given: Mapping[str, Any], fingerprint: str) -> list[Annotation]:
    """The annotations in an event; anything else is one clear error."""
    annotation, task = given.get("annotation"), given.get("task")
    annotations = annotation if isinstance(annotation, list) else [annotation]
    tasks = task if isinstance(task, list) else [task] * len(annotations)
    if not all(isinstance(part, dict) for part in [*tasks, *annotations]):
        raise BadOption("the event has no task and annotation; does it send its payload?")
    if len(tasks) != len(annotations):
        raise FileError(f"the event has {len(tasks)} tasks for {len(annotations)} annotations")
    try:
        return [
            _checked(other.get("id"), reply, fingerprint)
            for one, other in zip(tasks, annotations, strict=True)
            for reply in task_replies("webhook", {**one, "annotations": [other]})
        ]
    except HaystatError:
        raise
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise FileError(f"the event is not what Label Studio sends ({error!r:.80})") from None


def _checked(number: Any, reply: Reply, fingerprint: str) -> Annotation:
    hash((reply.item, reply.label))
    if isinstance(reply.item, bool) or not isinstance(reply.item, int | str):
        raise BadOption("the task's item is neither a number nor a text")
    if reply.pool not in (None, fingerprint):
        raise AnswerError("the task was made from another pool; nothing was recorded")
    if isinstance(reply.item, str):
        checked_text("item", reply.item, 2000)
    who = checked_name(reply.annotator) or MARK
    known = None if number is None else _number(number)
    return Annotation(known, reply.item, reply.label, checked_text("annotator", who), reply.reason)


def read_deletion(given: Mapping[str, Any]) -> list[int | str]:
    """The numbers of annotations that were deleted."""
    annotations = given.get("annotations")
    if not isinstance(annotations, list) or not all(isinstance(a, dict) for a in annotations):
        raise BadOption("the event has no annotations; does it send its payload?")
    return [_number(annotation.get("id")) for annotation in annotations]


def _number(value: Any) -> int | str:
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise BadOption(f"an annotation's id is {ascii(value)[:40]}; it is a number")
    return checked_text("id", value) if isinstance(value, str) else value


def take(study: Study, annotations: Sequence[Annotation]) -> dict[str, Any]:
    """Take annotations: all of them, or none if one is wrong.

    What somebody says again about an item corrects what he or she said before.
    """
    with study.reading() as state:
        for one in annotations:
            item, _, _ = labelling.found(state, one.item)
            if one.label is not None:
                state.questions.read(item, label_named(state, one.label))
    taken = []
    for one in annotations:
        if one.label is None:
            told = labelling.skip(study, one.item, one.reason, one.who)
        else:
            answer = [labelling.Given(one.item, one.label)]
            (told,) = labelling.tell(study, answer, one.who, True, "changed in Label Studio")
        if one.id is not None:
            _remark(study, {"annotation": one.id, "label": one.label}, one.who, told.item)
        taken.append({"item": told.item, "outcome": told.outcome})
    return {"taken": taken}


def withdraw(study: Study, numbers: Iterable[int | str]) -> dict[str, Any]:
    """Take back the answers that deleted annotations gave.

    What is left about the item counts then; where nothing is, nobody can tell its label until
    somebody answers again. An answer that was changed since, and not in Label Studio, is kept.
    """
    known = annotations_in(study.entries)
    taken, unknown = [], []
    for number in numbers:
        gone = known.pop(number, None)
        if gone is None:
            unknown.append(number)
            continue
        left = [one for one in known.values() if one.item == gone.item]
        left.sort(key=lambda one: one.who == gone.who)  # the newest of the same person comes last
        _remark(study, {"deleted": number}, gone.who, gone.item)
        outcome = _replace(study, gone, left[-1] if left else None)
        taken.append({"item": gone.item, "outcome": outcome})
    return {"taken": taken, **({"unknown": unknown, "problem": UNKNOWN} if unknown else {})}


def _replace(study: Study, gone: Annotation, left: Annotation | None) -> str:
    with study.reading() as state:
        answer = state.answer_to(labelling.found(state, gone.item)[2])
        label = None if gone.label is None else label_named(state, gone.label)
    if answer is None or (answer.who, answer.label) != (gone.who, label):
        return "kept"
    why = f"annotation {gone.id} was deleted in Label Studio"
    study.correct(gone.item, None, why, gone.who)
    if left is None or left.label is None:
        return "withdrawn"
    labelling.tell(study, [labelling.Given(gone.item, left.label)], left.who)
    return "corrected"


def annotations_in(entries: Iterable[Entry]) -> dict[int | str, Annotation]:
    """The annotations that a journal has received and that were not deleted, the newest last."""
    found: dict[int | str, Annotation] = {}
    for entry in entries:
        given = _marked(entry)
        for verb in ("annotation", "deleted"):
            number = given.get(verb)
            if not isinstance(number, int | str):
                continue
            found.pop(number, None)
            if verb == "annotation":
                who, item = entry.who or MARK, entry.data["item"]
                found[number] = Annotation(number, item, given.get("label"), who)
    return found


def _marked(entry: Entry) -> dict[str, Any]:
    """What a remark of ours says; nothing for any other entry."""
    if entry.kind != "note" or MARK not in entry.payload or "item" not in entry.data:
        return {}
    try:
        found = json.loads(entry.data["text"])[MARK]
    except (ValueError, KeyError, TypeError):
        return {}
    return found if isinstance(found, dict) else {}


def _remark(study: Study, what: dict[str, Any], who: str, item: Any) -> None:
    study.note(json.dumps({MARK: what}, ensure_ascii=False), who, item)
