"""Labels from before the first question, as an evaluation keeps them: checked and recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from haystat.core.arrays import IntArray
from haystat.designs.base import Design
from haystat.errors import BadOption
from haystat.pool.base import AnyPool, Order
from haystat.pool.known import Known, KnownCells, checked_known
from haystat.pool.problem import Problem

EMPTY = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class KnownLabels:
    """Known labels, part by part, and what about them is not as they claim."""

    parts: tuple[Known, ...] = ()
    doubts: tuple[str, ...] = ()

    @classmethod
    def given(cls, known: Any, pool: AnyPool, design: Design, oracle: str) -> KnownLabels:
        """What a caller gives, checked against the pool and the design."""
        parts = checked_known(known, pool.classes, pool.id_of(0)) if known is not None else ()
        if not parts:
            return NOTHING_KNOWN
        if oracle != "deterministic":
            raise BadOption(
                "known labels are of items that have one label; a stochastic oracle is asked anew "
                "at every draw: leave out known="
            )
        if not (design.with_replacement or design.by_model):
            raise BadOption(
                f"design {design} counts on items that are all equally likely to be labelled and "
                "takes no known labels; use 'assisted', 'adaptive' or 'passive'"
            )
        from haystat.decisions.known_doubts import known_doubts  # seldom needed

        pool.with_known(parts)  # items that are not there are refused
        return cls(parts, tuple(known_doubts(pool, parts)))

    def of_items(self, pool: AnyPool, problem: Problem, order: Order) -> tuple[IntArray, IntArray]:
        """Items with a known label by position, and their labels, (n,) each, cell by cell."""
        if not self.parts or problem.cells.known is None:
            return EMPTY, EMPTY
        value = {item: label for part in self.parts for item, label in part.labels.items()}
        cells = np.flatnonzero(problem.cells.known > 0).tolist()
        runs = [order.first(cell, int(problem.cells.size[cell]))[0] for cell in cells]
        items = np.concatenate(runs)
        labels = [value[pool.id_of(item)] for item in items.tolist()]
        if problem.numeric:
            return items, np.array(labels, dtype=np.float64)
        place = {label: index for index, label in enumerate(pool.classes)}
        return items, np.array([place[label] for label in labels], dtype=np.int64)

    def seen_from(
        self, pool: AnyPool, problem: Problem, items: IntArray, label: IntArray
    ) -> Problem:
        """The problem with what is known of its cells."""
        if not len(items):
            return problem
        cells = problem.cells
        weight = np.zeros((len(cells), problem.n_classes))
        square = np.zeros(len(cells))
        inverse = {
            item: 1 / chance
            for part in self.parts
            for item, chance in zip(part.labels, part.inclusion, strict=False)
        }
        w = np.array([inverse.get(pool.id_of(item), 0.0) for item in items.tolist()])
        cell = cells.of_item[items].astype(np.int64)
        np.add.at(weight, (cell, np.zeros_like(cell) if problem.numeric else label), w)
        np.add.at(square, cell, w**2)
        known = KnownCells(np.asarray(cells.known), weight, square)
        return replace(problem, known=known)

    def encode(self) -> dict[str, Any]:
        """For the settings of an evaluation; nothing where nothing is known."""
        if not self.parts:
            return {}
        parts = [part.as_dict() for part in self.parts]
        return {"known": {"parts": parts, "doubts": list(self.doubts)}}

    @classmethod
    def decode(cls, settings: Mapping[str, Any]) -> KnownLabels:
        """What `encode` wrote."""
        given = settings.get("known")
        if given is None:
            return NOTHING_KNOWN
        return cls(tuple(Known.from_dict(part) for part in given["parts"]), tuple(given["doubts"]))


NOTHING_KNOWN = KnownLabels()
