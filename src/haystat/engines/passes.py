"""The passes over a pool: what it ranges over, its groups, and the first items by u."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from haystat.core.arrays import FloatArray, IntArray
from haystat.engines.codes import CODE, code_of, decoded, fitting, row_code
from haystat.engines.columns import (
    DEVIATION,
    ID,
    WEIGHT,
    score_name,
    share_name,
)
from haystat.engines.grid import clipped
from haystat.engines.layout import LEVEL, Layout
from haystat.engines.permanent_numbers import with_number
from haystat.engines.signals import (
    EngineSignal,
    band_name,
    place_name,
    placed_name,
)
from haystat.engines.small_tables import small_table
from haystat.engines.source import Source
from haystat.engines.weights import HEAVY, light_of, told_apart
from haystat.errors import BadOption, PoolError

U, ATOM, LIMIT = "hs_u", "hs_atom", "hs_limit"
MOST_GROUPS = 1 << 20
STEEPEST = 700.0  # beyond which exp() leaves the range of a double


@dataclass(frozen=True)
class Groups:
    """Rows that agree in place, predictions, facts, bins and bands of signals: G of them.

    key is an Arrow table of the keys, one row a group. score_sum (G, S); prior_sum (G, S) of the
    second of two classes as each system claims it, or (G, C) of given probabilities; square_sum
    (G,) of the deviations; signal_sum (G, J) of the places of signals, as they count; weight_sum
    (G, 2) of the weights and of their squares.
    """

    key: pa.Table
    size: IntArray
    score_sum: FloatArray
    prior_sum: FloatArray
    square_sum: FloatArray
    signal_sum: IntArray | None = None
    weight_sum: FloatArray | None = None

    def column(self, name: str) -> NDArray[Any]:
        """One of the keys, (G,)."""
        return np.asarray(self.key[name].to_numpy(zero_copy_only=False))

    def light(self) -> int:
        """The power of two below which weights are not told apart."""
        return light_of(*self._weights())

    def heavy(self) -> IntArray:
        """The code of the weight of each group, (G,), light ones being alike."""
        return told_apart(*self._weights())

    def _weights(self) -> tuple[IntArray, FloatArray]:
        assert self.weight_sum is not None  # of a layout with weights
        return self.column(HEAVY).astype(np.int64), self.weight_sum[:, 0]


def read_groups(source: Source, layout: Layout) -> Groups:
    """One pass: count the rows of each group and add up their scores."""
    return as_groups(checked_few(read_sums(source, layout), layout), layout)


def read_sums(source: Source, layout: Layout) -> pa.Table:
    """The same as an Arrow table of keys and sums; of more than MOST_GROUPS groups a part."""
    with source.reading():
        rows = layout.placed(source.table)
        sums = {"hs_size": rows.count()}
        sums |= {f"hs_sum{i}": rows[score_name(i)].sum() for i in layout.systems}
        priors = claimed_shares(rows, layout)
        sums |= {f"hs_prior{i}": share.sum() for i, share in enumerate(priors)}
        if layout.columns.deviation is not None:
            sums["hs_square"] = (rows[DEVIATION] * rows[DEVIATION]).sum()
        if layout.weight_range is not None:
            weight = rows[WEIGHT]
            sums |= {"hs_weight0": weight.sum(), "hs_weight1": (weight * weight).sum()}
        for i, one in enumerate(layout.signals):
            if one.place_of_band is None:
                sums[placed_name(i)] = rows[place_name(i)].cast("float64").sum()
        return grouped(rows, layout, sums)


def as_groups(table: pa.Table, layout: Layout) -> Groups:
    """Keys and sums of groups as arrays."""
    n_groups, n_priors = table.num_rows, len([n for n in table.column_names if _is_prior(n)])
    return Groups(
        table.select(layout.keys),
        table["hs_size"].to_numpy().astype(np.int64),
        stacked(table, "hs_sum", len(layout.systems)),
        stacked(table, "hs_prior", n_priors),
        table["hs_square"].to_numpy() if layout.columns.deviation else np.zeros(n_groups),
        _signal_sum(table, layout.signals),
        stacked(table, WEIGHT, 2) if layout.weight_range is not None else None,
    )


def _is_prior(name: str) -> bool:
    return name.startswith("hs_prior")


def _signal_sum(table: pa.Table, signals: Sequence[EngineSignal]) -> IntArray | None:
    """Sums of the places of signals, (G, J); those added up as doubles are exact below 2**53."""
    columns = []
    for i, one in enumerate(signals):
        if one.place_of_band is None:
            columns.append(table[placed_name(i)].cast(pa.int64()).to_numpy())
        else:
            band = table[band_name(i)].to_numpy().astype(np.int64)
            columns.append(one.place_of_band[band] * table["hs_size"].to_numpy())
    return np.stack(columns, axis=1) if columns else None


def grouped(rows: Any, layout: Layout, sums: Mapping[str, Any]) -> pa.Table:
    """Sums of each group, in the order of the keys: engines return groups in any order."""
    sizes = layout.sizes
    others = [name for name in layout.keys if name not in sizes]
    keys = [row_code(rows, sizes).name(CODE), *others] if sizes else others
    found = rows.group_by(keys).agg(**sums).limit(MOST_GROUPS + 1).to_pyarrow()
    return decoded(found, sizes).sort_by([(name, "ascending") for name in layout.keys])


def checked_few(table: pa.Table, layout: Layout) -> pa.Table:
    """Groups; raises if they are more than MOST_GROUPS."""
    if table.num_rows > MOST_GROUPS:
        given = layout.columns
        names = [*given.facts, *([given.stratum] if given.stratum else [])]
        raise BadOption(
            f"the rows fall into more than {MOST_GROUPS} kinds; do many rows share the values of "
            f"the columns {names}?"
        )
    return table


def stacked(table: pa.Table, prefix: str, n: int) -> FloatArray:
    """Columns of one kind as an array, (G, n)."""
    columns = [table[f"{prefix}{i}"].to_numpy() for i in range(n)]
    return np.stack(columns, axis=1).astype(np.float64)


def claimed_shares(rows: Any, layout: Layout) -> list[Any]:
    """What is summed up for the prior of a cell: a column a system, or a class."""
    if layout.columns.probabilities:
        return [rows[share_name(i)] for i in range(len(layout.classes))]
    scores = [rows[score_name(i)] for i in layout.systems]
    if not layout.classes:
        return scores
    known = zip(scores, layout.probabilities, strict=True)
    return [score if is_probability else _logistic(score) for score, is_probability in known]


@dataclass(frozen=True)
class Found:
    """Rows with a small u, in the order of atom and u: all (n,), scores (n, S).

    weight (n,) is what they count, where rows have weights.
    """

    atom: NDArray[np.int32]
    u: NDArray[np.int64]
    id: NDArray[Any]
    scores: FloatArray
    weight: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.u)


FRONT, KEPT, AGAIN = "hs_front", -(2**63), -(2**62)  # where items in front begin


@dataclass(frozen=True)
class RowOrder:
    """The order of the items of a cell: by u of a seed, after those that are in front.

    front has the ids of those as `hs_wanted`, as `id_text` makes them, and where each begins: at
    KEPT, or at AGAIN after these.
    """

    seed: int
    front: pa.Table | None = None

    def numbered(self, rows: Any) -> Any:
        """The rows with their u; of those in front it is negative."""
        rows = with_number(rows, ID, self.seed, U)
        if self.front is None or not self.front.num_rows:
            return rows
        rows = rows.mutate(hs_sought=sought(rows[ID]))
        names, front = rows.columns, ibis.memtable(self.front)
        joined = rows.left_join(front, [("hs_sought", "hs_wanted")]).select(*names, FRONT)
        u = (joined[U] >> ibis.literal(1, type="int64")) + joined[FRONT]
        return joined.mutate(**{U: ibis.ifelse(joined[FRONT].isnull(), joined[U], u)})


def sought(id: Any) -> Any:
    """Ids as they are looked up: whole numbers of 64 bits, or texts."""
    return id.cast("int64" if is_whole(id) else "string")


def sought_alike(*ids: Any) -> list[Any]:
    """Ids of several tables as they are looked up in one another: texts, if kinds differ."""
    alike = len({is_whole(id) for id in ids}) == 1
    return [sought(id) if alike else id.cast("string") for id in ids]


def is_whole(id: Any) -> bool:
    """Whether ids are whole numbers of 64 bits."""
    return bool(id.type().is_integer() and not id.type().is_uint64())


def wanted_ids(id: Any, values: Sequence[Any]) -> pa.Array:
    """Some ids as they are looked up."""
    if is_whole(id):
        return pa.array([int(value) for value in values], type=pa.int64())
    return pa.array([str(value) for value in values], type=pa.string())


def own_u(u: NDArray[np.int64]) -> NDArray[np.int64]:
    """u of items, but for its lowest bit of those that are in front."""
    return np.asarray(np.where(u < 0, (u & (2**62 - 1)) << 1, u))


def read_smallest(
    source: Source, layout: Layout, groups: Groups, atom: IntArray, limit: IntArray, order: RowOrder
) -> Found:
    """One pass: the rows of each group with u at or below its limit, (G,); none where it is < 0."""
    further = {ATOM: atom.astype(np.int64), LIMIT: limit}
    with source.reading():
        rows = order.numbered(layout.placed(source.table))
        joined = of_groups(rows, layout, groups.key, further, np.flatnonzero(limit >= 0))
        kept = joined.filter(joined[U] <= joined[LIMIT])
        names = [ATOM, U, ID, *(score_name(i) for i in layout.systems)]
        names += [] if layout.weight_range is None else [WEIGHT]
        table = kept.select(*names).to_pyarrow()
    return sorted_found(table, len(layout.systems))


def of_groups(
    rows: Any,
    layout: Layout,
    key: pa.Table,
    further: Mapping[str, NDArray[Any]],
    wanted: IntArray | None = None,
) -> Any:
    """Rows of groups, all or those wanted, with further columns (G,) of these."""
    sizes = layout.sizes
    if LEVEL in layout.keys:
        sizes = fitting({**sizes, LEVEL: 1 + (pc.max(key[LEVEL]).as_py() or 0)})
    arrays = {name: key[name].to_numpy().astype(np.int64) for name in sizes}
    others = [name for name in layout.keys if name not in sizes]
    known = {f"{name}_of": key[name] for name in others} | dict(further)
    on: list[Any] = [(name, f"{name}_of") for name in others]
    if sizes:
        known["hs_code_of"] = pa.array(code_of(arrays, sizes))
        on.append((row_code(rows, sizes), "hs_code_of"))
    small = pa.table(known)
    small = small if wanted is None else small.take(pa.array(wanted))
    return rows.inner_join(small_table(rows, small), on)


def sorted_found(table: pa.Table, n_systems: int) -> Found:
    """Rows as an engine returns them, put into the order of atom and u."""
    atom = table[ATOM].to_numpy().astype(np.int32)
    u = table[U].to_numpy().astype(np.int64)
    order = np.lexsort((u, atom))
    scores = [table[score_name(i)].to_numpy()[order] for i in range(n_systems)]
    weight = table[WEIGHT].to_numpy()[order] if WEIGHT in table.column_names else None
    id = id_array(table[ID])[order]
    return Found(atom[order], u[order], id, np.stack(scores, axis=1), weight)


def id_array(column: pa.ChunkedArray) -> NDArray[Any]:
    """Ids as numpy keeps them: integers, or texts as objects."""
    if pa.types.is_decimal(column.type):
        whole = [int(value) for value in column.to_pylist()]
        if max(whole, default=0) >= 2**63 and min(whole) < 0:
            raise PoolError(
                f"ids go from {min(whole)} to {max(whole)}, which 64 bits do not hold; give texts"
            )
        return np.array(whole, dtype=np.uint64 if max(whole, default=0) >= 2**63 else np.int64)
    values = column.to_numpy(zero_copy_only=False)
    return np.asarray(values if values.dtype.kind in "iu" else values.astype(object))


def _logistic(score: Any) -> Any:
    steep = clipped(score, -STEEPEST, STEEPEST)
    return 1 / (1 + (-steep).exp())
