"""Everything a report says, as plain numbers and texts; the pages only lay it out."""

from __future__ import annotations

import platform
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict
from typing import Any, Protocol

import numpy as np

from haystat import __version__
from haystat.decisions.candidate_thresholds import InUse
from haystat.errors import BadOption, HaystatError
from haystat.inference.diagnostics import weight_summary
from haystat.inference.estimate import Estimate, checked_level
from haystat.loop.annotators import Agreement
from haystat.loop.estimates import estimate_state
from haystat.loop.score_regions import score_regions
from haystat.loop.state import State
from haystat.loop.status import Status
from haystat.pool.base import AnyPool
from haystat.report.confusion import ConfusionMatrix
from haystat.report.pr_curve import pr_curve
from haystat.report.summary import summary
from haystat.report.thresholds import cuts_of

MOST_COMPONENTS = 102  # a hundred labels and two averages
FEW = 6  # components that have a card and a chart each
MOST_POINTS = 80
ANSWERS = ("answer", "skip", "correction")  # entries of the journal that change an estimate
#: number of classes -> measures that a report adds; labels that are numbers have none
ALSO = {2: ("precision", "recall", "f1", "accuracy"), 0: ("mae", "rmse", "r2")}
ALSO_MANY = ("accuracy", "f1_macro")
N_BARS = 12


class Reported(Protocol):
    """An evaluation or a study, as a report sees it."""

    @property
    def title(self) -> str: ...
    @property
    def settings(self) -> Mapping[str, Any]: ...
    @property
    def pool(self) -> AnyPool: ...
    @property
    def in_use(self) -> list[InUse]: ...
    @property
    def entries(self) -> list[Any]: ...
    def reading(self) -> AbstractContextManager[Any]: ...
    def new_state(self) -> State: ...
    def status(self) -> Status: ...
    def agreement(self) -> Agreement: ...
    def version_estimates(self, level: float) -> list[tuple[str, int, Estimate]]: ...


def collect(study: Reported, level: float = 0.95, examples: int = 5) -> dict[str, Any]:
    """What there is to say about a study, ready for JSON.

    examples: how many mistakes of each kind to show with their records.
    """
    level = checked_level(level)
    with study.reading() as state:
        estimate = estimate_state(state, None, level)
        systems = state.pool.schema.systems
        found = {
            "study": study.title,
            "status": asdict(study.status()),
            "systems": list(systems),
            "estimate": estimate.to_dict(MOST_COMPONENTS) | {"lead": estimate.lead},
            "also": _also(state, estimate, level),
            "versions": version_rows(study, level),
            "convergence": convergence(study, level),
            "curves": [
                pr_curve(state, system, level) | _operating(study, system) for system in systems
            ],
            "cuts": [cuts_of(state, system, level) for system in systems],
            "in_use": [asdict(one) for one in study.in_use],
            "regions": _regions(state, level),
            "confusion": [_confusion(state, system, level) for system in systems],
            "mistakes": _mistakes(study, state, examples),
            "weights": _weights(state),
            "settings": _settings(study),
            "agreement": _agreement(study),
        }
    return {"summary": summary(found), **found}


def convergence(study: Reported, level: float) -> list[dict[str, Any]]:
    """The estimate whenever new questions were drawn, as it stood then, and now; of many some."""
    entries = study.entries
    answered = [n for n, entry in enumerate(entries) if entry.kind in ANSWERS]
    stages = [n for n, entry in enumerate(entries) if entry.kind == "stage"] + [len(entries)]
    moments = sorted({answered[i - 1] for n in stages if (i := bisect_left(answered, n))})
    wanted = {moments[i - 1] for i in _some(len(moments))}
    state, points = study.new_state(), []
    for number, entry in enumerate(entries):
        state.apply(entry)
        if number in wanted:
            estimate = estimate_state(state, None, level)
            point = {"stage": len(state.ledger.stages), "labels": estimate.n_labels}
            components = estimate.to_dict(FEW)["components"]
            points.append({**point, "components": components})
    return points


def version_rows(study: Reported, level: float) -> list[dict[str, Any]]:
    """One record a version, the first one first; none where there is but one."""
    found = study.version_estimates(level)
    return [
        {
            "name": name,
            "labels": estimate.n_labels,
            "carried": carried,
            "value": float(estimate.values[estimate.lead]),
            "low": float(estimate.intervals[estimate.lead, 0]),
            "high": float(estimate.intervals[estimate.lead, 1]),
        }
        for name, carried, estimate in (found if len(found) > 1 else ())
    ]


def _some(n: int) -> set[int]:
    """Numbers from 1 to n, at most MOST_POINTS of them, the last among them."""
    return (
        set(np.unique(np.linspace(1, n, min(n, MOST_POINTS)).astype(int)).tolist()) if n else set()
    )


def _also(state: State, estimate: Estimate, level: float) -> list[dict[str, Any]]:
    """Other measures that the same labels can estimate, and why some cannot be."""
    names = ALSO.get(len(state.pool.classes), ALSO_MANY)
    found: list[dict[str, Any]] = []
    for name in names:
        if name in estimate.components or not state.ledger.any_label:
            continue
        try:
            found += estimate_state(state, name, level).to_dict(MOST_COMPONENTS)["components"]
        except HaystatError as error:
            found.append({"name": name, "reason": str(error)})
    return found


def _operating(study: Reported, system: str) -> dict[str, Any]:
    """The threshold in use, to be marked on the curve."""
    cuts = [one.threshold for one in study.in_use if one.system == system]
    return {"operating": cuts[0] if cuts else None}


def _regions(state: State, level: float) -> list[dict[str, Any]]:
    """The pool along its score, where items have one label each, a class."""
    try:
        return score_regions(state, level)
    except BadOption:
        return []


def _confusion(state: State, system: str, level: float) -> dict[str, Any]:
    classes, size = [str(label) for label in state.pool.classes], state.pool.size
    result: dict[str, Any] = {"system": system, "classes": classes, "cells": []}
    if not classes:
        return {**result, "reason": "labels that are numbers have no confusion matrix"}
    if not state.ledger.any_label:
        return {**result, "reason": "no question is answered yet"}
    try:
        estimate = estimate_state(state, ConfusionMatrix(system=system), level)
    except HaystatError as error:
        return {**result, "reason": str(error)}
    rows = zip(estimate.values * size, estimate.intervals * size, strict=True)
    n = len(classes)
    cells = [
        {
            "predicted": classes[code // n],
            "actual": classes[code % n],
            "count": float(np.clip(count, 0, size)),
            "low": float(low),
            "high": float(high),
        }
        for code, (count, (low, high)) in enumerate(rows)
    ]
    return {**result, "cells": cells}


def _mistakes(study: Reported, state: State, n: int) -> list[dict[str, Any]]:
    """Labelled items that the first system got wrong, those first that stand for most items."""
    if n <= 0:
        return []
    draws, weight = state.draw_totals()
    told = [(state.ledger.item_of(q), a) for q, a in state.answers() if a.label is not None]
    if not told or not state.pool.classes:
        return []
    outputs = state.pool.outputs(np.array([index for index, _ in told]))
    predicted, score = outputs.predictions[:, 0], outputs.scores[:, 0]
    found: dict[tuple[int, Any], list[dict[str, Any]]] = {}
    n_draws = max(sum(draws.values()), 1)
    for (index, answer), says, value in zip(told, predicted.tolist(), score.tolist(), strict=True):
        if state.pool.classes[says] == answer.label:
            continue
        found.setdefault((says, answer.label), []).append(
            {
                "item": answer.item,
                "predicted": str(state.pool.classes[says]),
                "actual": str(answer.label),
                "score": value,
                "stands_for": weight.get(index, 0.0) / n_draws * state.pool.size,
                "record": state.record_of(index),
            }
        )
    kinds = sorted(found, key=lambda kind: (-kind[0], str(kind[1])))
    return [
        mistake
        for kind in kinds
        for mistake in sorted(found[kind], key=lambda m: -float(m["stands_for"]))[:n]
    ]


def _weights(state: State) -> dict[str, Any] | None:
    """How the draws weigh, and how many there are of each weight."""
    rows = state.ledger.drawn_items()
    if len(rows.weight) == 0:
        return None
    total = rows.count * rows.weight
    size = np.log10(np.maximum(rows.weight, 1e-12))
    edges = np.linspace(np.floor(size.min()), np.ceil(size.max()) or 1, N_BARS + 1)
    counts, edges = np.histogram(size, bins=edges, weights=rows.count)
    return {
        **weight_summary(rows),
        "draws": rows.n_draws,
        "labels": rows.n_labels,
        "largest_share": float(total.max() / total.sum()) if total.sum() else 0.0,
        "histogram": _bars(edges.tolist(), counts.tolist()),
    }


def _bars(edges: Sequence[float], counts: Sequence[float]) -> list[dict[str, float]]:
    return [
        {"from": 10 ** edges[i], "to": 10 ** edges[i + 1], "draws": counts[i]}
        for i in range(len(counts))
    ]


def _agreement(study: Reported) -> dict[str, Any] | None:
    """How far people agree about items that several of them saw; None where there are none."""
    try:
        found = study.agreement()
    except HaystatError:  # labels that are numbers, or kappa without scikit-learn
        return None
    if not found.n_items:
        return None
    return {"share": found.share, "kappa": found.kappa, "items": found.n_items}


def _pool(made: Mapping[str, Any]) -> dict[str, Any]:
    """Which pool: a study writes down more about it than an evaluation."""
    pool = made["pool"]
    own = {"fingerprint": pool, "seed": made.get("pool_seed"), "size": made.get("size")}
    return own if isinstance(pool, str) else dict(pool)


def _settings(study: Reported) -> dict[str, Any]:
    """What somebody needs to get the same numbers again."""
    made = study.settings
    return {
        "measure": made["measure"],
        "design": made["design"],
        "oracle": made["oracle"],
        "seed": made["seed"],
        "pool": _pool(made),
        "sketch": made.get("sketch"),
        "made_with": {name: made[name] for name in ("haystat", "numpy") if name in made},
        "reported_with": {
            "haystat": __version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
        },
        "verify": f"haystat verify {study.title}" if "sketch" in made else None,
    }
