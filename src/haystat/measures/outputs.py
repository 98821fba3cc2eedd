"""What the systems say about items: all a measure may look at besides the label."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from haystat.core.arguments import brief
from haystat.core.arrays import FloatArray, IntArray
from haystat.errors import UnknownName


@dataclass(frozen=True)
class Schema:
    """What a measure may know of a pool before it sees an item.

    score_range (S, 2) holds the smallest and largest score of each system; class_names, where
    given, has one name for each of the n_classes label indices. Labels that are numbers have no
    classes. scored is false where systems gave predictions alone. weight names the column that says
    what an item counts, if there is one; weights below 2 ** light are not told apart.
    """

    size: int
    systems: tuple[str, ...]
    n_classes: int
    score_range: FloatArray
    columns: tuple[str, ...] = ()
    class_names: tuple[str, ...] = ()
    scored: bool = True
    weight: str | None = None
    light: int = -64

    def system_index(self, name: str | None) -> int:
        """Column of the system called `name`; the first one if no name is given."""
        if name is None:
            return 0
        if not isinstance(name, str) or name not in self.systems:
            raise UnknownName(f"no system {brief(name)}; the pool has {list(self.systems)}")
        return self.systems.index(name)

    @property
    def numeric(self) -> bool:
        """Whether labels are numbers."""
        return self.n_classes == 0

    def class_name(self, index: int) -> str:
        """Name of a class for people; its index where the pool gives no names."""
        return self.class_names[index] if self.class_names else str(index)


@dataclass(frozen=True)
class Outputs:
    """Outputs of S systems for n items.

    index (n,) is the item's position in the pool, scores (n, S) the raw scores,
    predictions (n, S) the predicted class index, columns further facts such as a
    sub-population, each (n,).
    """

    index: IntArray
    scores: FloatArray
    predictions: IntArray
    columns: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.index)

    def take(self, rows: IntArray | slice) -> Outputs:
        """The outputs of some of the items, in the order of `rows`."""
        columns = {name: values[rows] for name, values in self.columns.items()}
        return Outputs(self.index[rows], self.scores[rows], self.predictions[rows], columns)
