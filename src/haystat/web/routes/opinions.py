"""Where people differ: the list, and a manager's decision."""

from __future__ import annotations

from starlette.requests import Request

from haystat.study.study import Study
from haystat.web import differences, labelling, models
from haystat.web.routes.api import room_of


async def differing(request: Request, given: models.OfStudy) -> models.Differences:
    """Items that two people answered differently, and that nobody has decided about."""
    watch = (room := await room_of(request)).watch
    opinions, decided = list(watch.opinions), dict(watch.decided)

    def look(study: Study) -> models.Differences:
        with study.reading() as state:
            return differences.differing(state, opinions, decided)

    return await room.queue.read(look)


async def decide(request: Request, given: models.Decide) -> models.Told:
    """Decide about an item that people answered differently."""
    room = await room_of(request)
    told, before = await room.queue.write(
        lambda study: differences.decide(study, given.item, given.label, given.annotator)
    )
    room.watch.decided.setdefault(told.item, before)
    room.watch.changed()
    return models.Told(labelling.named(told.item), told.outcome)
