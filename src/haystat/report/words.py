"""An estimate in words for somebody who has to decide on it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from haystat.inference.estimate import signals_sentence, worth_sentence
from haystat.measures import MEASURES
from haystat.measures.base import Measure

ABBREVIATED = ("mcc", "mae", "mse", "rmse")
#: "of 100 items …"; more where a share is close to none or all
BASES = (100, 1000, 10_000, 100_000, 1_000_000)


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
    if _measure(name).is_share:
        return percent(value)
    return "unknown" if not math.isfinite(value) else f"{value:.4g}"


def number(value: float) -> str:
    """A number of items or draws, with fewer digits where they mean little."""
    if not math.isfinite(value):
        return "unknown"
    return f"{value:,.0f}" if value == 0 or abs(value) >= 10 else f"{value:.2g}"


def spelt(value: Any) -> str:
    """A setting in one line."""
    if isinstance(value, Mapping):
        given = {name: part for name, part in value.items() if part not in ({}, None)}
        return ", ".join(f"{name} {spelt(part)}" for name, part in given.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(spelt, value))
    return str(value)


def spoken(name: str) -> str:
    """A component as a sentence begins with it; names that users gave stay as they are.

    >>> spoken("f1"), spoken("balanced_accuracy"), spoken("mcc"), spoken("new:recall")
    ('F1', 'Balanced accuracy', 'MCC', 'new:recall')
    """
    if name not in MEASURES:
        return name
    text = name.replace("_", " ")
    return text.upper() if name in ABBREVIATED else text[0].upper() + text[1:]


def headline(component: Mapping[str, Any], level: float) -> str:
    """One sentence with the estimate and its interval."""
    name, value = component["name"], component["value"]
    if not math.isfinite(value):
        return f"{spoken(name)} is not known yet."
    low, high = (amount(name, component[end]) for end in ("low", "high"))
    if component["low"] == component["high"]:
        return f"{spoken(name)} is {amount(name, value)}."
    return (
        f"{spoken(name)} is about {amount(name, value)}. The true value lies between {low} and "
        f"{high} with {level:.0%} confidence."
    )


def meaning(component: Mapping[str, Any]) -> str:
    """What the number says about the system; nothing where there is no simple way to put it."""
    text = _measure(component["name"]).meaning
    if "{" not in text:
        return text
    if not math.isfinite(component["value"]):
        return ""
    base = _base(component["value"])
    parts = {k: _of(component[k], base) for k in ("value", "low", "high")}
    return text.replace("100 items", f"{base:,} items").format(**parts)


def _measure(component: str) -> type[Measure]:
    """The measure whose component has this name, by which it says what its value means."""
    base = component.rpartition(":")[2]
    made: Any = MEASURES.get(base, Measure)
    if base.startswith("f") and base[1:].replace(".", "").isdigit() and base not in MEASURES:
        made = MEASURES["fbeta"]
    return made if hasattr(made, "meaning") else Measure


def effort(
    component: Mapping[str, Any],
    n_labels: int,
    signals: Mapping[str, float] | None = None,
    n_known: int = 0,
) -> str:
    """What a narrower interval would cost."""
    width = component["high"] - component["low"]
    if not math.isfinite(width) or width <= 0 or n_labels == 0:
        return ""
    name = component["name"]
    worth = worth_sentence(n_labels, component.get("worth") or math.nan, n_known)
    worth = " ".join(filter(None, [worth, signals_sentence(signals or {})]))
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


def _base(share: float) -> int:
    """Out of how many items a share is told: enough that it is neither none nor all of them."""
    rare = min(share, 1 - share)
    return next((b for b in BASES if rare * b >= 1), 100) if rare > 0 else 100


def _of(share: float, base: int) -> str:
    return "unknown" if not math.isfinite(share) else f"{share * base:,.0f}"
