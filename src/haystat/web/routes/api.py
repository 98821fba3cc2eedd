"""The study as JSON under /api: ask, tell, skip, note, release, status, estimate, events."""

from __future__ import annotations

import hashlib
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from haystat.errors import HaystatError
from haystat.loop.journal import now_utc
from haystat.study.question import Question
from haystat.study.study import Study
from haystat.web import judges, labelling, models
from haystat.web.auth import MANAGER, Auth
from haystat.web.body import suitable
from haystat.web.history import give_all_back, held_questions, own_answers
from haystat.web.keys import label_keys
from haystat.web.snapshot import estimate_dict, for_role
from haystat.web.study_folder import Room, StudyFolder
from haystat.web.upload_limits import LARGEST_REPLY, cut_record


async def room_of(request: Request) -> Room:
    """The study that a request is about."""
    study_folder: StudyFolder = request.app.state.study_folder
    return await study_folder.room(request.query_params.get("study"))


async def numbers_of(request: Request) -> Room:
    """The study, if whoever asks may see its numbers."""
    room = await room_of(request)
    if room.options.blind and not is_manager(request):
        raise HTTPException(403, "the study is blind: its numbers are for managers")
    return room


def is_manager(request: Request) -> bool:
    """Whether a manager asks."""
    return bool(request.state.session.role == MANAGER)


async def session(request: Request, given: None) -> models.Session:
    """The token that requests which change something need."""
    auth: Auth = request.app.state.auth
    found = request.state.session
    return models.Session(auth.csrf(found), found.role)


async def about_study(request: Request, given: models.OfStudy) -> models.StudyInfo:
    """What a page needs to know to ask questions of a study."""
    return study_info(await room_of(request))


def study_info(room: Room) -> models.StudyInfo:
    """A study without its questions and numbers."""
    study, options = room.study, room.options
    return models.StudyInfo(
        study=room.name,
        measure=study.measure.name,
        design=str(study.design),
        items=study.pool.size,
        classes=list(study.pool.classes),
        oracle=study.settings["oracle"],
        names=list(room.names),
        prompt=options.prompt or "Which label is right?",
        images=list(options.images),
        wanted=options.wanted,
        reveal=options.reveal,
        blind=options.blind,
        guidelines=options.guidelines,
        keys=label_keys(len(study.pool.classes), options.keys),
        after=bool(study.settings.get("after")),
    )


async def ask(request: Request, given: models.Ask) -> models.Questions:
    """Questions for somebody; nobody else gets them for a while."""
    room = await room_of(request)
    room.stay(given.holder)
    found = await room.queue.write(lambda study: _questions(room, study, given.n, given))
    return models.Questions(found)


def _questions(room: Room, study: Study, n: int, asker: models.Asker) -> list[models.Question]:
    """Questions, some of them for a second opinion where the study wants that."""
    questions = labelling.hand_out(study, n, asker.annotator, asker.holder)
    n_second = round(n * room.options.second)
    if n_second:
        with study.reading() as state:
            again = labelling.to_review(state, asker.annotator, room.watch.opinions, n_second)
        questions = _mixed(questions, again)
    found: list[models.Question] = []
    size = 0
    for question in questions:
        record, letters = cut_record(labelling.blind_record(study, question))
        size += letters
        if found and size > LARGEST_REPLY:  # the rest stays with whoever asked, for the next time
            break
        found.append(models.Question(labelling.named(question.item), question.key, record))
    return found


def _mixed(questions: list[Question], again: list[Question]) -> list[Question]:
    """Second opinions among the rest, where nobody can tell them apart."""
    known = {question.item for question in questions}
    every = questions + [question for question in again if question.item not in known]
    return sorted(every, key=lambda q: hashlib.sha256(q.key.encode()).digest())


async def tell(request: Request, given: models.Tell) -> models.Taken:
    """Take answers, and hand out more questions in the same breath if `ask` says so."""
    room = await room_of(request)
    answers = [labelling.Given(answer.item, answer.label, answer.key) for answer in given.answers]
    room.stay(given.holder)

    def action(study: Study) -> tuple[list[labelling.Told], dict[str, Any]]:
        """Both in one transaction: one wait for the disk."""
        reason = judges.AFTER if study.settings.get("after") else labelling.CHANGED
        taken = labelling.tell(study, answers, given.annotator, given.correct, reason)
        try:
            more = _questions(room, study, given.ask, given) if given.ask else None
            return taken, {} if more is None else {"questions": more}
        except HaystatError as error:  # the answers stand
            return taken, {"questions": [], "problem": str(error)}

    taken, more = await room.queue.write(action)
    _note_opinions(room, given.annotator, taken, answers)
    if room.study.settings.get("after") and taken:
        more["after"] = await room.queue.read(lambda study: judges.after(study, taken[-1].item))
    if room.options.reveal and taken:
        more["said"] = await room.queue.read(lambda study: labelling.said(study, taken[-1].item))
    room.watch.changed()
    return models.Taken([_told(one) for one in taken], **more)


def _note_opinions(
    room: Room, who: str, taken: list[labelling.Told], answers: list[labelling.Given]
) -> None:
    for told, given in zip(taken, answers, strict=True):
        if told.outcome == labelling.SECOND:
            by_text = {str(value): value for value in room.study.pool.classes}
            label = by_text.get(str(given.label), given.label)
            room.watch.opinions.append((told.item, who, label))


async def disagreements(request: Request, given: models.OfStudy) -> models.Disagreements:
    """Answers that differ from what a system predicts, the newest first."""
    room = await numbers_of(request)
    return await room.reader.read(judges.disagreements)


async def skip(request: Request, given: models.Skip) -> models.Told:
    """Take down that somebody cannot tell the label of an item."""
    room = await room_of(request)
    told = await room.queue.write(
        lambda study: labelling.skip(study, given.item, given.reason, given.annotator, given.key)
    )
    room.watch.changed()
    return _told(told)


async def note(request: Request, given: models.Note) -> models.Noted:
    """Write a remark into the journal, about an item or the study."""
    room = await room_of(request)
    await room.queue.write(
        lambda study: labelling.remark(study, given.text, given.annotator, given.item)
    )
    return models.Noted()


async def release(request: Request, given: models.Release) -> models.Released:
    """Give back the questions that a seat holds, at once or when it is not heard of again."""
    room = await room_of(request)
    if given.after:
        room.leave(given.holder, given.after)
    else:
        await room.give_back(given.holder)
    return models.Released(given.after == 0)


async def history(request: Request, given: models.HistoryQuery) -> models.History:
    """One's own answers, to look at them again and to correct them."""
    room = await room_of(request)

    def look(study: Study) -> list[models.Answered]:
        with study.reading() as state:
            return [
                models.Answered(
                    labelling.named(answer.item),
                    question.key,
                    answer.label,
                    answer.reason,
                    answer.time,
                    cut_record(labelling.blind_record(study, question))[0],
                )
                for number, answer in own_answers(state, given.annotator, given.n)
                for question in [state.query(number)]
            ]

    return models.History(await room.queue.read(look))


async def open_questions(request: Request, given: models.OfStudy) -> models.Open:
    """Questions that wait for an answer, and in whose hands they are."""
    room = await room_of(request)

    def look(study: Study) -> models.Open:
        with study.reading() as state:
            held = held_questions(state, now_utc())
            rows = [models.Held(who, n, until) for who, (n, until) in held.items()]
            return models.Open(len(state.ledger.pending), rows)

    return await room.queue.read(look)


async def free(request: Request, given: models.Nothing) -> models.Open:
    """Take the open questions out of all hands, so that whoever asks next gets them."""
    room = await room_of(request)
    await room.queue.write(lambda study: give_all_back(study, now_utc()))
    room.watch.changed()
    return await open_questions(request, models.OfStudy())


async def status(request: Request, given: models.OfStudy) -> dict[str, Any]:
    """How far the study is, for programs and for pages that cannot listen."""
    room = await numbers_of(request)
    return for_role(await room.watch.now(), is_manager(request))


async def estimate(request: Request, given: models.EstimateQuery) -> dict[str, Any]:
    """The estimate; another measure reuses the same labels."""
    room = await numbers_of(request)
    names = list(dict.fromkeys(given.measure))
    measure = names if len(names) > 1 else names[0] if names else None
    with suitable():
        found = await room.reader.read(lambda study: study.estimate(measure, given.level))
    return estimate_dict(found)


async def events(request: Request, given: models.OfStudy) -> Response:
    """Snapshots as they come, as server-sent events."""
    room = await numbers_of(request)
    return StreamingResponse(
        room.watch.stream(is_manager(request)),
        media_type="text/event-stream",
        headers={"x-accel-buffering": "no"},
    )


async def studies(request: Request, given: None) -> models.Studies:
    """The studies that can be opened."""
    study_folder: StudyFolder = request.app.state.study_folder
    return models.Studies(study_folder.names, study_folder.settings.main)


def _told(told: labelling.Told) -> models.Told:
    return models.Told(labelling.named(told.item), told.outcome)
