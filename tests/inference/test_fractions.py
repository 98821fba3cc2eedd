"""Measures as ratios of totals over the pool, and those that are not."""

from __future__ import annotations

import numpy as np
import pytest

from haystat.errors import NoSupport
from haystat.inference.fractions import linear_fractional
from haystat.measures import (
    F1,
    MCC,
    Accuracy,
    BalancedAccuracy,
    Brier,
    Difference,
    FBeta,
    Macro,
    Micro,
    Outputs,
    PerClass,
    PRCurve,
    Precision,
    Recall,
    Schema,
    Several,
    Within,
)

N_ITEMS = 60
MASK = np.arange(N_ITEMS) % 3 == 0
RATIOS = {
    "precision": Precision(),
    "recall": Recall(),
    "specificity": Recall(positive=0),
    "f1": F1(),
    "f2": FBeta(2.0),
    "accuracy": Accuracy(),
    "micro": Micro(F1()),
    "micro of one": Micro(F1(), labels=[1]),
    "per class": PerClass(F1()),
    "curve": PRCurve(thresholds=[0.2, 0.5, 0.8]),
    "several": Several([Accuracy(), F1(system="b"), Recall()]),
    "within": Within(F1(), MASK),
    "accuracy within": Within(Accuracy(), MASK),
    "difference of recall": Difference(Recall(), "a", "b"),
    "difference of accuracy": Difference(Accuracy(), "b", "a"),
    "difference within": Within(Difference(Accuracy(), "a", "b"), MASK),
}
OTHERS = {
    "mcc": (MCC(), "not a ratio of two totals"),
    "balanced accuracy": (BalancedAccuracy(), "not a ratio of two totals"),
    "macro": (Macro(F1()), "several ratios"),
    "difference of precision": (Difference(Precision(), "a", "b"), "several ratios"),
    "brier": (Brier(), "differs between the items of a cell"),
}


@pytest.fixture(scope="module")
def labelled():
    """Every item is a cell of its own: outputs, labels, schema."""
    rng = np.random.default_rng(0)
    label, scores = rng.integers(2, size=N_ITEMS), rng.random((N_ITEMS, 2))
    outputs = Outputs(np.arange(N_ITEMS), scores, (scores > 0.4).astype(np.int16))
    schema = Schema(N_ITEMS, ("a", "b"), 2, np.array([[0.0, 1.0]] * 2))
    return outputs, label, schema


@pytest.mark.parametrize("name", RATIOS)
def test_totals_give_the_measure(name, labelled):
    outputs, label, schema = labelled
    measure = RATIOS[name].bind(schema)
    value = measure.value(measure.risk(outputs, label, np.full(N_ITEMS, 1 / N_ITEMS)))
    for component in range(len(measure.components)):
        above, below = linear_fractional(measure, component, outputs, 2)
        items = np.arange(N_ITEMS)
        assert np.all(below >= 0)
        assert np.all(above[below == 0] == 0)
        total = above[items, label].sum() / below[items, label].sum()
        assert total == pytest.approx(value[component])


@pytest.mark.parametrize("name", OTHERS)
def test_other_measures_say_why_they_have_no_guarantee(name, labelled):
    outputs, _, schema = labelled
    measure, reason = OTHERS[name]
    with pytest.raises(NoSupport, match=reason):
        linear_fractional(measure.bind(schema), 0, outputs, 2)
