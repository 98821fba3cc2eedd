"""A small matcher: field similarities of every pair of records, and a logistic regression."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from haystat.demo.people import FIELDS, Table

Floats = NDArray[np.float32]


def _characters(texts: NDArray[np.str_], width: int) -> NDArray[np.uint32]:
    """Texts (n,) -> code points (n, width), zero beyond the end of a text."""
    fixed = np.ascontiguousarray(texts, dtype=f"<U{width}")
    return fixed.view(np.uint32).reshape(len(texts), width)


def bigram_cosine(left: NDArray[np.str_], right: NDArray[np.str_]) -> Floats:
    """Cosine between counts of character pairs, case ignored: (n,), (m,) -> (n, m)."""
    texts = np.char.lower(np.concatenate([left, right]))
    # One zero after the longest text, so that last letter + end counts as a pair.
    codes = _characters(texts, texts.dtype.itemsize // 4 + 1).astype(np.int64)
    pairs = codes[:, :-1] << 21 | codes[:, 1:]
    rows, places = np.nonzero(codes[:, :-1])
    vocabulary, columns = np.unique(pairs[rows, places], return_inverse=True)
    counts = np.zeros((len(texts), max(len(vocabulary), 1)), dtype=np.float32)
    np.add.at(counts, (rows, columns), 1.0)
    norms = np.sqrt(np.einsum("ij,ij->i", counts, counts))
    counts /= np.maximum(norms, 1.0)[:, None]
    cosine: Floats = counts[: len(left)] @ counts[len(left) :].T
    return cosine


def same_text(left: NDArray[np.str_], right: NDArray[np.str_]) -> Floats:
    """1 where the texts are equal, else 0: (n,), (m,) -> (n, m)."""
    same: Floats = (left[:, None] == right[None, :]).astype(np.float32)
    return same


def digit_agreement(left: NDArray[np.str_], right: NDArray[np.str_]) -> Floats:
    """Share of the left text's characters found at the same place on the right: -> (n, m)."""
    width = max(left.dtype.itemsize, right.dtype.itemsize) // 4
    left_codes, right_codes = _characters(left, width), _characters(right, width)
    agreeing = np.zeros((len(left), len(right)), dtype=np.float32)
    for place in range(width):
        given = left_codes[:, place, None]
        agreeing += (given == right_codes[None, :, place]) & (given > 0)
    lengths: Floats = np.maximum((left_codes > 0).sum(axis=1), 1).astype(np.float32)
    return agreeing / lengths[:, None]


COMPARISONS = {
    "first": bigram_cosine,
    "last": bigram_cosine,
    "street": bigram_cosine,
    "city": same_text,
    "born": digit_agreement,
    "phone": digit_agreement,
}


def features(left: Table, right: Table) -> Iterator[Floats]:
    """Each feature of all pairs in turn, (n, m): per field its similarity and "one is missing".

    One at a time, because all together would need twelve times the memory.
    """
    for field in FIELDS:
        missing = (left[field] == "")[:, None] | (right[field] == "")[None, :]
        similarity = COMPARISONS[field](left[field], right[field])
        similarity[missing] = 0.0
        yield similarity
        yield missing.astype(np.float32)


@dataclass(frozen=True)
class Matcher:
    """A fitted logistic regression: one weight per feature, and an intercept."""

    weights: NDArray[np.float64]
    intercept: float

    def scores(self, left: Table, right: Table) -> NDArray[np.float64]:
        """Probability of a match for all pairs, (n, m)."""
        shape = len(left["first"]), len(right["first"])
        logit = np.full(shape, self.intercept)
        for weight, feature in zip(self.weights, features(left, right), strict=True):
            logit += weight * feature
        probability: NDArray[np.float64] = expit(logit)
        return probability


def fit_matcher(left: Table, right: Table, labels: NDArray[np.int8], ridge: float = 0.1) -> Matcher:
    """Logistic regression on all pairs of two tables; labels (n, m), ridge on the weights only."""
    design = np.column_stack([feature.ravel() for feature in features(left, right)])
    sign = 1.0 - 2.0 * labels.ravel()

    def loss_and_gradient(theta: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margin = sign * (design @ theta[1:] + theta[0])
        slope = sign * expit(margin)
        loss = np.logaddexp(0.0, margin).sum() + 0.5 * ridge * theta[1:] @ theta[1:]
        return float(loss), np.concatenate([[slope.sum()], slope @ design + ridge * theta[1:]])

    start = np.zeros(design.shape[1] + 1)
    theta = minimize(loss_and_gradient, start, jac=True, method="L-BFGS-B").x
    return Matcher(weights=theta[1:], intercept=float(theta[0]))
