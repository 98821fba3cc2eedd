"""Known labels in a column of the source: how many rows of each group have which."""

from __future__ import annotations

import numpy as np

from haystat.core.arrays import IntArray
from haystat.engines.checks import Fault, refuse
from haystat.engines.columns import check_labels, check_present, has_label, is_class
from haystat.engines.passes import Groups, Layout, grouped, stacked
from haystat.engines.source import Source
from haystat.errors import PoolChanged, UnknownLabel

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
