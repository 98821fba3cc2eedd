"""What a pool behind an engine was opened with, besides its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from haystat.pool.tree import Tree, balanced_tree, tree_from_parents


@dataclass(frozen=True)
class Settings:
    """Classes, seed, and how much is fetched at once. parents: of a tree that was given."""

    classes: tuple[Any, ...]
    seed: int
    branching: int
    candidates: int
    parents: tuple[int, ...] | None = None

    def tree(self, n_strata: int) -> Tree:
        """The tree over the strata."""
        if self.parents is None:
            return balanced_tree(n_strata, self.branching)
        return tree_from_parents(np.array(self.parents, dtype=np.int64), n_strata)
