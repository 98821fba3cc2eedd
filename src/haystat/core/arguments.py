"""What callers give is checked here: counts, numbers, texts, names out of a list, paths."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from haystat.errors import BadOption

LARGEST = 1e300
LONGEST = 80  # characters of a value that an error repeats


def brief(value: Any) -> str:
    """A value as an error shows it: a cell of ten megabytes does not fill the screen.

    >>> brief("a" * 1000)
    "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'"
    """
    try:
        text = repr(value)
    except Exception:  # of an object of somebody else, or a number of too many digits
        text = f"a {type(value).__name__}"
    half = LONGEST // 2
    return text if len(text) <= LONGEST else f"{text[: half - 1]}…{text[1 - half :]}"


def is_listed(value: Any) -> bool:
    """Whether there is something to go through: an array without a dimension has no parts."""
    return isinstance(value, Iterable) and not (isinstance(value, np.ndarray) and value.ndim == 0)


def checked_integer(
    what: str, value: Any, smallest: int | None = None, largest: int | None = None
) -> int:
    """A whole number from `smallest` to `largest`."""
    is_integer = isinstance(value, int | np.integer) and not isinstance(value, bool)
    too_small = is_integer and smallest is not None and value < smallest
    too_large = is_integer and largest is not None and value > largest
    if not is_integer or too_small or too_large:
        wanted = "" if smallest is None else f" of at least {smallest}"
        wanted += "" if largest is None else f"{' and' * bool(wanted)} of at most {largest}"
        raise BadOption(f"{what} is {brief(value)}; give a whole number{wanted}")
    return int(value)


def checked_number(what: str, value: Any, example: float, *, most: float = LARGEST) -> float:
    """A number between 0 and `most`, both left out."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or isinstance(value, complex | np.complexfloating) or not 0 < value < most:
        wanted = "a positive number" if most == LARGEST else f"a number between 0 and {most:g}"
        raise BadOption(f"{what} is {brief(value)}; give {wanted}, such as {example:g}")
    return float(value)


def checked_choice(what: str, value: Any, known: Iterable[str]) -> str:
    """One of the names that are known."""
    names = list(known)
    if not isinstance(value, str) or value not in names:
        raise BadOption(f"{what} is {brief(value)}; it can be {names}")
    return value


def checked_text(what: str, value: Any) -> str:
    """A text that can be written to a file: none with half a character (a lone surrogate)."""
    if not isinstance(value, str):
        raise BadOption(f"{what} is {brief(value)}, a {type(value).__name__}; give a text")
    if not is_unicode(value):
        raise BadOption(f"{what} is {brief(value)}, which is not Unicode; decode it as it was made")
    return value


def several_names(what: str, given: Any) -> tuple[str, ...]:
    """Names of columns, systems or people; none if None is given, one if a text is."""
    if given is None:
        return ()
    names = (given,) if isinstance(given, str) else given
    listed = isinstance(names, Sequence) or (isinstance(names, np.ndarray) and names.ndim == 1)
    if not listed or not all(isinstance(name, str) for name in names):
        raise BadOption(f"{what} is {brief(given)}; give a name, or a list of names")
    return tuple(str(name) for name in names)


def is_unicode(text: str) -> bool:
    """Whether a text can be encoded: one that was decoded wrongly may hold lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_encodable(path: str) -> bool:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True


def checked_path(what: str, value: Any) -> Path:
    """A path that a file system can have."""
    if not isinstance(value, str | os.PathLike) or not isinstance(os.fspath(value), str):
        raise BadOption(f"{what} is {brief(value)}, a {type(value).__name__}; give a path")
    if not os.fspath(value) or "\0" in os.fspath(value) or not _is_encodable(os.fspath(value)):
        raise BadOption(f"{what} is {brief(value)}, which no file can be called; give a path")
    return Path(value)
