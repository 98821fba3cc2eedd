"""What is sampled from: items, strata, tree, cells."""

from haystat.pool.cells import Candidates, Cells
from haystat.pool.memory import Pool
from haystat.pool.tree import Tree, balanced_tree, flat_tree, tree_from_parents

__all__ = ["Candidates", "Cells", "Pool", "Tree", "balanced_tree", "flat_tree", "tree_from_parents"]
