"""Known labels that are not what they claim: what they look like, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import hypergeom, norm

from haystat.measures.outputs import BoolArray, FloatArray, IntArray
from haystat.pool.known import KINDS, Known
from haystat.pool.problem import Problem

UNLIKELY = 0.001  # chance of a difference from which labels are questioned
SUSPICIOUS = 0.01  # chance that an honest sample is questioned, over all places looked at
AS_FOUND = "Give them as hs.Known.found(…) if that is not how they were chosen"


def known_doubts(pool: Any, parts: Sequence[Known]) -> list[str]:
    """What is not as known labels claim, in words; the pool has all items at hand."""
    found = []
    for part in parts:
        index = np.array([pool.index_of(item) for item in part.labels], dtype=np.int64)
        if part.kind == "census":
            found += _not_whole(pool, index)
        elif part.kind == "sample":
            found += _not_spread(pool.scores[:, 0], index, 1 / np.array(part.inclusion))
    return found


def _not_whole(pool: Any, index: IntArray) -> list[str]:
    """Items of the region of a census that it lacks.

    The region: from its lowest to its highest score, with what all its items share of the columns.
    Items at either end of the scores may be outside it.
    """
    score = pool.scores[:, 0]
    low, high = score[index].min(), score[index].max()
    inside = (score > low) & (score < high) if low < high else score == low
    for values in pool.columns.values():
        if np.all(values[index] == values[index[0]]):
            inside &= np.asarray(values == values[index[0]])
    inside[index] = False
    n_missing = int(inside.sum())
    if not n_missing:
        return []
    return [
        f"The known census of {len(index):,} items lacks {n_missing:,} items with scores between "
        f"its lowest, {low:.6g}, and its highest, {high:.6g}. Add their labels. {AS_FOUND}."
    ]


def _not_spread(score: FloatArray, index: IntArray, weight: FloatArray) -> list[str]:
    """Where a sample has too many or too few items for its inclusion probabilities."""
    size, n = len(score), len(index)
    doubts = []
    total, spread = weight.sum(), np.sqrt(np.sum(weight * (weight - 1)))
    if abs(total - size) > norm.isf(SUSPICIOUS / 2) * spread + weight.max():
        doubts.append(
            f"The inclusion probabilities of the known sample make its {n:,} items stand for "
            f"{total:,.0f}, and the pool has {size:,}: labels or probabilities are missing. "
            f"Give all that were drawn, with the probabilities that they were drawn with. "
            f"{AS_FOUND}."
        )
    cuts, above = _parts(score)
    chance = np.array([_chance(size, index, weight, part) for part in above])
    worst = int(np.argmin(chance))
    if chance[worst] < SUSPICIOUS / len(chance):
        part = above[worst]
        share, seen = part.mean(), weight[part[index]].sum() / total
        doubts.append(
            f"The known sample is not spread like one: {cuts[worst]} hold {share:.3%} of the pool "
            f"and {seen:.3%} of the sample by weight, which chance brings about once in "
            f"{1 / max(chance[worst], 1e-12):,.0f} samples. {AS_FOUND}."
        )
    return doubts


def _parts(score: FloatArray) -> tuple[list[str], list[BoolArray]]:
    """Parts of a pool by score: its top and bottom half, quarter, … down to single items."""
    ordered, size = np.sort(score), len(score)
    names, parts = [], []
    n = size // 2
    while n:
        top, bottom = ordered[size - n], ordered[n - 1]
        for name, part in (
            (f"scores from {top:.6g} on", score >= top),
            (f"scores up to {bottom:.6g}", score <= bottom),
        ):
            if not part.all():
                names.append(name)
                parts.append(part)
        n //= 2
    return names, parts


def _chance(size: int, index: IntArray, weight: FloatArray, part: BoolArray) -> float:
    """How likely an honest sample is to have so many or so few items in a part, two-sided.

    Exact where all inclusion probabilities are equal; else by Hájek's share and the variance of
    Poisson sampling, in which at least one item counts.
    """
    n, n_part, inside = len(index), int(part.sum()), part[index]
    if np.ptp(weight) == 0:
        law, seen = hypergeom(size, n_part, n), int(inside.sum())
        return float(min(1.0, 2 * min(law.cdf(seen), law.sf(seen - 1))))
    share = n_part / size
    off = weight @ (inside - share)
    variance = np.sum(weight * (weight - 1) * (inside - share) ** 2)
    least = weight.mean() ** 2 * n * share * (1 - share)
    return float(2 * norm.sf(abs(off) / np.sqrt(max(variance, least, weight.max() ** 2))))


def sample_doubts(problem: Problem, counts: FloatArray) -> list[str]:
    """Whether the labels of a known sample differ from those asked for among items alike.

    counts (K, C). Mantel and Haenszel's test over the strata and predictions: given how many items
    of each were labelled, and how many of them are positive (with more classes: not as predicted).
    """
    if problem.known is None or problem.numeric or not problem.known.square.any():
        return []
    cells, drawn = problem.cells, problem.known.kind == KINDS["sample"]
    reference = cells.example.predictions[:, 0] if problem.n_classes > 2 else 0
    events = counts.sum(axis=1) - counts[np.arange(len(cells)), reference]
    alike = np.unique(
        np.column_stack([cells.stratum, cells.example.predictions]), axis=0, return_inverse=True
    )[1].reshape(-1)

    def total(of_cells: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(alike, weights=of_cells), dtype=np.float64)

    n = total(counts.sum(axis=1) * (problem.open | drawn))
    n_sample, n_event = total(counts.sum(axis=1) * drawn), total(events * (problem.open | drawn))
    many = np.maximum(n, 2.0)
    expected = n_sample * n_event / many
    variance = expected * (1 - n_event / many) * (n - n_sample) / (many - 1)
    spread = float(np.sqrt(variance.sum()))
    seen, due = float((events * drawn).sum()), float(expected.sum())
    both = (n_sample > 0) & (n > n_sample)
    off = float((total(events * drawn) - expected)[both].sum())
    # Of a few labels a normal law is too sure: half an event is no evidence.
    if not spread > 0 or 2 * norm.sf(max(abs(off) - 0.5, 0.0) / spread) >= UNLIKELY:
        return []
    what = "positives" if problem.n_classes == 2 else "wrong predictions"
    return [
        f"The known sample has {seen:,.0f} {what} where labels asked for among items alike make "
        f"{due:,.0f} likely. {AS_FOUND}."
    ]
