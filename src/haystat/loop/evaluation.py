"""Evaluation: ask, tell, estimate, in memory."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from haystat import designs, measures
from haystat.core.arguments import checked_choice
from haystat.decisions.doubts import PoolWarning
from haystat.designs.base import Design
from haystat.errors import LogError
from haystat.loop.annotators import checked_rules
from haystat.loop.journal import MemoryStore, now_utc
from haystat.loop.journal_file import read_log, write_log
from haystat.loop.known_labels import KnownLabels
from haystat.loop.loop import Loop, RandomState, checked_number_of_questions, seed_from
from haystat.loop.questions import Query
from haystat.loop.refits import KEPT_LEVELS, check_fitted, is_due
from haystat.loop.settings import decode_design, decode_measure, decode_rules, encode_settings
from haystat.loop.shared_state import SharedState
from haystat.loop.state import LEDGERS, State
from haystat.loop.versions import extended_pool, next_version, version_pool
from haystat.measures.base import Measure
from haystat.pool.base import AnyPool, checked_pool
from haystat.pool.memory import Pool
from haystat.pool.version import MOST_LEVELS


class Evaluation(Loop):
    """Estimate a measure on a pool from the answers to as few questions as possible.

    measure, design: a name or an object; `options` are those of the named design. Without a name
        it is "assisted" for classes, and "adaptive" for a stochastic oracle and for labels that
        are numbers.
    oracle: "deterministic", an item has one label whoever is asked; or "stochastic", answers to
        the same question may differ, so that every draw is asked.
    random_state: an integer, a Generator, or None for a fresh seed.
    annotators, answers_per_item, disagreement: as in haystat.loop.annotators.Rules; by default one
        answer settles a question and nobody needs a name.
    known: labels that people already have, {item: label}, hs.Known objects or a table; their items
        are never asked about. What they are used for depends on how they came: see hs.Known.

    >>> import haystat as hs
    >>> pool = hs.Pool([0.1, 0.2, 0.7, 0.9], strata=2)
    >>> ev = hs.Evaluation(pool, "accuracy", "passive", random_state=0)
    >>> ev.tell({query.item: int(query.item >= 2) for query in ev.ask(2)})
    >>> ev.estimate().value
    1.0
    """

    def __init__(
        self,
        pool: AnyPool,
        measure: str | Measure | Sequence[str | Measure] = "f1",
        design: str | Design | None = None,
        *,
        oracle: str = "deterministic",
        random_state: RandomState = None,
        annotators: Sequence[str] | None = None,
        answers_per_item: int = 1,
        disagreement: str = "majority",
        known: Any = None,
        **options: Any,
    ) -> None:
        checked_pool(pool)
        checked_choice("oracle", oracle, LEDGERS)
        rules = checked_rules(annotators, answers_per_item, disagreement, oracle, pool.schema)
        self.seed = seed_from(random_state)
        named = designs.default_name(pool.schema, oracle) if design is None else design
        self.design = designs.resolve(named, **options)
        check_fitted(pool, self.design)
        labels = KnownLabels.given(known, pool, self.design, oracle)
        self.pool = pool = pool.ordered(self.seed).with_known(labels.parts)
        self._given_measure = measures.resolve(measure)
        self.measure = measures.bound(self._given_measure, pool.schema)
        whole = {"pool": pool.fingerprint, "pool_seed": pool.seed, "size": pool.size}
        self.settings = {
            **encode_settings(measure, self.design, oracle, self.seed, rules),
            **whole,
            **labels.encode(),
        }
        self._store = MemoryStore()
        self._handed_out: set[int] = set()  # of what a version asks about again

        def new_state() -> State:
            return State(self.pool, self.measure, self.design, self.seed, oracle, rules, labels)

        self._shared = SharedState(self._store, new_state, now_utc)
        for doubt in self.doubts:
            warnings.warn(doubt, PoolWarning, stacklevel=2)

    def ask(self, n: int = 1) -> list[Query]:
        """Start a stage that needs n new answers, and return the questions.

        Fewer are returned when the design can reach fewer items, none when there is nothing left
        to learn. Questions not yet answered stay open: see `pending`. What a version asks about
        again (`next`) comes first. Signals that are fitted to labels are fitted anew before it, at
        200 labels, 600, 1,800 … as soon as none is open.
        """
        with self._shared.reading() as state:
            due = is_due(self.pool, state, self.settings)
        if due:
            self._fit_signals()
        with self._shared.writing() as (state, draft):
            n = checked_number_of_questions(n, state)
            waiting = [q for q in state.asked_again if q not in state.ledger.label_of]
            asked = [q for q in waiting if q not in self._handed_out][:n]
            before, missing = len(state.ledger.stages), n - len(asked)
            stage = state.ledger.draw(missing) if missing else None
            if stage is not None and stage.n_new:
                draft.add("stage", state.stage_data(stage, missing))
        self._handed_out.update(asked)
        if len(state.ledger.stages) > before:
            asked += state.ledger.questions_of(before)
        return [state.query(question) for question in asked]

    def whole_pool(self, what: str) -> AnyPool:
        """The pool, which is in memory."""
        return self.pool

    @property
    def given_measure(self) -> Measure:
        return self._given_measure

    def next(
        self,
        pool: Pool,
        name: str | None = None,
        *,
        measure: Any = None,
        max_age: Any = None,
        ask_again: float = 0.0,
    ) -> Evaluation:
        """The evaluation of the next version: a new model, new items, items gone.

        Items are the same if their ids are. Every label of an item that is still there counts with
        the probability that its item had to be drawn, so only the difference is asked about.

        measure: another one than this evaluation's. max_age: leave out labels that are older, a
        timedelta or a text such as "90d". ask_again: a share of the labels, such as 0.05, whose
        items are asked about anew; `drift` and the estimate tell how many have changed.

        >>> import haystat as hs
        >>> pool = hs.Pool([0.1, 0.2, 0.3, 0.7, 0.8, 0.9], strata=2)
        >>> ev = hs.Evaluation(pool, "accuracy", random_state=0)
        >>> ev.tell({query.item: int(query.item >= 3) for query in ev.ask(4)})
        >>> later = ev.next(hs.Pool([0.1, 0.2, 0.6, 0.7, 0.8, 0.9], strata=2))
        >>> later.n_carried
        4
        """
        return self._next(pool, name, measure, max_age, MOST_LEVELS, ask_again)

    def _next(
        self,
        pool: Any,
        name: str | None,
        measure: Any,
        max_age: Any,
        most_levels: int,
        ask_again: float = 0.0,
    ) -> Evaluation:
        with self._shared.reading() as state:
            old: Any = self.pool
            given = (state, old, self.settings, pool, name, max_age, now_utc())
            version = next_version(*given, most_levels, ask_again)
        evaluation = Evaluation(
            version.pool,
            self._given_measure if measure is None else measure,
            self.design,
            random_state=version.seed,
            **vars(decode_rules(self.settings)),
        )
        evaluation.settings = {**evaluation.settings, **version.settings()}
        with evaluation._shared.writing() as (after, draft):
            draft.add("carried", version.entry(after.ledger.problem.cells))
        return evaluation

    def extend(
        self,
        rows: AnyPool,
        name: str | None = None,
        *,
        window: tuple[str, Any] | None = None,
        measure: Any = None,
        max_age: Any = None,
        ask_again: float = 0.0,
        **options: Any,
    ) -> Evaluation:
        """The next version, of this evaluation's items and further ones: a pool of new rows.

        Both pools are in memory, or both behind an engine (hs.open_pool).

        window: a column of the pool and a length, such as ("day", 30), to leave out items whose
        column is that far below the largest. options: those of hs.Pool, or of hs.open_pool; the
        rest as in `next`.

        >>> import haystat as hs
        >>> pool = hs.Pool([0.1, 0.2, 0.7, 0.8], strata=2, columns={"day": [1, 1, 2, 2]})
        >>> ev = hs.Evaluation(pool, "accuracy", random_state=0)
        >>> rows = hs.Pool([0.3, 0.9], ids=[4, 5], strata=2, columns={"day": [3, 3]})
        >>> len(ev.extend(rows).pool), len(ev.extend(rows, window=("day", 2)).pool)
        (6, 4)
        """
        pool = extended_pool(self.pool, rows, window, options)
        return self.next(pool, name, measure=measure, max_age=max_age, ask_again=ask_again)

    def _fit_signals(self) -> None:
        """Go on as the next version of the same pool, its signals fitted to the labels so far."""
        n_own = self.n_labels - self.n_carried
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PoolWarning)  # said at the beginning
            later = self._next(self.pool, f"{self.n_labels} labels", None, None, KEPT_LEVELS)
        later.settings = {**later.settings, "fitted": {"labels": self.n_labels, "own": n_own}}
        self.__dict__.update(later.__dict__)

    @property
    def n_carried(self) -> int:
        """Labels that were carried over from an earlier version."""
        return super().n_carried - int(self.settings.get("fitted", {}).get("own", 0))

    def save(self, path: str | Path) -> None:
        """Write the journal as JSON lines; `Evaluation.load` folds it again."""
        write_log(path, self.settings, self._store.journal.lines)

    @classmethod
    def load(
        cls,
        path: str | Path,
        pool: AnyPool,
        measure: Any = None,
        design: str | Design | None = None,
    ) -> Evaluation:
        """The evaluation whose journal was saved, on the same pool.

        A measure or design that was given as an object must be given again.
        """
        settings, lines = read_log(path)
        checked_pool(pool)
        try:
            pool = version_pool(settings, pool).ordered(settings["pool_seed"])
            same = settings["pool"] == pool.fingerprint and settings["pool_seed"] == pool.seed
            if not same:
                raise LogError(
                    f"{path} belongs to another pool: ids, scores, strata or seed differ"
                )
            decode_measure(settings["measure"], measure)
            rules = decode_rules(settings)
            evaluation = cls(
                pool,
                decode_measure(settings["measure"]) if measure is None else measure,
                decode_design(
                    settings["design"], None if design is None else designs.resolve(design)
                ),
                oracle=settings["oracle"],
                random_state=settings["seed"],
                known=KnownLabels.decode(settings).parts,
                **vars(rules),
            )
        except (KeyError, TypeError) as error:
            raise LogError(f"{path} is damaged: its settings make no sense ({error!r})") from None
        evaluation.settings = settings
        evaluation._store.journal.lines.extend(lines)
        with evaluation._shared.reading():
            return evaluation
