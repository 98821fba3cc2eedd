"""From raw scores to a prior guess of p(y|x), and to a scale on which strata are cut."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_softmax, logit

from haystat.measures.outputs import FloatArray

SMALLEST = 1e-9  # probabilities are kept this far from 0 and 1 before a logit


def looks_like_probabilities(scores: FloatArray) -> bool:
    """Whether all scores lie in [0, 1]."""
    return bool(np.min(scores) >= 0 and np.max(scores) <= 1)


def natural_scale(scores: FloatArray) -> FloatArray:
    """Probabilities as logits; other scores as they are."""
    if looks_like_probabilities(scores):
        return logit(np.clip(scores, SMALLEST, 1 - SMALLEST))
    return scores


def positive_probability(scores: FloatArray) -> FloatArray:
    """p(y = 1 | x) as the scores claim it: themselves in [0, 1], else their logistic."""
    return scores if looks_like_probabilities(scores) else expit(scores)


def class_probabilities(scores: FloatArray) -> FloatArray:
    """p(y|x) from one score a class, (M, C): rows that sum to one are kept, else softmax."""
    if looks_like_probabilities(scores) and np.allclose(scores.sum(axis=1), 1):
        return scores
    return np.exp(log_softmax(scores, axis=1))
