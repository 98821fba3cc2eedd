"""Where people differ about an item, and what a manager decided."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from haystat.errors import ConflictingAnswer, UnknownItem
from haystat.study.answer_files import label_named
from haystat.study.leases import StudyState
from haystat.study.sqlite_journal import Entry
from haystat.study.study import Study
from haystat.web import labelling, models
from haystat.web.snapshot import Opinions, first_answers
from haystat.web.upload_limits import cut_record

DECIDED, BY = "decided", "decided by"
REASON = "decided on the page, where people differed"
MOST = 200  # differences of one reply
#: by item, who said what before a manager decided
Decided = dict[Any, tuple[str | None, Any]]


def decisions(entries: Iterable[Entry]) -> Decided:
    """The items that a manager has decided about."""
    found: Decided = {}
    for item, given in _decided(entries):
        found.setdefault(item, (given["by"] and str(given["by"]), given["was"]))
    return found


def _decided(entries: Iterable[Entry]) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Items and what was decided about them.

    Remarks of people who label carry a name, so that they cannot pass for decisions.
    """
    for entry in entries:
        is_ours = entry.kind == "note" and entry.who is None and DECIDED in entry.payload
        if is_ours and "item" in entry.data:
            try:
                given = json.loads(entry.data["text"])
                if {DECIDED, "was", "by"} <= set(given):
                    yield entry.data["item"], given
            except (ValueError, TypeError):
                continue


def differing(
    state: StudyState, opinions: Opinions, decided: Mapping[Any, Any]
) -> models.Differences:
    """Items about which people differ and nobody has decided, with what each of them said."""
    first, seconds = first_answers(state, opinions, decided)
    said = {item: [one] for item, one in first.items()}
    for item, who, label in seconds:
        if item in said:
            said[item].append((who, label))
    open_ones = [
        item
        for item, votes in said.items()
        if item not in decided and len({label for _, label in votes}) > 1
    ]
    shown = [_shown(state, item, said[item]) for item in open_ones[:MOST]]
    return models.Differences(shown, len(open_ones))


def _shown(state: StudyState, item: Any, votes: list[tuple[str | None, int]]) -> models.Difference:
    (question, *_) = state.ledger.questions_about(state.questions.index_of[item])
    record, _ = cut_record(state.query(question).record)
    classes = state.pool.classes
    said = [models.Opinion(who or "", classes[label]) for who, label in votes]
    return models.Difference(labelling.named(item), said, record)


def decide(study: Study, item: Any, label: Any, who: str) -> tuple[labelling.Told, Any]:
    """Settle an item that has an answer; what became of it, and who said what before.

    Of two managers who decide at once the second one is told: only who decided may change it.
    """
    with study.reading() as state:
        item, name, question = labelling.found(state, item)
        value = state.questions.read(item, label_named(state, label))
        known = state.own(question, who)
    if known is None or known.label is None:
        raise UnknownItem(f"item {item!r} has no answer to decide about; answer it first")
    _refuse_overruling(study, item, value, who)
    if known.label != value:
        study.correct(name, value, REASON, who)
    decision = {DECIDED: value, "was": known.label, "by": known.who, BY: who}
    study.note(json.dumps(decision), item=item)
    outcome = "known" if known.label == value else "corrected"
    return labelling.Told(item, outcome), (known.who, known.label)


def _refuse_overruling(study: Study, item: Any, value: Any, who: str) -> None:
    query = "SELECT * FROM journal WHERE kind = 'note' AND who IS NULL ORDER BY seq"
    notes = [Entry(*row) for row in study.connection().execute(query)]
    standing = [given for about, given in _decided(notes) if about == item]
    if standing and standing[-1][DECIDED] != value and standing[-1].get(BY) != who:
        raise ConflictingAnswer(
            f"item {item!r} was decided already: {standing[-1].get(BY)!r} says "
            f"{standing[-1][DECIDED]!r}, and can change it; nothing was recorded"
        )
