"""The loop: ask, tell, skip, correct, estimate, over the state that a journal folds into."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import numpy as np

from haystat.core.arguments import brief, checked_integer, is_listed
from haystat.core.progress import progress_bar
from haystat.decisions.candidate_thresholds import (
    InUse,
    labels_below,
    places_of,
    thresholds_in_use,
)
from haystat.decisions.doubts import pool_doubts
from haystat.designs.base import Design
from haystat.errors import AnswerError, BadOption, BudgetError, ConflictingAnswer, UnknownItem
from haystat.inference.estimate import Estimate, checked_level
from haystat.loop.annotators import Agreement
from haystat.loop.drift import Drift, drift_of
from haystat.loop.estimates import estimate_state
from haystat.loop.journal import now_utc
from haystat.loop.questions import checked_answers
from haystat.loop.score_regions import score_regions
from haystat.loop.shared_state import SharedState
from haystat.loop.shown import ShownLoop
from haystat.loop.stages import stage_records
from haystat.loop.state import Answer, State
from haystat.loop.status import Status, status_of
from haystat.measures.base import Measure
from haystat.pool.base import AnyPool

if TYPE_CHECKING:
    from haystat.decisions.threshold import ThresholdChoice

Oracle = Callable[[list[Any]], Iterable[Any]]
RandomState = int | np.random.Generator | None
MOST_ASKED = 1 << 20  # questions at a time, where an item may be asked about again


class Loop(ShownLoop, ABC):
    """What people do with an evaluation, wherever its journal is kept.

    `settings` are what it was made with; `pool`, `measure` (bound to the pool), `design` and `seed`
    follow from them.
    """

    pool: AnyPool
    measure: Measure
    design: Design
    seed: int
    settings: Mapping[str, Any]
    _shared: SharedState[Any]

    def tell(self, answers: Mapping[Any, Any], annotator: str | None = None) -> None:
        """Take answers to what was asked: any order, any number.

        A question is named by its Query, its key, or its item (if that was asked about once).
        With a stochastic oracle an answer may be soft: a probability of the second of two classes,
        or a sequence or mapping of probabilities. The same answer again is fine; another one is
        an error, and so is an item that was never asked about: nothing of that call is then
        recorded. What somebody skipped may be answered later.
        """
        checked_answers(answers)
        with self._shared.writing() as (state, draft):
            state.rules.check_name(annotator)
            labels: dict[int, Any] = {}
            said: set[int] = set()
            for name, answer in answers.items():
                question = state.questions.find(name)
                value = state.questions.read(name, answer)
                known = state.own(question, annotator)
                if known is not None and known.label not in (None, value):
                    raise ConflictingAnswer(
                        f"item {shown(name)!r} was answered {known.label!r}{_by(known)} and is now "
                        f"{value!r}; use correct() if the first was wrong; nothing was recorded"
                    )
                if labels.setdefault(question, value) != value:
                    raise AnswerError(f"{name!r} is answered twice; nothing was recorded")
                has_label = known is not None and known.label is not None
                # Without a name, it is enough that anybody has said so.
                if has_label and (not annotator or annotator in state.votes.get(question, {})):
                    said.add(question)
            new = {q: value for q, value in labels.items() if q not in said}
            if new:
                rows = []
                for question, value in new.items():
                    item, *key = _name(state, question).values()
                    rows.append([item, value, *key])
                draft.add("answer", {"labels": rows}, annotator)

    def skip(self, item: Any, reason: str = "", annotator: str | None = None) -> None:
        """Record that nobody can tell the label of what was asked about."""
        with self._shared.writing() as (state, draft):
            state.rules.check_name(annotator)
            question = state.questions.find(item)
            known = state.own(question, annotator)
            if known is not None and known.label is not None:
                raise ConflictingAnswer(
                    f"item {shown(item)!r} was answered {known.label!r}{_by(known)}; use "
                    "correct(item, None) to take that back; nothing was recorded"
                )
            if known is None:
                draft.add("skip", {**_name(state, question), "reason": str(reason)}, annotator)

    def correct(
        self, item: Any, label: Any, reason: str = "", annotator: str | None = None
    ) -> None:
        """Change the answer about an item; None makes it one that nobody can tell.

        The journal keeps both. Draws made before keep their weights, which rest on what was
        known then; draws made from now on know the new label. Where a question takes several
        answers, everybody corrects his or her own.
        """
        with self._shared.writing() as (state, draft):
            state.rules.check_name(annotator)
            question = state.questions.find(item)
            value = None if label is None else state.questions.read(item, label)
            known = state.own(question, annotator)
            if known is None:
                raise UnknownItem(
                    f"item {shown(item)!r} has no answer to correct; use tell() or skip()"
                )
            if known.label != value:
                data = {**_name(state, question), "label": value, "was": known.label}
                draft.add("correction", {**data, "reason": str(reason)}, annotator)

    def estimate(
        self,
        measure: Any = None,
        level: float = 0.95,
        *,
        by: str | None = None,
        pool: Any = None,
        covariance: str = "sample",
        stage_weights: str = "draws",
    ) -> Estimate:
        """The measure from all answers; another measure reuses the same labels.

        by: a column of the pool; the measure is estimated within each of its values.
        pool: the same items (ids in any order) as other systems see them, also such that did not
        exist when the labels were taken. Raises NoSupport where the draws could not reach what
        the measure needs. covariance, stage_weights: as in estimate_importance, for the designs
        that draw with replacement; the others have one of each.
        """
        options = {"covariance": covariance, "stage_weights": stage_weights}
        if (pool is not None or by is not None) and measure is None:
            measure = self.given_measure
        with self._shared.reading() as state:
            return estimate_state(state, measure, level, pool, by, **options)

    def run(
        self,
        oracle: Oracle,
        budget: int = 1000,
        batch_size: int = 50,
        until: Callable[[Estimate], bool] | None = None,
        progress: bool = False,
    ) -> Estimate:
        """Ask `oracle` until `budget` labels are in or `until(estimate)` holds.

        oracle takes a list of items and returns their labels in that order. Labels that were
        carried over from an earlier version cost nothing of the budget.
        """
        with self._shared.reading() as state:
            nameless, again = state.rules.nameless, state.ledger.soft
        if not nameless:
            raise BadOption("run() asks one nameless oracle; use ask() and tell(…, annotator=…)")
        for what, given in (("oracle", oracle), ("until", until)):
            if not callable(given) and (given is not None or what == "oracle"):
                raise BadOption(f"{what} is {brief(given)}; give a function")
        checked_integer("budget", budget, smallest=0)
        checked_integer("batch_size", batch_size, smallest=1)
        if budget > self.pool.size and not again:
            raise BudgetError(
                f"a budget of {budget} labels, but the pool has {self.pool.size} items; "
                f"give at most {self.pool.size}"
            )
        already = self.n_labels - self.n_carried
        with progress_bar("labels", budget, shown=progress, done=already) as advance:
            while (n_labels := self.n_labels - self.n_carried) < budget:
                queries = self.ask(min(batch_size, budget - n_labels))
                if not queries:
                    break
                self.tell(dict(zip(queries, _answers(oracle, queries), strict=True)))
                advance(len(queries))
                if until is not None and until(self.estimate()):
                    break
        return self.estimate()

    def threshold(
        self, *, system: str | None = None, level: float = 0.95, **requirement: Any
    ) -> ThresholdChoice:
        """The cut of a system's score that meets a requirement, for certain, and what it costs.

        One of precision=0.95, recall=0.9, f1="best", false_positive_rate=0.01. See
        haystat.decisions.threshold.
        """
        from haystat.decisions.threshold import choose_threshold  # seldom needed, slow to import

        with self._shared.reading() as state:
            places = places_of(state.pool, state.ledger.problem, system)

            def estimate(measure: Measure) -> Estimate:
                return estimate_state(state, measure, level)

            item, share = state.ledger.drawn_shares()
            below = labels_below(state.pool, item, share, places.cuts, system)
            return choose_threshold(estimate, places, below, system, level=level, **requirement)

    @property
    def in_use(self) -> list[InUse]:
        """Where each system's score is cut, and how many items that predicts positive."""
        if "in_use" in self.settings:  # a study knows it from its pool
            return [InUse(**one) for one in self.settings["in_use"]]
        with self._shared.reading() as state:
            return thresholds_in_use(state.pool, state.ledger.problem)

    @property
    def doubts(self) -> list[str]:
        """What looks wrong about the pool's predictions and known labels, with the remedy."""
        with self._shared.reading() as state:
            return [*pool_doubts(state.pool, state.ledger.problem), *state.known.doubts]

    def status(self) -> Status:
        """How far it is, and who did what."""
        with self._shared.reading() as state:
            return status_of(state, now_utc())

    def reading(self) -> AbstractContextManager[Any]:
        """The state as of now, for reports."""
        return self._shared.reading()

    def new_state(self) -> Any:
        """The state before the first entry."""
        return self._shared.new_state()

    @property
    def title(self) -> str:
        """What a report calls it."""
        return f"evaluation of {self.measure.name}"

    @abstractmethod
    def ask(self, n: int = 1) -> list[Any]:
        """Questions that need an answer."""

    def version_estimates(self, level: float = 0.95) -> list[tuple[str, int, Estimate]]:
        """Name, labels carried over and estimate of every version in a file, the first first."""
        return []

    @abstractmethod
    def whole_pool(self, what: str) -> AnyPool:
        """The pool with all its items, to do something that takes them; raises if it is gone."""

    @property
    @abstractmethod
    def given_measure(self) -> Measure:
        """The measure as it was given, not bound to a pool."""

    @property
    def state(self) -> Any:
        """The state as of now."""
        with self._shared.reading() as state:
            return state

    @property
    def n_labels(self) -> int:
        """Labels taken so far, skipped items left out."""
        with self._shared.reading() as state:
            return int(state.ledger.n_told)

    @property
    def n_carried(self) -> int:
        """Labels that were carried over from an earlier version."""
        with self._shared.reading() as state:
            return int(state.n_carried)

    @property
    def pending(self) -> list[Any]:
        """Questions that wait for an answer, whoever holds them."""
        with self._shared.reading() as state:
            return [state.query(question) for question in state.ledger.pending]

    def pending_for(self, annotator: str) -> list[Any]:
        """Questions that wait for an answer of this annotator."""
        with self._shared.reading() as state:
            state.rules.check_name(annotator)
            waiting = [q for q in state.ledger.pending if state.needs(q, annotator)]
            return [state.query(question) for question in waiting]

    @property
    def entries(self) -> list[Any]:
        """The whole journal."""
        return self._shared.entries()

    @property
    def answers(self) -> list[Answer]:
        """What counts as the answer to each question, in the order of their first answers."""
        with self._shared.reading() as state:
            return [answer for _, answer in state.answers()]

    @property
    def history(self) -> list[dict[str, Any]]:
        """One record a stage: draws, new labels, whether it is finished."""
        with self._shared.reading() as state:
            ledger = state.ledger
            first = len(ledger.stages) - ledger.n_stages
            return stage_records(ledger.stages, ledger.n_finished)[first:]

    def agreement(self) -> Agreement:
        """How far the answers about the same item agree, over all annotators and repeats."""
        with self._shared.reading() as state:
            return state.agreement()  # type: ignore[no-any-return]

    def drift(self, level: float = 0.95) -> Drift | None:
        """How many items have another label now, of those that were asked about again (`next`)."""
        with self._shared.reading() as state:
            return drift_of(state, checked_level(level))

    def tail(self, level: float = 0.95) -> list[dict[str, Any]]:
        """The pool along its score: items, labels, positives, and how many more there may be.

        One record for each region, from the lowest scores to the highest. Undetected positives are
        bounded by the labels of the region alone, one-sided at `level`.
        """
        with self._shared.reading() as state:
            return score_regions(state, checked_level(level))


def checked_number_of_questions(n: Any, state: State) -> int:
    """How many questions are wanted, or an error."""
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise BadOption(f"ask for a whole number of labels, at least 1, not {n!r}")
    if n > (MOST_ASKED if state.ledger.soft else state.pool.size):
        raise BudgetError(
            f"{brief(n)} labels wanted, but the pool has {state.pool.size} items; ask for fewer"
        )
    return int(n)


def seed_from(random_state: RandomState) -> int:
    """An integer seed, as scikit-learn reads `random_state`."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 1)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    raise BadOption(
        f"random_state is {brief(random_state)}; give an integer from 0, a Generator or None"
    )


def shown(name: Any) -> Any:
    """What to call a question in a message: its item."""
    return getattr(name, "item", name)


def _answers(oracle: Oracle, queries: list[Any]) -> list[Any]:
    items = [query.item for query in queries]
    given = oracle(items)
    if not is_listed(given):
        raise AnswerError(f"the oracle gave {brief(given)}; give a label for each item")
    labels = list(given)
    if len(labels) != len(items):
        raise AnswerError(f"the oracle gave {len(labels)} labels for {len(items)} items")
    return labels


def _name(state: State, question: int) -> dict[str, Any]:
    """A question as the journal names it: by its item, and by its key if that has several."""
    if not state.ledger.soft:
        return {"item": state.pool.id_of(state.ledger.item_of(question))}
    query = state.questions.query(question)
    return {"item": query.item, "key": query.key}


def _by(answer: Answer) -> str:
    return "" if answer.who is None else f" by {answer.who}"
