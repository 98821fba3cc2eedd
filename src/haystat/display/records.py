"""An item's record as people see it: the two sides of a pair, and texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

PAIR = re.compile(r"(?P<name>.+)_(?P<side>[lr])")


def paired_names(columns: Sequence[str]) -> list[str]:
    """Names that occur with both endings _l and _r.

    >>> paired_names(["first_l", "first_r", "city_l", "note"])
    ['first']
    """
    matches = [match for match in map(PAIR.fullmatch, columns) if match]
    sides = {(match["name"], match["side"]) for match in matches}
    names = dict.fromkeys(match["name"] for match in matches)
    return [name for name in names if {(name, "l"), (name, "r")} <= sides]


def shown_text(value: Any) -> str:
    """A value as people see it; nothing where it is missing."""
    return "" if value is None else str(value)
