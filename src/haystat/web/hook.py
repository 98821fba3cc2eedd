"""Label Studio tells us about annotations as they are made: its webhooks, received."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from haystat.errors import AnswerError, BadOption, FileError, HaystatError
from haystat.formats.base import Reply
from haystat.formats.label_studio import task_replies
from haystat.study.study import Study
from haystat.web import work
from haystat.web.api import room_of
from haystat.web.body import checked_text, json_body

#: what Label Studio calls an event -> whether the answer may replace an earlier one
ACTIONS = {"ANNOTATION_CREATED": False, "ANNOTATION_UPDATED": True, "ANNOTATIONS_CREATED": False}
LARGEST = 16 << 20


async def label_studio(request: Request) -> Response:
    """Take what people answered in Label Studio; other events are heard and passed over."""
    room = await room_of(request)
    given = await json_body(request, LARGEST)
    action = given.get("action")
    if not isinstance(action, str) or action not in ACTIONS:
        return JSONResponse({"taken": [], "passed_over": ascii(action)[:80]})
    replies = read_event(given)
    fingerprint = room.study.pool.fingerprint
    if any(reply.pool not in (None, fingerprint) for reply in replies):
        raise AnswerError("the task was made from another pool; nothing was recorded")
    taken = await room.desk.write(
        lambda study: [_take(study, reply, ACTIONS[action]) for reply in replies]
    )
    room.watch.changed()
    return JSONResponse({"taken": [{"item": t.item, "outcome": t.outcome} for t in taken]})


def read_event(given: Any) -> list[Reply]:
    """The answers in an event; anything else is one clear error."""
    task, annotation = given.get("task"), given.get("annotation")
    annotations = annotation if isinstance(annotation, list) else [annotation]
    tasks = task if isinstance(task, list) else [task] * len(annotations)
    if not all(isinstance(part, dict) for part in [*tasks, *annotations]):
        raise BadOption("the event has no task and annotation; does it send its payload?")
    try:
        return [
            _checked(reply)
            for one, other in zip(tasks, annotations, strict=False)
            for reply in task_replies("webhook", {**one, "annotations": [other]})
        ]
    except HaystatError:
        raise
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise FileError(f"the event is not what Label Studio sends ({error!r:.80})") from None


def _checked(reply: Reply) -> Reply:
    hash((reply.item, reply.label))
    if isinstance(reply.item, bool) or not isinstance(reply.item, int | str):
        raise BadOption("the task's item is neither a number nor a text")
    for name, value in (("annotator", reply.annotator), ("item", reply.item)):
        if isinstance(value, str):
            checked_text(name, value, 2000)
    return reply


def _take(study: Study, reply: Reply, replace: bool) -> work.Told:
    who = reply.annotator or "label-studio"
    if reply.label is None:
        return work.skip(study, reply.item, reply.reason, who)
    return work.tell(study, [(reply.item, reply.label)], who, replace)[0]
