"""A question as a study hands it out, and how long it may be kept."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from haystat.core.arguments import brief
from haystat.errors import BadOption
from haystat.loop.questions import Query

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
LONGEST = 366 * 86400.0


@dataclass(frozen=True)
class Question(Query):
    """A question with the columns to show to the person who labels."""

    record: Mapping[str, Any] = field(default_factory=dict, compare=False)


def seconds_of(length: str | float | timedelta) -> float:
    """The length of a lease in seconds: "90s", "30m", "1h", "2d", a number or a timedelta.

    >>> seconds_of("1h")
    3600.0
    """
    if isinstance(length, timedelta):
        seconds = length.total_seconds()
    elif isinstance(length, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhd])\s*", length)
        seconds = float(match[1]) * UNITS[match[2]] if match else -1.0
    else:
        is_number = isinstance(length, int | float) and not isinstance(length, bool)
        seconds = length if is_number else -1.0
    if not 0 < seconds <= LONGEST:
        raise BadOption(f"lease is {brief(length)}; give a time such as '90s', '30m', '1h' or '2d'")
    return float(seconds)
