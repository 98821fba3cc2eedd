"""Which measures are a ratio of two totals over the pool, and of what totals."""

from __future__ import annotations

import numpy as np

from haystat.core.arrays import FloatArray
from haystat.errors import NoSupport
from haystat.measures.base import Measure
from haystat.measures.outputs import Outputs


def linear_fractional(
    measure: Measure, component: int, example: Outputs, n_classes: int
) -> tuple[FloatArray, FloatArray]:
    """What an item adds above and below, by its cell and label: A and B, (K, C) each.

    The component is sum A / sum B over the pool. measure is bound; example has an item of each
    cell. NoSupport, with the reason in words, where the component is no such ratio.

    Precision, recall, F, accuracy, all of these of a class, at a threshold or in a group are; so
    are differences between systems of recall and accuracy, whose totals below are the same.
    """
    name = measure.components[component]
    if measure.signature(example) is None:
        raise NoSupport(
            f"{name} has no guaranteed interval: its loss differs between the items of a cell"
        )
    ratios = measure.ratios(component)
    if ratios is None:
        raise NoSupport(
            f"{name} has no guaranteed interval: it is not a ratio of two totals over the pool"
        )
    labels = (np.full(len(example), c) for c in range(n_classes))
    loss = np.stack([measure.loss(example, label) for label in labels], axis=1)
    loss = np.concatenate([loss, np.ones((*loss.shape[:2], 1))], axis=2)
    terms = np.einsum("kcd,tsd->tskc", loss, ratios)
    if not np.all(terms[:, 1] == terms[0, 1]):
        raise NoSupport(
            f"{name} has no guaranteed interval: it is made of several ratios whose totals below "
            "differ; ask for its parts"
        )
    return terms[:, 0].sum(axis=0), terms[0, 1]
