"""The estimator of stratified sampling with proportional allocation."""

from __future__ import annotations

import numpy as np

from haystat.core.arrays import FloatArray, IntArray
from haystat.inference.drawn_items import DrawnItems
from haystat.inference.estimate import Estimate, agreement_warnings, undefined_warning
from haystat.inference.importance_tails import Draws, possible_steps
from haystat.inference.tails import SIDES, Tails
from haystat.measures.base import Measure
from haystat.measures.outputs import Outputs


def estimate_stratified(
    rows: DrawnItems, measure: Measure, outputs: Outputs, level: float, *, stratum_size: IntArray
) -> Estimate:
    """Plain mean of the losses: every item was equally likely to be labelled.

    Where answers are missing, those that are there have weights, and the mean is a weighted one.
    The variance is that of stratified sampling without replacement, with neighbouring strata
    merged until each holds two labels (collapsed strata; Cochran 1977, section 5A.12).
    """
    n = len(rows.item)
    share = np.full(n, 1.0 / n)
    if np.ptp(rows.weight) > 0:
        share = rows.weight / rows.weight.sum()
    risk = measure.risk(outputs, rows.label, share)
    with np.errstate(all="ignore"):
        values = np.clip(np.atleast_1d(measure.value(risk)), *measure.bounds)
        influence = np.nan_to_num(measure.influence(outputs, rows.label, risk))
        why = measure.undefined(risk)
    terms = stratified_terms(influence, rows.stratum, stratum_size)
    draws = Draws(rows, np.full(n, 1.0 / n), np.arange(n), influence, influence.mean(axis=0))
    # Of a pool that is nearly labelled not much is left to find.
    unsampled = np.sqrt(max(1 - n / int(stratum_size.sum()), 0.0))
    possible = unsampled * possible_steps(draws, measure, outputs, risk)
    tails = stratified_tails(terms, draws, measure, possible)
    warnings = [undefined_warning(why)] if why else agreement_warnings(terms, tails)
    return Estimate(
        measure.name,
        measure.components,
        values,
        terms,
        level,
        n,
        n,
        measure.bounds,
        tuple(warnings),
        {"risk": risk},
        tails=tails,
    )


def stratified_tails(
    terms: FloatArray, draws: Draws, measure: Measure, possible: FloatArray
) -> Tails:
    """What carries the error: the terms, and a find of the possible size."""
    sides = [np.maximum(sign * terms, 0.0) for sign in SIDES]
    square, cube = (np.stack([np.sum(part**power, axis=0) for part in sides]) for power in (2, 3))
    bounds = measure.component_bounds()
    return Tails(square, cube, possible, bounds, draws.shares(bounds))


def stratified_terms(
    influence: FloatArray, stratum: IntArray, stratum_size: IntArray
) -> FloatArray:
    """Deviations from stratum means whose squares add up to the variance, (n, m)."""
    group, group_size = collapse(stratum, stratum_size)
    n_groups = len(group_size)
    n_drawn = np.bincount(group, minlength=n_groups)
    mean = np.zeros((n_groups, influence.shape[1]))
    np.add.at(mean, group, influence)
    mean /= n_drawn[:, None]
    share = group_size / group_size.sum()
    unsampled = np.clip(1 - n_drawn / group_size, 0, 1)
    # W_h^2 (1 - f_h) s_h^2 / n_h, spread over the n_h draws of the group.
    spread = n_drawn * np.maximum(n_drawn - 1, 1)
    scale = share * np.sqrt(unsampled / spread)
    return np.asarray(scale[group][:, None] * (influence - mean[group]))


def collapse(stratum: IntArray, stratum_size: IntArray) -> tuple[IntArray, IntArray]:
    """Merge neighbouring strata until each group has two draws: group of each draw, group sizes."""
    n_drawn = np.bincount(stratum, minlength=len(stratum_size))
    group_of = np.zeros(len(stratum_size), dtype=np.int64)
    group, drawn = 0, 0
    for k, count in enumerate(n_drawn.tolist()):
        group_of[k] = group
        drawn += count
        if drawn >= 2 and n_drawn[k + 1 :].sum() >= 2:
            group, drawn = group + 1, 0
    sizes = np.bincount(group_of, weights=stratum_size).astype(np.int64)
    return group_of[stratum], sizes
