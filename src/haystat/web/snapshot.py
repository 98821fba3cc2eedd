"""What everybody watches: the estimate, how far it is, who did what, where the labels went."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

import numpy as np

from haystat.decisions.doubts import pool_doubts
from haystat.errors import HaystatError
from haystat.inference.estimate import Estimate
from haystat.loop.annotators import agreement
from haystat.loop.estimates import estimate_state
from haystat.loop.status import status_of
from haystat.report.collect import MOST_COMPONENTS
from haystat.report.words import headline, meaning
from haystat.study.leases import StudyState
from haystat.web.progress import progress

N_BARS = 14

Opinions = Sequence[tuple[Any, str | None, Any]]


def snapshot(
    state: StudyState, wanted: float, now: datetime, level: float = 0.95
) -> dict[str, Any]:
    """All that the page shows of a study at a time."""
    estimate = estimate_state(state, None, level)
    return {
        "status": asdict(status_of(state, now)),
        "estimate": estimate_dict(estimate),
        "progress": asdict(progress(estimate, wanted, n_open(state))),
        "point": point(estimate),
        "along": along_score(state),
        "doubts": pool_doubts(state.pool, state.ledger.problem),
    }


def for_role(found: Mapping[str, Any], is_manager: bool) -> dict[str, Any]:
    """A snapshot as somebody may see it.

    Where on the score the labels went tells an annotator what the system thinks of the last item,
    and so may what looks wrong about its predictions.
    """
    hidden = () if is_manager else ("along", "doubts")
    return {name: part for name, part in found.items() if name not in hidden}


def estimate_dict(estimate: Estimate) -> dict[str, Any]:
    """An estimate with the component that stands for all, in numbers and in words."""
    found = estimate.to_dict()
    first = found["components"][estimate.lead]
    return {
        **found,
        "components": found["components"][:MOST_COMPONENTS],
        "lead": first,
        # Before the first stage is finished there is nothing to warn of.
        "warnings": found["warnings"] if estimate.n_labels else [],
        "headline": headline(first, estimate.level),
        "meaning": meaning(first),
    }


def point(estimate: Estimate) -> dict[str, Any] | None:
    """The component that stands for all as a point of the chart; none while it is not known."""
    value, (low, high) = estimate.values[estimate.lead], estimate.intervals[estimate.lead]
    if not np.isfinite([value, low, high]).all() or estimate.n_labels == 0:
        return None
    ends = {"value": float(value), "low": float(low), "high": float(high)}
    return {"labels": estimate.n_labels, **ends}


def n_open(state: StudyState) -> int | None:
    """Items without a label that can change the value of the measure; None if all always can."""
    problem = state.ledger.problem
    matters = np.asarray(problem.losses.support.any(axis=1))
    if state.ledger.soft:
        return None
    known, _ = state.ledger.known()
    n_known = int(matters[problem.cells.of_item[known]].sum()) if len(known) else 0
    return int(problem.cells.size[matters].sum()) - n_known


def along_score(state: StudyState) -> list[dict[str, Any]]:
    """Runs of strata from the lowest score to the highest: shares of items and of labels.

    The ends are scores of an item that stands for each cell, so they are not exact.
    """
    cells = state.ledger.problem.cells
    score = cells.example.scores[:, 0]
    labels = state.ledger.label_counts()
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
                "labels": round(float(labels[inside].sum())),
                "labels_share": float(labels[inside].sum() / told),
                "positives": round(float(labels[inside, 1:].sum())),
            }
        )
    return found


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


def first_answers(
    state: StudyState, opinions: Opinions, decided: Mapping[Any, Any]
) -> tuple[dict[Any, Any], list[Any]]:
    """What `agreement_of` takes, for the items that have a second opinion; no soft answers.

    decided: by item, who said what before a manager decided; that is what the first person said.
    """
    first = {}
    for item, _, _ in opinions:
        asked = state.ledger.questions_about(state.questions.index_of.get(item, -1))
        answer = state.answer_to(asked[0]) if asked else None
        if answer is not None and answer.label is not None:
            who, label = decided.get(item, (answer.who, answer.label))
            first[item] = (who, _class_of(state, label))
    newest = {(item, who): _class_of(state, label) for item, who, label in opinions}
    seconds = [(item, who, label) for (item, who), label in newest.items() if label is not None]
    return {item: one for item, one in first.items() if one[1] is not None}, seconds


def _class_of(state: StudyState, label: Any) -> int | None:
    """The class that a remark or an answer names; None for what is no class, as remarks may say."""
    is_plain = isinstance(label, str | int | float)
    return state.questions.label_index.get(label) if is_plain else None
