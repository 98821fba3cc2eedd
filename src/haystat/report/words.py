"""An estimate in words for somebody who has to decide on it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from haystat.estimation.result import worth_sentence

#: measure -> what a share of it means, with the value and both ends as numbers out of 100
MEANINGS = {
    "precision": "Of 100 items that the system calls positive, about {value} really are "
    "(between {low} and {high}).",
    "recall": "Of 100 items that really are positive, the system finds about {value} "
    "(between {low} and {high}).",
    "accuracy": "Of 100 items taken at random, the system gets about {value} right "
    "(between {low} and {high}).",
    "balanced_accuracy": "Averaged over the classes, the system gets about {value} of 100 items "
    "of a class right (between {low} and {high}).",
    "f1": "F1 is one number for two kinds of mistakes, false alarms and misses: 100% means none "
    "of either, and it is low as soon as one of them is frequent.",
}
ALSO = {
    "fbeta": "F-beta weighs misses beta times as much as false alarms; 100% means none of either.",
    "fowlkes_mallows": "The geometric mean of precision and recall; 100% means no mistakes.",
    "mcc": "1 means perfect agreement with the truth, 0 no better than chance.",
    "brier": "The mean squared distance between score and truth: 0 is perfect.",
    "log_loss": "The mean surprise at the label, given the score: 0 is perfect.",
    "calibration_error": "How far scores and shares of positives lie apart, on average: 0 is "
    "perfect.",
    "prevalence": "The share of positives in the pool.",
    "lift": "How many times as many positives there are among the predicted ones as in the pool.",
    "roc_auc": "The probability that a positive scores above a negative: 0.5 is chance.",
    "average_precision": "Precision averaged over all recalls: 100% means that every positive "
    "scores above every negative.",
}
SHARES = {*MEANINGS, "fowlkes_mallows", "average_precision", "prevalence"}


def percent(value: float) -> str:
    """A share as people write it: more digits where they matter.

    >>> percent(0.8312), percent(0.0004), percent(0.99987), percent(1.0)
    ('83.1%', '0.040%', '99.987%', '100%')
    """
    if not math.isfinite(value):
        return "unknown"
    if value in (0.0, 1.0):
        return f"{value:.0%}"
    digits = 1 if 0.01 <= abs(value) <= 0.99 else 3
    return f"{value:.{digits}%}"


def amount(name: str, value: float) -> str:
    """A value of a measure: a percentage where it is a share."""
    base = name.rpartition(":")[2]
    if base in SHARES or (base.startswith("f") and base[1:].replace(".", "").isdigit()):
        return percent(value)
    return "unknown" if not math.isfinite(value) else f"{value:.4g}"


def headline(component: Mapping[str, Any], level: float) -> str:
    """One sentence with the estimate and its interval."""
    name, value = component["name"], component["value"]
    if not math.isfinite(value):
        return f"{name} is not known yet."
    low, high = (amount(name, component[end]) for end in ("low", "high"))
    if component["low"] == component["high"]:
        return f"{name} is {amount(name, value)}."
    return (
        f"{name} is about {amount(name, value)}. The true value lies between {low} and {high} "
        f"with {level:.0%} confidence."
    )


def meaning(component: Mapping[str, Any]) -> str:
    """What the number says about the system; nothing where there is no simple way to put it."""
    base = component["name"].rpartition(":")[2]
    text = MEANINGS.get(base) or ALSO.get(base, "")
    if "{" not in text:
        return text
    if not math.isfinite(component["value"]):
        return ""
    return text.format(**{k: _of_hundred(component[k]) for k in ("value", "low", "high")})


def effort(component: Mapping[str, Any], n_labels: int) -> str:
    """What a narrower interval would cost."""
    width = component["high"] - component["low"]
    if not math.isfinite(width) or width <= 0 or n_labels == 0:
        return ""
    name = component["name"]
    worth = worth_sentence(n_labels, component.get("worth", math.nan))
    return (
        f"That rests on {n_labels:,} labels. {f'{worth} ' if worth else ''}Half the uncertainty "
        f"(± {amount(name, width / 4)} instead of ± {amount(name, width / 2)}) would take "
        f"about {4 * n_labels:,} in all."
    )


def waiting(pending: int) -> str:
    """What is not in the estimate yet."""
    return f"{pending} questions are still open." if pending else ""


def listed(names: Sequence[str]) -> str:
    """Names as a sentence has them."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _of_hundred(share: float) -> str:
    return percent(share).removesuffix("%")
