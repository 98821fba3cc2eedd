"""Questions that are leased: nobody else gets one until its holder has answered or time is up."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from haystat.core.arguments import brief, checked_integer, is_listed
from haystat.errors import BadOption
from haystat.loop.annotators import checked_name
from haystat.loop.journal import Clock, stamp
from haystat.loop.loop import Loop, checked_number_of_questions
from haystat.loop.questions import Query
from haystat.loop.shared_state import Draft, SharedState
from haystat.study.candidate_source import CandidateSource
from haystat.study.leases import StudyState
from haystat.study.question import Question, seconds_of
from haystat.study.sketch_pool import CellDry


class LeasedLoop(Loop):
    """The loop of several people, who hold the questions that they were asked."""

    _shared: SharedState[StudyState]
    _candidate_source: CandidateSource
    _clock: Clock

    def ask(
        self,
        n: int = 1,
        annotator: str | None = None,
        lease: str | float | timedelta = "1h",
        stage: int = 1,
        holder: str | None = None,
    ) -> list[Question]:
        """n questions that nobody else holds; they are the asker's until the lease is over.

        A named annotator gets those first that he or she holds already, so that asking again
        after a crash loses nothing. Then come questions that were given back or whose lease has
        run out, then a new stage of draws, of at least `stage` questions: those beyond n wait for
        the next who asks. Fewer are returned when there is less to learn. holder: who has the
        lease, if that is not the annotator, say a tab of a browser.
        """
        stage = checked_integer("the number of labels", stage, smallest=1)
        length = timedelta(seconds=seconds_of(lease))
        annotator, holder = checked_name(annotator), checked_name(holder)
        holder = annotator if holder is None else holder
        with self._shared.writing() as (state, draft):
            n = checked_number_of_questions(n, state)
            state.rules.check_name(annotator)
            held = state.held_by(holder, draft.now)[:n] if holder is not None else []
            free = state.free_for(annotator, holder, draft.now, n - len(held))
            chosen = [state.questions.query(question) for question in held + free]
            missing = n - len(chosen)
            if missing and state.may_begin(annotator):
                size = min(max(missing, stage), self.pool.size)
                chosen += self._new_stage(state, draft, size)[:missing]
            if chosen:
                until = stamp(draft.now + length)
                draft.add("lease", {**state.named(chosen), "until": until}, holder)
        with self._shared.reading() as state:
            return [state.query(state.questions.at(query.key)) for query in chosen]

    def release(self, annotator: str | None, items: Iterable[Any] | None = None) -> None:
        """Give back questions before their lease is over; all that the annotator holds by default.

        Without a name, say which items.
        """
        annotator = checked_name(annotator)
        with self._shared.writing() as (state, draft):
            if items is None and annotator is None:
                raise BadOption("say whose questions, or which items, are given back")
            if items is not None and (isinstance(items, str) or not is_listed(items)):
                raise BadOption(f"items are {brief(items)}; give a list of items")
            given = None if items is None else {state.questions.find(item) for item in items}
            back = [
                state.questions.query(question)
                for question, held in state.leases.items()
                if annotator in held and (given is None or question in given)
            ]
            if back:
                draft.add("release", state.named(back), annotator)

    def held_by(self, annotator: str) -> list[Question]:
        """The questions that an annotator holds now."""
        annotator = checked_name(annotator) or ""
        with self._shared.reading() as state:
            return [state.query(question) for question in state.held_by(annotator, self._clock())]

    def _new_stage(self, state: StudyState, draft: Draft, n: int) -> list[Query]:
        """Draw a stage; where a cell has run dry, after its further items were fetched."""
        while True:
            try:
                stage = state.ledger.draw(n)
                break
            except CellDry as dry:
                self._candidate_source.refill(draft, self.measure, dry)
        if stage.n_new:
            draft.add("stage", state.stage_data(stage, n))
        return state.questions.to_come(stage)
