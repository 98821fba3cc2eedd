"""From draws and labels to numbers: estimators, covariance, intervals, regions."""

from haystat.inference.census import census
from haystat.inference.drawn_items import DrawnItems
from haystat.inference.estimate import Estimate
from haystat.inference.importance import estimate_importance
from haystat.inference.intervals import Region
from haystat.inference.stratified import estimate_stratified

__all__ = [
    "DrawnItems",
    "Estimate",
    "Region",
    "census",
    "estimate_importance",
    "estimate_stratified",
]
