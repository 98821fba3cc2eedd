"""Models of the oracle p(y|x)."""

from haystat.models.beta_strata import BetaStrata
from haystat.models.dirichlet_tree import DirichletTree, TreeState

__all__ = ["BetaStrata", "DirichletTree", "TreeState"]
