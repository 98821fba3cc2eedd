"""What was answered, and what is still open: for those who look back, and for managers."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import Any

from haystat.loop.journal import stamp
from haystat.study.leases import StudyState
from haystat.study.study import Study


def own_answers(state: StudyState, who: str, n: int) -> list[tuple[int, Any]]:
    """Questions that somebody answered or skipped, the newest first, with what he or she said."""
    found = [(question, votes[who]) for question, votes in state.votes.items() if who in votes]
    found.sort(key=lambda pair: str(pair[1].time), reverse=True)
    return found[:n]


def held_questions(state: StudyState, now: datetime) -> dict[str, tuple[int, str]]:
    """Who holds how many open questions, and until when at the latest."""
    pending = set(state.ledger.pending)
    found: dict[str, list[datetime]] = defaultdict(list)
    for question, leases in state.leases.items():
        for who, until in leases.items():
            if question in pending and until > now:
                found[who or ""].append(until)
    return {who: (len(ends), stamp(max(ends))) for who, ends in sorted(found.items())}


def give_all_back(study: Study, now: datetime) -> int:
    """Take the open questions out of all hands, so that others get them; how many there were."""
    with study.reading() as state:
        held = held_questions(state, now)
        items = [state.questions.query(q).item for q in state.leases]
    for who in held:
        study.release(who or None, None if who else items)
    return sum(n for n, _ in held.values())
