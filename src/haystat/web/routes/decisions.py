"""Decisions on the page: where to cut, whether requirements hold, what looks wrong."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from starlette.requests import Request

from haystat.decisions.gate import gate as decided
from haystat.study.study import Study
from haystat.web import models
from haystat.web.body import suitable
from haystat.web.routes.api import numbers_of


async def threshold(request: Request, given: models.ThresholdQuery) -> dict[str, Any]:
    """The cut that meets a requirement, the one in use, and both measures over all cuts."""
    room = await numbers_of(request)
    with suitable():
        return await room.reader.read(lambda study: _threshold(study, given))


def _threshold(study: Study, given: models.ThresholdQuery) -> dict[str, Any]:
    found = study.threshold(system=given.system or None, level=given.level, **given.requirement)
    in_use = [{**asdict(one), "sentence": str(one)} for one in study.in_use]
    return {**found.to_dict(), "curve": found.curve, "in_use": in_use, "notes": study.doubts}


async def gate(request: Request, given: models.GateQuery) -> dict[str, Any]:
    """Whether requirements such as recall>=0.8 hold: pass, fail or undecided."""
    room = await numbers_of(request)
    with suitable():
        found = await room.reader.read(
            lambda study: decided(study, *given.require, level=given.level)
        )
    return {**found.to_dict(), "sentence": str(found)}
