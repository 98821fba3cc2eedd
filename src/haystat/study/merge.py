"""Several studies of one pool, taken together.

Each study's sum of w loss - R over its draws is a martingale with mean zero, whatever the design
learnt on the way. If the studies draw independently of each other, the sum over all of them is one
too, so their draws count together as if they were stages of one study. Independent they are only
if both seeds differ: that of the draws, and that of the order of the items inside the cells, else
the studies ask about the same items. The stratified design has an estimator of its own that
counts on one systematic sample; two of them are not one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from haystat import measures
from haystat.core.arguments import brief
from haystat.errors import BadOption, ConflictingAnswer, StudyError
from haystat.inference.drawn_items import DrawnItems
from haystat.inference.estimate import Estimate, checked_level, undefined_estimate
from haystat.inference.importance import estimate_importance
from haystat.inference.side_by_side import side_by_side
from haystat.loop.estimates import nonresponse
from haystat.loop.reuse import check_reuse
from haystat.measures.outputs import Outputs
from haystat.study.leases import StudyState
from haystat.study.study import Study

WITHOUT_MODEL = (
    "Studies are taken together by their weighted labels alone, without the model of the assisted "
    "design. Let everybody answer in one study next time: its interval is narrower."
)

#: setting -> where labels came from that were there before the first question
BROUGHT_ALONG = {
    "known": "began with known labels",
    "version": "carry over labels of an earlier version",
}


def merged_estimate(studies: Sequence[Study], measure: Any = None, level: float = 0.95) -> Estimate:
    """The measure from the answers of several studies of one pool."""
    if not isinstance(studies, Sequence) or not all(isinstance(s, Study) for s in studies):
        raise BadOption(f"studies are {brief(studies)}; give a list of opened studies")
    check_mergeable(studies)
    level = checked_level(level)
    states = []
    for study in studies:
        with study.reading() as state:
            states.append(state)
    first = states[0]
    target = first.measure
    if measure is not None:
        target = measures.bound(measure, first.pool.schema)
        for state in states:
            check_reuse(state.pool, state.ledger.problem, state.ledger.design, target)
    used = [state for state in states if state.ledger.any_label]
    if not used:
        why = "No study has a label yet. Answer questions of at least one of them."
        return undefined_estimate(target.name, target.components, target.bounds, level, why)
    rows = [state.ledger.drawn_items() for state in used]
    outputs = [state.pool.outputs(part.item) for state, part in zip(used, rows, strict=True)]
    drawn, seen = _joined(rows), _joined_outputs(outputs)
    alone = [estimate_importance(drawn, part, seen, level) for part in target.side_by_side()]
    estimate = alone[0]
    if len(alone) > 1:
        together = partial(estimate_importance, drawn, target, seen, level)
        estimate = side_by_side(target, alone, together)
    return _with_warnings(estimate, used, rows)


def check_mergeable(studies: Sequence[Study]) -> None:
    """Raise unless the draws of the studies can be taken together."""
    if len(studies) < 2:
        raise StudyError("give at least two studies to take together")
    for one, other in combinations(studies, 2):
        pair = f"{one.path} and {other.path}"
        for what, said in BROUGHT_ALONG.items():
            if what in one.settings or what in other.settings:
                raise StudyError(
                    f"{pair}: studies that {said} cannot be taken together, as these would count "
                    "twice; use one study for everybody"
                )
        if one.pool.fingerprint != other.pool.fingerprint:
            raise StudyError(f"{pair} are of different pools; only studies of one pool add up")
        for what in ("measure", "design"):
            mine, others = one.settings[what], other.settings[what]
            if mine != others:
                raise StudyError(
                    f"{pair} differ in their {what}: {mine!r} and {others!r}; only studies with "
                    "the same settings add up"
                )
        if "stochastic" in (one.settings["oracle"], other.settings["oracle"]):
            raise StudyError(
                f"{pair} cannot be taken together: with a stochastic oracle answers about an item "
                "may differ, and each study has its own; use one study for everybody"
            )
        if not one.design.adds_up:
            raise StudyError(
                f"studies with design {one.design} cannot be taken together: its estimator counts "
                "on one sample without repeats; use one study for everybody"
            )
        if one.pool.seed == other.pool.seed or one.seed == other.seed:
            raise StudyError(
                f"{pair} share a seed, so they ask about the same items and are not independent; "
                "make studies with different seeds of the pool and of the draws (haystat new "
                "--seed sets both)"
            )
        _check_agreement(one, other)


def _check_agreement(one: Study, other: Study) -> None:
    labels = {answer.item: answer.label for answer in one.answers}
    for answer in other.answers:
        known = labels.get(answer.item)
        if None not in (known, answer.label) and known != answer.label:
            raise ConflictingAnswer(
                f"item {answer.item!r} is {known!r} in {one.path} and {answer.label!r} in "
                f"{other.path}; correct one of them first"
            )


def _joined(rows: Sequence[DrawnItems]) -> DrawnItems:
    """The stages of all studies as stages of one."""
    starts = np.cumsum([0, *(int(part.stage.max()) + 1 for part in rows[:-1])])
    return DrawnItems(
        np.concatenate([part.item for part in rows]),
        np.concatenate([part.stage + start for part, start in zip(rows, starts, strict=True)]),
        np.concatenate([part.label for part in rows]),
        np.concatenate([part.count for part in rows]),
        np.concatenate([part.weight for part in rows]),
        np.concatenate([part.stratum for part in rows]),
        np.concatenate([part.last_weight for part in rows]),
    )


def _joined_outputs(outputs: Sequence[Outputs]) -> Outputs:
    names = outputs[0].columns
    return Outputs(
        np.concatenate([part.index for part in outputs]),
        np.concatenate([part.scores for part in outputs]),
        np.concatenate([part.predictions for part in outputs]),
        {name: np.concatenate([part.columns[name] for part in outputs]) for name in names},
    )


def _with_warnings(
    estimate: Estimate, states: Sequence[StudyState], rows: Sequence[DrawnItems]
) -> Estimate:
    warnings = list(estimate.warnings)
    if states[0].ledger.design.by_model:
        warnings.append(WITHOUT_MODEL)
    n_skipped = sum(len(state.skipped) for state in states)
    if n_skipped:
        draws = [part.n_draws for part in rows]
        share = float(
            np.average([state.ledger.unanswered_share() for state in states], weights=draws)
        )
        warnings.append(nonresponse(n_skipped, share))
    return replace(estimate, warnings=tuple(warnings))
