"""What holds for every measure, alone and combined."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from haystat.measures import (
    F1,
    MCC,
    MEASURES,
    R2,
    ROCAUC,
    Accuracy,
    AveragePrecision,
    BalancedAccuracy,
    Brier,
    CalibrationError,
    Difference,
    Differences,
    FBeta,
    ForSystems,
    FowlkesMallows,
    Macro,
    MeanAbsoluteError,
    MeanSquaredError,
    Micro,
    PerClass,
    PRCurve,
    Precision,
    PrecisionAtK,
    Prevalence,
    Recall,
    RecallAtFPR,
    ROCCurve,
    Several,
    Threshold,
    Weighted,
    Within,
)
from haystat.measures.base import difference_jacobian

MASK = np.random.default_rng(7).random(300) < 0.4
OVER_THRESHOLDS = ("pr_curve", "average_precision", "roc_curve", "roc_auc", "recall_at_fpr")
OVER_THRESHOLDS += ("precision_at_k", "recall_at_k", "lift_at_k")
COARSE = {name: {"n_thresholds": 9} for name in OVER_THRESHOLDS}

OF_NUMBERS = ("mae", "mse", "rmse", "r2")
OF_CLASSES = tuple(name for name in MEASURES if name not in OF_NUMBERS)

TWO_CLASSES = {name: MEASURES[name](**COARSE.get(name, {})) for name in OF_CLASSES} | {
    "f2": FBeta(2.0),
    "f1 of class 0": F1(positive=0),
    "f1 of system b": F1(system="b"),
    "brier of the paper": Brier(2.0),
    "given thresholds of roc": ROCCurve(thresholds=[0.2, 0.5, 0.51, 2.0]),
    "auc of system b": ROCAUC(7, system="b"),
    "top of all": PrecisionAtK(n_thresholds=9, k=300),
    "recall at a high rate": RecallAtFPR(n_thresholds=9, rate=0.7),
    "recall at precision": Threshold(9, precision=0.6),
    "recall at a precision that all have": Threshold(9, precision=0.1),
    "precision at recall": Threshold(9, recall=0.9),
    "recall at rate": Threshold(9, false_positive_rate=0.2),
    "best f1": Threshold(9, f1="best"),
    "roc within": Within(ROCAUC(6), MASK),
    "calibration error of one bin": CalibrationError(1),
    "several with roc": Several([ROCAUC(5), ROCCurve(4), Prevalence()]),
    "given thresholds": PRCurve(thresholds=[0.2, 0.5, 0.51, 2.0]),
    "several": Several([F1(), Recall(system="b"), Accuracy(), MCC()]),
    "several with a curve": Several([PRCurve(5), Brier(), AveragePrecision(4, system="b")]),
    "all systems": ForSystems(FowlkesMallows()),
    "systems of a class": ForSystems(Precision, ["b", "a"]),
    "difference of f1": Difference(F1(), "a", "b"),
    "all differences": Differences(Recall()),
    "difference of accuracy": Difference(Accuracy, "b", "a"),
    "difference of curves": Difference(PRCurve(5), "a", "b"),
    "f1 within": Within(F1(), MASK),
    "accuracy within": Within(Accuracy(), MASK),
    "brier within": Within(Brier(), column="country", equals="de"),
    "mcc within": Within(MCC(), column="country", equals="at"),
    "balanced accuracy within": Within(BalancedAccuracy(), MASK),
    "curve within": Within(PRCurve(6), MASK),
    "several within": Within(Several([Accuracy(), F1()]), MASK),
    "within twice": Within(Within(Accuracy(), MASK), column="country", equals="de"),
    "groups side by side": Several(
        [Within(Recall(), MASK), Within(Recall(), column="country", equals="de")]
    ),
    "f1 weighted": Weighted(F1(), "amount"),
    "accuracy weighted": Weighted(Accuracy(), "amount"),
    "mcc weighted": Weighted(MCC(), "amount"),
    "auc weighted": Weighted(ROCAUC(6), "amount"),
    "brier weighted": Weighted(Brier(), "amount"),
    "recall at precision weighted": Weighted(Threshold(9, precision=0.6), "amount"),
    "within weighted": Weighted(Within(F1(), MASK), "amount"),
    "difference within": Within(Difference(Accuracy(), "a", "b"), MASK),
}
FOUR_CLASSES = {
    name: make()
    for name, make in MEASURES.items()
    if name.endswith(("_macro", "_micro", "_per_class", "accuracy")) or name in ("mcc", "kappa")
} | {
    "f1 of class 3": F1(positive=3),
    "mcc of class 2": MCC(positive=2),
    "macro of two": Macro(FBeta(0.5), labels=[1, 3]),
    "micro of two": Micro(F1(), labels=[1, 3]),
    "per class of two": PerClass(Recall(), labels=[0, 2]),
    "macro mcc": Macro(MCC()),
    "difference of macro": Difference(Macro(F1()), "a", "b"),
    "micro within": Within(Micro(F1()), MASK),
    "macro within": Within(Macro(Precision(system="b")), column="country", equals="de"),
    "mcc within": Within(MCC(), MASK),
}
NUMBERS = {name: MEASURES[name]() for name in OF_NUMBERS} | {
    "r2 of the paper": R2("explained"),
    "r2 of system b": R2(system="b"),
    "several": Several([MeanAbsoluteError(), R2(), MeanSquaredError(system="b")]),
    "difference of mse": Difference(MeanSquaredError(), "a", "b"),
    "difference of r2": Difference(R2(), "a", "b"),
    "mae within": Within(MeanAbsoluteError(), MASK),
    "r2 within": Within(R2(), column="country", equals="de"),
}


@pytest.fixture(
    params=[
        *(pytest.param((2, measure), id=f"2 {name}") for name, measure in TWO_CLASSES.items()),
        *(pytest.param((4, measure), id=f"4 {name}") for name, measure in FOUR_CLASSES.items()),
        *(pytest.param((0, measure), id=f"numbers {name}") for name, measure in NUMBERS.items()),
    ]
)
def case(request, pool_of):
    """A labelled pool and a measure bound to it."""
    n_classes, measure = request.param
    pool = pool_of(n_classes)
    return pool, measure.bind(pool.schema)


def some_risk(pool, measure, seed=0):
    """An interior risk: that of random weights, which do not add up to one."""
    weight = np.random.default_rng(seed).gamma(2.0, size=len(pool.label))
    return measure.risk(pool.outputs, pool.label, weight * 0.9 / weight.sum())


def other_labels(pool):
    rng = np.random.default_rng(1)
    if pool.schema.numeric:
        return rng.permutation(pool.label)
    return rng.integers(pool.schema.n_classes, size=len(pool.label))


def test_shapes_follow_components_and_n_risk(case):
    pool, measure = case
    risk, n_components = some_risk(pool, measure), len(measure.components)
    assert measure.loss(pool.outputs, pool.label).shape == (300, measure.n_risk)
    assert risk.shape == (measure.n_risk,)
    assert measure.value(risk).shape == (n_components,)
    assert measure.jacobian(risk).shape == (n_components, measure.n_risk)
    assert measure.influence(pool.outputs, pool.label, risk).shape == (300, n_components)
    assert len(set(measure.components)) == n_components


def test_ratios_add_up_to_the_value(case):
    pool, measure = case
    risk = some_risk(pool, measure)
    value, with_constant = measure.value(risk), np.append(risk, 1.0)
    for component in range(len(measure.components)):
        ratios = measure.ratios(component)
        if ratios is not None and np.isfinite(value[component]):
            assert ratios.shape[1:] == (2, measure.n_risk + 1)
            above, below = np.transpose(ratios @ with_constant)
            assert np.sum(above / below) == pytest.approx(value[component])


@pytest.mark.parametrize("seed", range(3))
def test_jacobian_matches_finite_differences(case, seed):
    pool, measure = case
    risk = some_risk(pool, measure, seed)
    expected = difference_jacobian(measure, risk)
    defined = np.isfinite(measure.value(risk))
    scale = 1 + np.abs(expected[defined])
    assert np.all(np.abs(measure.jacobian(risk)[defined] - expected[defined]) < 1e-6 * scale)


def test_what_a_design_draws_for_has_the_same_losses_and_is_mostly_the_measure_itself(case):
    pool, measure = case
    aim, risk, label = measure.aim, some_risk(pool, measure), other_labels(pool)
    loss, influence = measure.loss(pool.outputs, label), aim.influence(pool.outputs, label, risk)
    np.testing.assert_array_equal(aim.loss(pool.outputs, label), loss)
    if measure.components[0].startswith(("recall at precision", "recall at false positive")):
        expected = loss @ difference_jacobian(aim, risk).T
        np.testing.assert_allclose(influence, expected, rtol=1e-5, atol=1e-6)
        assert np.all(aim.value(risk) <= measure.value(risk))  # hits: not as a share of positives
    else:
        np.testing.assert_array_equal(influence, measure.influence(pool.outputs, label, risk))


def test_risk_is_the_weighted_total_of_the_loss(case):
    pool, measure = case
    weight = np.random.default_rng(2).random(len(pool.label))
    expected = weight @ measure.loss(pool.outputs, pool.label)
    np.testing.assert_allclose(measure.risk(pool.outputs, pool.label, weight), expected, 1e-12)


def test_influence_is_jacobian_times_loss(case):
    pool, measure = case
    risk, label = some_risk(pool, measure), other_labels(pool)
    expected = measure.loss(pool.outputs, label) @ measure.jacobian(risk).T
    np.testing.assert_allclose(
        measure.influence(pool.outputs, label, risk), expected, rtol=1e-9, atol=1e-9
    )


def test_sensitivity_is_the_squared_length_of_the_influence(case):
    pool, measure = case
    risk, label = some_risk(pool, measure), other_labels(pool)
    expected = np.sum(measure.influence(pool.outputs, label, risk) ** 2, axis=1)
    np.testing.assert_allclose(
        measure.sensitivity(pool.outputs, label, risk), expected, rtol=1e-9, atol=1e-9
    )


def test_support_is_where_the_loss_is_not_zero(case):
    pool, measure = case
    label = other_labels(pool)
    expected = np.any(measure.loss(pool.outputs, label) != 0, axis=1)
    np.testing.assert_array_equal(measure.support(pool.outputs, label), expected)


def test_items_of_equal_signature_have_equal_losses(case):
    pool, measure = case
    signature = measure.signature(pool.outputs)
    if signature is None:
        pytest.skip("no signature: the loss varies inside a cell")
    assert np.issubdtype(signature.dtype, np.integer)
    _, first, code = np.unique(signature, return_index=True, return_inverse=True)
    for label in range(pool.schema.n_classes):
        loss = measure.loss(pool.outputs, np.full(len(signature), label))
        np.testing.assert_array_equal(loss, loss[first][code])


def test_signature_of_an_item_does_not_depend_on_the_others(case):
    pool, measure = case
    signature = measure.signature(pool.outputs)
    rows = np.arange(40, 90)
    part = measure.signature(pool.outputs.take(rows))
    assert (signature is None) == (part is None)
    if signature is not None:
        np.testing.assert_array_equal(part, signature[rows])


def test_nothing_drawn_is_undefined_or_has_a_value_and_never_a_nan_influence(case):
    pool, measure = case
    nothing = np.zeros(measure.n_risk)
    undefined = not np.all(np.isfinite(measure.value(nothing)))
    assert (measure.undefined(nothing) is not None) == undefined
    assert np.all(np.isfinite(measure.jacobian(nothing)))
    assert np.all(np.isfinite(measure.influence(pool.outputs, pool.label, nothing)))
    assert np.all(np.isfinite(measure.sensitivity(pool.outputs, pool.label, nothing)))


def test_defined_value_has_no_reason_and_lies_within_bounds(case):
    pool, measure = case
    risk = measure.risk(pool.outputs, pool.label, pool.weight)
    value = measure.value(risk)
    assert (measure.undefined(risk) is None) == bool(np.all(np.isfinite(value)))
    low, high = measure.bounds
    assert np.all((value >= low) & (value <= high) | np.isnan(value))


def test_scale_free_measures_ignore_the_scale_of_the_weights(case):
    pool, measure = case
    risk = some_risk(pool, measure)
    same = np.allclose(measure.value(risk), measure.value(0.3 * risk), equal_nan=True)
    if measure.scale_free:
        assert same
    elif measure.name != "accuracy difference" and not isinstance(measure, Threshold):
        assert not same  # of a cut only whether it takes everything depends on the scale


def test_pickle_keeps_a_bound_measure(case):
    pool, measure = case
    risk = some_risk(pool, measure)
    copy = pickle.loads(pickle.dumps(measure))
    assert copy == measure
    assert repr(copy) == repr(measure)
    np.testing.assert_array_equal(copy.value(risk), measure.value(risk))


def test_binding_twice_changes_nothing(case):
    pool, measure = case
    risk = some_risk(pool, measure)
    again = measure.bind(pool.schema)
    assert again.components == measure.components
    np.testing.assert_array_equal(again.value(risk), measure.value(risk))


def test_risk_of_many_items_is_summed_in_blocks(case, monkeypatch):
    pool, measure = case
    whole = measure.risk(pool.outputs, pool.label, pool.weight)
    monkeypatch.setattr("haystat.measures.base.LOSS_BLOCK", 70 * measure.n_risk)
    blocks = measure.risk(pool.outputs, pool.label, pool.weight)
    np.testing.assert_allclose(blocks, whole, rtol=1e-12, atol=1e-15)


@given(
    name=st.sampled_from([name for name in MEASURES if name != "brier"]),
    rows=st.lists(st.integers(0, 299), max_size=12),
)
def test_any_few_draws_give_a_value_or_a_reason(pool_of, name, rows):
    pool = pool_of(0 if name in OF_NUMBERS else 2)
    measure = MEASURES[name](**COARSE.get(name, {})).bind(pool.schema)
    drawn = np.array(rows, dtype=int)
    outputs, label = pool.outputs.take(drawn), pool.label[drawn]
    risk = measure.risk(outputs, label, np.full(len(drawn), 1 / max(len(drawn), 1)))
    defined = np.all(np.isfinite(measure.value(risk)))
    assert (measure.undefined(risk) is None) == defined
    assert np.all(np.isfinite(measure.sensitivity(outputs, label, risk)))
    low, high = measure.bounds
    value = measure.value(risk)
    assert np.all(np.isnan(value) | (value >= low - 1e-9) & (value <= high + 1e-9))
