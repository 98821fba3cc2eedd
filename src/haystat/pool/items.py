"""All items of a pool side by side: what a comparison of two pools takes of each."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from haystat.core.arrays import FloatArray, IntArray
from haystat.errors import PoolError
from haystat.pool.permanent_numbers import keys_of, keys_of_each


@dataclass(frozen=True)
class Items:
    """ids (M,), the cell (M,) of each item, and what each system says about it.

    scores: (M,), or (M, C) with one for each class; predictions (M,) are classes. columns (M,) are
    those of the pool, weight is the one by which items count, if they do not all count alike.
    """

    ids: NDArray[Any]
    cell: NDArray[np.integer[Any]]
    classes: tuple[Any, ...]
    scores: Mapping[str, FloatArray]
    predictions: Mapping[str, NDArray[Any]]
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    weight: str | None = None

    def __len__(self) -> int:
        return len(self.ids)

    def positions(self, ids: Collection[Any]) -> dict[Any, int]:
        """Where the items with these ids are."""
        wanted = set(ids)
        near = np.flatnonzero(np.isin(keys_of(self.ids), keys_of_each(list(wanted))))
        pairs = zip(self.ids[near].tolist(), near.tolist(), strict=True)
        return {one: place for one, place in pairs if one in wanted}


def places_in(old: Any, new: Any) -> IntArray:
    """Where each item of the new pool was in the old one, (M,); -1 for those that are new.

    Of both only ids and classes are looked at.
    """
    if old.classes != new.classes:
        raise PoolError(
            f"the pool has the classes {list(new.classes)}, and labels were taken in terms of "
            f"{list(old.classes)}; make it with the same classes"
        )
    kinds = ["numbers" if one.ids.dtype.kind in "iu" else "texts" for one in (old, new)]
    if kinds[0] != kinds[1]:
        first = [one.ids[:1].tolist()[0] for one in (old, new)]
        raise PoolError(
            f"ids were {kinds[0]}, such as {first[0]!r}, and are {kinds[1]}, such as {first[1]!r}, "
            "so no item is found again; give them as they were"
        )
    known, asked = keys_of(old.ids), keys_of(new.ids)
    order = np.argsort(known, kind="stable")
    place = order[np.minimum(np.searchsorted(known, asked, sorter=order), len(order) - 1)]
    same: NDArray[np.bool_] = (known[place] == asked) & (old.ids[place] == new.ids)
    return np.where(same, place, -1)
