"""The measure behind a search for a threshold: what the cut that meets a requirement keeps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from haystat.core.arguments import brief, checked_number
from haystat.core.arrays import FloatArray
from haystat.errors import BadOption
from haystat.measures.base import Measure
from haystat.measures.facts import Fact, PredictedClass
from haystat.measures.operating import (
    AtPoint,
    PointRequirement,
    Slopes,
    hits_at,
    precision_at,
    recall_at,
)

EVENLY = 0.9  # of the labels for a recall: they must rule out positives below the cut
WORDS = ("precision", "recall", "f1", "false_positive_rate")


@dataclass(frozen=True)
class Threshold(AtPoint):
    """What is left at the cut that a requirement asks for. Give one of:

    precision, false_positive_rate: recall at the lowest cut that keeps it;
    recall: precision at the highest cut that keeps it;
    f1="best": the largest F1 over all cuts.

    A design that draws for it sends labels to where that cut is decided.

    >>> Threshold(precision=0.95).components
    ('recall at precision 0.95',)
    """

    n_thresholds: int = 256
    precision: float | None = None
    recall: float | None = None
    f1: str | None = None
    false_positive_rate: float | None = None
    _kept: Callable[[float, float, float], Slopes] | None = field(
        default=None, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in WORDS if getattr(self, name) is not None}
        if len(given) != 1:
            raise BadOption(
                f"a threshold has one requirement, not {len(given)}; give one of precision=0.95, "
                "recall=0.9, f1='best', false_positive_rate=0.01"
            )
        [(name, value)] = given.items()
        if name == "f1":
            if not (isinstance(value, str) and value == "best"):
                raise BadOption(f"f1 is {brief(value)}; the only requirement of F1 is 'best'")
            object.__setattr__(self, "name", "best f1")
        else:
            share = checked_number(name, value, 0.95, most=1)
            kept = "precision" if name == "recall" else "recall"
            object.__setattr__(self, "name", f"{kept} at {name.replace('_', ' ')} {share:g}")
        super().__post_init__()

    @property
    def requirement(self) -> PointRequirement:
        """As in haystat.measures.operating; of the best F1 there is none."""
        if self.precision is not None:
            return PointRequirement(hit=1.0, predicted=-self.precision)
        if self.recall is not None:
            return PointRequirement(hit=1.0, positive=-self.recall, lowest=False)
        rate = self.false_positive_rate or 0.0
        return PointRequirement(hit=1.0, predicted=-1.0, positive=-rate, constant=rate)

    @property
    def aim(self) -> Measure:
        """The positives found at the cut, where it depends on nothing below it.

        Whether a cut keeps a precision or a false positive rate is hardly a matter of how many
        positives lie below it: labels that tell their number do not certify a lower cut.
        """
        free = self.precision is not None or self.false_positive_rate is not None
        return self._resolved(_kept=hits_at) if free else self

    @property
    def evenly(self) -> float:
        """Most of the labels where a recall is required, no more than usual else."""
        return 0.0 if self.recall is None else EVENLY

    def facts(self) -> tuple[Fact, ...] | None:
        """The bin of the score, and the prediction: the cut in use is looked at as well."""
        return (self._bins, PredictedClass(self.system_index, self.n_classes))

    def at(self, hit: float, predicted: float, positive: float) -> Slopes:
        """Recall, or precision where recall is required."""
        kept = self._kept or (precision_at if self.recall is not None else recall_at)
        return kept(hit, predicted, positive)

    def _solved(self, risk: FloatArray) -> tuple[int, float, Slopes]:
        if self.f1 is None:
            return super()._solved(risk)
        predicted, hit, positive = self._split(risk)
        n = float(positive[0])
        h = np.concatenate([[0.0], hit[::-1], positive])
        q = np.concatenate([[0.0], predicted[::-1], [1.0]])
        f1 = 2 * h / (q + n)
        best = int(np.argmax(f1))
        fall = -float(f1[best]) / float(q[best] + n)
        return best, 0.0, Slopes(float(f1[best]), 2 / float(q[best] + n), fall, fall)
