"""The ROC curve and the area under it.

As in measures/curves.py an item enters by its bin and by whether it is positive. The negatives are
what is not positive, so the risks of all items add up to one here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.measures.base import finite, ratio
from haystat.measures.curves import OneOverThresholds, OverThresholds
from haystat.measures.outputs import Outputs


@dataclass(frozen=True)
class ROCCurve(OverThresholds):
    """False positive rate at each threshold, then recall at each, in ascending order."""

    name = "roc_curve"
    curve = ("false positive rate", "recall")
    scale_free = False

    def value(self, risk: FloatArray) -> FloatArray:
        predicted, hit, positive = self._split(risk)
        return np.concatenate([ratio(predicted - hit, 1 - positive), ratio(hit, positive)])

    def values(self, risks: FloatArray) -> FloatArray:
        """`value` at many risks, (S, d) -> (S, 2L), with the negatives ranked like the rates.

        Once most items above a threshold are labelled, draws of the false positives are a few
        whole numbers. Negatives, known to one in a thousand, would smear each of them, and the
        quantiles of the draws would cut through one that the truth lies on.
        """
        values = super().values(risks)
        n_thresholds = len(self.grid)
        false = risks[:, :n_thresholds] - risks[:, n_thresholds:-1]
        positive = risks[:, -1]
        order = np.lexsort((np.broadcast_to(positive, false.T.shape), false.T))  # (L, S)
        negative = np.empty_like(false)
        np.put_along_axis(negative, order.T, (1 - np.sort(positive))[:, None], axis=0)
        values[:, :n_thresholds] = ratio(false, negative)
        return values

    def jacobian(self, risk: FloatArray) -> FloatArray:
        predicted, hit, positive = self._split(risk)
        n_thresholds = len(hit)
        at = np.arange(n_thresholds)
        jacobian = np.zeros((2 * n_thresholds, len(risk)))
        jacobian[at, at] = ratio(np.ones(1), 1 - positive)
        jacobian[at, n_thresholds + at] = ratio(-np.ones(1), 1 - positive)
        jacobian[at, -1] = ratio(predicted - hit, (1 - positive) ** 2)
        jacobian[n_thresholds + at, n_thresholds + at] = ratio(np.ones(1), positive)
        jacobian[n_thresholds + at, -1] = ratio(-hit, positive**2)
        return finite(jacobian)

    def influence(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        predicted, hit, positive = self._split(risk)
        reached = np.arange(len(self.grid)) < self._bins.codes(outputs)[:, None]
        actual = self.actual(label)[:, None]
        rate = finite(ratio(predicted - hit, 1 - positive))
        recall = finite(ratio(hit, positive))
        of_rate = (reached * (1 - actual) + rate * actual) * finite(ratio(np.ones(1), 1 - positive))
        of_recall = actual * (reached - recall) * finite(ratio(np.ones(1), positive))
        return np.concatenate([of_rate, of_recall], axis=1)

    def sensitivity(self, outputs: Outputs, label: IntArray, risk: FloatArray) -> FloatArray:
        predicted, hit, positive = self._split(risk)
        negative = finite(ratio(np.ones(1), 1 - positive))
        rate = finite(ratio(predicted - hit, 1 - positive))
        recall = finite(ratio(hit, positive))
        per_positive = finite(ratio(np.ones(1), positive))
        table = np.zeros((2, self._bins.size))
        table[0] = np.arange(self._bins.size) * negative**2
        table[1] = np.sum((rate * negative) ** 2)
        table[1, 1:] += np.cumsum(((1 - recall) * per_positive) ** 2)
        table[1, :-1] += np.cumsum(((recall * per_positive) ** 2)[::-1])[::-1]
        return self._look_up(table, outputs, label)

    def undefined(self, risk: FloatArray) -> str | None:
        """Why some of the value is undefined at this risk, in words; None where all is defined."""
        positive = float(risk[-1])
        if positive == 0:
            return "recall is undefined: no positive has been drawn"
        if positive == 1:
            return "the false positive rate is undefined: no negative has been drawn"
        return None

    def ratios(self, component: int) -> FloatArray | None:
        """False positives over negatives, or true positives over positives, (1, 2, d + 1)."""
        n_thresholds = len(self.grid)
        of_recall, at = divmod(component, n_thresholds)
        ratios = np.zeros((1, 2, self.n_risk + 1))
        ratios[0, 0, n_thresholds + at] = 1 if of_recall else -1
        if of_recall:
            ratios[0, 1, 2 * n_thresholds] = 1
        else:
            ratios[0, 0, at] = 1
            ratios[0, 1, 2 * n_thresholds], ratios[0, 1, -1] = -1, 1
        return ratios


@dataclass(frozen=True)
class ROCAUC(OneOverThresholds):
    """Probability that a positive has a higher score than a negative; a tie counts one half.

    Scores between two neighbouring thresholds are ties.
    """

    name = "roc_auc"
    meaning = "The probability that a positive scores above a negative: 0.5 is chance."
    scale_free = False

    def value(self, risk: FloatArray) -> FloatArray:
        hit, false = self._from_everything(risk)
        positive = risk[-1:]
        ahead = hit[0] * false[0] - np.sum((hit[:-1] - hit[1:]) * (false[:-1] + false[1:])) / 2
        return ratio(np.atleast_1d(ahead), positive * (1 - positive))

    def slopes(self, risk: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        hit, false = self._from_everything(risk)
        positive = risk[-1:]
        both = positive * (1 - positive)
        by_false = -(hit[:-2] - hit[2:]) / 2
        by_hit = (false[:-2] - false[2:]) / 2
        by_positive = false[0] - hit[0] - (false[0] + false[1] - hit[0] + hit[1]) / 2
        by_positive = by_positive - self.value(risk) * (1 - 2 * positive)
        return (
            finite(ratio(by_false, both)),
            finite(ratio(by_hit - by_false, both)),
            finite(ratio(by_positive, both)),
        )

    def undefined(self, risk: FloatArray) -> str | None:
        if risk[-1] == 1:
            return f"{self.components[0]} is undefined: no negative has been drawn"
        return super().undefined(risk)

    def _from_everything(self, risk: FloatArray) -> tuple[FloatArray, FloatArray]:
        """True and false positives if all, those from each threshold on, and none are predicted."""
        predicted, hit, positive = self._split(risk)
        nothing = np.zeros(1)
        return (
            np.concatenate([positive, hit, nothing]),
            np.concatenate([1 - positive, predicted - hit, nothing]),
        )
