"""Known labels that are not what they claim: what they look like, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import betainc, ndtr, ndtri

from haystat.core.arrays import BoolArray, FloatArray, IntArray
from haystat.inference.posterior import posterior_shares
from haystat.models.known_view import KnownView, view_of
from haystat.models.settings import ModelSettings
from haystat.models.threads import one_thread
from haystat.pool.known import KINDS, Known
from haystat.pool.problem import Problem

SUSPICIOUS = 0.01  # chance that an honest sample is questioned, over all places looked at
AS_FOUND = "or say that they were found (--known-as found, hs.Known.found)"


def known_doubts(pool: Any, parts: Sequence[Known]) -> list[str]:
    """What is not as known labels claim, in words; the pool has all items at hand."""
    found, score = [], pool.scores[:, 0]
    rest = np.ones(len(score), dtype=np.bool_)  # what a sample is taken from, beside a census
    drawn = [
        (part, np.array([pool.index_of(item) for item in part.labels], dtype=np.int64))
        for part in parts
    ]
    for part, index in drawn:
        if part.kind == "census":
            rest[index] = False
            found += _not_whole(pool, index)
    for part, index in drawn:
        if part.kind == "sample":
            found += _not_spread(score[rest], score[index], 1 / np.array(part.inclusion))
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
        f"its lowest, {low:.6g}, and its highest, {high:.6g}. Add their labels, {AS_FOUND}."
    ]


def _not_spread(score: FloatArray, seen_at: FloatArray, weight: FloatArray) -> list[str]:
    """Where a sample at scores (n,) has too many or too few items for its inclusion probabilities.

    score (M,) is that of all items that it is taken from.
    """
    size, n = len(score), len(seen_at)
    doubts = []
    total, spread = weight.sum(), np.sqrt(np.sum(weight * (weight - 1)))
    if abs(total - size) > -ndtri(SUSPICIOUS / 2) * spread + weight.max():
        doubts.append(
            f"The inclusion probabilities of the known sample make its {n:,} items stand for "
            f"{total:,.0f}, and it is taken from {size:,}: labels or probabilities are missing. "
            f"Give all that were drawn with their probabilities, {AS_FOUND}."
        )
    chance, about = _least_likely(score, seen_at, weight)
    if chance < SUSPICIOUS:
        doubts.append(
            f"The known sample is not spread like one over the scores: {about}, which happens "
            f"once in {1 / max(chance, 1e-9):,.0f} samples. Check how they were drawn, {AS_FOUND}."
        )
    return doubts


def _least_likely(score: FloatArray, seen_at: FloatArray, weight: FloatArray) -> tuple[float, str]:
    """How likely what is most odd about a sample would be in an honest one, and what it is.

    Half of the tests' joint level (Bonferroni) goes to the mean of two scores of the ranks, which
    see a drift; half to the parts of the pool above and below a score, which see a place.
    """
    ordered = np.sort(score)
    rank, count = _ranks(ordered)
    place_of = np.searchsorted(ordered[np.cumsum(count) - 1], seen_at)
    marks = (ndtri(rank), np.log1p(-rank))
    drift = min(_drift(mark, count, place_of, weight) for mark in marks)
    cuts = _cuts(ordered)
    above = seen_at[:, None] >= cuts
    n_above = len(score) - np.searchsorted(ordered, cuts)
    chance = _chance(len(score), n_above, above, weight)
    worst = int(np.argmin(chance))
    place = len(cuts) * float(chance[worst])
    if 2 * drift < place:
        mean = weight @ rank[place_of] / weight.sum()
        return 4 * drift, f"its items have the mean rank {mean:.3f} rather than 0.5"
    share, seen = n_above[worst] / len(score), weight @ above[:, worst] / weight.sum()
    shares = f"{100 * seen:.3g}% of it and {100 * share:.3g}% of the pool"
    return 2 * place, f"{shares} have scores from {cuts[worst]:.6g} on"


def _ranks(ordered: FloatArray) -> tuple[FloatArray, IntArray]:
    """Mid-rank of every different score, between 0 and 1, and how many items have it, (V,) each."""
    last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))
    count = np.diff(last, prepend=-1)
    return (last + 1 - count / 2) / len(ordered), count


def _cuts(ordered: FloatArray) -> FloatArray:
    """Scores above which a half, a quarter, … of a pool lie, or below which they do, (L,)."""
    size = len(ordered)
    n = size >> np.arange(1, max(size.bit_length(), 2))
    cuts = np.unique(np.concatenate([ordered[size - n], ordered[np.minimum(n, size - 1)]]))
    return cuts[cuts > ordered[0]] if ordered[0] < ordered[-1] else ordered[:1]


def _drift(mark: FloatArray, count: IntArray, place: IntArray, weight: FloatArray) -> float:
    """How likely the mean of a mark (V,) is to be so far from that of the pool, two-sided.

    count (V,) items have each mark, and those of the sample have the marks at place (n,).
    """
    size, n = int(count.sum()), len(place)
    centred = mark - count @ mark / size
    if np.ptp(weight) == 0:
        spread = np.sqrt((1 - n / size) * (count @ centred**2) / size / n)
        off = centred[place].mean()
    else:
        off = weight @ centred[place]
        spread = np.sqrt(np.sum(weight * (weight - 1) * centred[place] ** 2))
    return float(2 * ndtr(-abs(off) / spread)) if spread > 0 else 1.0


def _chance(size: int, n_above: IntArray, above: BoolArray, weight: FloatArray) -> FloatArray:
    """How likely an honest sample is to have so many or so few items above cuts, two-sided, (L,).

    above (n, L) says which do. Exact where all inclusion probabilities are equal; else by Hájek's
    share and the variance of Poisson sampling, in which at least one item counts.
    """
    n = len(weight)
    if np.ptp(weight) == 0:
        from scipy.stats import hypergeom  # takes half a second to import

        seen = above.sum(axis=0)
        below, beyond = (
            hypergeom.cdf(seen, size, n_above, n),
            hypergeom.sf(seen - 1, size, n_above, n),
        )
        return np.asarray(np.minimum(2 * np.minimum(below, beyond), 1.0))
    share = n_above / size
    off = above - share
    variance = (weight * (weight - 1)) @ off**2
    least = np.maximum(weight.mean() ** 2 * n * share * (1 - share), weight.max() ** 2)
    return np.asarray(2 * ndtr(-np.abs(weight @ off) / np.sqrt(np.maximum(variance, least))))


def sample_doubts(problem: Problem, counts: IntArray, rng: np.random.Generator) -> list[str]:
    """Whether a known sample has more or fewer events than the labels asked for make likely.

    counts (K, C). The model of the labels, told of all labels but those of the sample, draws the
    share of events in what the sample was taken from; how likely a sample is to have so many, or so
    few, is the mean of binomial tails over these draws. With unequal inclusion probabilities the
    sample counts for its effective number of labels (Kish). Items that prefer an event whatever
    their score cannot be seen better by any test than by this count.
    """
    known = problem.known
    if known is None or problem.numeric or not known.square.any():
        return []
    view = view_of(problem, ModelSettings())
    if not isinstance(view, KnownView):
        return []
    with one_thread():
        start = view.model.curve.mean[None]
        share = posterior_shares(view.without_samples(), start, counts, rng)
    size = problem.cells.size * ((known.kind == 0) | (known.kind == KINDS["sample"]))
    chance = np.clip(share @ size / size.sum(), 0.0, 1.0)
    weight = known.weight.sum(axis=1)
    quiet = known.weight[np.arange(len(weight)), view.reference]
    n = weight.sum() ** 2 / known.square.sum()
    seen = n * (weight - quiet).sum() / weight.sum()
    if 2 * min(_at_least(seen, n, chance), _at_least(n - seen, n, 1 - chance)) >= SUSPICIOUS:
        return []
    what = "positives" if problem.n_classes == 2 else "wrong predictions"
    low, high = n * np.quantile(chance, [0.05, 0.95])
    return [
        f"The known sample has {seen:,.0f} {what}, where a random one would have about {low:,.0f} "
        f"to {high:,.0f}, going by the labels asked for. {AS_FOUND}."
    ]


def _at_least(seen: float, n: float, chance: FloatArray) -> float:
    """How likely n draws are to have so many events, by draws of their chance (S,)."""
    return float(np.mean(betainc(seen, n - seen + 1, chance))) if seen > 0 else 1.0
