"""How far a study is, and who did what."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from haystat.log import stage_records
from haystat.study.fold import Fold


@dataclass(frozen=True)
class Status:
    """Counts of a study.

    labels are answers taken, which the estimate uses; finished_labels those of finished stages,
    from which the design has learnt. pending questions wait for an answer, and `leased` of them
    are in somebody's hands. head is the hash of the newest entry: whoever wrote it down can tell
    whether the journal was changed.
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


def status_of(fold: Fold, now: datetime) -> Status:
    """The counts at a time."""
    ledger, pool = fold.ledger, fold.pool
    told = [answer for answer in fold.answers.values() if answer.label is not None]
    open_questions = fold.open_questions()
    finished = ledger.stages[: ledger.n_finished]
    by_label = Counter(str(answer.label) for answer in told)
    return Status(
        fold.measure.name,
        str(ledger.design),
        ledger.seed,
        pool.size,
        pool.classes,
        len(told),
        ledger.n_labels,
        len(fold.answers) - len(told),
        len(open_questions),
        sum(not fold.is_free(index, now) for index in open_questions),
        len(ledger.stages),
        ledger.n_finished,
        sum(int(stage.count.sum()) for stage in finished),
        {str(label): by_label[str(label)] for label in pool.classes},
        dict(Counter(answer.who or "" for answer in told).most_common()),
        fold.started,
        "" if fold.last is None else fold.last.time,
        fold.n_entries,
        "" if fold.last is None else fold.last.hash,
    )


def history_of(fold: Fold) -> list[dict[str, Any]]:
    """One record a stage: draws, new labels, whether it is finished."""
    return stage_records(fold.ledger.stages, fold.ledger.n_finished)
