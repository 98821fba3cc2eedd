"""Known labels in a column of the source: how many rows of each group have which."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from haystat.core.arrays import IntArray
from haystat.engines.checks import Fault, refuse
from haystat.engines.columns import check_labels, check_present, has_label, is_class
from haystat.engines.layout import Layout
from haystat.engines.passes import Groups, grouped, stacked
from haystat.engines.sketch_items import CellOf
from haystat.engines.source import Source
from haystat.errors import BadOption, PoolChanged, UnknownLabel
from haystat.measures.base import Measure
from haystat.pool.cells import Cells

LABEL = "hs_label"


def read_labels(source: Source, layout: Layout, groups: Groups, column: str) -> IntArray:
    """One pass: the rows of each group under each label, (G, C)."""
    classes, table = layout.classes, source.table
    check_present(column, table.schema())
    check_labels("labels", column, table.schema()[column], classes)
    with source.reading():
        rows = layout.placed(table, **{LABEL: table[column]})
        sums = {"hs_size": rows.count()}
        sums |= {
            f"hs_n{i}": has_label(rows[LABEL], label).cast("int64").sum()
            for i, label in enumerate(classes)
        }
        found = grouped(rows, layout, sums)
    same = found.select(layout.keys).equals(groups.key)
    if not same or not np.array_equal(found["hs_size"].to_numpy(), groups.size):
        raise PoolChanged(f"{source.name} changed since the pool was opened; open the pool again")
    counts = stacked(found, "hs_n", len(classes)).astype(np.int64)
    n_bad = int(groups.size.sum() - counts.sum())
    if n_bad:
        what = f"labels in column {column!r} are none of {list(classes)}"
        remedy = "add them to `classes`, or drop these rows"
        bad = ~is_class(table[column], classes)
        refuse(source, layout.columns, Fault(bad, UnknownLabel, what, remedy, column), n_bad)
    return counts


def labels_of_cells(pool: Any, measure: Measure, cells: Cells, column: str) -> IntArray:
    """Items of each cell of an EnginePool under each label, (K, C): one pass."""
    if pool.source is None or pool.size != pool.summary.size:
        raise BadOption(
            f"no column {column!r} holds the labels of all items: a sketch without its source "
            "and pairs that are streamed or not blocked have none; open a table that has it"
        )
    sketch, of_item = pool.sketch_of(measure), cast(CellOf, cells.of_item)
    found = read_labels(pool.source, pool.layout_of(measure), sketch.groups, column)
    counts = np.zeros((len(cells), len(pool.classes)), dtype=np.int64)
    np.add.at(counts, of_item.of_atom[sketch.atom_of], found)
    return counts
