"""From raw scores to a prior guess of p(y|x), and to a scale on which strata are cut."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_softmax

from haystat.core.arrays import FloatArray, IntArray
from haystat.core.score_scales import SCALES, SMALLEST, scale_name

DIGITS = 20  # binary digits of a cell's prior that count
TRUST = 0.95  # in a prediction that comes without a score


def looks_like_probabilities(scores: FloatArray) -> bool:
    """Whether all scores lie in [0, 1]."""
    return bool(np.min(scores) >= 0 and np.max(scores) <= 1)


def natural_scale(scores: FloatArray) -> FloatArray:
    """The scores on the scale on which strata are cut."""
    return SCALES[scale_name(float(np.min(scores)), float(np.max(scores)))](scores)


def single_scores(scores: FloatArray) -> FloatArray:
    """One score an item, (M,) or (M, C) -> (M,).

    Of two classes it is the second's probability, or its margin over the first; of more, the
    largest score.
    """
    if scores.ndim == 1:
        return scores
    if scores.shape[1] > 2:
        return np.asarray(scores.max(axis=1))
    if _are_distributions(scores):
        return np.ascontiguousarray(scores[:, 1])
    return scores[:, 1] - scores[:, 0]


def positive_probability(scores: FloatArray) -> FloatArray:
    """p(y = 1 | x) as the scores claim it: themselves in [0, 1], else their logistic."""
    return scores if looks_like_probabilities(scores) else expit(scores)


def class_probabilities(scores: FloatArray) -> FloatArray:
    """p(y|x) from one score a class, (M, C): rows that sum to one are kept, else softmax."""
    return scores if _are_distributions(scores) else np.exp(log_softmax(scores, axis=1))


def mean_prior(
    systems: Iterable[FloatArray], group: NDArray[np.int32], size: IntArray, n_classes: int
) -> FloatArray:
    """Mean p(y|x) of each group of items, averaged over systems, (K, C).

    A single score says nothing about the classes when there are more than two.
    """
    means = []
    for scores in systems:
        if scores.ndim == 2:
            means.append(group_means(class_probabilities(scores), group, size))
        elif n_classes == 2:
            positive = rounded(group_means(positive_probability(scores)[:, None], group, size))
            means.append(np.hstack([1 - positive, positive]))
        else:
            means.append(np.full((len(size), n_classes), 1 / n_classes))
    return np.asarray(np.mean(means, axis=0))


def trusted(predictions: NDArray[np.int16], n_classes: int) -> FloatArray:
    """p(y|x) from predictions (M, S) alone: each is right with probability TRUST, (M, C)."""
    rest = (1 - TRUST) / (n_classes - 1)
    shares = np.full((len(predictions), n_classes), rest)
    for system in predictions.T:
        shares[np.arange(len(system)), system] += (TRUST - rest) / predictions.shape[1]
    return shares


def group_means(values: FloatArray, group: NDArray[np.int32], size: IntArray) -> FloatArray:
    """Mean of each column in each group, (M, C) -> (K, C)."""
    sums = [np.bincount(group, weights=column, minlength=len(size)) for column in values.T]
    return np.stack(sums, axis=1) / size[:, None]


def kept_possible(shares: FloatArray) -> FloatArray:
    """The same shares (K, C) with no label ruled out: what the prior forbids is never drawn."""
    possible = np.maximum(shares, SMALLEST)
    return np.asarray(possible / possible.sum(axis=1, keepdims=True))


def rounded(values: FloatArray) -> FloatArray:
    """The values to DIGITS binary digits.

    Engines add up the scores of a cell in orders of their own, so that the last digits differ;
    without those the draws are the same on every engine.
    """
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(np.ldexp(mantissa, DIGITS)), exponent - DIGITS))


def _are_distributions(scores: FloatArray) -> bool:
    return looks_like_probabilities(scores) and np.allclose(scores.sum(axis=1), 1)
