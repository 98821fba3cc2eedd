"""An estimate from the state of a study."""

from __future__ import annotations

from dataclasses import replace

from haystat import measures
from haystat.estimation.result import Estimate, checked_level, undefined_estimate
from haystat.evaluation import estimate_from
from haystat.measures.base import Measure
from haystat.study.fold import Fold
from haystat.study.reuse import check_reuse


def estimate_fold(
    fold: Fold, measure: str | Measure | None, level: float, **options: str
) -> Estimate:
    """An estimate from the answers of a fold, with a word about items nobody can tell."""
    level = checked_level(level)
    ledger, pool = fold.ledger, fold.pool
    target, needed = fold.measure, ledger.problem.losses.support
    if measure is not None:
        target = measures.resolve(measure).bind(pool.schema)
        check_reuse(pool, ledger.problem, ledger.design, target)
        needed = ledger.design.covers(ledger.problem)
    share = ledger.unanswered_share()
    if share > 0 and not ledger.any_label:
        why = "nobody could label any item that was asked about"
        return undefined_estimate(target.name, target.components, target.bounds, level, why)
    estimate = estimate_from(pool, ledger, target, needed, level, **options)
    if share == 0:
        return estimate
    return replace(estimate, warnings=(*estimate.warnings, nonresponse(len(fold.skipped), share)))


def nonresponse(n_skipped: int, share: float) -> str:
    """What to know about items that nobody can label; share is of the pool, by weight."""
    return (
        f"{n_skipped} items were skipped, which stand for about {share:.1%} of the pool; the "
        "estimate is about the items that can be labelled"
    )
