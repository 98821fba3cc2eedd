"""Cohen's kappa: agreement of predictions and labels beyond what chance would give."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haystat.core.arrays import FloatArray
from haystat.measures.all_classes import MultiClassMCC, complement
from haystat.measures.base import Measure, finite, ratio
from haystat.measures.confusion import OfThreeShares
from haystat.measures.outputs import Schema

MEANING = "1 means perfect agreement with the labels, 0 as much as chance would give."


@dataclass(frozen=True, kw_only=True)
class Kappa(OfThreeShares):
    """Cohen's kappa of predictions and labels, (agreement - chance) / (1 - chance).

    >>> import haystat as hs
    >>> hs.measures.resolve("kappa").meaning
    '1 means perfect agreement with the labels, 0 as much as chance would give.'
    """

    name = "kappa"
    meaning = MEANING
    bounds = (-1.0, 1.0)

    def bind(self, schema: Schema) -> Measure:
        """The same measure for the pool's systems and classes."""
        if self.positive is None and schema.n_classes > 2:
            return MultiClassKappa(system=self.system).bind(schema)
        return super().bind(schema)

    def value(self, risk: FloatArray) -> FloatArray:
        hit, positive, predicted = risk[:, None]
        return ratio(2 * (hit - positive * predicted), _by_chance(positive, predicted))

    def jacobian(self, risk: FloatArray) -> FloatArray:
        _, positive, predicted = risk[:, None]
        value, apart = self.value(risk), _by_chance(positive, predicted)
        columns = [
            ratio(2 * np.ones(1), apart),
            ratio(-2 * predicted - value * (1 - 2 * predicted), apart),
            ratio(-2 * positive - value * (1 - 2 * positive), apart),
        ]
        return finite(np.stack(columns, axis=1))

    def undefined(self, risk: FloatArray) -> str | None:
        if np.isfinite(self.value(risk)[0]):
            return None
        return f"{self.components[0]} is undefined: all labels and predictions drawn are alike"


@dataclass(frozen=True, kw_only=True)
class MultiClassKappa(MultiClassMCC):
    """Cohen's kappa of any number of classes."""

    name = "kappa"
    meaning = MEANING

    def value(self, risk: FloatArray) -> FloatArray:
        predicted, actual = risk[1:].reshape(2, -1)
        chance = np.atleast_1d(predicted @ actual)
        return ratio(risk[:1] - chance, complement(chance))

    def jacobian(self, risk: FloatArray) -> FloatArray:
        predicted, actual = risk[1:].reshape(2, -1)
        apart = complement(np.atleast_1d(predicted @ actual))
        by_chance = ratio(self.value(risk) - 1, apart)
        columns = [ratio(np.ones(1), apart), by_chance * actual, by_chance * predicted]
        return finite(np.concatenate(columns)[None])


def _by_chance(positive: FloatArray, predicted: FloatArray) -> FloatArray:
    """How often a label and a prediction of two random items differ."""
    return positive * complement(predicted) + predicted * complement(positive)
