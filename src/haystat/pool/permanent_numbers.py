"""The permanent random number u of every item: hash(seed, id), the same on every engine.

An integer id is its own key; any other id is keyed by the first 15 hexadecimal digits of the
md5 of its text. u is a five-round Feistel network on the two 32-bit halves of the key. Each
round multiplies modulo a 32-bit prime, so no product leaves 63 bits: SQL engines, which raise
on overflow, compute the same number with plain BIGINT arithmetic. The network permutes the
64-bit keys; u drops the lowest bit to stay non-negative.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

PRIME = 4294967291  # 2**32 - 5
MULTIPLIERS = (1597334677, 1923712693, 1398270491, 2021286307, 1103515245)  # odd, below 2**31
HALF = 0xFFFFFFFF
CHUNK = 1 << 14  # items hashed at a time, so that the work stays in cache


def keys_of(ids: NDArray[Any]) -> NDArray[np.int64]:
    """64-bit key of each id: integers are kept, everything else is hashed as text."""
    if np.issubdtype(ids.dtype, np.integer):
        return ids.astype(np.int64, copy=False)
    md5, texts = hashlib.md5, (str(value).encode() for value in ids.tolist())
    first_bytes = b"".join([md5(text, usedforsecurity=False).digest()[:8] for text in texts])
    # 15 hexadecimal digits are 60 bits, the first of these 64.
    return (np.frombuffer(first_bytes, dtype=">u8") >> np.uint64(4)).astype(np.int64)


def round_keys(seed: int) -> tuple[int, ...]:
    """One 32-bit key a round, from any integer seed."""
    digest = hashlib.sha256(str(int(seed)).encode()).digest()
    starts = range(0, 4 * len(MULTIPLIERS), 4)
    return tuple(int.from_bytes(digest[start : start + 4], "big") for start in starts)


def as_shares(u: NDArray[np.int64]) -> NDArray[np.float64]:
    """u as numbers in [0, 1): its 53 highest bits, so that none is rounded up to 1."""
    return np.asarray((u >> 10) * 2.0**-53)


def permanent_numbers(keys: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """u of each key, uniform on 0 … 2**63 - 1."""
    result = np.empty(len(keys), dtype=np.int64)
    rounds = tuple(zip(round_keys(seed), MULTIPLIERS, strict=True))
    for start in range(0, len(keys), CHUNK):
        part = keys[start : start + CHUNK]
        left = (part >> 32) & HALF
        right = part & HALF
        for key, multiplier in rounds:
            mixed = right ^ key
            mixed *= multiplier
            mixed -= mixed // PRIME * PRIME  # modulo; numpy divides faster than it takes %
            mixed ^= left
            left, right = right, mixed
        result[start : start + CHUNK] = (left << 31) | (right >> 1)
    return result


def keys_of_each(ids: Sequence[Any]) -> NDArray[np.int64]:
    """Keys of ids as Python objects, all integers or all texts.

    numpy makes floats of integers on both sides of 2**63.
    """
    if not ids:
        return np.zeros(0, dtype=np.int64)
    if any(isinstance(value, str) for value in ids):
        return keys_of(np.array(ids, dtype=object))
    return keys_of(np.array(ids, dtype=np.uint64 if max(ids) >= 2**63 else None))


def unit_numbers(ids: Sequence[Any], seed: int) -> NDArray[np.float64]:
    """u in [0, 1) of integer or text ids."""
    return as_shares(permanent_numbers(keys_of_each(ids), seed))
