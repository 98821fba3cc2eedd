"""What is estimated: each measure is a loss, a map g of the mean loss, and its Jacobian."""

from typing import TYPE_CHECKING

from haystat.core.lazy import lazy_names

if TYPE_CHECKING:
    from haystat.measures.all_classes import MCC, Accuracy, BalancedAccuracy
    from haystat.measures.base import Measure
    from haystat.measures.combine import Difference, ForSystems, Several
    from haystat.measures.confusion import (
        F1,
        FBeta,
        FowlkesMallows,
        Lift,
        OneVsRest,
        Precision,
        Prevalence,
        Ratio,
        Recall,
    )
    from haystat.measures.curves import AveragePrecision, PRCurve
    from haystat.measures.differences import Differences
    from haystat.measures.facts import ColumnEquals, Fact, InMask, PredictedClass, ScoreBin
    from haystat.measures.kappa import Kappa
    from haystat.measures.multiclass import Macro, Micro, PerClass
    from haystat.measures.multilabel import PerLabel
    from haystat.measures.operating import LiftAtK, PrecisionAtK, RecallAtFPR, RecallAtK
    from haystat.measures.outputs import Outputs, Schema
    from haystat.measures.probabilistic import Brier, CalibrationError, LogLoss
    from haystat.measures.registry import MEASURES, bound, resolve
    from haystat.measures.regression import (
        R2,
        MeanAbsoluteError,
        MeanSquaredError,
        RootMeanSquaredError,
    )
    from haystat.measures.roc import ROCAUC, ROCCurve
    from haystat.measures.systems import ClassMeasure, ScoreMeasure, SystemMeasure
    from haystat.measures.threshold_search import Threshold
    from haystat.measures.weighted import Weighted
    from haystat.measures.within import Within

__all__ = [
    "F1",
    "MCC",
    "MEASURES",
    "R2",
    "ROCAUC",
    "Accuracy",
    "AveragePrecision",
    "BalancedAccuracy",
    "Brier",
    "CalibrationError",
    "ClassMeasure",
    "ColumnEquals",
    "Difference",
    "Differences",
    "FBeta",
    "Fact",
    "ForSystems",
    "FowlkesMallows",
    "InMask",
    "Kappa",
    "Lift",
    "LiftAtK",
    "LogLoss",
    "Macro",
    "MeanAbsoluteError",
    "MeanSquaredError",
    "Measure",
    "Micro",
    "OneVsRest",
    "Outputs",
    "PRCurve",
    "PerClass",
    "PerLabel",
    "Precision",
    "PrecisionAtK",
    "PredictedClass",
    "Prevalence",
    "ROCCurve",
    "Ratio",
    "Recall",
    "RecallAtFPR",
    "RecallAtK",
    "RootMeanSquaredError",
    "Schema",
    "ScoreBin",
    "ScoreMeasure",
    "Several",
    "SystemMeasure",
    "Threshold",
    "Weighted",
    "Within",
    "bound",
    "resolve",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "all_classes": "MCC Accuracy BalancedAccuracy",
        "base": "Measure",
        "combine": "Difference ForSystems Several",
        "confusion": "F1 FBeta FowlkesMallows Lift OneVsRest Precision Prevalence Ratio Recall",
        "curves": "AveragePrecision PRCurve",
        "differences": "Differences",
        "facts": "ColumnEquals Fact InMask PredictedClass ScoreBin",
        "kappa": "Kappa",
        "multiclass": "Macro Micro PerClass",
        "multilabel": "PerLabel",
        "operating": "LiftAtK PrecisionAtK RecallAtFPR RecallAtK",
        "outputs": "Outputs Schema",
        "probabilistic": "Brier CalibrationError LogLoss",
        "registry": "MEASURES bound resolve",
        "regression": "R2 MeanAbsoluteError MeanSquaredError RootMeanSquaredError",
        "roc": "ROCAUC ROCCurve",
        "systems": "ClassMeasure ScoreMeasure SystemMeasure",
        "threshold_search": "Threshold",
        "weighted": "Weighted",
        "within": "Within",
    },
)
