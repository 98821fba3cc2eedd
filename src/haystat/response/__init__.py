"""Models of the oracle p(y|x)."""

from haystat.response.beta_strata import BetaStrata
from haystat.response.dirichlet_tree import DirichletTree, TreeState

__all__ = ["BetaStrata", "DirichletTree", "TreeState"]
