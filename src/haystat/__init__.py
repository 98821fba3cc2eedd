"""haystat: how good is a classifier when positives are needles in a haystack?"""

__version__ = "0.1.0"

from haystat import designs, errors, measures
from haystat.errors import HaystatError
from haystat.estimation.result import Estimate
from haystat.evaluation import Evaluation, Query
from haystat.experiments.simulate import simulate
from haystat.pool.memory import Pool

__all__ = [
    "Estimate",
    "Evaluation",
    "HaystatError",
    "Pool",
    "Query",
    "designs",
    "errors",
    "measures",
    "simulate",
]
