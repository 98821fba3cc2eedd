"""The adaptive importance sampling estimator (eq. 1 of the paper) and its covariance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from haystat.core.arguments import checked_choice
from haystat.core.arrays import FloatArray, IntArray
from haystat.inference.diagnostics import weight_summary
from haystat.inference.drawn_items import DrawnItems
from haystat.inference.estimate import Estimate, agreement_warnings, undefined_warning
from haystat.inference.importance_tails import Draws, importance_tails
from haystat.inference.tails import Tails
from haystat.measures.base import Measure
from haystat.measures.outputs import Outputs
from haystat.pool.cells import first_items
from haystat.pool.strata import renumber

COVARIANCES = ("sample", "paper")
STAGE_WEIGHTS = ("draws", "sqrt")


def estimate_importance(
    rows: DrawnItems,
    measure: Measure,
    outputs: Outputs,
    level: float,
    *,
    covariance: str = "sample",
    stage_weights: str = "draws",
) -> Estimate:
    """G = g(R), R the weighted mean of the losses of the draws.

    covariance: "sample" is the variance of the weighted terms as drawn; "paper" replaces one of
        the two proposals in it by the newest one, and is too small while that still moves. The
        interval of the latter is the paper's as it stands, that of the former knows of tails.
    stage_weights: "draws" counts every draw alike; "sqrt" counts a draw of stage t sqrt(t) times
        (Owen and Zhou 2000), so that early, less informed stages count for less.
    """
    check_options(covariance, stage_weights)
    share = draw_shares(rows, stage_weights)
    groups = group_draws(rows, share, measure, outputs)
    like, label = outputs.take(groups.example), rows.label[groups.example]
    risk = measure.risk(like, label, groups.mean_weight)
    with np.errstate(all="ignore"):
        values = np.clip(np.atleast_1d(measure.value(risk)), *measure.bounds)
        influence = np.nan_to_num(measure.influence(like, label, risk))
    centre = groups.mean_weight @ influence  # J R
    tails = None
    if covariance == "sample":
        terms = sample_terms(groups, influence, centre)
        draws = Draws(rows, share, groups.of_row, influence, centre)
        tails = importance_tails(draws, measure, outputs, risk)
    else:
        terms = paper_terms(groups, influence, centre)
    return Estimate(
        measure.name,
        measure.components,
        values,
        terms,
        level,
        rows.n_labels,
        rows.n_draws,
        measure.bounds,
        tuple(_warnings(measure, risk, terms, tails)),
        {"risk": risk, **weight_summary(rows)},
        tails=tails,
        by_draw=False,
    )


def check_options(covariance: str = "sample", stage_weights: str = "draws") -> None:
    """Raise where an option is none of those there are."""
    checked_choice("covariance", covariance, COVARIANCES)
    checked_choice("stage_weights", stage_weights, STAGE_WEIGHTS)


@dataclass(frozen=True)
class DrawGroups:
    """Draws with equal losses, taken together; all (n_groups,) but of_row.

    example is a row of each group, of_row (n,) the group of each row. With a the share of a draw
    in the mean and w its weight, the sums over the draws of a group are mean_weight = sum a w,
    square_weight = sum a^2 w^2, cross_weight = sum a^2 w, square_share = sum a^2, and
    paper_weight = sum w w' / N^2 with w' the weight under the newest proposal.
    """

    example: IntArray
    of_row: IntArray
    mean_weight: FloatArray
    square_weight: FloatArray
    cross_weight: FloatArray
    square_share: FloatArray
    paper_weight: FloatArray
    n_draws: int


def group_draws(
    rows: DrawnItems, share: FloatArray, measure: Measure, outputs: Outputs
) -> DrawGroups:
    """Add up the draws of items that the measure cannot tell apart and that have one label."""
    signature = measure.signature(outputs)
    code = rows.item if signature is None else renumber(signature).astype(np.int64)
    label = rows.label
    if label.dtype.kind == "f":  # numbers
        label = np.unique(label, return_inverse=True)[1]
    group = renumber(code * (int(label.max()) + 1) + label)
    example = first_items(group, int(group.max()) + 1)

    def total(values: FloatArray) -> FloatArray:
        return np.bincount(group, weights=rows.count * values).astype(np.float64)

    n = rows.n_draws
    # A loss that the newest proposal would not draw is zero, so that it may drop out.
    last = np.where(np.isfinite(rows.last_weight), rows.last_weight, 0.0)
    return DrawGroups(
        example,
        group.astype(np.int64),
        total(share * rows.weight),
        total(share**2 * rows.weight**2),
        total(share**2 * rows.weight),
        total(share**2),
        total(rows.weight * last) / n**2,
        n,
    )


def draw_shares(rows: DrawnItems, stage_weights: str) -> FloatArray:
    """Share of one draw of each row in the mean; count * share sums to one, (n,)."""
    n_draws = np.bincount(rows.stage, weights=rows.count)
    if stage_weights == "draws":
        return np.full(len(rows.stage), 1.0 / n_draws.sum())
    stage_weight = np.sqrt(np.arange(1, len(n_draws) + 1))
    return (stage_weight / (stage_weight @ n_draws))[rows.stage]


def sample_terms(groups: DrawGroups, influence: FloatArray, centre: FloatArray) -> FloatArray:
    """Terms whose squares add up to sum a^2 (w z - c)^2 over the draws.

    z is the influence of a draw's loss and c the mean of w z. Completing the square group by
    group leaves one term a group and one for the rest.
    """
    root = np.sqrt(groups.square_weight)
    lean = groups.cross_weight / np.where(root > 0, root, 1.0)
    rest = np.sum(groups.square_share - lean**2)
    terms = root[:, None] * influence - lean[:, None] * centre
    terms = np.vstack([terms, np.sqrt(max(rest, 0.0)) * centre])
    n = groups.n_draws
    return terms * (np.sqrt(n / (n - 1)) if n > 1 else 1.0)


def paper_terms(groups: DrawGroups, influence: FloatArray, centre: FloatArray) -> FloatArray:
    """The paper's covariance (Section "Approximate confidence regions") as a sum of squares.

    J (1/N sum_j p(x_j)^2 l l' / (q_N(x_j) q_{j-1}(x_j)) - R R') J' / N. With T the terms of the
    first part and u the shortest with T'u = J R / sqrt(N), the whole is T'(I - u u')T, whose root
    is T - a u u'T.
    """
    terms = np.sqrt(groups.paper_weight)[:, None] * influence
    lean = np.linalg.lstsq(terms.T, centre / np.sqrt(groups.n_draws))[0]
    square = float(lean @ lean)
    if square == 0:
        return np.asarray(terms)
    factor = (1 - np.sqrt(max(1 - square, 0.0))) / square
    return np.asarray(terms - factor * np.outer(lean, lean @ terms))


def _warnings(
    measure: Measure, risk: FloatArray, terms: FloatArray, tails: Tails | None
) -> list[str]:
    with np.errstate(all="ignore"):
        why = measure.undefined(risk)
    return agreement_warnings(terms, tails) if why is None else [undefined_warning(why)]
