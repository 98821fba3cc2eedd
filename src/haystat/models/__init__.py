"""Models of the oracle p(y|x), by name: one file a model."""

from haystat.models.base import MakeModel, ResponseModel
from haystat.models.beta_strata import BetaStrata
from haystat.models.dirichlet_tree import DirichletTree
from haystat.models.dirichlet_tree_stochastic import WeightedDirichletTree

MODELS: dict[str, MakeModel] = {
    "dirichlet_tree": DirichletTree,
    "weighted_dirichlet_tree": lambda tree, prior, size, tolerance: WeightedDirichletTree(
        tree, prior
    ),
    "beta_strata": lambda tree, prior, size, tolerance: BetaStrata(prior),
}

__all__ = ["MODELS", "BetaStrata", "DirichletTree", "ResponseModel", "WeightedDirichletTree"]
