"""haystat: how good is a classifier when positives are needles in a haystack?"""

__version__ = "0.2.0"

from haystat import designs, errors, measures
from haystat.comparison.compare import Comparison, compare
from haystat.comparison.duels import Decided
from haystat.engines.open import cross_pool, open_pool
from haystat.errors import HaystatError
from haystat.estimation.result import Estimate
from haystat.estimators import from_estimator
from haystat.evaluation import Evaluation
from haystat.experiments.simulate import simulate
from haystat.planning.plan import Plan, plan
from haystat.pool.features import strata_from_features
from haystat.pool.memory import Pool
from haystat.questions import Query
from haystat.stopping import Width
from haystat.study.study import Study

__all__ = [
    "Comparison",
    "Decided",
    "Estimate",
    "Evaluation",
    "HaystatError",
    "Plan",
    "Pool",
    "Query",
    "Study",
    "Width",
    "compare",
    "cross_pool",
    "designs",
    "errors",
    "from_estimator",
    "measures",
    "open_pool",
    "plan",
    "simulate",
    "strata_from_features",
]
