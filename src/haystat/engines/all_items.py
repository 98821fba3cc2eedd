"""All items of a pool behind an engine, for what takes them one by one: one pass over its rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from haystat.engines.passes import read_smallest
from haystat.engines.sketch_items import CellOf
from haystat.errors import BadOption
from haystat.measures.base import Measure
from haystat.pool.items import Items


def all_items(pool: Any, measure: Measure) -> Items:
    """The items of an EnginePool by the cells of a measure; they must fit into memory."""
    if pool.source is None or pool.size != pool.summary.size:
        raise BadOption(
            f"{pool!r} has items that cannot be read: a sketch without its table, and pairs that "
            "are not blocked, have none; open the table itself, without unblocked pairs"
        )
    sketch, layout = pool.sketch_of(measure), pool.layout_of(measure)
    everything = np.full(len(sketch.groups.size), np.iinfo(np.int64).max)
    order = pool.row_order
    found = read_smallest(pool.source, layout, sketch.groups, sketch.atom_of, everything, order)
    cell: CellOf = pool.cells(measure).of_item
    predicted = np.asarray(pool.classes)[sketch.atoms.predictions]
    columns = {name: values[found.atom] for name, values in sketch.atoms.facts.items()}
    weight = layout.columns.weight
    if weight is not None and found.weight is not None:
        columns[weight] = found.weight
    return Items(
        found.id,
        cell.of_atom[found.atom],
        pool.classes,
        {name: found.scores[:, i] for i, name in enumerate(pool.systems)},
        {name: predicted[found.atom, i] for i, name in enumerate(pool.systems)},
        columns,
        weight,
    )
