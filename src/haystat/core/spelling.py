"""How values are spelt in files: numbers as pandas writes them, texts in spreadsheets, JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Container
from typing import Any

WHOLE = re.compile(r"[+-]?(?:0|[1-9][0-9]{0,30})(?:\.0*)?")
#: what a spreadsheet takes for the beginning of a formula
FORMULA = re.compile(r"[=@\t\r]|[+-](?![0-9.]*\Z)")


def spelt(value: Any, known: Container[Any]) -> Any:
    """The known value that is meant: "1", "1.0" or 1.0 may be the number 1, True the text "true".

    What is known as it stands is meant as it stands; what is not known at all is returned.

    >>> spelt("1256.0", {1256, 7}), spelt("00966", {966}), spelt("1", {"1", 1})
    (1256, '00966', '1')
    """
    guesses = [value]
    if isinstance(value, bool):
        guesses += [str(value), str(value).lower()]
    elif isinstance(value, int | float) and value == value // 1:
        guesses = [int(value), str(int(value))]
    elif isinstance(value, str):
        guesses += [value.strip(), whole_number(value)]
    return next((guess for guess in guesses if is_in(guess, known)), value)


def whole_number(text: str) -> int | None:
    """The number that a text spells, also as pandas does where values are missing: 1256.0.

    >>> whole_number("1256.0"), whole_number("00966"), whole_number("1e3")
    (1256, None, None)
    """
    return int(text.partition(".")[0]) if WHOLE.fullmatch(text.strip()) else None


def escaped(value: Any) -> Any:
    """A value of a CSV file: an apostrophe keeps a spreadsheet from running a text as a formula.

    >>> escaped("=1+1"), escaped("-5"), escaped("'quoted")
    ("'=1+1", '-5', "''quoted")
    """
    is_risky = isinstance(value, str) and (value.startswith("'") or FORMULA.match(value))
    return f"'{value}" if is_risky else value


def unescaped(value: Any) -> Any:
    """What `escaped` was given."""
    is_escaped = isinstance(value, str) and value[:1] == "'" and escaped(value[1:]) == value
    return value[1:] if is_escaped else value


def strict_json(text: str) -> Any:
    """A JSON value; NaN, infinity and a name that is given twice are errors."""
    return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_object)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no value; leave it out, or write null")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        names = [name for name, _ in pairs]
        twin = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twin!r} is given twice")
    return result


def is_in(guess: Any, known: Container[Any]) -> bool:
    """Whether a value that may have no hash is known."""
    try:
        return guess in known
    except TypeError:  # a list has no hash
        return False
