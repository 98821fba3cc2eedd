"""Labels that people already have, and how their items came to be labelled.

What an old label may be used for depends on why its item was labelled. A census has every item of a
region, a sample was drawn with known probabilities: both say something about items like theirs. All
other labels say nothing but what their own items are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from haystat.core.arguments import brief, checked_path
from haystat.core.arrays import FloatArray, IntArray
from haystat.core.spelling import is_in, spelt, whole_number
from haystat.core.tables import read_columns
from haystat.errors import AnswerError, BadOption, UnknownLabel

#: how items came to be labelled -> the mark of their cells; 0 is for items without a known label
KINDS = {"census": 1, "sample": 2, "found": 3}
LEAST = 1e-12  # inclusion probability whose inverse can still be added up
ITEM, LABEL, INCLUSION, KIND = ("item", "id"), ("label",), ("inclusion",), ("kind",)


@dataclass(frozen=True)
class Known:
    """Labels that were there before: {item: label}, with how their items came to be labelled.

    Make one with `census`, `sample` or `found`, and give it, or several, to an evaluation or study:
    hs.Evaluation(pool, known=…).

    kind: "census", "sample" or "found". inclusion: of a sample, the probability of each of its
        items to be in it, in the order of `labels`.

    >>> import haystat as hs
    >>> pool = hs.Pool([0.1, 0.2, 0.7, 0.9], strata=2)
    >>> top = hs.Known.census({2: 0, 3: 1})
    >>> ev = hs.Evaluation(pool, "accuracy", known=top, random_state=0)
    >>> sorted(query.item for query in ev.ask(4))
    [0, 1]
    """

    kind: str
    labels: Mapping[Any, Any]
    inclusion: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise BadOption(f"known labels are {brief(self.kind)}; they can be {list(KINDS)}")
        if not isinstance(self.labels, Mapping):
            raise BadOption(f"known labels are {brief(self.labels)}; give a dict, {{item: label}}")
        object.__setattr__(self, "labels", {plain(i): plain(v) for i, v in self.labels.items()})
        if (self.kind == "sample") != bool(self.inclusion) and self.labels:
            raise BadOption(
                f"a known {self.kind} has {len(self.inclusion)} inclusion probabilities; a sample "
                "has one for each item, labels that came in another way have none"
            )

    @classmethod
    def census(cls, labels: Mapping[Any, Any]) -> Known:
        """The labels of all items of a region: those above a score, or of a sub-population.

        The region must have been chosen without looking at the labels.
        """
        return cls("census", labels)

    @classmethod
    def sample(cls, labels: Mapping[Any, Any], inclusion: float | Mapping[Any, Any]) -> Known:
        """The labels of a random sample from the pool.

        inclusion: how likely an item was to be in it, one number for all, or {item: probability}.
            Where it is 1 for all, they are a census.
        """
        if not isinstance(labels, Mapping):
            raise BadOption(f"known labels are {brief(labels)}; give a dict, {{item: label}}")
        given = inclusion if isinstance(inclusion, Mapping) else dict.fromkeys(labels, inclusion)
        by_item = {plain(item): value for item, value in given.items()}
        missing = [item for item in labels if plain(item) not in by_item]
        if missing:
            raise BadOption(
                f"item {brief(missing[0])} of the sample has no inclusion probability; give one "
                "for each item, or one number for all"
            )
        chances = tuple(_chance(i, by_item[plain(i)]) for i in labels)
        certain = bool(chances) and min(chances) == 1
        return cls.census(labels) if certain else cls("sample", labels, chances)

    @classmethod
    def found(cls, labels: Mapping[Any, Any]) -> Known:
        """Labels that came in any other way: complaints, earlier reviews, what a search turned up.

        They count for their own items and aim the questions, but say nothing about other items.
        """
        return cls("found", labels)

    def as_dict(self) -> dict[str, Any]:
        """The same as JSON."""
        rows = [[item, label] for item, label in self.labels.items()]
        found: dict[str, Any] = {"kind": self.kind, "labels": rows}
        return {**found, "inclusion": list(self.inclusion)} if self.inclusion else found

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Known:
        """What `as_dict` wrote."""
        labels = {item: label for item, label in given["labels"]}
        return cls(given["kind"], labels, tuple(given.get("inclusion", ())))


def as_known(given: Any) -> tuple[Known, ...]:
    """What callers give as known labels, part by part.

    None, a Known, {item: label}, a table, a file, or a list of these. A dict is taken for labels
    that were found somehow; tables and files are as in `read_known`.
    """
    if given is None:
        return ()
    if isinstance(given, Known):
        return (given,) if given.labels else ()
    if isinstance(given, Mapping):
        return as_known(Known.found(given))
    if isinstance(given, list | tuple):
        return tuple(part for one in given for part in as_known(one))
    if isinstance(given, str | Path):
        return as_known(read_known(given))
    return as_known(_from_table(given))


def read_known(
    path: str | Path, kind: str | None = None, inclusion: float | None = None
) -> list[Known]:
    """Known labels from a CSV, Parquet, Feather or JSON lines file.

    It has columns item (or id) and label; rows without a label are passed over. Rows with an
    inclusion probability, in a column `inclusion`, are a sample, others were found. kind: how all
    of them came, instead; inclusion: that of every item of the sample.
    """
    path = checked_path("the file of known labels", path)
    optional = [*ITEM, *INCLUSION, *KIND]
    columns = {
        name: (values.astype(str) if values.dtype.kind in "mM" else values).tolist()
        for name, values in read_columns(path, LABEL, optional).items()
    }
    if inclusion is not None:
        columns["inclusion"] = [inclusion] * len(columns["label"])
    return known_rows(columns, str(path), kind)


def checked_known(given: Any, classes: Sequence[Any], an_id: Any) -> tuple[Known, ...]:
    """Known labels, every item of them once and with one of the classes as its label.

    An item that is in several parts counts in the one that says most of how it came: in a census
    before a sample, in that before labels that were found.

    In a file nobody can tell numbers from texts: ids are read as texts where those of the pool,
    like an_id, are, else as numbers; labels as the class that they spell.
    """
    parts = tuple(_spelt(part, classes, an_id) for part in as_known(given))
    by_kind = sorted(range(len(parts)), key=lambda k: KINDS[parts[k].kind])
    seen: dict[Any, Known] = {}
    kept = {k: _unseen(parts[k], seen) for k in by_kind}
    return tuple(kept[k] for k in range(len(parts)) if kept[k].labels)


def _unseen(part: Known, seen: dict[Any, Known]) -> Known:
    """A part without the items that were seen in others, which it is put to."""
    twice = [item for item in part.labels if item in seen]
    for item in twice:
        labels = seen[item].labels[item], part.labels[item]
        if labels[0] != labels[1]:
            raise AnswerError(
                f"item {brief(item)} has two known labels, {labels[0]!r} and {labels[1]!r}; give "
                "the one that is right"
            )
        if part.kind == seen[item].kind == "sample":
            raise AnswerError(
                f"item {brief(item)} is in two known samples; give them as one, with the "
                "probability that an item is in either"
            )
    if twice:
        rest = {item: label for item, label in part.labels.items() if item not in seen}
        chances = zip(part.labels, part.inclusion, strict=bool(part.inclusion))
        inclusion = tuple(chance for item, chance in chances if item in rest)
        part = replace(part, labels=rest, inclusion=inclusion)
    seen.update(dict.fromkeys(part.labels, part))
    return part


@dataclass(frozen=True)
class KnownCells:
    """Known labels by cell: kind (K,), 0 where an item's label is not known.

    weight (K, C) and square (K,): of a sample, sums of 1 / inclusion by class, and of its square.
    """

    kind: IntArray
    weight: FloatArray
    square: FloatArray


def _spelt(part: Known, classes: Sequence[Any], an_id: Any) -> Known:
    known = {label: label for label in classes}
    labels: dict[Any, Any] = {}
    for given, label in part.labels.items():
        item = _item_meant(given, an_id)
        if item in labels:
            raise AnswerError(f"item {brief(item)} has two known labels; give each item once")
        labels[item] = _label_meant(item, label, known)
    return replace(part, labels=labels)


def _item_meant(item: Any, an_id: Any) -> Any:
    whole = int(item) if isinstance(item, float) and item.is_integer() else item
    if isinstance(an_id, str):
        return str(whole)
    number = whole_number(whole) if isinstance(whole, str) else None
    return whole if number is None else number


def _label_meant(item: Any, label: Any, known: Mapping[Any, Any]) -> Any:
    value = spelt(label, known)
    if known and not is_in(value, known):
        raise UnknownLabel(
            f"the known label {brief(label)} of item {brief(item)} is not one of {list(known)}; "
            "leave out items without a label"
        )
    if not known and not _is_number(label):
        raise UnknownLabel(
            f"the known label {brief(label)} of item {brief(item)} is no finite number"
        )
    return known[value] if known else label


def plain(value: Any) -> Any:
    """A number of numpy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def _chance(item: Any, value: Any) -> float:
    usable = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not usable or not LEAST <= value <= 1:
        raise BadOption(
            f"the inclusion probability of item {brief(item)} is {brief(value)}; give a number "
            "above 0 and at most 1"
        )
    return float(value)


def _is_number(label: Any) -> bool:
    usable = isinstance(label, int | float) and not isinstance(label, bool)
    return usable and bool(np.isfinite(label))


def _is_missing(value: Any) -> bool:
    """No value, as files and tables spell it."""
    if isinstance(value, str):
        return not value.strip()
    return value is None or (isinstance(value, float) and value != value)


def _from_table(given: Any) -> list[Known]:
    import narwhals as nw  # only those who give a table wait for it
    from narwhals.exceptions import NarwhalsError

    try:
        table = nw.from_native(given, eager_only=True)
    except (TypeError, ValueError, NarwhalsError):
        raise BadOption(
            f"known is {brief(given)}, a {type(given).__name__}; give hs.Known.census(…), "
            ".sample(…) or .found(…), a dict {item: label}, or a table with columns item, label "
            "and, of a sample, inclusion"
        ) from None
    names = list(table.columns)
    return known_rows({name: list(table[name].to_list()) for name in names}, "the table")


def known_rows(
    columns: Mapping[str, list[Any]], where: str, kind: str | None = None
) -> list[Known]:
    """Known labels from columns item (or id), label, and if they are there inclusion and kind.

    Without a kind, rows that have an inclusion probability are a sample and others were found.
    """
    found = {
        names[0]: next((columns[name] for name in names if name in columns), None)
        for names in (ITEM, LABEL, INCLUSION, KIND)
    }
    items, labels = found["item"], found["label"]
    if items is None or labels is None:
        raise BadOption(f"{where} has columns {list(columns)}; known labels need item and label")
    empty = [None] * len(items)
    chances, kinds = found["inclusion"] or empty, found["kind"] or empty
    parts: dict[str, dict[Any, Any]] = {}
    inclusion: dict[Any, Any] = {}
    for item, label, chance, own in zip(items, labels, chances, kinds, strict=True):
        if _is_missing(label):
            continue
        if not isinstance(plain(item), int | float | str):
            raise AnswerError(f"{brief(item)} in {where} is no id; ids are numbers or texts")
        is_drawn = not _is_missing(chance)
        which = str(own or kind or ("sample" if is_drawn else "found"))
        part = parts.setdefault(which, {})
        if plain(item) in part:
            raise AnswerError(f"item {brief(item)} is in {where} twice; give each item once")
        part[plain(item)] = label
        if is_drawn:
            inclusion[plain(item)] = chance
    return [
        Known.sample(rows, inclusion) if name == "sample" else Known(name, rows)
        for name, rows in parts.items()
    ]
