"""An estimate from the state of an evaluation: the one way there is, whoever asks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from haystat import measures
from haystat.core.arrays import BoolArray
from haystat.inference.assisted import POSTERIOR, same_facts
from haystat.inference.census import census
from haystat.inference.estimate import Estimate, checked_level, undefined_estimate
from haystat.inference.importance import check_options
from haystat.inference.sample import stage_rng
from haystat.inference.side_by_side import side_by_side
from haystat.loop.drift import drift_of
from haystat.loop.ledger import Ledger
from haystat.loop.reuse import check_reuse
from haystat.loop.state import State
from haystat.measures.base import Measure
from haystat.pool.base import View
from haystat.pool.losses import equal_losses


def estimate_state(
    state: State,
    measure: Any,
    level: float,
    pool: Any = None,
    by: str | None = None,
    **options: str,
) -> Estimate:
    """An estimate from all answers, with a word about items that nobody can tell.

    measure: another one than the labels were drawn for; pool: the items as other systems see them;
    by: a column, within whose values the measure is estimated.
    """
    level = checked_level(level)
    ledger = state.ledger
    view: View = state.pool if pool is None else state.pool.seen_by(pool)
    target = state.measure
    if by is not None:
        from haystat.loop.groups import within_each  # seldom needed, and slow to import

        each = within_each(measure, by, view, ledger.problem.cells)
        found = estimate_state(state, each, level, pool, **options)
        return replace(found, measure=f"{measures.resolve(measure).name} by {by}")
    if measure is not None:
        target = measures.bound(measure, view.schema)
        check_reuse(view, ledger.problem, ledger.design, target)
    share = ledger.unanswered_share()
    if share > 0 and not ledger.any_label:
        why = "Nobody could label any item that was asked about. Ask further questions."
        return undefined_estimate(target.name, target.components, target.bounds, level, why)
    estimate = estimate_from(view, ledger, target, level, **options)
    drift = drift_of(state, level)
    if drift is not None:
        said = (*estimate.warnings, *drift.warnings)
        estimate = replace(estimate, warnings=said, details={**estimate.details, "drift": drift})
    if ledger.n_known:
        said = (*estimate.warnings, *state.known.doubts, *_sample_doubts(ledger))
        details = {**estimate.details, "known": ledger.n_known}
        estimate = replace(estimate, n_labels=ledger.n_told, warnings=said, details=details)
    if share == 0:
        return estimate
    return replace(estimate, warnings=(*estimate.warnings, nonresponse(len(state.skipped), share)))


def _sample_doubts(ledger: Ledger) -> list[str]:
    """What is odd about a known sample, given the labels so far."""
    from haystat.decisions.known_doubts import sample_doubts  # seldom needed

    def find() -> list[str]:
        rng = stage_rng(ledger.seed, POSTERIOR + 2)
        return sample_doubts(ledger.problem, ledger.label_counts().astype(np.int64), rng)

    return ledger.once("sample doubts", find)


def estimate_from(
    pool: View, ledger: Ledger, measure: Measure, level: float, **options: str
) -> Estimate:
    """`measure` from the answers of a ledger.

    options: covariance and stage_weights, as in estimate_importance. Measures side by side are
    estimated one by one, so that each has the value that it has alone.
    """
    check_options(**options)
    parts = measure.side_by_side()
    alone = [_alone(pool, ledger, part, level, options) for part in parts]
    if len(alone) == 1:
        return _with_details(alone[0], measure)
    return side_by_side(measure, alone, lambda: _alone(pool, ledger, measure, level, options))


def _with_details(estimate: Estimate, measure: Measure) -> Estimate:
    """The estimate knows which component leads, and that of a curve at which thresholds it is."""
    if measure.curve is None and not measure.lead:
        return estimate
    found: dict[str, Any] = {"lead": measure.lead % len(estimate.components)}
    if measure.curve is not None:
        found |= {"thresholds": getattr(measure, "grid"), "curve": measure.curve}  # noqa: B009
    return replace(estimate, details={**estimate.details, **found})


def _alone(
    pool: View,
    ledger: Ledger,
    measure: Measure,
    level: float,
    options: dict[str, str],
) -> Estimate:
    if ledger.settled(needed(pool, ledger, measure)):
        item, label = ledger.known()
        return census(measure, pool.outputs(item), label, level, size=pool.size)
    return ledger.design.estimate(pool, ledger, measure, level, **options)


def needed(pool: View, ledger: Ledger, measure: Measure) -> BoolArray:
    """Cells and labels (K, C) whose items must all have their label before a measure is known.

    Those of which there is a loss; where the cells cannot tell, all that is in reach.
    """
    problem = ledger.problem
    if measure is problem.measure:
        return problem.losses.support
    if not (pool.foreign or problem.numeric) and same_facts(problem.measure, measure):
        return equal_losses(measure, problem.cells.example, problem.n_classes).support
    return ledger.design.covers(problem)


def nonresponse(n_skipped: int, share: float) -> str:
    """What to know about items that nobody can label; share is of the pool, by weight."""
    return (
        f"Items that stand for about {share:.1%} of the pool were skipped ({n_skipped:,} of them), "
        "and the estimate is about the others. Answer them if somebody can (haystat correct), or "
        "report how many they are."
    )
