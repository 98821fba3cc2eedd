"""What everybody watches: the estimate, how far it is, who did what, where the labels went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import numpy as np

from haystat.annotators import agreement
from haystat.errors import HaystatError
from haystat.estimation.result import Estimate
from haystat.log import NO_ANSWER
from haystat.report.words import headline, meaning
from haystat.study.estimate import estimate_fold
from haystat.study.fold import Fold
from haystat.study.status import status_of
from haystat.web.progress import progress

N_BARS = 14
MOST_COMPONENTS = 12

Opinions = Sequence[tuple[Any, str | None, Any]]


def snapshot(fold: Fold, wanted: float, now: datetime, level: float = 0.95) -> dict[str, Any]:
    """All that the page shows of a study at a time."""
    estimate = estimate_fold(fold, None, level)
    return {
        "status": asdict(status_of(fold, now)),
        "estimate": estimate_dict(estimate),
        "progress": asdict(progress(estimate, wanted, n_open(fold))),
        "point": point(estimate),
        "along": along_score(fold),
    }


def for_role(found: Mapping[str, Any], is_manager: bool) -> dict[str, Any]:
    """A snapshot as somebody may see it.

    Where on the score the labels went tells an annotator what the system thinks of the last item.
    """
    hidden = () if is_manager else ("along",)
    return {name: part for name, part in found.items() if name not in hidden}


def estimate_dict(estimate: Estimate) -> dict[str, Any]:
    """An estimate with the first of its components, in numbers and in words."""
    rows = zip(estimate.components, estimate.values, estimate.intervals, strict=True)
    components = [
        {"name": name, "value": float(value), "low": float(low), "high": float(high)}
        for name, value, (low, high) in list(rows)[:MOST_COMPONENTS]
    ]
    return {
        "measure": estimate.measure,
        "level": estimate.level,
        "labels": estimate.n_labels,
        "draws": estimate.n_draws,
        "components": components,
        "n_components": len(estimate.components),
        "bounds": [float(end) for end in estimate.bounds],
        # Before the first stage is finished there is nothing to warn of.
        "warnings": list(estimate.warnings) if estimate.n_labels else [],
        "headline": headline(components[0], estimate.level),
        "meaning": meaning(components[0]),
    }


def point(estimate: Estimate) -> dict[str, Any] | None:
    """The first component as a point of the chart; none while it is not known."""
    value, (low, high) = estimate.values[0], estimate.intervals[0]
    if not np.isfinite([value, low, high]).all() or estimate.n_labels == 0:
        return None
    ends = {"value": float(value), "low": float(low), "high": float(high)}
    return {"labels": estimate.n_labels, **ends}


def n_open(fold: Fold) -> int:
    """Items without a label that can change the value of the measure."""
    problem = fold.ledger.problem
    matters = np.asarray(problem.losses.support.any(axis=1))
    known, _ = fold.ledger.known()
    n_known = int(matters[problem.cells.of_item[known]].sum()) if len(known) else 0
    return int(problem.cells.size[matters].sum()) - n_known


def along_score(fold: Fold) -> list[dict[str, Any]]:
    """Runs of strata from the lowest score to the highest: shares of items and of labels.

    The ends are scores of an item that stands for each cell, so they are not exact.
    """
    cells = fold.ledger.problem.cells
    score = cells.example.scores[:, 0]
    labels = _labels_of_cells(fold)
    order = np.argsort(score, kind="stable")
    total, told = cells.size.sum(), max(labels.sum(), 1)
    # Neither the many items without labels nor the few with most of them are lumped together.
    mass = cells.size / total + labels.sum(axis=1) / told + 1 / len(cells)
    before = np.cumsum(mass[order]) - mass[order] / 2
    run = np.minimum(before / mass.sum() * N_BARS, N_BARS - 1).astype(np.int64)
    found = []
    for number in np.unique(run):
        inside = order[run == number]
        found.append(
            {
                "from": float(score[inside].min()),
                "to": float(score[inside].max()),
                "items": int(cells.size[inside].sum()),
                "items_share": float(cells.size[inside].sum() / total),
                "labels": int(labels[inside].sum()),
                "labels_share": float(labels[inside].sum() / told),
                "positives": int(labels[inside, 1:].sum()),
            }
        )
    return found


def _labels_of_cells(fold: Fold) -> Any:
    """Labels of each cell by class, (K, C)."""
    cells = fold.ledger.problem.cells
    counts = np.zeros((len(cells), len(fold.pool.classes)), dtype=np.int64)
    told = [(i, label) for i, label in fold.ledger.label_of.items() if label != NO_ANSWER]
    if told:
        index, label = np.array(told, dtype=np.int64).T
        np.add.at(counts, (cells.of_item[index], label), 1)
    return counts


def agreement_of(first: Mapping[Any, tuple[str | None, int]], opinions: Opinions) -> Any:
    """How far people agree about items that two of them saw; None where there are none.

    first: person and class index of the answer that counts, by item. opinions: item, person and
    class index of the others.
    """
    votes = [(item, who, label) for item, who, label in opinions if item in first]
    if not votes:
        return None
    number = {item: position for position, item in enumerate(dict.fromkeys(v[0] for v in votes))}
    triples = [(number[item], who, label) for item, who, label in votes]
    triples += [(number[item], *first[item]) for item in number]
    try:
        found = agreement(triples)
    except HaystatError:  # without scikit-learn there is no kappa, which is about named people
        found = agreement([(item, None, label) for item, _, label in triples])
    return {"share": found.share, "kappa": found.kappa, "items": found.n_items}


def first_answers(fold: Fold, opinions: Opinions) -> tuple[dict[Any, Any], list[Any]]:
    """What `agreement_of` takes, for the items that have a second opinion."""
    first = {}
    for item, _, _ in opinions:
        answer = fold.answers.get(fold.index_of.get(item, -1))
        if answer is not None and answer.label is not None:
            first[item] = (answer.who, fold.label_index[answer.label])
    newest = {(item, who): label for item, who, label in opinions}
    known = fold.label_index
    seconds = [(item, who, known[v]) for (item, who), v in newest.items() if v in known]
    return first, seconds
