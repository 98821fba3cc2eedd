"""What comes in by JSON, checked once: types, sizes, and texts that can be written down."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn

from starlette.exceptions import HTTPException
from starlette.requests import Request

from haystat.errors import BadOption

LARGEST = 1 << 20  # bytes of a JSON body
MISSING: Any = object()


async def json_body(request: Request, largest: int = LARGEST) -> Mapping[str, Any]:
    """The object in the body of a request."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, f"the body is {kind or 'nothing'}; send application/json")
    content = await limited(request, largest)
    try:
        given = json.loads(content, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise BadOption(f"the body is not JSON: {_line(error)}") from None
    if not isinstance(given, dict):
        raise BadOption("the body is not an object; send {…}")
    return given


async def limited(request: Request, largest: int) -> bytes:
    """The body of a request, if it is not too long."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > largest:
            raise HTTPException(413, f"the body is longer than {largest:,} bytes")
        parts.append(part)
    return b"".join(parts)


def text(given: Mapping[str, Any], name: str, default: str = MISSING, most: int = 200) -> str:
    """A text that can be written into a journal."""
    value = _value(given, name, default)
    if not isinstance(value, str):
        raise BadOption(f"{name} is {_short(value)}; give a text")
    return checked_text(name, value, most)


def checked_text(name: str, value: str, most: int = 200) -> str:
    """The text, unless it is too long or cannot be written as UTF-8."""
    if len(value) > most:
        raise BadOption(f"{name} has {len(value)} letters; {most} are the most")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise BadOption(f"{name} is no valid Unicode text") from None
    if any(ord(letter) < 32 and letter not in "\n\t" for letter in value):
        raise BadOption(f"{name} holds control characters; leave them out")
    return value


def whole(given: Mapping[str, Any], name: str, default: int, least: int, most: int) -> int:
    """A whole number."""
    value = _value(given, name, default)
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise BadOption(f"{name} is {_short(value)}; give a whole number from {least} to {most}")
    return value


def number(given: Mapping[str, Any], name: str, default: float | None) -> float | None:
    """A finite number, or the default."""
    value = _value(given, name, default)
    if value is None and default is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e300:
        raise BadOption(f"{name} is {_short(value)}; give a number")
    return float(value)


def flag(given: Mapping[str, Any], name: str, default: bool = False) -> bool:
    """True or false."""
    value = _value(given, name, default)
    if not isinstance(value, bool):
        raise BadOption(f"{name} is {_short(value)}; give true or false")
    return value


def texts(given: Mapping[str, Any], name: str, most: int = 100) -> tuple[str, ...]:
    """A list of texts; none by default."""
    value = _value(given, name, [])
    if not isinstance(value, list) or len(value) > most:
        raise BadOption(f"{name} is {_short(value)}; give a list of at most {most} texts")
    return tuple(text({name: part}, name) for part in value)


def item(given: Mapping[str, Any], name: str = "item") -> int | str:
    """The id of an item: a whole number or a text."""
    value = _value(given, name, MISSING)
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise BadOption(f"{name} is {_short(value)}; give the item as it was asked about")
    if isinstance(value, str):
        return checked_text(name, value, 2000)
    return value


def label(given: Mapping[str, Any], name: str = "label") -> Any:
    """A label: one of the study's classes, as a number, a text or a truth value."""
    value = _value(given, name, MISSING)
    if not isinstance(value, bool | int | float | str):
        raise BadOption(f"{name} is {_short(value)}; give one of the study's classes")
    return checked_text(name, value, 2000) if isinstance(value, str) else value


def objects(given: Mapping[str, Any], name: str, most: int) -> list[Mapping[str, Any]]:
    """A list of objects."""
    value = _value(given, name, MISSING)
    fits = isinstance(value, list) and len(value) <= most
    if not fits or not all(isinstance(part, dict) for part in value):
        raise BadOption(f"{name} is {_short(value)}; give a list of at most {most} objects")
    return list(value)


def _value(given: Mapping[str, Any], name: str, default: Any) -> Any:
    value = given.get(name, default)
    if value is MISSING:
        raise BadOption(f"{name} is missing; the document is at /api/openapi.json")
    return value


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON number")


def _short(value: Any) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "not finite"
    spelt = ascii(value) if not isinstance(value, int) or abs(value) < 1 << 64 else "too large"
    return spelt if len(spelt) <= 60 else spelt[:60] + "…"


def _line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
