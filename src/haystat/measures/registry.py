"""Measures by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from types import MappingProxyType

from haystat.core.arguments import brief
from haystat.errors import BadOption, UnknownName
from haystat.measures.all_classes import MCC, Accuracy, BalancedAccuracy
from haystat.measures.base import Measure
from haystat.measures.combine import Several
from haystat.measures.confusion import (
    F1,
    FBeta,
    FowlkesMallows,
    Lift,
    OneVsRest,
    Precision,
    Prevalence,
    Recall,
)
from haystat.measures.curves import AveragePrecision, PRCurve
from haystat.measures.multiclass import Macro, Micro, PerClass
from haystat.measures.operating import LiftAtK, PrecisionAtK, RecallAtFPR, RecallAtK
from haystat.measures.outputs import Schema
from haystat.measures.probabilistic import Brier, CalibrationError, LogLoss
from haystat.measures.regression import (
    R2,
    MeanAbsoluteError,
    MeanSquaredError,
    RootMeanSquaredError,
)
from haystat.measures.roc import ROCAUC, ROCCurve
from haystat.measures.weighted import Weighted


def _over_classes(
    average: Callable[..., Measure], measure: Callable[..., OneVsRest]
) -> Callable[..., Measure]:
    def make(*, labels: Sequence[int] | None = None, **options: object) -> Measure:
        return average(measure(**options), labels)

    return make


#: name -> what makes the measure; keyword arguments are the measure's options
MEASURES: Mapping[str, Callable[..., Measure]] = MappingProxyType(
    {
        "accuracy": Accuracy,
        "balanced_accuracy": BalancedAccuracy,
        "precision": Precision,
        "recall": Recall,
        "f1": F1,
        "fbeta": FBeta,
        "mcc": MCC,
        "fowlkes_mallows": FowlkesMallows,
        "prevalence": Prevalence,
        "lift": Lift,
        "brier": Brier,
        "log_loss": LogLoss,
        "calibration_error": CalibrationError,
        "mae": MeanAbsoluteError,
        "mse": MeanSquaredError,
        "rmse": RootMeanSquaredError,
        "r2": R2,
        "pr_curve": PRCurve,
        "average_precision": AveragePrecision,
        "roc_curve": ROCCurve,
        "roc_auc": ROCAUC,
        "recall_at_fpr": RecallAtFPR,
        "precision_at_k": PrecisionAtK,
        "recall_at_k": RecallAtK,
        "lift_at_k": LiftAtK,
        "precision_macro": _over_classes(Macro, Precision),
        "recall_macro": _over_classes(Macro, Recall),
        "f1_macro": _over_classes(Macro, F1),
        "precision_micro": _over_classes(Micro, Precision),
        "recall_micro": _over_classes(Micro, Recall),
        "f1_micro": _over_classes(Micro, F1),
        "precision_per_class": _over_classes(PerClass, Precision),
        "recall_per_class": _over_classes(PerClass, Recall),
        "f1_per_class": _over_classes(PerClass, F1),
    }
)


def resolve(measure: str | Measure | Sequence[str | Measure], **options: object) -> Measure:
    """The measure of that name, the measure itself, or several of either at once.

    options are those of a measure given by name.

    >>> resolve("fbeta", beta=2.0)
    FBeta(system=None, positive=None, beta=2.0)
    >>> resolve(["precision", "recall"]).components
    ('precision', 'recall')
    """
    if isinstance(measure, str):
        return _by_name(measure, options)
    if options:
        raise BadOption(f"options {sorted(options)} go with one name, not with {measure!r}")
    if isinstance(measure, Measure):
        return measure
    if isinstance(measure, Sequence):
        return Several([resolve(part) for part in measure])
    raise BadOption(f"{brief(measure)} is not a measure; give a name, a Measure or a list of them")


def bound(measure: str | Measure | Sequence[str | Measure], schema: Schema) -> Measure:
    """A measure with everything resolved that depends on the pool, weighted if its items are."""
    given = resolve(measure)
    if schema.weight is not None:
        given = given.weighted_by(partial(Weighted, column=schema.weight))
    return given.bind(schema)


def _by_name(name: str, options: dict[str, object]) -> Measure:
    if name not in MEASURES:
        close = get_close_matches(name.lower(), MEASURES, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise UnknownName(f"no measure {brief(name)}; {hint}known are {', '.join(MEASURES)}")
    try:
        return MEASURES[name](**options)
    except TypeError as error:
        raise BadOption(f"measure {name!r} does not take {sorted(options)}: {error}") from error
