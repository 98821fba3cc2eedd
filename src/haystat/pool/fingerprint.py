"""Digests by which a pool is known again."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

from numpy.typing import NDArray


def digest_of(text: str, arrays: Iterable[NDArray[Any]]) -> str:
    """16 hexadecimal digits that depend on a text and on the types, shapes and values of arrays."""
    digest = hashlib.sha256(text.encode())
    for values in arrays:
        digest.update(f"{values.dtype} {values.shape}".encode())
        is_plain = values.dtype.kind in "biuf"
        digest.update(values.tobytes() if is_plain else repr(values.tolist()).encode())
    return digest.hexdigest()[:16]
