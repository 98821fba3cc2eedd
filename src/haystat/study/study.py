"""Study: ask, tell, estimate, in one file that several people and processes share."""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any, Self

from haystat import designs, measures
from haystat.core.arguments import (
    checked_choice,
    checked_integer,
    checked_path,
    checked_text,
)
from haystat.core.disk import readable, writable
from haystat.decisions.doubts import PoolWarning, pool_doubts
from haystat.designs.base import Design
from haystat.errors import StudyError
from haystat.inference.estimate import Estimate
from haystat.loop.annotators import checked_name, checked_rules
from haystat.loop.journal import Clock, now_utc
from haystat.loop.known_labels import KnownLabels
from haystat.loop.loop import RandomState, seed_from
from haystat.loop.refits import check_fitted, not_yet_fitted
from haystat.loop.settings import decode_design, decode_measure, decode_rules, encode_settings
from haystat.loop.shared_state import SharedState
from haystat.loop.state import LEDGERS
from haystat.loop.status import Status, status_of
from haystat.measures.base import Measure
from haystat.pool.base import AnyPool
from haystat.pool.problem import pose
from haystat.study.candidate_source import CandidateSource
from haystat.study.damage import damage_told
from haystat.study.leased_loop import LeasedLoop
from haystat.study.leases import StudyState
from haystat.study.new_file import NewFile
from haystat.study.pool_source import PoolFile, checked_after, source_of
from haystat.study.sketch_codec import Records
from haystat.study.sketch_pool import SketchPool
from haystat.study.store import Store

CANDIDATES = 100_000  # items that a study file keeps ready


class Study(LeasedLoop):
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

    pool: SketchPool

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
        self._given = measure
        try:
            with damage_told(self.path):
                self._read(pool, show, measure, design)
        except BaseException:
            self._store.close()
            raise

    def _read(self, pool: Any, show: Any, measure: Any, design: Any) -> None:
        """What the file says, and whether it can be understood."""
        with self._store.read() as journal:
            created = next(journal.read(), None)
        if created is None or created.kind != "created":
            raise StudyError(f"{self.path} has no beginning; run haystat verify, or use a copy")
        self.settings: dict[str, Any] = created.data
        self.pool = SketchPool(
            self._store.connection, lambda what: self._candidate_source.pool(what)
        )
        self.measure = measures.bound(
            decode_measure(self.settings["measure"], measure), self.pool.schema
        )
        self.design = decode_design(self.settings["design"], design)
        self.seed: int = self.settings["seed"]
        source = PoolFile.recorded(self.settings["source"], self.path)
        given = source if pool is None else source_of(pool, show)
        if given is not None and "version" in self.settings:
            from haystat.study.versions import VersionSource  # here and below: seldom needed

            given = VersionSource(given, self.settings)
        self._known = KnownLabels.decode(self.settings)
        self._candidate_source = CandidateSource(self.path, self.pool, given, self._known.parts)
        self._shared: SharedState[StudyState] = SharedState(
            self._store, self.new_state, self._clock
        )
        with self._shared.reading():
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
        after: Sequence[str] = (),
        candidates: int = CANDIDATES,
        clock: Clock = now_utc,
        annotators: Sequence[str] | None = None,
        answers_per_item: int = 1,
        disagreement: str = "majority",
        known: Any = None,
        notes: Sequence[str] = (),
        **options: Any,
    ) -> Study:
        """A new study of a pool; what is not explained here is as in hs.Evaluation.

        pool: a pool, or a PoolFile, which the study can read again when it needs more items.
        show: columns for the person who labels, {name: one value an item}.
        after: those of them that wait until an item is answered, such as a judge's reasons.
        candidates: about how many items the file keeps ready, so that it can do without the pool.
        notes: remarks that its journal begins with.
        """
        path = checked_path("the path of a study", path)
        checked_choice("oracle", oracle, LEDGERS)
        candidates = checked_integer("candidates", candidates, smallest=1)
        source = source_of(pool, show)
        hidden = checked_after(after, source)
        whole, records = source.read()
        rules = checked_rules(annotators, answers_per_item, disagreement, oracle, whole.schema)
        named = designs.default_name(whole.schema, oracle) if design is None else design
        chosen = LEDGERS[oracle].checked(designs.resolve(named, **options))
        bound = measures.bound(measure, whole.schema)
        seed = seed_from(random_state)
        check_fitted(whole, chosen)
        labels = KnownLabels.given(known, whole, chosen, oracle)
        whole = whole.ordered(seed).with_known(labels.parts)
        problem = pose(whole, bound, oracle)
        problem = labels.seen_from(
            whole, problem, *labels.of_items(whole, problem, whole.candidates(problem.cells))
        )
        for doubt in [*pool_doubts(whole, problem), *labels.doubts, *not_yet_fitted(whole)]:
            warnings.warn(doubt, PoolWarning, stacklevel=2)
        settings = encode_settings(measure, chosen, oracle, seed, rules) | labels.encode()
        settings |= {"after": hidden} if hidden else {}
        file = NewFile(whole, source, records, problem, chosen, seed, settings, notes=notes)
        file.write(path, candidates, clock())
        return cls(path, pool=pool, show=show, measure=measure, design=chosen, clock=clock)

    @classmethod
    def open(cls, path: str | Path, **options: Any) -> Study:
        """The study in a file; only one that is damaged, too new or no study is refused.

        pool, show: what it was made from, in case the file runs out of candidates. measure,
        design: again, if they were objects of your own. read_only: do not write.
        """
        return cls(path, **options)

    def next(
        self,
        pool: AnyPool | PoolFile,
        name: str | None = None,
        *,
        path: str | Path | None = None,
        measure: Any = None,
        max_age: Any = None,
        ask_again: float = 0.0,
        show: Mapping[str, Any] | None = None,
        candidates: int = CANDIDATES,
    ) -> Study:
        """A study of the next version, in a file of its own: a new model, new items, items gone.

        As hs.Evaluation.next; this study stays as it is, and the new file holds a copy of it. It
        takes the pool that this study was made from: put its file back, or open the study with it.

        path: of the new file; by default beside this one, with the name of the version added.

        >>> import tempfile, haystat as hs
        >>> path = tempfile.mkdtemp() + "/cats.haystat"
        >>> pool = hs.Pool([0.1, 0.2, 0.3, 0.7, 0.8, 0.9], strata=2)
        >>> study = hs.Study.create(path, pool, "accuracy", random_state=0)
        >>> study.tell({question.item: int(question.item >= 3) for question in study.ask(4)})
        >>> later = study.next(hs.Pool([0.1, 0.2, 0.6, 0.7, 0.8, 0.9], strata=2), "v2")
        >>> later.path.name, later.n_carried
        ('cats-v2.haystat', 4)
        """
        from haystat.study.versions import create_next

        source = source_of(pool, show)
        how = (name, path, measure, max_age, ask_again, candidates)
        target, wanted = create_next(self, source, *how)
        given = {"pool": pool, "show": show, "measure": wanted, "design": self.design}
        return Study(target, **given, clock=self._clock)

    def extend(
        self,
        rows: AnyPool | PoolFile,
        name: str | None = None,
        *,
        window: tuple[str, Any] | None = None,
        path: str | Path | None = None,
        measure: Any = None,
        max_age: Any = None,
        ask_again: float = 0.0,
        show: Mapping[str, Any] | None = None,
        candidates: int = CANDIDATES,
        **options: Any,
    ) -> Study:
        """The next version, of this study's items and further ones, in a file of its own.

        rows: a pool of the new items, or a PoolFile; show: columns of theirs to show. window and
        options as in hs.Evaluation.extend, the rest as in `next`. Of PoolFiles behind an engine
        the new file knows where all rows are, and a window stays until another one is given.
        """
        from haystat.study.versions import create_next, extended_source

        source = extended_source(self, source_of(rows, show), window, options)
        how = (name, path, measure, max_age, ask_again, candidates)
        target, wanted = create_next(self, source, *how)
        given = {"pool": source, "measure": wanted, "design": self.design}
        return Study(target, **given, clock=self._clock)

    def note(self, text: str, annotator: str | None = None, item: Any = None) -> None:
        """Write a remark into the journal, about an item or the study."""
        annotator = checked_name(annotator)
        with self._shared.writing() as (state, draft):
            data = {"text": str(text)}
            if item is not None:
                data["item"] = state.questions.query(state.find_about(item)).item
            draft.add("note", data, annotator)

    def status(self) -> Status:
        """How far the study is, and who did what."""
        with self._shared.reading() as state:
            return status_of(state, self._clock())

    def record_of(self, item: Any) -> dict[str, Any]:
        """The columns to show of an item that was asked about."""
        with self._shared.reading() as state:
            return dict(state.query(state.find_about(item)).record)

    def revealed(self, item: Any) -> dict[str, Any]:
        """The columns that wait for an item's answer; none before it has one."""
        with self._shared.reading() as state:
            return state.revealed(item)

    def reading(self) -> AbstractContextManager[StudyState]:
        """The state as of now, for reports: its ledger, answers, leases and pool."""
        return self._shared.reading()

    def together(self) -> AbstractContextManager[None]:
        """A block that goes to disk at once: many answers for the price of one.

        Nothing inside is safe before the block ends; if it fails, nothing was recorded. A call
        that is refused, say for an unknown label, may be caught inside: the others stand.
        """
        return self._shared.together()

    def copy_to(self, path: str | Path) -> None:
        """A whole copy in another file, while others go on."""
        path = checked_path("the path of a copy", path)
        checked_text("the path of a copy", str(path))
        with self._shared.reading(), writable(path):
            self._store.copy_to(path)

    def content(self) -> bytes:
        """The bytes of a whole copy."""
        with self._shared.reading():
            return self._store.content()

    def version_estimates(self, level: float = 0.95) -> list[tuple[str, int, Estimate]]:
        from haystat.study.versions import earlier_versions, version_name

        return [
            (version_name(one.settings), one.n_carried, one.estimate(level=level))
            for one in chain(earlier_versions(self, Study), (self,))
        ]

    def now(self) -> datetime:
        """The time, as the study sees it."""
        return self._clock()

    def whole_source(self, what: str) -> tuple[AnyPool, Records]:
        """The pool that the study was made from and its columns to show; raises if it is gone."""
        return self._candidate_source.pool_and_records(what)

    def connection(self) -> sqlite3.Connection:
        """The connection to the file, for a single read."""
        return self._store.connection()

    def close(self) -> None:
        """Close the file."""
        self._shared.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def title(self) -> str:
        """What a report calls it: the name of its file."""
        return self.path.name

    def new_state(self) -> StudyState:
        rules = decode_rules(self.settings)
        given = (self.pool, self.measure, self.design, self.seed, self.settings["oracle"], rules)
        state = StudyState(*given, self._known)
        # What was estimated then is estimated to the same digits now.
        state.ledger.whole_stages = self.settings["haystat"] == "0.1.0"
        state.after = frozenset(self.settings.get("after", ()))
        return state

    def whole_pool(self, what: str) -> AnyPool:
        """The pool that the study was made from, to do something; raises if it is not at hand."""
        return self._candidate_source.pool(what)

    @property
    def given_measure(self) -> Measure:
        return decode_measure(self.settings["measure"], self._given)
