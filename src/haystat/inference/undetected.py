"""Undetected positives: how many there may be where labels are few, by exact bounds."""

from __future__ import annotations

LARGEST_COUNTED = 1_000_000  # items up to which the hypergeometric distribution is used


def most_positives(size: int, n_labelled: int, n_positive: int, level: float = 0.95) -> int:
    """The largest number of positives in a region that its labels do not contradict.

    size items hold K positives; n_labelled of them, taken as a simple random sample, hold
    n_positive. K is the largest number for which so few would still turn up with probability
    1 - level (one-sided Clopper-Pearson, hypergeometric; binomial in very large regions, which is
    a little more cautious).

    >>> most_positives(1000, 0, 0), most_positives(1000, 100, 0), most_positives(1000, 1000, 7)
    (1000, 28, 7)
    """
    if n_labelled == 0:
        return size
    from scipy.stats import beta, hypergeom  # takes half a second to import

    unseen = size - n_labelled
    if size > LARGEST_COUNTED:
        share = beta.ppf(level, n_positive + 1, n_labelled - n_positive) if unseen else 0.0
        # All labelled positive: nothing speaks against a region of positives alone.
        share = 1.0 if n_positive == n_labelled else share
        return min(max(int(share * size), n_positive), n_positive + unseen)
    low, high = n_positive, n_positive + unseen
    while low < high:
        middle = (low + high + 1) // 2
        if hypergeom.cdf(n_positive, size, middle, n_labelled) > 1 - level:
            low = middle
        else:
            high = middle - 1
    return low
