"""Study: ask, tell, estimate, in one file that several people and processes share."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self

from haystat import designs, measures
from haystat.annotators import checked_name
from haystat.arguments import (
    brief,
    checked_choice,
    checked_integer,
    checked_path,
    checked_text,
    is_listed,
)
from haystat.decisions.doubts import PoolWarning, pool_doubts
from haystat.decisions.places import InUse, places_of, thresholds_in_use
from haystat.decisions.threshold import ThresholdChoice, choose_threshold
from haystat.designs.base import Design
from haystat.disk import readable, writable
from haystat.errors import (
    BadOption,
    BudgetError,
    ConflictingAnswer,
    StudyError,
    UnknownItem,
)
from haystat.estimation.result import Estimate
from haystat.evaluation import RandomState, seed_from
from haystat.ledger import pose
from haystat.log import Stage
from haystat.measures.base import Measure
from haystat.pool.base import AnyPool, checked_pool
from haystat.questions import checked_answers
from haystat.study import journal
from haystat.study.codec import decode_design, decode_measure, encode_design, encode_measure
from haystat.study.damage import damage_told
from haystat.study.draft import Draft
from haystat.study.estimate import estimate_fold
from haystat.study.fold import Answer, Fold
from haystat.study.journal import Entry
from haystat.study.live import Live
from haystat.study.questions import Question, seconds_of
from haystat.study.sketch import CellDry, SketchPool, first_shares, write_sketch
from haystat.study.source import PoolFile, circumstances, records_of
from haystat.study.status import Status, history_of, status_of
from haystat.study.store import Store
from haystat.study.supply import Supply

CANDIDATES = 100_000  # items that a study file keeps ready

Clock = Callable[[], datetime]


def now_utc() -> datetime:
    """The time, as leases and the journal see it."""
    return datetime.now(UTC)


class Study:
    """An evaluation in one file: durable, shared, and open to audit.

    Make one with `Study.create`, come back to it with `Study.open`. Ask, tell and estimate give
    what `hs.Evaluation` gives for the same seed and answers. Any number of processes may use one
    file at a time; a study object may be shared by threads.

    >>> import tempfile, haystat as hs
    >>> path = tempfile.mkdtemp() + "/cats.haystat"
    >>> with hs.Study.create(path, hs.Pool([0.1, 0.2, 0.7, 0.9], strata=2), random_state=0) as st:
    ...     st.tell({question.item: int(question.item >= 2) for question in st.ask(4)})
    >>> with hs.Study.open(path) as st:
    ...     st.estimate().value
    1.0
    """

    def __init__(
        self,
        path: str | Path,
        *,
        pool: AnyPool | PoolFile | None = None,
        show: Mapping[str, Any] | None = None,
        measure: Any = None,
        design: Design | None = None,
        read_only: bool = False,
        clock: Clock = now_utc,
    ) -> None:
        self.path = checked_path("the path of a study", path)
        with readable(self.path), damage_told(self.path):
            self._store = Store(path, read_only=read_only)
        self._clock = clock
        try:
            with damage_told(self.path):
                self._read(pool, show, measure, design)
        except BaseException:
            self._store.close()
            raise

    def _read(self, pool: Any, show: Any, measure: Any, design: Any) -> None:
        """What the file says, and whether it can be understood."""
        with self._store.read() as connection:
            created = next(journal.entries(connection), None)
        if created is None or created.kind != "created":
            raise StudyError(f"{self.path} has no beginning; run haystat verify, or use a copy")
        journal.check_link(None, created)
        self.settings: dict[str, Any] = created.data
        self.pool = SketchPool(self._store.connection)
        self.measure = decode_measure(self.settings["measure"], measure).bind(self.pool.schema)
        self.design = decode_design(self.settings["design"], design)
        self.seed: int = self.settings["seed"]
        source = pool if pool is not None else PoolFile.recorded(self.settings["source"], self.path)
        self._supply = Supply(self.path, self.pool, source, show)
        self._live = Live(self._store, self.new_fold, self._clock)
        with self._live.reading():
            pass  # a damaged journal is refused now, not at the first question

    @classmethod
    def create(
        cls,
        path: str | Path,
        pool: AnyPool | PoolFile,
        measure: Any = "f1",
        design: str | Design | None = None,
        *,
        oracle: str = "deterministic",
        random_state: RandomState = None,
        show: Mapping[str, Any] | None = None,
        candidates: int = CANDIDATES,
        clock: Clock = now_utc,
        **options: Any,
    ) -> Study:
        """A new study of a pool; `measure`, `design`, `random_state` as in hs.Evaluation.

        pool: a pool, or a PoolFile, which the study can read again when it needs more items.
        show: columns for the person who labels, {name: one value an item}.
        candidates: about how many items the file keeps ready, so that it can do without the pool.
        """
        path = checked_path("the path of a study", path)
        checked_choice("oracle of a study", oracle, ["deterministic"])
        candidates = checked_integer("candidates", candidates, smallest=1)
        if not isinstance(pool, PoolFile):
            checked_pool(pool)
        if isinstance(pool, PoolFile) and show is not None:
            raise BadOption("a PoolFile names its own columns to show: PoolFile(…, show=(…,))")
        source = pool if isinstance(pool, PoolFile) else None
        whole, records = pool.read() if isinstance(pool, PoolFile) else (pool, None)
        records = records or records_of(whole, show)
        if whole.schema.numeric:
            raise BadOption("a study takes labels that are classes; use hs.Evaluation for numbers")
        named = designs.default_name(whole.schema, oracle) if design is None else design
        chosen = designs.resolve(named, **options)
        bound = measures.resolve(measure).bind(whole.schema)
        seed = seed_from(random_state)
        whole = whole.ordered(seed)
        problem = pose(whole, bound)
        for doubt in pool_doubts(whole, problem):
            warnings.warn(doubt, PoolWarning, stacklevel=2)
        share = first_shares(problem, chosen, seed)
        settings = {"measure": encode_measure(measure), "design": encode_design(chosen)}
        settings |= {"oracle": oracle, "seed": seed, **circumstances(whole, source)}
        settings["in_use"] = [asdict(one) for one in thresholds_in_use(whole, problem)]
        with writable(path), Store.create(path) as connection:
            digest = write_sketch(connection, whole, problem, share, candidates, records)
            settings["sketch"] = digest
            journal.write(connection, journal.next_entry(None, "created", settings, None, clock()))
        kept = source or whole
        return cls(path, pool=kept, show=show, measure=measure, design=chosen, clock=clock)

    @classmethod
    def open(cls, path: str | Path, **options: Any) -> Study:
        """The study in a file; only one that is damaged, too new or no study is refused.

        pool, show: what it was made from, in case the file runs out of candidates. measure,
        design: again, if they were objects of your own. read_only: do not write.
        """
        return cls(path, **options)

    def ask(
        self,
        n: int = 1,
        annotator: str | None = None,
        lease: str | float | timedelta = "1h",
        stage: int = 1,
    ) -> list[Question]:
        """n questions that nobody else holds; they are the asker's until the lease is over.

        A named annotator gets those first that he or she holds already, so that asking again
        after a crash loses nothing. Then come questions that were given back or whose lease has
        run out, then a new stage of draws, of at least `stage` questions: those beyond n wait for
        the next who asks. Fewer are returned when there is less to learn.
        """
        n, stage = (checked_integer("the number of labels", k, smallest=1) for k in (n, stage))
        if n > self.pool.size:
            raise BudgetError(f"{n} labels wanted, but the pool has {self.pool.size} items")
        length = timedelta(seconds=seconds_of(lease))
        annotator = checked_name(annotator)
        with self._live.writing() as (fold, draft):
            now = draft.now
            held = fold.held_by(annotator, now)[:n] if annotator is not None else []
            free = [i for i in fold.open_questions() if fold.is_free(i, now)][: n - len(held)]
            chosen = held + free
            missing = int(n) - len(chosen)
            if missing:
                size = min(max(missing, int(stage)), self.pool.size)
                chosen += self._new_stage(fold, draft, size)[:missing]
            if chosen:
                items = [self.pool.id_of(index) for index in chosen]
                until = journal.stamp(now + length)
                draft.add("lease", {"items": items, "until": until}, annotator)
        with self._live.reading() as fold:
            return [fold.question(index) for index in chosen]

    def tell(self, answers: Mapping[Any, Any], annotator: str | None = None) -> None:
        """Take the labels of items that were asked about: any order, any number, from anybody.

        The same answer again is fine; another one is an error, and so is an item that was never
        asked about: nothing of that call is then recorded. A skipped item may be answered later.
        """
        checked_answers(answers)
        annotator = checked_name(annotator)
        with self._live.writing() as (fold, draft):
            labels = []
            for item, label in answers.items():
                index, value = fold.find(item), fold.checked_label(item, label)
                known = fold.answers.get(index)
                if known is None or known.label is None:
                    labels.append([self.pool.id_of(index), value])
                elif known.label != value:
                    raise ConflictingAnswer(
                        f"item {item!r} was answered {known.label!r}{_by(known)} and is now "
                        f"{label!r}; use correct() if the first was wrong; nothing was recorded"
                    )
            if labels:
                draft.add("answer", {"labels": labels}, annotator)

    def skip(self, item: Any, reason: str = "", annotator: str | None = None) -> None:
        """Record that nobody can tell the label of an item that was asked about."""
        annotator = checked_name(annotator)
        with self._live.writing() as (fold, draft):
            index = fold.find(item)
            known = fold.answers.get(index)
            if known is not None and known.label is not None:
                raise ConflictingAnswer(
                    f"item {item!r} was answered {known.label!r}{_by(known)}; use "
                    "correct(item, None) to take that back; nothing was recorded"
                )
            if known is None:
                data = {"item": self.pool.id_of(index), "reason": str(reason)}
                draft.add("skip", data, annotator)

    def correct(
        self, item: Any, label: Any, reason: str = "", annotator: str | None = None
    ) -> None:
        """Change the answer about an item; None makes it one that nobody can tell.

        The journal keeps both. Draws made before keep their weights, which rest on what was
        known then; draws made from now on know the new label.
        """
        annotator = checked_name(annotator)
        with self._live.writing() as (fold, draft):
            index = fold.find(item)
            value = None if label is None else fold.checked_label(item, label)
            known = fold.answers.get(index)
            if known is None:
                raise UnknownItem(f"item {item!r} has no answer to correct; use tell() or skip()")
            if known.label != value:
                data = {"item": self.pool.id_of(index), "label": value, "was": known.label}
                draft.add("correction", {**data, "reason": str(reason)}, annotator)

    def release(self, annotator: str | None, items: Iterable[Any] | None = None) -> None:
        """Give back questions before their lease is over; all that the annotator holds by default.

        Without a name, say which items.
        """
        annotator = checked_name(annotator)
        with self._live.writing() as (fold, draft):
            if items is None and annotator is None:
                raise BadOption("say whose questions, or which items, are given back")
            if items is not None and (isinstance(items, str) or not is_listed(items)):
                raise BadOption(f"items are {brief(items)}; give a list of items")
            given = None if items is None else {fold.find(item) for item in items}
            back = [
                self.pool.id_of(index)
                for index, lease in fold.leases.items()
                if lease.who == annotator and (given is None or index in given)
            ]
            if back:
                draft.add("release", {"items": back}, annotator)

    def note(self, text: str, annotator: str | None = None, item: Any = None) -> None:
        """Write a remark into the journal, about an item or the study."""
        annotator = checked_name(annotator)
        with self._live.writing() as (fold, draft):
            data = {"text": str(text)}
            if item is not None:
                data["item"] = self.pool.id_of(fold.find(item))
            draft.add("note", data, annotator)

    def estimate(
        self,
        measure: Any = None,
        level: float = 0.95,
        *,
        covariance: str = "sample",
        stage_weights: str = "draws",
    ) -> Estimate:
        """The measure from all answers; another measure reuses the same labels."""
        with self._live.reading() as fold:
            options = {"covariance": covariance, "stage_weights": stage_weights}
            return estimate_fold(fold, measure, level, **options)

    def threshold(
        self, *, system: str | None = None, level: float = 0.95, **requirement: Any
    ) -> ThresholdChoice:
        """The cut of a system's score that meets a requirement, as in hs.Evaluation.threshold."""
        with self._live.reading() as fold:
            places = places_of(fold.pool, fold.ledger.problem, system)

            def estimate(measure: Measure) -> Estimate:
                return estimate_fold(fold, measure, level)

            return choose_threshold(estimate, places, system, level=level, **requirement)

    @property
    def in_use(self) -> list[InUse]:
        """Where each system's score is cut, and how many items that predicts positive."""
        if "in_use" in self.settings:
            return [InUse(**one) for one in self.settings["in_use"]]
        with self._live.reading() as fold:  # made by an earlier version
            return thresholds_in_use(fold.pool, fold.ledger.problem)

    @property
    def doubts(self) -> list[str]:
        """What looks wrong about the pool's predictions, with the remedy."""
        with self._live.reading() as fold:
            return pool_doubts(fold.pool, fold.ledger.problem)

    @property
    def n_labels(self) -> int:
        """Labels taken so far, skipped items left out."""
        with self._live.reading() as fold:
            return sum(answer.label is not None for answer in fold.answers.values())

    @property
    def pending(self) -> list[Question]:
        """Questions that wait for an answer, whoever holds them."""
        with self._live.reading() as fold:
            return [fold.question(index) for index in fold.open_questions()]

    @property
    def history(self) -> list[dict[str, Any]]:
        """One record a stage: draws, new labels, whether it is finished."""
        with self._live.reading() as fold:
            return history_of(fold)

    @property
    def answers(self) -> list[Answer]:
        """The newest answer about each item, in the order of their first answers."""
        with self._live.reading() as fold:
            return list(fold.answers.values())

    @property
    def entries(self) -> list[Entry]:
        """The whole journal."""
        return self._live.entries()

    def status(self) -> Status:
        """How far the study is, and who did what."""
        with self._live.reading() as fold:
            return status_of(fold, self._clock())

    def held_by(self, annotator: str) -> list[Question]:
        """The questions that an annotator holds now."""
        annotator = checked_name(annotator) or ""
        with self._live.reading() as fold:
            return [fold.question(index) for index in fold.held_by(annotator, self._clock())]

    def record_of(self, item: Any) -> dict[str, Any]:
        """The columns to show of an item that was asked about."""
        with self._live.reading() as fold:
            return self.pool.record_of(fold.find(item))

    def reading(self) -> AbstractContextManager[Fold]:
        """The state as of now, for reports: its ledger, answers, leases and pool."""
        return self._live.reading()

    def together(self) -> AbstractContextManager[None]:
        """A block that goes to disk at once: many answers for the price of one.

        Nothing inside is safe before the block ends; if it fails, nothing was recorded. A call
        that is refused, say for an unknown label, may be caught inside: the others stand.
        """
        return self._live.together()

    def copy_to(self, path: str | Path) -> None:
        """A whole copy in another file, while others go on."""
        path = checked_path("the path of a copy", path)
        checked_text("the path of a copy", str(path))
        with self._live.reading(), writable(path):
            self._store.copy_to(path)

    def close(self) -> None:
        """Close the file."""
        self._live.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Study({str(self.path)!r}, {self.measure.name}, {self.design})"

    def new_fold(self) -> Fold:
        """The state before the first entry."""
        fold = Fold(self.pool, self.measure, self.design, self.seed)
        # What was estimated then is estimated to the same digits now.
        fold.ledger.whole_stages = self.settings["haystat"] == "0.1.0"
        return fold

    def _new_stage(self, fold: Fold, draft: Draft, n: int) -> list[int]:
        stage = self._drawn(fold, draft, n)
        if stage.n_new == 0:
            return []
        draft.add("stage", fold.stage_data(stage, n))
        return [int(index) for index in stage.item[: stage.n_new]]

    def _drawn(self, fold: Fold, draft: Draft, n: int) -> Stage:
        while True:
            try:
                return fold.ledger.draw(n)
            except CellDry as dry:
                self._supply.refill(draft, self.measure, dry)


def _by(answer: Answer) -> str:
    return "" if answer.who is None else f" by {answer.who}"
