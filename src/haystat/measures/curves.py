"""Precision and recall over a grid of thresholds (Example 1 of the paper).

An item enters only by its bin b, the number of thresholds its score reaches, and by whether it
is positive. So with L thresholds everything is a cumulative sum over the grid and a look-up.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np

from haystat.core.arguments import checked_integer
from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.core.score_scales import even_grid
from haystat.errors import BadOption
from haystat.measures.base import Measure, finite, ratio
from haystat.measures.facts import Fact, ScoreBin
from haystat.measures.outputs import Outputs, Schema
from haystat.measures.systems import ScoreMeasure


@dataclass(frozen=True)
class OverThresholds(ScoreMeasure, ABC):
    """A measure of a score cut at L thresholds; an item at a threshold is predicted positive.

    thresholds, ascending, are n_thresholds from the smallest to the largest score of the pool
    unless given, in even steps on the scale of the scores (core/score_scales.py): of logits if they
    are probabilities, of orders of magnitude if they go beyond 50. The risk, d = 2L + 1, holds the
    predicted positives of each threshold, the true positives of each, and the positives.
    """

    n_thresholds: int = 1024
    thresholds: Sequence[float] | None = None
    _bins: ScoreBin = field(default=ScoreBin(0, ()), init=False, repr=False, compare=False)

    bounds = (0.0, 1.0)
    scale_free = True

    def __post_init__(self) -> None:
        super().__post_init__()
        checked_integer("n_thresholds", self.n_thresholds, smallest=1)
        if self.thresholds is not None:
            given = tuple(float(threshold) for threshold in self.thresholds)
            if not given or not np.all(np.isfinite(given)) or np.any(np.diff(given) <= 0):
                raise BadOption("`thresholds` must be finite numbers in strictly ascending order")
            object.__setattr__(self, "thresholds", given)

    def bind(self, schema: Schema) -> Measure:
        """The same measure with its thresholds laid over the pool's scores."""
        return self._located(schema)  # no check of the Jacobian: g is fixed and d is large

    @property
    def grid(self) -> FloatArray:
        """The thresholds in use, ascending, (L,); empty before the measure is bound."""
        return self._bins.grid

    def facts(self) -> tuple[Fact, ...] | None:
        """The bin of the score."""
        return (self._bins,)

    def loss(self, outputs: Outputs, label: IntArray) -> FloatArray:
        """Predicted positive, true positive at each threshold; positive: (n,) -> (n, 2L + 1)."""
        reached = self.score(outputs)[:, None] >= self.grid
        actual = self.actual(label)[:, None]
        return np.concatenate([reached, reached * actual, actual], axis=1)

    def support(self, outputs: Outputs, label: IntArray) -> BoolArray:
        return (self._bins.codes(outputs) > 0) | (self.actual(label) > 0)

    def risk(self, outputs: Outputs, label: IntArray, weight: FloatArray) -> FloatArray:
        bins, actual = self._bins.codes(outputs), self.actual(label)
        predicted = np.bincount(bins, weight, minlength=self._bins.size)
        hit = np.bincount(bins, weight * actual, minlength=self._bins.size)
        # Sums from the top: a threshold above all that was drawn gets an exact zero, and no
        # rounding lifts a recall above one.
        predicted_from, hit_from = np.cumsum(predicted[::-1])[::-1], np.cumsum(hit[::-1])[::-1]
        return np.concatenate([predicted_from[1:], hit_from[1:], hit_from[:1]])

    def _component_names(self, thresholds: Sequence[float]) -> tuple[str, ...]:
        """Names of the components of the value on this grid: one, or two a threshold of a curve."""
        if self.curve is None:
            return (self.name,)
        kinds = [name.replace(" ", "_") for name in self.curve]
        return tuple(f"{kind}@{threshold:.6g}" for kind in kinds for threshold in thresholds)

    def _located(self, schema: Schema) -> Self:
        bound = super()._located(schema)
        thresholds = self.thresholds
        if thresholds is None:
            low, high = schema.score_range[bound.system_index]
            # Equal scores leave one threshold; rounding in a very narrow range may leave few.
            thresholds = np.unique(even_grid(low, high, self.n_thresholds)).tolist()
        return bound._resolved(
            _bins=ScoreBin(bound.system_index, tuple(thresholds)),
            n_risk=2 * len(thresholds) + 1,
            components=self._prefixed(self._component_names(thresholds)),
        )

    def _split(self, risk: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Predicted positives (L,), true positives (L,) and positives (1,)."""
        n_thresholds = len(self.grid)
        return risk[:n_thresholds], risk[n_thresholds:-1], risk[-1:]

    def _look_up(self, table: FloatArray, outputs: Outputs, label: IntArray) -> FloatArray:
        """Entries of a table (2, L + 1) by positive or not and bin, (n,)."""
        actual = np.asarray(label == 1, dtype=np.intp)
        return np.asarray(table[actual, self._bins.codes(outputs)])


@dataclass(frozen=True)
class PRCurve(OverThresholds):
    """Precision at each threshold, then recall at each threshold, in ascending order."""

    name = "pr_curve"
    curve = ("precision", "recall")

    def value(self, risk: FloatArray) -> FloatArray:
        predicted, hit, positive = self._split(risk)
        return np.concatenate([ratio(hit, predicted), ratio(hit, positive)])

    def jacobian(self, risk: FloatArray) -> FloatArray:
        predicted, hit, positive = self._split(risk)
        n_thresholds = len(hit)
        at = np.arange(n_thresholds)
        jacobian = np.zeros((2 * n_thresholds, len(risk)))
        jacobian[at, at] = ratio(-hit, predicted**2)
        jacobian[at, n_thresholds + at] = ratio(np.ones(n_thresholds), predicted)
        jacobian[n_thresholds + at, n_thresholds + at] = ratio(np.ones(1), positive)
        jacobian[n_thresholds + at, -1] = ratio(-hit, positive**2)
        return finite(jacobian)

    def influence(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        slopes = self._slopes(risk)
        reached = np.arange(len(self.grid)) < self._bins.codes(outputs)[:, None]
        actual = self.actual(label)[:, None]
        of_precision = reached * np.where(actual > 0, slopes.precision_hit, slopes.precision_miss)
        of_recall = actual * np.where(reached, slopes.recall_hit, slopes.recall_miss)
        return np.concatenate([of_precision, of_recall], axis=1)

    def sensitivity(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        slopes = self._slopes(risk)
        table = np.zeros((2, self._bins.size))
        np.cumsum(slopes.precision_miss**2, out=table[0, 1:])
        recall_hit, recall_miss = slopes.recall_hit**2, slopes.recall_miss**2
        np.cumsum(slopes.precision_hit**2 + recall_hit, out=table[1, 1:])
        table[1, :-1] += np.cumsum(recall_miss[::-1])[::-1]
        return self._look_up(table, outputs, label)

    def undefined(self, risk: FloatArray) -> str | None:
        """Why some of the value is undefined at this risk, in words; None where all is defined."""
        predicted, _, positive = self._split(risk)
        reasons = []
        if np.any(predicted == 0):
            first = self.grid[np.argmax(predicted == 0)]
            reasons.append(
                f"precision is undefined from threshold {first:g} on: no item with such a score "
                "has been drawn"
            )
        if positive[0] == 0:
            reasons.append("recall is undefined: no positive has been drawn")
        return "; ".join(reasons) or None

    def ratios(self, component: int) -> FloatArray | None:
        """True positives over predicted positives, or over positives, (1, 2, d + 1)."""
        n_thresholds = len(self.grid)
        of_recall, at = divmod(component, n_thresholds)
        ratios = np.zeros((1, 2, self.n_risk + 1))
        ratios[0, 0, n_thresholds + at] = 1
        ratios[0, 1, 2 * n_thresholds if of_recall else at] = 1
        return ratios

    def _slopes(self, risk: FloatArray) -> _Slopes:
        predicted, hit, positive = self._split(risk)
        precision, recall = ratio(hit, predicted), ratio(hit, positive)
        return _Slopes(
            precision_hit=finite(ratio(1 - precision, predicted)),
            precision_miss=finite(ratio(-precision, predicted)),
            recall_hit=finite(ratio(1 - recall, positive)),
            recall_miss=finite(ratio(-recall, positive)),
        )


@dataclass(frozen=True)
class _Slopes:
    """What an item adds to a component, each (L,).

    To precision: if it reaches the threshold and is positive (hit) or not (miss).
    To recall: if it is positive and reaches the threshold (hit) or not (miss).
    """

    precision_hit: FloatArray
    precision_miss: FloatArray
    recall_hit: FloatArray
    recall_miss: FloatArray


@dataclass(frozen=True)
class OneOverThresholds(OverThresholds, ABC):
    """One number made of the counts at all thresholds; `slopes` are its derivatives."""

    @abstractmethod
    def slopes(self, risk: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Derivatives by predicted positives (L,), true positives (L,) and positives (1,)."""

    def jacobian(self, risk: FloatArray) -> FloatArray:
        return np.concatenate(self.slopes(risk))[None]

    def influence(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        """Jacobian times loss: what an item adds to the value, (n, 1)."""
        by_predicted, by_hit, by_positive = self.slopes(risk)
        table = np.zeros((2, self._bins.size))
        np.cumsum(by_predicted, out=table[0, 1:])
        np.cumsum(by_predicted + by_hit, out=table[1, 1:])
        table[1] += by_positive
        return self._look_up(table, outputs, label)[:, None]

    def undefined(self, risk: FloatArray) -> str | None:
        if risk[-1] != 0:
            return None
        return f"{self.components[0]} is undefined: no positive has been drawn"


@dataclass(frozen=True)
class AveragePrecision(OneOverThresholds):
    """Sum over the thresholds of precision times the step in recall (scikit-learn's definition).

    With a threshold at every score this is the average precision of the scores; a coarser grid
    counts an item with the precision at the highest threshold that it reaches.
    """

    name = "average_precision"
    is_share = True
    meaning = (
        "Precision averaged over all recalls: 100% means that every positive scores above "
        "every negative."
    )

    def value(self, risk: FloatArray) -> FloatArray:
        precision, step = self._precision_and_step(risk)
        return ratio(precision[None] @ step, risk[-1:])

    def _precision_and_step(self, risk: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Precision, zero where nothing was drawn, and true positives up to the next, (L,)."""
        predicted, hit, _ = self._split(risk)
        return finite(ratio(hit, predicted)), hit - np.append(hit[1:], 0.0)

    def slopes(self, risk: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        predicted, _, positive = self._split(risk)
        precision, step = self._precision_and_step(risk)
        step_share = finite(ratio(step, predicted))
        lower_precision = np.insert(precision[:-1], 0, 0.0)
        return (
            finite(ratio(-precision * step_share, positive)),
            finite(ratio(precision + step_share - lower_precision, positive)),
            finite(ratio(-self.value(risk), positive)),
        )
