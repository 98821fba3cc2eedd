"""JSON between the wire and the types of `models.py`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, TypeVar

import msgspec
import numpy as np
from msgspec import Meta, Struct
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from haystat.errors import BadOption, HaystatError, StorageError, StudyError, first_line
from haystat.web.fields import PLAIN

T = TypeVar("T")
S = TypeVar("S", bound=Struct)
LARGEST = 1 << 20  # bytes of a JSON body


class BadRequest(BadOption):
    """A request is not what the document at /api/openapi.json says."""


class Unsuitable(BadOption):
    """A request is what the document says, but not for this study, file or folder."""


@contextmanager
def suitable() -> Iterator[None]:
    """What the library refuses does not suit; a file that fails is another matter."""
    try:
        yield
    except (StudyError, StorageError, Unsuitable):
        raise
    except HaystatError as error:
        raise Unsuitable(str(error)) from None


async def read_body(request: Request, kind: type[T], largest: int = LARGEST) -> T:
    """The message in the body of a request."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != "application/json":
        raise HTTPException(415, f"the body is {given or 'nothing'}; send application/json")
    content = await limited(request, largest)
    try:
        return _decoded(content, kind)
    except msgspec.ValidationError as error:
        raise BadRequest(_why(error)) from None
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise BadRequest(f"the body is not JSON: {first_line(error)}") from None


def _decoded(content: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.ValidationError:
        # Some languages write whole numbers as 1.0, which JSON Schema takes for whole too.
        found = json.loads(msgspec.json.encode(msgspec.json.decode(content)), parse_float=_number)
        return msgspec.convert(found, kind)


def _number(text: str) -> int | float:
    found = float(text)
    return int(found) if found.is_integer() else found


async def json_body(request: Request, largest: int = LARGEST) -> dict[str, Any]:
    """The object in the body of a request, of whatever shape."""
    return await read_body(request, dict[str, Any], largest)


def read_query(request: Request, kind: type[S]) -> S:
    """What the address of a request asks for. A list has commas between its parts."""
    given: dict[str, Any] = dict(request.query_params)
    for field in msgspec.structs.fields(kind):
        if field.default_factory is list and field.name in given:
            given[field.name] = [part for part in given[field.name].split(",") if part]
    try:
        return msgspec.convert(given, kind, strict=False)
    except msgspec.ValidationError as error:
        raise BadRequest(_why(error)) from None


async def limited(request: Request, largest: int) -> bytes:
    """The body of a request, if it is not too long."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > largest:
            raise HTTPException(413, f"the body is longer than {largest:,} bytes")
        parts.append(part)
    return b"".join(parts)


def checked_text(name: str, value: str, most: int = 200) -> str:
    """The text, unless it is too long or cannot be written down."""
    try:
        msgspec.convert(value, Annotated[str, Meta(max_length=most, pattern=PLAIN)])
    except msgspec.ValidationError as error:
        raise BadRequest(f"{name}: {error}; leave out control characters") from None
    return value


def encode(value: Any) -> bytes:
    """A message as JSON, which has no NaN and no infinity: null stands for them."""
    return msgspec.json.encode(value, enc_hook=_plain)


def reply(value: Any, status: int = 200) -> Response:
    """An answer in JSON."""
    return Response(encode(value), status, media_type="application/json")


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return str(value)


def _why(error: msgspec.ValidationError) -> str:
    """Where a message is wrong, and why: `$.answers[0].item` is spelt answers[0].item."""
    what, _, where = str(error).rpartition(" - at ")
    place = where.strip("`").removeprefix("$").removeprefix(".")
    said = f"{place}: {what}" if what and place else (what or str(error))
    return f"{said}; /api/openapi.json says what is allowed"
