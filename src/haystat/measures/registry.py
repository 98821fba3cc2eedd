"""Measures by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import Any

from haystat.core.arguments import brief
from haystat.core.lazy import LazyTable
from haystat.errors import BadOption, UnknownName
from haystat.measures.base import Measure
from haystat.measures.outputs import Schema

AIM = "threshold"  # names the search for one, with its requirement: threshold:precision=0.95

#: name -> what makes the measure; keyword arguments are the measure's options
MEASURES: Mapping[str, Callable[..., Measure]] = LazyTable(
    "haystat.measures",
    {
        "accuracy": "all_classes:Accuracy",
        "balanced_accuracy": "all_classes:BalancedAccuracy",
        "precision": "confusion:Precision",
        "recall": "confusion:Recall",
        "f1": "confusion:F1",
        "fbeta": "confusion:FBeta",
        "mcc": "all_classes:MCC",
        "kappa": "kappa:Kappa",
        "fowlkes_mallows": "confusion:FowlkesMallows",
        "prevalence": "confusion:Prevalence",
        "lift": "confusion:Lift",
        "brier": "probabilistic:Brier",
        "log_loss": "probabilistic:LogLoss",
        "calibration_error": "probabilistic:CalibrationError",
        "mae": "regression:MeanAbsoluteError",
        "mse": "regression:MeanSquaredError",
        "rmse": "regression:RootMeanSquaredError",
        "r2": "regression:R2",
        "pr_curve": "curves:PRCurve",
        "average_precision": "curves:AveragePrecision",
        "roc_curve": "roc:ROCCurve",
        "roc_auc": "roc:ROCAUC",
        "recall_at_fpr": "operating:RecallAtFPR",
        "precision_at_k": "operating:PrecisionAtK",
        "recall_at_k": "operating:RecallAtK",
        "lift_at_k": "operating:LiftAtK",
        "precision_macro": "multiclass:precision_macro",
        "recall_macro": "multiclass:recall_macro",
        "f1_macro": "multiclass:f1_macro",
        "precision_micro": "multiclass:precision_micro",
        "recall_micro": "multiclass:recall_micro",
        "f1_micro": "multiclass:f1_micro",
        "precision_per_class": "multiclass:precision_per_class",
        "recall_per_class": "multiclass:recall_per_class",
        "f1_per_class": "multiclass:f1_per_class",
    },
)


def resolve(measure: str | Measure | Sequence[str | Measure], **options: object) -> Measure:
    """The measure of that name, the measure itself, or several of either at once.

    options are those of a measure given by name; they may follow the name, each after a colon.

    >>> resolve("fbeta", beta=2.0)
    FBeta(system=None, positive=None, beta=2.0)
    >>> resolve("fbeta:beta=2").beta
    2
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
        from haystat.measures.combine import Several  # seldom needed, and slow to import

        return Several([resolve(part) for part in measure])
    raise BadOption(f"{brief(measure)} is not a measure; give a name, a Measure or a list of them")


def bound(measure: str | Measure | Sequence[str | Measure], schema: Schema) -> Measure:
    """A measure with everything resolved that depends on the pool, weighted if its items are."""
    given = resolve(measure)
    if schema.weight is not None:
        from haystat.measures.weighted import Weighted  # seldom needed, and slow to import

        given = given.weighted_by(partial(Weighted, column=schema.weight))
    return given.bind(schema)


def _by_name(name: str, options: dict[str, object]) -> Measure:
    kind, *spelt = name.split(":")
    if kind not in MEASURES and kind != AIM:
        close = get_close_matches(kind.lower(), MEASURES, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise UnknownName(f"no measure {brief(kind)}; {hint}known are {', '.join(MEASURES)}")
    options = {**dict(_option(name, one) for one in spelt), **options}
    try:
        return _aim(**options) if kind == AIM else MEASURES[kind](**options)
    except TypeError as error:
        raise BadOption(f"measure {kind!r} does not take {sorted(options)}: {error}") from error


def _aim(**options: Any) -> Measure:
    """The search for a threshold, which is no measure without a requirement."""
    from haystat.measures.threshold_search import Threshold  # seldom needed

    return Threshold(**options)


def _option(name: str, spelt: str) -> tuple[str, object]:
    """An option and its value: a number where it can be one."""
    option, sign, text = spelt.partition("=")
    if not sign or not option or not text:
        raise BadOption(
            f"measure {brief(name)} has an option that cannot be read; write such as "
            "fbeta:beta=2, precision_at_k:k=50 or threshold:precision=0.95"
        )
    for number in (int, float):
        try:
            return option, number(text)
        except ValueError:
            continue
    return option, text
