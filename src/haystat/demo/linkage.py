"""The demo's pool: every pair of two tables of people, scored by a matcher that never saw them."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from haystat.demo.matcher import Matcher, fit_matcher
from haystat.demo.people import FIELDS, Person, Table, two_tables
from haystat.errors import BadOption, UnknownItem

PAIRS_PER_MATCH = 6000
# The matcher learns from few records with many matches, as matchers do, so its scores are
# too high for the pool, where matches are rarer.
FIT_SIZE = 300
FIT_MATCHES = 100


@dataclass(frozen=True)
class LinkagePool:
    """All pairs of a left and a right table; pair `id` is row id // n_right and id % n_right.

    ids, scores, predictions, labels: (M,). A score is the matcher's probability of a match, a
    prediction is 1 from 0.5 on, a label is 1 if both records are of the same person.
    """

    ids: NDArray[np.int64]
    scores: NDArray[np.float64]
    predictions: NDArray[np.int8]
    labels: NDArray[np.int8]
    left: Table
    right: Table

    def records(self, item: int) -> tuple[Person, Person]:
        """The left and the right record of a pair."""
        if not 0 <= item < len(self.ids):
            raise UnknownItem(f"pair {item} does not exist; ids go from 0 to {len(self.ids) - 1}")
        rows = divmod(int(item), len(self.right["first"]))
        left, right = (
            {field: str(table[field][row]) for field in FIELDS}
            for table, row in zip((self.left, self.right), rows, strict=True)
        )
        return left, right

    def describe(self, item: int) -> str:
        """The two records of a pair side by side, one line per field, a dash where one is missing.

        >>> pool = make_linkage_pool(n_left=120, n_right=100, seed=1)
        >>> print(pool.describe(int(pool.scores.argmax())))
        first   Ronas         Ronas
        last    Bradton       Bradton
        street  30 Lime Lane  30 Lime Lane
        city    Harwick       Harwick
        born    1953-10-02    1941-10-07
        phone   0210-689289   0210-689289
        """
        left, right = self.records(item)
        width = max(len(text) for text in left.values())
        return "\n".join(
            f"{field:<6}  {left[field] or '-':<{width}}  {right[field] or '-'}" for field in FIELDS
        )


def make_linkage_pool(n_left: int = 1200, n_right: int = 1000, seed: int = 0) -> LinkagePool:
    """All n_left x n_right pairs of two generated tables of people, one in 6,000 a match.

    The score comes from a logistic regression fitted on other people. The same arguments give
    the same pool, as long as numpy stays the same.
    """
    n_matches = min(n_left * n_right // PAIRS_PER_MATCH, n_left, n_right)
    if n_left < 1 or n_right < 1 or n_matches < 1:
        raise BadOption(
            f"{n_left} x {n_right} pairs hold no match; take at least {PAIRS_PER_MATCH} pairs"
        )
    pool_rng, fit_rng = np.random.default_rng(seed).spawn(2)
    matcher = _fitted_matcher(fit_rng)
    left, right, matches = two_tables(n_left, n_right, n_matches, pool_rng)
    scores = matcher.scores(left, right).ravel()
    return LinkagePool(
        ids=np.arange(n_left * n_right),
        scores=scores,
        predictions=(scores >= 0.5).astype(np.int8),
        labels=_labels(n_left, n_right, matches).ravel(),
        left=left,
        right=right,
    )


def _labels(n_left: int, n_right: int, matches: NDArray[np.int64]) -> NDArray[np.int8]:
    labels = np.zeros((n_left, n_right), dtype=np.int8)
    labels[matches[:, 0], matches[:, 1]] = 1
    return labels


def _fitted_matcher(rng: Generator) -> Matcher:
    left, right, matches = two_tables(FIT_SIZE, FIT_SIZE, FIT_MATCHES, rng)
    return fit_matcher(left, right, _labels(FIT_SIZE, FIT_SIZE, matches))
