"""How far an evaluation or a study is, and who did what."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from haystat.loop.state import State


@dataclass(frozen=True)
class Status:
    """Counts of an evaluation or a study.

    labels are answers taken, which the estimate uses, `carried` of them over from an earlier
    version; finished_labels those of finished stages,
    from which the design has learnt. pending questions wait for an answer, and `leased` of them
    are in somebody's hands. known: labels from before the first question. head is the hash of the
    newest entry of a study: whoever wrote it down can tell whether the journal was changed.
    """

    measure: str
    design: str
    seed: int
    size: int
    classes: tuple[Any, ...]
    labels: int
    finished_labels: int
    skipped: int
    pending: int
    leased: int
    stages: int
    finished_stages: int
    draws: int
    labels_of: dict[str, int]
    annotators: dict[str, int]
    started: str
    last_change: str
    entries: int
    head: str
    carried: int = 0
    known: int = 0


def status_of(state: State, now: datetime) -> Status:
    """The counts at a time."""
    ledger, pool = state.ledger, state.pool
    answers = [answer for _, answer in state.answers()]
    told = [answer for answer in answers if answer.label is not None]
    open_questions = ledger.pending
    finished = ledger.stages[: ledger.n_finished]
    by_label = Counter(str(answer.label) for answer in told)
    return Status(
        state.measure.name,
        str(ledger.design),
        ledger.seed,
        pool.size,
        pool.classes,
        len(told),
        ledger.n_labels,
        len(answers) - len(told),
        len(open_questions),
        state.n_held(open_questions, now),
        ledger.n_stages,
        ledger.n_finished - (len(ledger.stages) - ledger.n_stages),
        sum(int(stage.count.sum()) for stage in finished),
        {str(label): by_label[str(label)] for label in pool.classes},
        dict(Counter(answer.who or "" for answer in told).most_common()),
        state.started,
        "" if state.last is None else state.last.time,
        state.n_entries,
        getattr(state.last, "hash", ""),
        state.n_carried,
        ledger.n_known,
    )
