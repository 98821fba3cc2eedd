"""Evaluation: ask, tell, estimate, in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from haystat import designs, measures
from haystat.designs.base import Design
from haystat.errors import (
    AnswerError,
    BadOption,
    BudgetError,
    ConflictingAnswer,
    LogError,
    UnknownItem,
    UnknownLabel,
)
from haystat.estimation.census import census
from haystat.estimation.importance import estimate_importance
from haystat.estimation.result import Estimate, checked_level, undefined_estimate
from haystat.estimation.stratified import estimate_stratified
from haystat.ledger import Ledger, pose
from haystat.log import Answers, Log, Stage
from haystat.measures.base import Measure
from haystat.measures.outputs import BoolArray
from haystat.pool.memory import Pool
from haystat.progress import progress_bar
from haystat.reuse import check_reuse

RandomState = int | np.random.Generator | None
Oracle = Callable[[list[Any]], Iterable[Any]]


@dataclass(frozen=True)
class Query:
    """A question: what is this item's label? `key` names the draw that asks."""

    item: Any
    key: str


class Evaluation:
    """Estimate a measure on a pool from the answers to as few questions as possible.

    measure, design: a name or an object; `options` are those of the named design.
    oracle: "deterministic", an item has one label whoever is asked.
    random_state: an integer, a Generator, or None for a fresh seed.

    >>> import haystat as hs
    >>> pool = hs.Pool([0.1, 0.2, 0.7, 0.9], strata=2)
    >>> ev = hs.Evaluation(pool, "accuracy", "passive", random_state=0)
    >>> ev.tell({query.item: int(query.item >= 2) for query in ev.ask(2)})
    >>> ev.estimate().value
    1.0
    """

    def __init__(
        self,
        pool: Pool,
        measure: str | Measure = "f1",
        design: str | Design = "adaptive",
        *,
        oracle: str = "deterministic",
        random_state: RandomState = None,
        **options: Any,
    ) -> None:
        if oracle != "deterministic":
            raise BadOption(f"oracle is {oracle!r}; it can be 'deterministic'")
        self.pool = pool
        self.design = designs.resolve(design, **options)
        self.measure = measures.resolve(measure).bind(pool.schema)
        self.seed = seed_from(random_state)
        self._problem = pose(pool, self.measure)
        candidates = pool.candidates(self._problem.cells)
        self._ledger = Ledger(self._problem, self.design, candidates, self.seed)
        self._label_index = {label: index for index, label in enumerate(pool.classes)}
        # An object may have options that its name does not tell.
        name = measure if isinstance(measure, str) else f"{self.measure.name} (object)"
        self.log = Log(self._settings(name))

    def ask(self, n: int = 1) -> list[Query]:
        """Start a stage that needs n new labels, and return the items to label.

        Fewer are returned when the design can reach fewer items, none when there is nothing left
        to learn. Questions not yet answered stay open: see `pending`.
        """
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise BadOption(f"ask for a whole number of labels, at least 1, not {n!r}")
        if n > self.pool.size:
            raise BudgetError(f"{n} labels wanted, but the pool has {self.pool.size} items")
        stage = self._ledger.draw(int(n))
        if stage.n_new == 0:
            return []
        self._record(stage)
        return self._queries(stage, len(self._ledger.stages) - 1)

    def tell(self, answers: Mapping[Any, Any]) -> None:
        """Take the labels of items that were asked about: any order, any number.

        The same answer again is fine; another one is an error, and so is an item that was never
        asked about: nothing of that call is then recorded.
        """
        labels = {}
        for item, label in answers.items():
            index = self._asked_index(item)
            label_index = self._checked_label(item, label)
            known = self._ledger.label_of.get(index)
            if known is not None and known != label_index:
                raise ConflictingAnswer(
                    f"item {item!r} was answered {self.pool.classes[known]!r} and is now "
                    f"{label!r}; nothing was recorded"
                )
            if known is None:
                labels[index] = label_index
        if labels:
            self._record(Answers(labels))

    def estimate(
        self,
        measure: str | Measure | None = None,
        level: float = 0.95,
        *,
        covariance: str = "sample",
        stage_weights: str = "draws",
    ) -> Estimate:
        """The measure from all finished stages; another measure reuses the same labels."""
        level = checked_level(level)
        target, needed = self.measure, self._problem.losses.support
        if measure is not None:
            target = measures.resolve(measure).bind(self.pool.schema)
            check_reuse(self.pool, self._problem, self.design, target)
            needed = self.design.covers(self._problem)
        options = {"covariance": covariance, "stage_weights": stage_weights}
        return estimate_from(self.pool, self._ledger, target, needed, level, **options)

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
        if budget > self.pool.size:
            raise BudgetError(
                f"a budget of {budget} labels, but the pool has {self.pool.size} items; "
                f"give at most {self.pool.size}"
            )
        if batch_size < 1:
            raise BadOption(f"batch_size is {batch_size}; it must be at least 1")
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

    @property
    def n_labels(self) -> int:
        """Answers taken so far."""
        return len(self._ledger.label_of)

    @property
    def pending(self) -> list[Query]:
        """Questions that wait for an answer."""
        stage_of = self._ledger.stage_of
        return [Query(self.pool.id_of(i), f"{stage_of[i]}.{i}") for i in self._ledger.pending]

    @property
    def history(self) -> list[dict[str, Any]]:
        """One record a stage: draws, new labels, whether it is finished."""
        return [
            {
                "stage": number,
                "draws": int(stage.count.sum()),
                "new_labels": stage.n_new,
                "largest_weight": float(stage.weight.max()),
                "finished": number < self._ledger.n_finished,
            }
            for number, stage in enumerate(self._ledger.stages)
        ]

    def save(self, path: str | Path) -> None:
        """Write the log as JSON lines; `Evaluation.load` folds it again."""
        self.log.write(path)

    @classmethod
    def load(
        cls,
        path: str | Path,
        pool: Pool,
        measure: str | Measure | None = None,
        design: str | Design | None = None,
    ) -> Evaluation:
        """The evaluation whose log was saved, on the same pool.

        A measure or design that was given as an object must be given again.
        """
        log = Log.read(path)
        settings = log.settings
        if settings["pool"] != pool.fingerprint or settings["pool_seed"] != pool.seed:
            raise LogError(f"{path} belongs to another pool: ids, scores, strata or seed differ")
        evaluation = cls(
            pool,
            _given_or_saved("measure", measure, settings["measure"]),
            _given_or_saved("design", design, settings["design"]),
            random_state=settings["seed"],
            **({} if design is not None else settings["options"]),
        )
        for what in ("measure", "design"):
            given = evaluation.log.settings[what]
            if given != settings[what]:
                raise LogError(f"{path} was made with {what} {settings[what]!r}, not {given!r}")
        for event in log.events:
            evaluation._record(event)
        return evaluation

    def _record(self, event: Stage | Answers) -> None:
        self.log.append(event)
        self._ledger.apply(event)

    def _queries(self, stage: Stage, number: int) -> list[Query]:
        new = stage.item[: stage.n_new].tolist()
        return [Query(self.pool.id_of(index), f"{number}.{index}") for index in new]

    def _answer(self, oracle: Oracle, queries: list[Query]) -> None:
        items = [query.item for query in queries]
        labels = list(oracle(items))
        if len(labels) != len(items):
            raise AnswerError(f"the oracle gave {len(labels)} labels for {len(items)} items")
        self.tell(dict(zip(items, labels, strict=True)))

    def _asked_index(self, item: Any) -> int:
        index = self.pool.index_of(item)
        if index not in self._ledger.stage_of:
            raise UnknownItem(
                f"item {item!r} was never asked about; its label cannot be weighted. "
                "Answer only what ask() returned; nothing was recorded"
            )
        return index

    def _checked_label(self, item: Any, label: Any) -> int:
        value = label.item() if isinstance(label, np.generic) else label
        try:
            return self._label_index[value]
        except (KeyError, TypeError):
            raise UnknownLabel(
                f"label {label!r} of item {item!r} is not one of {list(self.pool.classes)}; add "
                "it to `classes` when you create the pool; nothing was recorded"
            ) from None

    def _settings(self, measure: str) -> dict[str, Any]:
        return {
            "pool": self.pool.fingerprint,
            "pool_seed": self.pool.seed,
            "size": self.pool.size,
            "measure": measure,
            "design": self.design.name,
            "options": asdict(self.design),  # type: ignore[call-overload]
            "seed": self.seed,
        }


def estimate_from(
    pool: Pool,
    ledger: Ledger,
    measure: Measure,
    needed: BoolArray,
    level: float,
    *,
    covariance: str = "sample",
    stage_weights: str = "draws",
) -> Estimate:
    """`measure` from the finished stages of a ledger; it is known once the `needed` labels are in.

    needed (K, C): cells whose items must have their label under a label of which there is a loss.
    """
    if ledger.settled(needed):
        item, label = ledger.known()
        return census(measure, pool.outputs(item), label, level, size=pool.size)
    if ledger.n_finished == 0:
        why = "no stage is finished: ask for labels and tell all of them"
        return undefined_estimate(measure.name, measure.components, measure.bounds, level, why)
    rows = ledger.rows()
    outputs = pool.outputs(rows.item)
    if ledger.design.estimator == "stratified":
        size = ledger.problem.stratum_size
        return estimate_stratified(rows, measure, outputs, level, stratum_size=size)
    options = {"covariance": covariance, "stage_weights": stage_weights}
    return estimate_importance(rows, measure, outputs, level, **options)


def seed_from(random_state: RandomState) -> int:
    """An integer seed, as scikit-learn reads `random_state`."""
    if random_state is None:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 1)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if isinstance(random_state, int | np.integer) and random_state >= 0:
        return int(random_state)
    raise BadOption(
        f"random_state is {random_state!r}; give an integer from 0, a Generator or None"
    )


def _given_or_saved(what: str, given: Any, saved: str) -> Any:
    table: Mapping[str, Any] = measures.MEASURES if what == "measure" else designs.DESIGNS
    if given is None and saved not in table:
        raise LogError(f"the log's {what} {saved!r} was an object; give it again as `{what}=`")
    return saved if given is None else given
