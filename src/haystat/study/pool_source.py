"""Where the pool of a study lies, and how to read it again when a cell runs out of candidates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from haystat import __version__
from haystat.core.arguments import brief, checked_choice, checked_path, several_names
from haystat.core.arrays import IntArray
from haystat.engines.open import SKETCH, open_pool
from haystat.engines.side_tables import Unblocked
from haystat.errors import BadOption
from haystat.pool.base import AnyPool, checked_pool
from haystat.study.file_rows import FileRows, read_files
from haystat.study.records import listed, records_from, records_of
from haystat.study.sketch_codec import Records, no_records

if TYPE_CHECKING:
    from haystat.pool.memory import Pool

#: options of hs.Pool that a file does not hold
OPTIONS = ("threshold", "strata", "stratify", "branching", "parents", "classes", "seed")


SIGNALS = ("signals", "signal_text", "signal_features")


class Source(Protocol):
    """What a study is made from."""

    @property
    def at_hand(self) -> bool:
        """Whether it takes no reading."""

    def read(self) -> tuple[AnyPool, Records]:
        """The pool, and the columns to show."""

    def as_dict(self) -> dict[str, Any] | None:
        """The same as JSON; None where only its maker can make it again."""


@dataclass(frozen=True)
class GivenPool:
    """A pool that somebody has, and columns to show, {name: one value an item}."""

    pool: AnyPool
    show: Mapping[str, Any] | None = None
    at_hand = True

    def read(self) -> tuple[AnyPool, Records]:
        """The pool, and the columns to show."""
        return self.pool, records_of(self.pool, self.show)

    def as_dict(self) -> None:
        """It is in no file."""


def source_of(given: Any, show: Mapping[str, Any] | None = None) -> Source:
    """What a study is to be made from, or was: a pool, or where to read it."""
    if show is not None and not isinstance(show, Mapping):
        raise BadOption(f"show is {brief(show)}; give a dict, {{name: one value an item}}")
    if not hasattr(given, "as_dict"):
        return GivenPool(checked_pool(given), show)
    if show is not None:
        raise BadOption("a PoolFile names its own columns to show: PoolFile(…, show=(…,))")
    source: Source = given
    return source


@dataclass(frozen=True)
class PoolFile:
    """A pool in a file, and what its columns hold. Give it to Study.create in place of a pool.

    score, prediction: one column for each system. columns: facts about sub-populations. show:
    what the person who labels gets to see. options: those of hs.Pool. engine: reads a file, a
    pattern or the `table` of a database that does not fit into memory, as in hs.open_pool.
    unblocked: the file of the records whose pairs were blocked, or the two files of the left and
    right ones; `key` is their column with the id. near: columns of these by which pairs outside the
    blocks are told that may be matches all the same; near_pairs: a file of such pairs instead, as
    in haystat.engines.Unblocked. weight: the column with what an item counts.
    signals: columns with other information about the items, as in hs.Pool. signal_text,
    signal_features: columns of text and of numbers to which a signal is fitted, as by
    hs.signal_from_text and hs.signal_from_features, in versions that go on from labels.
    more: further files of the same columns, such as those of later days. window: one of `columns`
    (of an engine any column) and a length, such as ("day", 30), to leave out items that are that
    far below the largest.
    multi_label: an item may have several labels, and each column of score is that of one, as in
    hs.Pool.multi_label.
    """

    path: str
    score: tuple[str, ...]
    id: str | tuple[str, str] | None = None
    prediction: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    show: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    engine: str | None = None
    table: str | None = None
    unblocked: tuple[str, ...] = ()
    key: str = "id"
    weight: str | None = None
    signals: tuple[str, ...] = ()
    signal_text: tuple[str, ...] = ()
    signal_features: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    near_pairs: str | None = None
    more: tuple[str, ...] = ()
    window: tuple[str, float] | None = None
    multi_label: bool = False
    at_hand: ClassVar[bool] = False

    def __post_init__(self) -> None:
        checked_path("the path of a pool", self.path)
        for name in ("score", "prediction", "columns", "show", "near", *SIGNALS):
            object.__setattr__(self, name, several_names(name, getattr(self, name)))
        if not isinstance(self.options, Mapping):
            raise BadOption(f"options are {brief(self.options)}; give a dict")
        for name in self.options:
            checked_choice("an option of the pool", name, OPTIONS)
        if not isinstance(self.id, str | tuple | None):
            raise BadOption(f"id is {brief(self.id)}; give the name of a column, or two of a pair")
        if not self.score and not self.is_sketch:
            raise BadOption("name the column that holds the score: --score, or score=(…,)")
        if len(set(self.score)) < len(self.score):
            raise BadOption(f"score columns are {list(self.score)}; name each once")
        if self.prediction and len(self.prediction) != len(self.score):
            raise BadOption(
                f"{len(self.prediction)} prediction columns for {len(self.score)} score columns; "
                "give one for each, in the same order"
            )
        if isinstance(self.id, tuple) and self.engine is None:
            raise BadOption("the two ids of a pair are read by an engine: --engine duckdb")
        if self.unblocked and self.is_sketch:
            raise BadOption(
                "a sketch holds the pairs that were not blocked already; give unblocked tables to "
                "haystat sketch"
            )
        if self.weight is not None and self.is_sketch:
            raise BadOption("a sketch holds its weights already; name the weight to haystat sketch")
        fitted = [*self.signal_text, *self.signal_features]
        if fitted and (self.engine is not None or self.is_sketch):
            raise BadOption(
                f"signals that are fitted to {fitted} are for pools in memory; name no engine"
            )
        if self.signals and self.is_sketch:
            raise BadOption("a sketch holds its signals already; name them to haystat sketch")
        if self.unblocked and self.engine is None:
            raise BadOption("unblocked pairs are found by an engine: --engine duckdb")
        if self.more or self.window is not None:
            self._check_added()
        if self.multi_label:
            self._check_multi_label()

    def _check_multi_label(self) -> None:
        """Raise on what goes with items of one label."""
        from haystat.pool.multi_label import ITEM, LABEL  # seldom needed

        names = ("columns", "weight", *SIGNALS, "engine", "unblocked")
        given = [name.replace("_", " ") for name in names if getattr(self, name)]
        if given or self.is_sketch:
            raise BadOption(
                "a multi-label problem is a pair of every item and label, in memory; leave out "
                f"{', '.join(given) or 'the sketch'}"
            )
        clash = [name for name in self.show if name in (ITEM, LABEL)]
        if clash:
            raise BadOption(
                f"the columns {ITEM} and {LABEL} of a multi-label problem say what is asked about, "
                f"and {clash} of the file are to be shown; rename them"
            )

    def _check_added(self) -> None:
        """Raise unless files can be added and a window be laid over them."""
        if self.id is None:
            raise BadOption("items are added by their ids; name the column when a study is made")
        if self.is_sketch or self.unblocked:
            raise BadOption(
                "files are added to rows that can be read: not to a sketch, and not to pairs some "
                "of which were not blocked; name a table with all rows as the next version, "
                "without --add"
            )
        if self.window is None or self.engine is not None:
            return  # an engine finds any column
        if tuple(self.window)[:1] not in {(c,) for c in self.columns}:
            raise BadOption(
                f"window is {brief(self.window)}; give one of the columns {list(self.columns)} and "
                "a length, such as ('day', 30); columns are named when a study is made (--column)"
            )

    @property
    def is_sketch(self) -> bool:
        """Whether the file is a sketch, which knows its columns."""
        return str(self.path).endswith(SKETCH)

    def read(self) -> tuple[AnyPool, Records]:
        """The pool, and the columns to show."""
        if self.is_sketch:
            sketched = open_pool(self.path)
            return sketched, sketched.records
        if self.engine is not None:
            opened = open_pool(
                [self.path, *self.more] if self.more else self.path,
                id=self.id,
                score=self.score,
                prediction=self.prediction or None,
                columns=self.columns,
                show=self.show,
                table=self.table,
                window=self.window,
                engine=self.engine,
                signals=self.signals,
                weight=self.weight,
                unblocked=unblocked_tables(self.unblocked, self.key, self.near, self.near_pairs),
                **self.options,
            )
            return opened, opened.records
        return self._in_memory()

    def _in_memory(self) -> tuple[Pool, Records]:
        """The pool whose columns are read whole."""
        from haystat.pool.memory import Pool  # a study that is opened has a sketch

        id = self.id if isinstance(self.id, str) else None
        table, rows = read_files(self.paths, self.names_of_pool, self.window)
        predictions = {s: table[p] for s, p in zip(self.score, self.prediction, strict=False)}
        scores, ids = {name: table[name] for name in self.score}, table[id] if id else None
        if self.multi_label:
            pool = Pool.multi_label(scores, predictions or None, ids=ids, **self.options)
            return pool, self._records_of_pairs(pool, rows)
        pool = Pool(
            scores,
            predictions or None,
            ids=ids,
            columns={name: table[name] for name in self._facts},
            signals=self._signals(table) or None,
            weight=self.weight,
            **self.options,
        )
        return pool, self._records(rows) if self.show else no_records

    @property
    def _facts(self) -> list[str]:
        return [*self.columns, *([self.weight] if self.weight else [])]

    @property
    def names_of_pool(self) -> list[str]:
        """Columns that are read whole, each once."""
        signals = [name for kind in SIGNALS for name in getattr(self, kind)]
        id = [self.id] if isinstance(self.id, str) else []
        return list(dict.fromkeys([*self.score, *self.prediction, *self._facts, *signals, *id]))

    @property
    def paths(self) -> tuple[Path, ...]:
        """All files, in their order."""
        return tuple(map(Path, (self.path, *self.more)))

    def anew(self, path: str, **others: Any) -> PoolFile:
        """The next version of the pool: in a file of the same columns, or of others."""
        if self.multi_label and others.get("score"):
            raise BadOption(
                f"the columns {list(self.score)} are the labels of a multi-label problem; call "
                "those of the next version the same"
            )
        others["options"] = {**self.options, **others.get("options", {})}
        return replace(self, path=path, more=(), window=None, **others)

    def with_more(self, path: str, window: tuple[str, float] | None = None) -> PoolFile:
        """The same pool with the rows of another file, without files that are out of the window."""
        added = replace(self, more=(*self.more, str(path)), window=window or self.window)
        if added.window is None:
            return added
        first, *more = added._used()
        return replace(added, path=first, more=tuple(more))

    def check_there(self) -> None:
        """Raise if a file is gone; patterns and addresses are left to whoever reads them."""
        for path in self.paths:
            if not any(sign in str(path) for sign in "*?[:") and not path.exists():
                raise FileNotFoundError(
                    f"no file {path}, which holds items of the version before; put it back, or "
                    "beside the study: it is needed until a version without it has been made"
                )

    def _used(self) -> list[str]:
        """The files that have a row in the window."""
        assert self.window is not None
        if self.engine is None:
            _, rows = read_files(self.paths, [self.window[0]], self.window)
            return [str(path) for path in rows.used]
        from haystat.engines.joined import used  # Ibis is slow to import

        return used([str(path) for path in self.paths], self.table, self.engine, self.window)

    def _signals(self, table: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
        """Columns that are signals, and signals that are fitted to columns."""
        from haystat.pool.fitted_signals import signal_from_features
        from haystat.pool.text_signals import from_columns

        signals: dict[str, Any] = {name: table[name] for name in self.signals}
        if self.signal_text:
            signals["text"] = from_columns(table.__getitem__, self.signal_text)
        if self.signal_features:
            columns = [table[name] for name in self.signal_features]
            signals["features"] = signal_from_features(np.column_stack(columns))
        return signals

    def _records(self, rows: FileRows) -> Records:
        def records(index: IntArray) -> dict[str, Any]:
            shown = rows.read(self.show, index)
            return {name: listed(shown[name]) for name in self.show}

        return records

    def _records_of_pairs(self, pool: Pool, rows: FileRows) -> Records:
        """Of each pair the columns of its item, and which item and label it is."""
        of_item = self._records(rows) if self.show else no_records
        of_pair = records_from(pool.columns)
        n_items = pool.size // len(self.score)
        return lambda index: {**of_pair(index), **of_item(index % n_items)}

    def as_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        tables = tuple(str(Path(table).absolute()) for table in self.unblocked)
        pairs = None if self.near_pairs is None else str(Path(self.near_pairs).absolute())
        path, *more = (str(path.absolute()) for path in self.paths)
        whole = replace(self, path=path, more=tuple(more), unblocked=tables, near_pairs=pairs)
        return asdict(whole)

    @classmethod
    def recorded(cls, given: Mapping[str, Any] | None, study: Path) -> PoolFile | None:
        """What `as_dict` wrote; a file that has moved is looked for beside the study."""
        if given is None:
            return None
        fields: dict[str, Any] = {
            k: tuple(v) if isinstance(v, list) else v for k, v in given.items()
        }
        fields["path"] = _found(fields["path"], study)
        fields["more"] = tuple(_found(path, study) for path in fields.get("more", ()))
        fields["unblocked"] = tuple(_found(path, study) for path in fields.get("unblocked", ()))
        if fields.get("near_pairs") is not None:
            fields["near_pairs"] = _found(fields["near_pairs"], study)
        return cls(**fields)


def unblocked_tables(
    paths: Sequence[str], key: str, near: Sequence[str] = (), near_pairs: str | None = None
) -> Unblocked | None:
    """The table or the two tables whose pairs were blocked, as hs.open_pool takes them."""
    if not paths:
        if near or near_pairs is not None:
            raise BadOption(
                "near pairs are outside the blocks of tables; name these too: --unblocked"
            )
        return None
    if len(paths) > 2:
        raise BadOption(
            f"{len(paths)} unblocked tables {list(paths)}; give the table whose pairs were "
            "blocked, or the left and the right one"
        )
    right = paths[1] if len(paths) == 2 else None
    return Unblocked(paths[0], right, key, near=tuple(near), pairs=near_pairs)


def _found(given: str, study: Path) -> str:
    """A file that has moved is looked for beside the study."""
    path = Path(given)
    beside = study.absolute().parent / path.name
    return str(beside if beside.exists() and not path.exists() else path)


def circumstances(pool: AnyPool, source: Source) -> dict[str, Any]:
    """What a study was made from and with."""
    return {
        "haystat": __version__,
        "numpy": np.__version__,
        "pool": {"fingerprint": pool.fingerprint, "seed": pool.seed, "size": pool.size},
        "source": source.as_dict(),
    }


def checked_after(after: Sequence[str], source: Source) -> list[str]:
    """Columns that wait for the answer; raises unless they are among those to show."""
    names = list(several_names("after", after))
    shown = getattr(source, "show", None) or ()
    for name in names:
        if name not in shown:
            raise BadOption(
                f"column {name!r} is to wait for the answer and is not shown; name it in show too"
            )
    return names
