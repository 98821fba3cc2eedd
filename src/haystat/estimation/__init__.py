"""From the log to numbers: estimators, covariance, intervals, regions."""

from haystat.estimation.census import census
from haystat.estimation.importance import estimate_importance
from haystat.estimation.intervals import Region
from haystat.estimation.result import Estimate
from haystat.estimation.rows import Rows
from haystat.estimation.stratified import estimate_stratified

__all__ = [
    "Estimate",
    "Region",
    "Rows",
    "census",
    "estimate_importance",
    "estimate_stratified",
]
