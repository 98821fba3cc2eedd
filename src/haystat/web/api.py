"""The study as JSON under /api: ask, tell, skip, note, release, status, estimate, events."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from haystat.errors import BadOption, HaystatError
from haystat.study.questions import Question
from haystat.study.study import Study
from haystat.web import body, work
from haystat.web.guard import Guard
from haystat.web.openapi import document
from haystat.web.shelf import Room, Shelf
from haystat.web.snapshot import estimate_dict, finite

MOST_QUESTIONS = 200
MOST_ANSWERS = 1000
NOBODY = "somebody"


async def room_of(request: Request) -> Room:
    """The study that a request is about."""
    shelf: Shelf = request.app.state.shelf
    return await shelf.room(request.query_params.get("study"))


async def openapi(request: Request) -> Response:
    """The document that describes this interface."""
    return JSONResponse(document())


async def session(request: Request) -> Response:
    """The token that requests which change something need."""
    guard: Guard = request.app.state.guard
    return JSONResponse({"csrf": guard.csrf(request.state.session)})


async def about_study(request: Request) -> Response:
    """What a page needs to know to ask questions of a study."""
    return JSONResponse(study_dict(await room_of(request)))


def study_dict(room: Room) -> dict[str, Any]:
    """A study without its questions and numbers."""
    study, options = room.study, room.options
    found: dict[str, Any] = finite(
        {
            "study": room.name,
            "measure": study.measure.name,
            "design": str(study.design),
            "items": study.pool.size,
            "classes": list(study.pool.classes),
            "names": list(room.names),
            "prompt": options.prompt or "Which label is right?",
            "images": list(options.images),
            "wanted": options.wanted,
            "reveal": options.reveal,
        }
    )
    return found


async def ask(request: Request) -> Response:
    """Questions for somebody; nobody else gets them for a while."""
    room = await room_of(request)
    given = await body.json_body(request)
    annotator, seat = _who(given), _seat(given)
    n = body.whole(given, "n", 1, 1, MOST_QUESTIONS)
    return JSONResponse({"questions": await hand_out(room, n, annotator, seat)})


async def hand_out(room: Room, n: int, annotator: str, seat: str) -> list[dict[str, Any]]:
    """Questions as JSON, some of them for a second opinion where the study wants that."""
    room.stay(seat)
    return await room.desk.write(lambda study: _questions(room, study, n, annotator, seat))


def _questions(room: Room, study: Study, n: int, annotator: str, seat: str) -> list[dict[str, Any]]:
    questions = work.hand_out(study, n, seat)
    n_second = round(n * room.options.second)
    if n_second:
        with study.reading() as fold:
            again = work.to_review(fold, annotator, room.watch.opinions, n_second)
        questions = _mixed(questions, again)
    return [_question(study, question) for question in questions]


def _mixed(questions: list[Question], again: list[Question]) -> list[Question]:
    """Second opinions among the rest, where nobody can tell them apart."""
    known = {question.item for question in questions}
    every = questions + [question for question in again if question.item not in known]
    return sorted(every, key=lambda q: hashlib.sha256(q.key.encode()).digest())


def _question(study: Study, question: Question) -> dict[str, Any]:
    record = finite(work.blind_record(study, question))
    return {"item": question.item, "key": question.key, "record": record}


async def tell(request: Request) -> Response:
    """Take answers, and hand out more questions in the same breath if `ask` says so."""
    room = await room_of(request)
    given = await body.json_body(request)
    annotator, seat = _who(given), _seat(given)
    n = body.whole(given, "ask", 0, 0, MOST_QUESTIONS)
    correct = body.flag(given, "correct")
    answers = [
        (body.item(part), body.label(part)) for part in body.objects(given, "answers", MOST_ANSWERS)
    ]
    room.stay(seat)

    def action(study: Study) -> tuple[list[work.Told], dict[str, Any]]:
        """Both in one transaction: one wait for the disk."""
        taken = work.tell(study, answers, annotator, correct)
        try:
            return taken, {"questions": _questions(room, study, n, annotator, seat)} if n else {}
        except HaystatError as error:  # the answers stand
            return taken, {"questions": [], "problem": str(error)}

    taken, more = await room.desk.write(action)
    _note_opinions(room, annotator, taken, answers)
    result: dict[str, Any] = {"taken": [_told(one) for one in taken], **more}
    if room.options.reveal and taken:
        result["said"] = await room.desk.read(lambda study: work.said(study, taken[-1].item))
    room.watch.changed()
    return JSONResponse(finite(result))


def _note_opinions(
    room: Room, who: str, taken: list[work.Told], answers: list[tuple[Any, Any]]
) -> None:
    for told, (_, label) in zip(taken, answers, strict=True):
        if told.outcome == work.SECOND:
            by_text = {str(value): value for value in room.study.pool.classes}
            room.watch.opinions.append((told.item, who, by_text.get(str(label), label)))


async def skip(request: Request) -> Response:
    """Take down that somebody cannot tell the label of an item."""
    room = await room_of(request)
    given = await body.json_body(request)
    item, annotator = body.item(given), _who(given)
    reason = body.text(given, "reason", "", 500)
    told = await room.desk.write(lambda study: work.skip(study, item, reason, annotator))
    room.watch.changed()
    return JSONResponse(_told(told))


async def note(request: Request) -> Response:
    """Write a remark into the journal, about an item or the study."""
    room = await room_of(request)
    given = await body.json_body(request)
    remark, annotator = body.text(given, "text", most=4000), _who(given)
    item = body.item(given) if given.get("item") is not None else None
    if not remark.strip():
        raise BadOption("text is empty; write something")
    await room.desk.write(lambda study: work.remark(study, remark, annotator, item))
    return JSONResponse({"noted": True})


async def release(request: Request) -> Response:
    """Give back the questions that a seat holds, at once or when it is not heard of again."""
    room = await room_of(request)
    given = await body.json_body(request)
    seat = _seat(given)
    after = body.whole(given, "after", 0, 0, 3600)
    if after:
        room.leave(seat, after)
    else:
        await room.give_back(seat)
    return JSONResponse({"released": after == 0})


async def status(request: Request) -> Response:
    """How far the study is, for programs and for pages that cannot listen."""
    room = await room_of(request)
    return JSONResponse(await room.watch.now())


async def estimate(request: Request) -> Response:
    """The estimate; another measure reuses the same labels."""
    room = await room_of(request)
    names = [name for name in request.query_params.get("measure", "").split(",") if name]
    measure = names if len(names) > 1 else names[0] if names else None
    level = _level(request.query_params.get("level", "0.95"))
    found = await room.desk.read(lambda study: study.estimate(measure, level))
    return JSONResponse(finite(estimate_dict(found)))


async def events(request: Request) -> Response:
    """Snapshots as they come, as server-sent events."""
    room = await room_of(request)
    return StreamingResponse(
        room.watch.stream(),
        media_type="text/event-stream",
        headers={"x-accel-buffering": "no"},
    )


async def studies(request: Request) -> Response:
    """The studies that can be opened."""
    shelf: Shelf = request.app.state.shelf
    return JSONResponse({"studies": shelf.names, "main": shelf.settings.main})


def _who(given: Mapping[str, Any]) -> str:
    name = " ".join(body.text(given, "annotator", NOBODY, 80).split())
    if not name:
        raise BadOption("annotator is empty; say who answers")
    return name


def _seat(given: Mapping[str, Any]) -> str:
    """Who holds a question: a tab of a browser, say, whatever the person in it is called."""
    return body.text(given, "seat", "", 80) or _who(given)


def _level(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadOption(f"level is {ascii(text)[:40]}; give a number such as 0.95") from None


def _told(told: work.Told) -> dict[str, Any]:
    return {"item": told.item, "outcome": told.outcome}
