"""A checksum inside a Parquet file, over every byte of it but its own digits."""

from __future__ import annotations

import hashlib
import re
import secrets

KEY = b"haystat.sha256"  # in the metadata of the file
BLANK = b"0" * 64  # what stands in the place of the digits while they are worked out
#: as the footer spells it: key, kind (a text), length (64), digits
PLACE = re.compile(re.escape(KEY) + rb"\x18\x40([0-9a-f]{64})")


def unused() -> bytes:
    """Digits to be replaced; random, so that they stand nowhere else in the file."""
    return secrets.token_hex(32).encode()


def sealed(content: bytes, digits: bytes) -> bytes:
    """The file with its checksum in the place of these digits."""
    before, after = content.split(digits)
    return before + _checksum(before, after) + after


def is_intact(content: bytes) -> bool | None:
    """Whether the checksum is right; None if there is none to be found."""
    found = list(PLACE.finditer(content))
    if not found:
        return None
    start, end = found[-1].span(1)
    return _checksum(content[:start], content[end:]) == content[start:end]


def _checksum(before: bytes, after: bytes) -> bytes:
    digest = hashlib.sha256(before)
    digest.update(BLANK)
    digest.update(after)
    return digest.hexdigest().encode()
