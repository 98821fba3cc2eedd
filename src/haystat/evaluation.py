"""Evaluation: ask, tell, estimate, in memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from haystat import designs, measures
from haystat.annotators import Agreement, Panel, Rules, agreement
from haystat.arguments import brief, checked_choice, checked_integer, is_listed, several_names
from haystat.assistance import assisted_from, waiting
from haystat.decisions.doubts import PoolWarning, pool_doubts
from haystat.decisions.places import InUse, places_of, thresholds_in_use
from haystat.decisions.threshold import ThresholdChoice, choose_threshold
from haystat.designs.assisted import Assisted
from haystat.designs.base import Design
from haystat.errors import AnswerError, BadOption, BudgetError, LogError
from haystat.estimation.census import census
from haystat.estimation.importance import check_options, estimate_importance
from haystat.estimation.result import Estimate, checked_level, undefined_estimate
from haystat.estimation.stratified import estimate_stratified
from haystat.ledger import Ledger, pose
from haystat.ledger_stochastic import StochasticLedger
from haystat.log import Answers, Label, Log, Stage, stage_records
from haystat.measures.base import Measure
from haystat.measures.outputs import BoolArray
from haystat.pool.base import AnyPool, NamedPool, checked_pool
from haystat.pool.memory import Pool
from haystat.progress import progress_bar
from haystat.questions import Query, Questions, checked_answers
from haystat.reuse import SameItems, check_candidates, check_reuse, same_items
from haystat.tail import label_counts, tail_report

RandomState = int | np.random.Generator | None
Oracle = Callable[[list[Any]], Iterable[Any]]
MOST_ASKED = 1 << 20  # questions at a time, where an item may be asked about again
#: what an oracle is like -> the ledger of its answers
LEDGERS: dict[str, type[Ledger] | type[StochasticLedger]] = {
    "deterministic": Ledger,
    "stochastic": StochasticLedger,
}


class Evaluation:
    """Estimate a measure on a pool from the answers to as few questions as possible.

    measure, design: a name or an object; `options` are those of the named design. Without a name
        it is "assisted" for two classes, and "adaptive" for more, for a stochastic oracle and for
        labels that are numbers.
    oracle: "deterministic", an item has one label whoever is asked; or "stochastic", answers to
        the same question may differ, so that every draw is asked.
    random_state: an integer, a Generator, or None for a fresh seed.
    annotators, answers_per_item, disagreement: as in haystat.annotators.Rules; by default one
        answer settles a question and nobody needs a name.

    >>> import haystat as hs
    >>> pool = hs.Pool([0.1, 0.2, 0.7, 0.9], strata=2)
    >>> ev = hs.Evaluation(pool, "accuracy", "passive", random_state=0)
    >>> ev.tell({query.item: int(query.item >= 2) for query in ev.ask(2)})
    >>> ev.estimate().value
    1.0
    """

    def __init__(
        self,
        pool: NamedPool,
        measure: str | Measure = "f1",
        design: str | Design | None = None,
        *,
        oracle: str = "deterministic",
        random_state: RandomState = None,
        annotators: Sequence[str] | None = None,
        answers_per_item: int = 1,
        disagreement: str = "majority",
        **options: Any,
    ) -> None:
        checked_pool(pool)
        checked_choice("oracle", oracle, LEDGERS)
        if oracle == "stochastic" and answers_per_item != 1:
            raise BadOption(
                "with oracle='stochastic' every answer counts, so a question takes one; leave "
                "answers_per_item at 1, or use oracle='deterministic'"
            )
        names = None if annotators is None else several_names("annotators", annotators)
        rules = Rules(names, answers_per_item, disagreement)
        self.seed = seed_from(random_state)
        self.pool = pool = pool.ordered(self.seed)
        named = designs.default_name(pool.schema, oracle) if design is None else design
        self.design = designs.resolve(named, **options)
        self._given_measure = measures.resolve(measure)
        self.measure = self._given_measure.bind(pool.schema)
        self._problem = pose(pool, self.measure, oracle)
        for doubt in pool_doubts(pool, self._problem):
            warnings.warn(doubt, PoolWarning, stacklevel=2)
        candidates = pool.candidates(self._problem.cells)
        self._ledger = LEDGERS[oracle](self._problem, self.design, candidates, self.seed)
        self._questions = Questions(pool, self._ledger)
        self._panel = Panel(rules, self._questions.show)
        # An object may have options that its name does not tell.
        name = measure if isinstance(measure, str) else f"{self.measure.name} (object)"
        self.log = Log(self._settings(name))

    def ask(self, n: int = 1) -> list[Query]:
        """Start a stage that needs n new answers, and return the questions.

        Fewer are returned when the design can reach fewer items, none when there is nothing left
        to learn. Questions not yet answered stay open: see `pending`.
        """
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise BadOption(f"ask for a whole number of labels, at least 1, not {n!r}")
        if n > (MOST_ASKED if self._asks_again else self.pool.size):
            raise BudgetError(
                f"{brief(n)} labels wanted, but the pool has {self.pool.size} items; ask for fewer"
            )
        stage = self._ledger.draw(int(n))
        if stage.n_new == 0:
            return []
        self._record(stage)
        number = len(self._ledger.stages) - 1
        return [self._questions.query(question) for question in self._questions.of_stage(number)]

    def tell(self, answers: Mapping[Any, Any], annotator: str | None = None) -> None:
        """Take answers to what was asked: any order, any number.

        A question is named by its Query, its key, or its item (if that was asked about once).
        With a stochastic oracle an answer may be soft: a probability of the second of two classes,
        or a sequence or mapping of probabilities. The same answer again is fine; another one is
        an error, and so is an item that was never asked about: nothing of that call is then
        recorded.
        """
        self._panel.rules.check_name(annotator)
        labels: dict[int, Label] = {}
        checked_answers(answers)
        for name, answer in answers.items():
            question = self._questions.find(name)
            label = self._questions.read(name, answer)
            self._panel.check(question, label, annotator, name)
            if labels.setdefault(question, label) != label:
                raise AnswerError(f"{name!r} is answered twice; nothing was recorded")
        labels = {q: a for q, a in labels.items() if not self._panel.has_voted(q, annotator)}
        if labels:
            self._record(Answers(labels, annotator))

    def estimate(
        self,
        measure: str | Measure | None = None,
        level: float = 0.95,
        *,
        pool: Pool | None = None,
        covariance: str = "sample",
        stage_weights: str = "draws",
    ) -> Estimate:
        """The measure from all answers; another measure reuses the same labels.

        pool: the same items (ids in any order) as other systems see them, also such that did not
        exist when the labels were taken. Raises NoSupport where the draws could not reach what
        the measure needs. covariance, stage_weights: as in estimate_importance, for the designs
        that draw with replacement; the others have one of each.
        """
        level = checked_level(level)
        options = {"covariance": covariance, "stage_weights": stage_weights}
        if measure is None and pool is None:
            needed = self._problem.losses.support
            return estimate_from(self.pool, self._ledger, self.measure, needed, level, **options)
        target = self._given_measure if measure is None else measure
        view = self._view(pool)
        seen = view.pool if isinstance(view, SameItems) else view
        bound = measures.resolve(target).bind(seen.schema)
        if isinstance(view, SameItems):
            check_reuse(view.pool, self._problem, self.design, bound, view.place)
        else:
            check_candidates(view, self._problem, self.design, bound)
        needed = self.design.covers(self._problem)
        return estimate_from(view, self._ledger, bound, needed, level, **options)

    def run(
        self,
        oracle: Oracle,
        budget: int = 1000,
        batch_size: int = 50,
        until: Callable[[Estimate], bool] | None = None,
        progress: bool = False,
    ) -> Estimate:
        """Ask `oracle` until `budget` labels are in or `until(estimate)` holds.

        oracle takes a list of items and returns their labels in that order.
        """
        if self._panel.rules.answers_per_item > 1 or self._panel.rules.annotators is not None:
            raise BadOption("run() asks one nameless oracle; use ask() and tell(…, annotator=…)")
        for what, given in (("oracle", oracle), ("until", until)):
            if not callable(given) and (given is not None or what == "oracle"):
                raise BadOption(f"{what} is {brief(given)}; give a function")
        checked_integer("budget", budget, smallest=0)
        checked_integer("batch_size", batch_size, smallest=1)
        if budget > self.pool.size and not self._asks_again:
            raise BudgetError(
                f"a budget of {budget} labels, but the pool has {self.pool.size} items; "
                f"give at most {self.pool.size}"
            )
        with progress_bar("labels", budget, shown=progress) as advance:
            while self.n_labels < budget:
                queries = self.ask(min(batch_size, budget - self.n_labels))
                if not queries:
                    break
                self._answer(oracle, queries)
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
        places = places_of(self.pool, self._problem, system)

        def estimate(measure: Measure) -> Estimate:
            return self.estimate(measure, level)

        return choose_threshold(estimate, places, system, level=level, **requirement)

    @property
    def in_use(self) -> list[InUse]:
        """Where each system's score is cut, and how many items that predicts positive."""
        return thresholds_in_use(self.pool, self._problem)

    @property
    def n_labels(self) -> int:
        """Questions answered so far."""
        return len(self._ledger.label_of)

    @property
    def pending(self) -> list[Query]:
        """Questions that wait for an answer."""
        return [self._questions.query(question) for question in self._ledger.pending]

    def pending_for(self, annotator: str) -> list[Query]:
        """Questions that wait for an answer of this annotator."""
        self._panel.rules.check_name(annotator)
        waiting = [q for q in self._ledger.pending if self._panel.needs(q, annotator)]
        return [self._questions.query(question) for question in waiting]

    def agreement(self) -> Agreement:
        """How far the answers about the same item agree, over all annotators and repeats."""
        return agreement(
            (self._questions.item_of(question), who, label)
            for question, votes in self._panel.votes.items()
            for who, label in votes.items()
        )

    def tail(self, level: float = 0.95) -> list[dict[str, Any]]:
        """The pool along its score: items, labels, positives, and how many more may hide.

        One record for each region, from the lowest scores to the highest. What may hide is bounded
        by the labels of the region alone, one-sided at `level`.
        """
        if not isinstance(self._ledger, Ledger) or self._problem.numeric:
            raise BadOption("the tail report is for items that have one label each, a class")
        example = self._problem.cells.example.scores[:, 0]
        ends = np.stack([example, example], axis=1)
        counts = label_counts(self._ledger)
        return tail_report(self._problem, counts, ends, self.pool.classes, checked_level(level))

    @property
    def history(self) -> list[dict[str, Any]]:
        """One record a stage: draws, new labels, whether it is finished."""
        return stage_records(self._ledger.stages, self._ledger.n_finished)

    def save(self, path: str | Path) -> None:
        """Write the log as JSON lines; `Evaluation.load` folds it again."""
        self.log.write(path)

    @classmethod
    def load(
        cls,
        path: str | Path,
        pool: NamedPool,
        measure: str | Measure | None = None,
        design: str | Design | None = None,
    ) -> Evaluation:
        """The evaluation whose log was saved, on the same pool.

        A measure or design that was given as an object must be given again.
        """
        log = Log.read(path)
        checked_pool(pool)
        settings = log.settings
        pool = pool.ordered(settings["pool_seed"])
        if settings["pool"] != pool.fingerprint or settings["pool_seed"] != pool.seed:
            raise LogError(f"{path} belongs to another pool: ids, scores, strata or seed differ")
        evaluation = cls(
            pool,
            _saved_measure(settings) if measure is None else measure,
            _saved_design(settings) if design is None else design,
            oracle=settings.get("oracle", "deterministic"),
            random_state=settings["seed"],
            **settings.get("annotation", {}),
        )
        for what in ("measure", "design"):
            given = evaluation.log.settings[what]
            if given != settings[what]:
                raise LogError(f"{path} was made with {what} {settings[what]!r}, not {given!r}")
        for event in log.events:
            evaluation._record(event)
        return evaluation

    def _view(self, pool: Pool | None) -> SameItems | NamedPool:
        """The pool for another measure: this one, or another of the same items."""
        if isinstance(self.pool, Pool):
            return same_items(self.pool, self.pool if pool is None else pool)
        if pool is not None and pool is not self.pool:
            raise BadOption(
                "systems that came later are compared on pools in memory; open all systems' "
                "scores as one pool: hs.open_pool(…, score=(…, …))"
            )
        return self.pool

    @property
    def _asks_again(self) -> bool:
        return self._problem.oracle == "stochastic"

    def _record(self, event: Stage | Answers) -> None:
        self.log.append(event)
        if isinstance(event, Answers):
            event = Answers(self._panel.take(event))
        self._ledger.apply(event)

    def _answer(self, oracle: Oracle, queries: list[Query]) -> None:
        items = [query.item for query in queries]
        given = oracle(items)
        if not is_listed(given):
            raise AnswerError(f"the oracle gave {brief(given)}; give a label for each item")
        labels = list(given)
        if len(labels) != len(items):
            raise AnswerError(f"the oracle gave {len(labels)} labels for {len(items)} items")
        self.tell(dict(zip(queries, labels, strict=True)))

    def _settings(self, measure: str) -> dict[str, Any]:
        return {
            "pool": self.pool.fingerprint,
            "pool_seed": self.pool.seed,
            "size": self.pool.size,
            "measure": measure,
            "design": self.design.name,
            "options": asdict(self.design),  # type: ignore[call-overload]
            "seed": self.seed,
            "oracle": self._problem.oracle,
            "annotation": asdict(self._panel.rules),
        }


def estimate_from(
    pool: AnyPool | SameItems,
    ledger: Ledger | StochasticLedger,
    measure: Measure,
    needed: BoolArray,
    level: float,
    *,
    covariance: str = "sample",
    stage_weights: str = "draws",
) -> Estimate:
    """`measure` from the answers of a ledger; it is known once the `needed` labels are in.

    needed (K, C): cells whose items must have their label under a label of which there is a loss.
    """
    check_options(covariance, stage_weights)
    if ledger.settled(needed):
        item, label = ledger.known()
        return census(measure, pool.outputs(item), label, level, size=pool.size)
    if isinstance(ledger.design, Assisted) and isinstance(ledger, Ledger) and ledger.any_label:
        return assisted_from(pool, ledger, measure, level)
    rows = ledger.rows()
    if len(rows.item) == 0:
        why = "no question is answered yet: ask for labels and tell them"
        return undefined_estimate(measure.name, measure.components, measure.bounds, level, why)
    if isinstance(ledger, StochasticLedger):
        measure = ledger.measure_of(measure)
    outputs = pool.outputs(rows.item)
    if ledger.design.estimator == "stratified":
        size = ledger.problem.stratum_size
        estimate = estimate_stratified(rows, measure, outputs, level, stratum_size=size)
    else:
        options = {"covariance": covariance, "stage_weights": stage_weights}
        estimate = estimate_importance(rows, measure, outputs, level, **options)
    doubts = waiting(ledger, ledger.n_alone)
    return replace(estimate, warnings=(*estimate.warnings, *doubts)) if doubts else estimate


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


def _saved_measure(settings: Mapping[str, Any]) -> str:
    _check_named("measure", settings, measures.MEASURES)
    return str(settings["measure"])


def _saved_design(settings: Mapping[str, Any]) -> Design:
    _check_named("design", settings, designs.DESIGNS)
    return designs.recorded(settings["design"], settings["options"])


def _check_named(what: str, settings: Mapping[str, Any], table: Mapping[str, Any]) -> None:
    if settings[what] not in table:
        raise LogError(f"the log's {what} {settings[what]!r} was an object; give it again: {what}=")
