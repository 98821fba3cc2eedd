"""The permanent random number u: reproducible anywhere, and random enough."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from scipy import stats

from haystat.pool.permanent_numbers import (
    HALF,
    MULTIPLIERS,
    PRIME,
    keys_of,
    permanent_numbers,
    round_keys,
)

TOO_UNLIKELY = 1e-4


def plain_network(key: int, seed: int) -> int:
    """The 64-bit permutation in Python integers, with every intermediate inside 63 bits."""
    left, right = (key >> 32) & HALF, key & HALF
    for round_key, multiplier in zip(round_keys(seed), MULTIPLIERS, strict=True):
        product = (right ^ round_key) * multiplier
        assert 0 <= product < 2**63
        left, right = right, left ^ (product % PRIME)
        assert 0 <= right <= HALF
    return (left << 32) | right


def wide_network(keys: np.ndarray, seed: int) -> np.ndarray:
    """The same for arrays, in unsigned 64-bit arithmetic."""
    left, right = keys.astype(np.uint64) >> np.uint64(32), keys.astype(np.uint64) & np.uint64(HALF)
    for round_key, multiplier in zip(round_keys(seed), MULTIPLIERS, strict=True):
        product = (right ^ np.uint64(round_key)) * np.uint64(multiplier)
        left, right = right, left ^ (product % np.uint64(PRIME))
    return (left << np.uint64(32)) | right


KEYS = [0, 1, 2, 7, 2**31, 2**32 - 1, 2**32, 2**53 + 1, 2**63 - 1, -1, -2, -(2**63), -(2**32)]


@pytest.mark.parametrize("seed", [0, 1, -5, 2**80])
def test_equals_plain_integers(seed):
    keys = KEYS + np.random.default_rng(0).integers(-(2**63), 2**63, 500).tolist()
    expected = [plain_network(key, seed) >> 1 for key in keys]
    assert permanent_numbers(np.array(keys, dtype=np.int64), seed).tolist() == expected


def test_known_values():
    # Written down once: a log replays only if these never change.
    assert round_keys(0) == (1609362278, 4291325752, 3646060652, 1835625593, 3269182009)
    assert permanent_numbers(np.array([0, 1, -1]), 0).tolist() == [
        7518212087969031650,
        239843748650376443,
        5405533344144744356,
    ]


def test_no_product_can_leave_63_bits():
    assert max(MULTIPLIERS) * HALF < 2**63
    assert (HALF << 31) + (HALF >> 1) < 2**63
    for seed in range(50):
        for key in (0, HALF, -1, *(k ^ HALF for k in round_keys(seed))):
            plain_network(key, seed)


@pytest.mark.parametrize(
    "keys",
    [
        np.arange(1_000_000),
        np.arange(1_000_000) * 2**32,
        np.arange(-500_000, 500_000) * 4096,
    ],
    ids=["low half", "high half", "both"],
)
def test_no_two_keys_collide_before_the_lowest_bit_is_dropped(keys):
    whole = wide_network(keys, 3)
    assert len(np.unique(whole)) == len(keys)
    np.testing.assert_array_equal(permanent_numbers(keys, 3), (whole >> np.uint64(1)).astype(int))


@pytest.mark.parametrize("stride", [1, 2, 10, 4096, 2**32, 2**33 + 1])
@pytest.mark.parametrize("seed", [0, 1])
def test_uniform_and_serially_independent(stride, seed):
    numbers = permanent_numbers(np.arange(400_000) * stride, seed)
    top = numbers >> 57  # 64 values
    low = (numbers >> 3) & 63
    for digit in (top, low):
        assert stats.chisquare(np.bincount(digit, minlength=64)).pvalue > TOO_UNLIKELY
        for lag in (1, 2, 16, 1000):
            pair = digit[:-lag] * 64 + digit[lag:]
            # Overlapping pairs are not independent; every second lag-block is.
            kept = pair[(np.arange(len(pair)) // lag) % 2 == 0]
            assert stats.chisquare(np.bincount(kept, minlength=4096)).pvalue > TOO_UNLIKELY


def test_fresh_seeds_give_independent_orders():
    keys = np.arange(50_000)
    columns = [permanent_numbers(keys, seed) for seed in range(12)]
    ranks = np.array([stats.rankdata(column) for column in columns])
    correlation = np.corrcoef(ranks)[np.triu_indices(12, 1)]
    # 66 pairs, each with standard error 1 / sqrt(50,000)
    assert np.abs(correlation).max() < 4 / np.sqrt(50_000)
    pair = (columns[0] >> 58) * 32 + (columns[1] >> 58)
    assert stats.chisquare(np.bincount(pair, minlength=1024)).pvalue > TOO_UNLIKELY


def test_every_pair_of_items_is_first_equally_often():
    keys = np.arange(8)
    first = np.array([np.argsort(permanent_numbers(keys, seed))[:2] for seed in range(28_000)])
    counts = np.bincount(first[:, 0] * 8 + first[:, 1], minlength=64).reshape(8, 8)
    assert np.all(np.diag(counts) == 0)
    assert stats.chisquare(counts[~np.eye(8, dtype=bool)]).pvalue > TOO_UNLIKELY


def test_integers_are_their_own_keys():
    for dtype in (np.int8, np.uint16, np.int64):
        assert keys_of(np.array([0, 1, 100], dtype=dtype)).tolist() == [0, 1, 100]
    assert keys_of(np.array([-3])).tolist() == [-3]
    large = np.array([2**64 - 1, 2**63], dtype=np.uint64)
    assert keys_of(large).tolist() == [-1, -(2**63)]


@pytest.mark.parametrize("dtype", [None, object])
def test_texts_are_keyed_by_md5(dtype):
    texts = ["", "a", "item-7", "Grüße", "7"]
    expected = [int(hashlib.md5(text.encode()).hexdigest()[:15], 16) for text in texts]
    assert keys_of(np.array(texts, dtype=dtype)).tolist() == expected
    assert max(expected) < 2**60
