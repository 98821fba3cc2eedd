"""The report in three lines, for somebody who reads no further."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from haystat.core.wording import label_count
from haystat.inference.estimate import worth_sentence
from haystat.report.words import amount, headline, listed, spoken

Data = Mapping[str, Any]


def summary(report: Data) -> list[str]:
    """What was found, where the systems are cut, and what that rests on."""
    lines = [_found(report["estimate"]), _cut(report), _rests_on(report)]
    return [line for line in lines if line]


def _found(estimate: Data) -> str:
    if not estimate["labels"]:
        return "There are no labels yet, so nothing is known."
    if estimate["n_components"] == 1:
        return headline(estimate["components"][0], estimate["level"])
    every = estimate["components"]
    shown = sorted(every, key=lambda c: c is not every[estimate["lead"]])[:3]
    parts = [
        f"{spoken(c['name'])} {amount(c['name'], c['value'])} ({amount(c['name'], c['low'])} to "
        f"{amount(c['name'], c['high'])})"
        for c in shown
        if math.isfinite(c["value"])
    ]
    more = estimate["n_components"] - len(shown)
    rest = f" and {more:,} more" if more > 0 else ""
    return f"{', '.join(parts)}{rest}, with {estimate['level']:.0%} intervals."


def _cut(report: Data) -> str:
    """Where the score is cut, and what precision and recall are there."""
    in_use = [one for one in report["in_use"] if one["threshold"] is not None]
    if len(in_use) != 1:
        return ""
    one = in_use[0]
    found = {c["name"]: c for c in [*report["also"], *report["estimate"]["components"]]}
    known = [
        f"{name} is about {amount(name, found[name]['value'])}"
        for name in ("precision", "recall")
        if math.isfinite(found.get(name, {}).get("value", math.nan))
    ]
    there = f"; {listed(known)} there" if known else ""
    return (
        f"The threshold in use is {one['threshold']:.4g}: {one['n_predicted']:,} of "
        f"{one['size']:,} items are predicted positive{there}."
    )


def _rests_on(report: Data) -> str:
    status, estimate = report["status"], report["estimate"]
    people = [who for who in status["annotators"] if who]
    by = f" by {len(people)} people" if len(people) > 1 else ""
    parts = [f"This rests on {label_count(status['labels'])}{by}."]
    worth = estimate["components"][0].get("worth") or math.nan
    sentence = worth_sentence(estimate["labels"], worth, estimate.get("known", 0))
    parts += [sentence] if sentence else []
    agreed = report["agreement"]
    if agreed:
        kappa = f" (kappa {agreed['kappa']:.2f})" if math.isfinite(agreed["kappa"]) else ""
        parts.append(
            f"Two people who saw the same item agreed in {agreed['share']:.0%} of "
            f"{agreed['items']:,} items{kappa}."
        )
    return " ".join(parts)
