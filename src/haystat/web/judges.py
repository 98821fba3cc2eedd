"""People beside a judge: what waits for an answer, and where the two disagree."""

from __future__ import annotations

from typing import Any

import numpy as np

from haystat.study.leases import StudyState
from haystat.study.study import Study
from haystat.web import labelling, models
from haystat.web.upload_limits import cut_record

MOST = 200  # disagreements of one reply
AFTER = "changed on the page, after the judge's reasons were shown"


def after(study: Study, item: Any) -> models.After:
    """What was kept back until an item was answered, and what the systems say."""
    record, _ = cut_record(study.revealed(item))
    said = [
        {name: one[name] for name in ("system", "prediction")}
        for one in labelling.said(study, item)
    ]
    return models.After(labelling.named(item), record, said)


def disagreements(study: Study) -> models.Disagreements:
    """Answers that differ from what a system predicts, the newest first."""
    with study.reading() as state:
        told = [(q, answer) for q, answer in state.answers() if answer.label is not None]
        told.sort(key=lambda pair: pair[1].time, reverse=True)
        found = [one for question, answer in told for one in _differing(state, question, answer)]
        shown = [_shown(state, *one) for one in found[:MOST]]
    return models.Disagreements(shown, len(found), len(told))


def _differing(state: StudyState, question: int, answer: Any) -> list[tuple[int, Any, int]]:
    """The systems whose prediction is another class than the answer."""
    classes = state.pool.classes
    if answer.label not in classes:
        return []
    outputs = state.pool.outputs(np.array([state.ledger.item_of(question)]))
    wanted = classes.index(answer.label)
    predicted = outputs.predictions[0].tolist()
    return [(question, answer, k) for k, one in enumerate(predicted) if one != wanted]


def _shown(state: StudyState, question: int, answer: Any, system: int) -> models.Disagreement:
    index = state.ledger.item_of(question)
    outputs = state.pool.outputs(np.array([index]))
    record, _ = cut_record(state.query(question).record)
    kept_back, _ = cut_record(state.revealed(answer.item))
    return models.Disagreement(
        item=labelling.named(answer.item),
        label=answer.label,
        predicted=labelling.predicted(state, outputs, system),
        score=float(outputs.scores[0, system]),
        system=state.pool.schema.systems[system],
        annotator=answer.who or "",
        time=answer.time,
        record=record,
        after=kept_back,
    )
