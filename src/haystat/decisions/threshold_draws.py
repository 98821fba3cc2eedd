"""The pool at every candidate cut: joint draws of what a threshold would predict and find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from haystat.core.arrays import FloatArray
from haystat.inference.credible import counted_up
from haystat.inference.estimate import Estimate
from haystat.measures.base import ratio
from haystat.measures.curves import OverThresholds

N_DRAWS = 1000  # of a normal distribution, where an estimate has no draws of its own


@dataclass(frozen=True)
class CutCounts(OverThresholds):
    """The counts at each threshold themselves: predicted positives, true positives; positives."""

    name = "cut_counts"
    scale_free = False

    def value(self, risk: FloatArray) -> FloatArray:
        """g: the risk."""
        return risk

    def values(self, risks: FloatArray) -> FloatArray:
        """`value` at many risks."""
        return risks

    def jacobian(self, risk: FloatArray) -> FloatArray:
        """Derivative of `value`."""
        return np.eye(len(risk))

    def undefined(self, risk: FloatArray) -> str | None:
        """Counts are always defined."""
        return None

    def _component_names(self, thresholds: Sequence[float]) -> tuple[str, ...]:
        counts = (f"{kind}@{t:.17g}" for kind in ("predicted", "hit") for t in thresholds)
        return (*counts, "positive")


@dataclass(frozen=True)
class CutDraws:
    """Shares of the pool at L cuts, ascending, in S joint draws.

    predicted (L,) is known; hit (S, L) are true positives, positive (S,) all positives. Intervals
    leave out `tail_share` of the draws that their level would, and values are the quantile `point`
    counted from the worst, as those of an estimate do and are.
    """

    cuts: FloatArray
    predicted: FloatArray
    hit: FloatArray
    positive: FloatArray
    tail_share: float = 1.0
    point: float = 0.5

    @property
    def precision(self) -> FloatArray:
        """(S, L); 1 where nothing is predicted, as no prediction is wrong."""
        return np.where(self.predicted > 0, self.hit / np.maximum(self.predicted, 1e-300), 1.0)

    @property
    def recall(self) -> FloatArray:
        """(S, L); 1 in draws without a positive, as none is missed."""
        return np.nan_to_num(ratio(self.hit, self.positive[:, None]), nan=1.0)

    @property
    def f1(self) -> FloatArray:
        """(S, L)."""
        return np.nan_to_num(ratio(2 * self.hit, self.predicted + self.positive[:, None]), nan=1.0)

    @property
    def false_positive_rate(self) -> FloatArray:
        """(S, L)."""
        false = np.maximum(self.predicted - self.hit, 0.0)
        return np.nan_to_num(ratio(false, 1 - self.positive[:, None]), nan=0.0)

    def of(self, name: str) -> FloatArray:
        """A measure by name, (S, L)."""
        return np.asarray(getattr(self, name))

    def value(self, name: str) -> FloatArray:
        """What it is estimated to be at each cut, (L,)."""
        rank = counted_up(self.point, name == "false_positive_rate")
        return np.asarray(np.quantile(self.of(name), rank, axis=0))


def draws_of(estimate: Estimate, cuts: FloatArray, seed: int = 0) -> CutDraws:
    """The draws behind an estimate of CutCounts; of a normal distribution where it has none."""
    draws = estimate.sampled
    if not len(draws):
        rng = np.random.default_rng(seed)
        error = rng.standard_normal((N_DRAWS, len(estimate.terms))) @ estimate.terms
        draws = np.clip(estimate.values + error, 0.0, 1.0)
    n = len(cuts)
    predicted = np.median(draws[:, :n], axis=0)
    hit = np.minimum(draws[:, n:-1], predicted)
    positive = np.maximum(draws[:, -1], hit.max(axis=1))
    return CutDraws(cuts, predicted, hit, positive, estimate.tail_share, estimate.point)
