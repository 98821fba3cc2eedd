"""The first pass: what a pool ranges over, and whether its rows can be a pool at all."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any, NoReturn

import numpy as np

from haystat.core.arrays import FloatArray
from haystat.engines.columns import Columns, is_class, mean_of
from haystat.engines.source import Source
from haystat.errors import (
    BadOption,
    BadScore,
    DuplicateId,
    EmptyPool,
    HaystatError,
    PoolError,
    UnknownLabel,
)
from haystat.pool.checks import LARGEST

SUM_TOLERANCE = 1e-8 + 1e-5  # of probabilities that sum to 1, as numpy.isclose has it
EXACT = 1 << 24  # ids that are compared with each other at a time


@dataclass(frozen=True)
class Summary:
    """Number of rows; range of each score, (S, 2), and of what predicted numbers are cut on.

    That is the deviation, or the mean of the systems. positive is the smallest first score above
    0; spread the standard deviation of the mean; id_range the smallest and largest id, as texts;
    weight_range the smallest weight above 0 and the largest, where items have weights.
    """

    size: int
    score_range: FloatArray
    number_range: tuple[float, float] | None
    positive: float | None
    spread: float
    id_range: tuple[str, str]
    weight_range: tuple[float, float] | None = None


def read_summary(source: Source, columns: Columns, classes: tuple[Any, ...]) -> Summary:
    """One pass over the rows; raises on the first kind of fault, with a count and an example."""
    columns.check(source.table.schema(), classes)
    table = source.table
    faults = _faults(table, columns, classes)
    wanted = {"n": table.count()}
    wanted |= {f"fault{i}": (fault.rows).sum() for i, fault in enumerate(faults)}
    scores = [columns.score(table, i) for i in range(len(columns.systems))]
    for i, score in enumerate(scores):
        usable = columns.is_usable(score)
        wanted |= {f"low{i}": score.min(where=usable), f"high{i}": score.max(where=usable)}
    wanted["positive"] = scores[0].min(where=columns.is_usable(scores[0]) & (scores[0] > 0))
    if not classes:
        mean = mean_of(scores)
        wanted["spread"] = mean.std(how="pop", where=columns.is_usable(mean))
        cut = mean if columns.deviation is None else table[columns.deviation].cast("float64")
        usable = columns.is_usable(cut)
        wanted |= {"least": cut.min(where=usable), "most": cut.max(where=usable)}
    if columns.weight is not None:
        weight = table[columns.weight].cast("float64")
        counts = columns.is_usable(weight) & (weight > 0)
        wanted |= {"lightest": weight.min(where=counts), "heaviest": weight.max(where=counts)}
    ids = [table[name] for name in columns.id]
    wanted |= {"first_id": ids[0].min(), "last_id": ids[-1].max()}
    with source.reading():
        (found,) = table.aggregate(**wanted).to_pyarrow().to_pylist()
    if not found["n"]:
        raise EmptyPool(f"{source.name} has no rows; a pool has at least one item")
    for i, fault in enumerate(faults):
        if found[f"fault{i}"]:
            refuse(source, columns, fault, int(found[f"fault{i}"]))
    if columns.weight is not None and found["heaviest"] is None:
        raise PoolError(f"weights in column {columns.weight!r} are all 0; give one above 0")
    ranges = [[found[f"low{i}"], found[f"high{i}"]] for i in range(len(scores))]
    return Summary(
        int(found["n"]),
        np.array(ranges, dtype=np.float64),
        None if classes else (found["least"], found["most"]),
        found["positive"],
        float(found.get("spread") or 0.0),
        (str(found["first_id"]), str(found["last_id"])),
        None if columns.weight is None else (found["lightest"], found["heaviest"]),
    )


@dataclass(frozen=True)
class Fault:
    """Rows that cannot be items, what is wrong with them, what to do, and which column to show."""

    rows: Any
    error: type[HaystatError]
    what: str
    remedy: str
    column: str


def _faults(table: Any, columns: Columns, classes: tuple[Any, ...]) -> list[Fault]:
    faults = [
        Fault(
            table[name].isnull(),
            PoolError,
            f"ids in column {name!r} are missing",
            "give every row an id",
            name,
        )
        for name in columns.id
    ]
    for i, name in enumerate(columns.scores):
        bad = ~columns.is_usable(columns.score(table, i))
        what = f"scores in column {name!r} are missing, NaN, infinite or beyond {LARGEST:g}"
        faults.append(
            Fault(bad, BadScore, what, "drop these rows or give them a finite score", name)
        )
    for name in columns.predictions:
        bad = ~is_class(table[name], classes)
        what = f"predictions in column {name!r} are none of {list(classes)}"
        remedy = "add them to `classes`, or drop these rows"
        faults.append(Fault(bad, UnknownLabel, what, remedy, name))
    return [*faults, *_further_faults(table, columns)]


def _further_faults(table: Any, columns: Columns) -> list[Fault]:
    """Rows that lack what only some pools have."""
    faults = []
    for name in columns.facts:
        what = f"values of column {name!r} are missing"
        remedy = "fill them in, with 'unknown' for instance"
        faults.append(Fault(table[name].isnull(), PoolError, what, remedy, name))
    sizes = (
        ("deviations", columns.deviation, "a standard deviation is finite and at least 0"),
        ("weights", columns.weight, "give 0 to leave out an item"),
    )
    for kind, column, remedy in sizes:
        if column is not None:
            number = table[column].cast("float64")
            bad = ~(columns.is_usable(number) & (number >= 0)).fill_null(False)
            what = f"{kind} in column {column!r} are negative, missing or not finite"
            faults.append(Fault(bad, PoolError, what, remedy, column))
    if columns.stratum is not None:
        bad = (table[columns.stratum] < 0).fill_null(True)
        what = f"strata in column {columns.stratum!r} are negative or missing"
        faults.append(Fault(bad, BadOption, what, "give whole numbers from 0", columns.stratum))
    if columns.probabilities:
        faults.append(_probability_fault(table, columns))
    return faults


def _probability_fault(table: Any, columns: Columns) -> Fault:
    """Rows whose prior probabilities are none; the tolerance is that of hs.Pool."""
    shares = columns.shares(table)
    total, good = shares[0], columns.is_usable(shares[0]) & (shares[0] >= 0)
    for share in shares[1:]:
        total, good = total + share, good & columns.is_usable(share) & (share >= 0)
    good = good & ((total - 1.0).abs() <= SUM_TOLERANCE)
    what = f"rows have no probabilities in {list(columns.probabilities)}"
    remedy = "they must be at least 0 and sum to 1 for every item"
    return Fault(~good.fill_null(False), PoolError, what, remedy, columns.probabilities[-1])


def refuse(source: Source, columns: Columns, fault: Fault, n: int) -> NoReturn:
    """Say what is wrong with n rows, with one of them as an example."""
    names = list(dict.fromkeys([*columns.id, fault.column, *columns.scores]))
    with source.reading():
        rows = source.table.filter(fault.rows).select(*names).limit(1).to_pyarrow().to_pylist()
    example = rows[0] if rows else {}
    given = example.get(fault.column)
    of = {name: example.get(name) for name in columns.id}
    if fault.column in columns.id:
        of = {name: example.get(name) for name in columns.scores}
    where = ", ".join(f"{name} {value!r}" for name, value in of.items())
    raise fault.error(f"{n} {fault.what}, such as {given!r} at {where}; {fault.remedy}")


def check_duplicates(source: Source, columns: Columns, size: int) -> None:
    """Raise if an id is given twice.

    Ids are compared with each other up to EXACT of them. Of more, a part that is drawn by a hash
    is; the candidates are compared besides, so that what is given twice throughout is found.
    """
    table = source.table.select(hs_id=columns.id_of(source.table))
    parts = ceil(size / EXACT)
    if parts > 1:
        table = table.filter(table.hs_id.hash() % parts == 0)
    counts = table.aggregate(n=table.count(), different=table.hs_id.nunique())
    with source.reading():
        (found,) = counts.to_pyarrow().to_pylist()
        if found["n"] == found["different"]:
            return
        repeated = table.group_by("hs_id").agg(n=table.count())
        repeated = repeated.filter(repeated.n > 1)
        rows = repeated.order_by("hs_id").limit(1).to_pyarrow().to_pylist()
    refuse_duplicates(columns, found["n"] - found["different"], rows[0]["hs_id"], parts)


def refuse_duplicates(columns: Columns, n: int, example: Any, parts: int = 1) -> NoReturn:
    """Say that n ids repeat an earlier one."""
    among = "" if parts == 1 else f" among one in {parts} of the rows"
    name = " and ".join(repr(column) for column in columns.id)
    raise DuplicateId(
        f"{n} ids in column {name} repeat an earlier one{among}, such as {example!r}; ids must be "
        "unique: drop repeated rows"
    )
