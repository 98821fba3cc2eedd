"""A measure of one's own takes a few lines."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest
from sklearn import metrics

from haystat.errors import BadOption
from haystat.measures import Measure, OneVsRest, PredictedClass, Several, Within


class JaccardByHand(Measure):
    name = "jaccard"
    components = ("jaccard",)
    n_risk = 2

    def loss(self, outputs, label):
        predicted, actual = outputs.predictions[:, 0] == 1, label == 1
        return np.stack([predicted & actual, predicted | actual], axis=1)

    def value(self, risk):
        return risk[0] / risk[1]


@dataclass(frozen=True, kw_only=True)
class Jaccard(OneVsRest):
    name = "jaccard"
    n_risk = 2
    scale_free = True

    def terms(self, predicted, actual):
        return predicted * actual, np.maximum(predicted, actual)

    def value(self, risk):
        return risk[0] / risk[1]


class CostOfErrors(Measure):
    name = "cost"
    n_risk = 1

    def loss(self, outputs, label):
        return np.where(label == 1, 10.0, 1.0) * (outputs.predictions[:, 0] != label)

    def value(self, risk):
        return risk

    def facts(self):
        return (PredictedClass(0, 2),)


@pytest.mark.parametrize("kind", [JaccardByHand, Jaccard])
def test_value_equals_scikit_learn(two_classes, kind):
    expected = metrics.jaccard_score(two_classes.label, two_classes.outputs.predictions[:, 0])
    np.testing.assert_allclose(two_classes.value(kind()), [expected])


@pytest.mark.parametrize("kind", [JaccardByHand, Jaccard])
def test_jacobian_is_derived(two_classes, kind):
    bound = kind().bind(two_classes.schema)
    risk = np.array([0.2, 0.5])
    np.testing.assert_allclose(bound.jacobian(risk), [[1 / 0.5, -0.2 / 0.25]], rtol=1e-14)


def test_own_measure_combines_with_others(two_classes):
    several = Several([Jaccard(system="b"), CostOfErrors()])
    assert len(two_classes.value(several)) == 2
    assert several.bind(two_classes.schema).signature(two_classes.outputs) is not None
    inside = np.arange(300) < 120
    expected = metrics.jaccard_score(
        two_classes.label[inside], two_classes.outputs.predictions[inside, 0]
    )
    np.testing.assert_allclose(two_classes.value(Within(JaccardByHand(), inside)), [expected])
    np.testing.assert_allclose(two_classes.value(Within(Jaccard(), inside)), [expected])


def test_own_measure_undefined_is_nan_with_a_reason_and_no_influence(two_classes):
    bound = Jaccard().bind(two_classes.schema)
    with np.errstate(invalid="ignore"):
        assert "jaccard is undefined" in bound.undefined(np.zeros(2))
    assert np.all(bound.jacobian(np.zeros(2)) == 0)


def own(value, **attributes):
    return type("Own", (JaccardByHand,), {"value": value, **attributes})()


@pytest.mark.parametrize(
    "value",
    [
        lambda self, risk: np.abs(risk[:1] - risk[1:]),
        lambda self, risk: np.real(risk[:1]),
        lambda self, risk: math.sqrt(risk[0]),
        lambda self, risk: np.linalg.norm(risk),
    ],
)
def test_a_value_that_complex_steps_cannot_differentiate_is_refused(two_classes, value):
    with pytest.raises(BadOption, match="disagrees with finite differences"):
        own(value).bind(two_classes.schema)


def test_a_value_that_takes_no_complex_numbers_is_refused(two_classes):
    with pytest.raises(BadOption, match="cannot be derived"):
        own(lambda self, risk: math.sqrt(risk.tolist()[0])).bind(two_classes.schema)


def test_a_jacobian_given_by_hand_makes_abs_possible(two_classes):
    def jacobian(self, risk):
        sign = np.sign(risk[0] - risk[1])
        return np.array([[sign, -sign]])

    measure = own(lambda self, risk: np.abs(risk[:1] - risk[1:]), jacobian=jacobian)
    assert measure.bind(two_classes.schema).value(np.array([0.1, 0.4])) == pytest.approx([0.3])


def test_a_wrong_jacobian_given_by_hand_is_refused(two_classes):
    measure = own(
        lambda self, risk: risk[0] / risk[1],
        jacobian=lambda self, risk: np.array([[1 / risk[1], risk[0] / risk[1] ** 2]]),
    )
    with pytest.raises(BadOption, match="disagrees"):
        measure.bind(two_classes.schema)


def test_components_must_fit_the_value(two_classes):
    with pytest.raises(BadOption, match="has 2 components"):
        own(lambda self, risk: risk[0], components=("x", "y")).bind(two_classes.schema)
