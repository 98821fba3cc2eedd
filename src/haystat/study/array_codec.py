"""Arrays and values as compressed JSON, and back."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from haystat.core.arguments import brief
from haystat.errors import BadOption, StudyError
from haystat.study.sqlite_journal import canonical

LEVEL = 6  # of compression
LONG = 100_000  # bytes from which speed counts more than room: what people read may be long
PLAIN = (bool, int, float, str)


def pack(value: Any) -> bytes:
    """Compressed JSON."""
    try:
        content = canonical(value).encode()
    except UnicodeEncodeError as error:
        near = error.object[max(error.start - 20, 0) : error.end]
        raise BadOption(f"a text of the pool is not Unicode, near {brief(near)}") from None
    return zlib.compress(content, LEVEL if len(content) < LONG else 1)


def unpack(content: bytes) -> Any:
    """What `pack` packed."""
    try:
        return json.loads(zlib.decompress(content))
    except (zlib.error, ValueError) as error:
        raise StudyError(f"a part of the pool's sketch is damaged ({error})") from None


def encode_array(what: str, values: NDArray[Any]) -> dict[str, Any]:
    """An array of numbers, truth values or texts."""
    kind = values.dtype.kind
    if kind in "biuf":
        return {"type": values.dtype.str, "shape": values.shape, "values": values.ravel().tolist()}
    texts = values.tolist()
    if values.ndim != 1 or not all(isinstance(v, PLAIN) or v is None for v in texts):
        raise BadOption(f"{what} is of type {values.dtype}; a study keeps numbers and texts")
    return {"type": "O", "shape": values.shape, "values": [_no_nan(value) for value in texts]}


def decode_array(given: Mapping[str, Any]) -> NDArray[Any]:
    """The array that `encode_array` wrote."""
    values = np.empty(len(given["values"]), dtype=given["type"])
    values[:] = given["values"]
    return values.reshape(given["shape"])


def plain(value: Any) -> Any:
    """A value to show to people, as JSON knows it: None where it is missing."""
    value = value.item() if isinstance(value, np.generic) else value
    return _no_nan(value) if isinstance(value, PLAIN) or value is None else str(value)


def plain_list(values: Sequence[Any]) -> list[Any]:
    """The same for many values; texts, of which there are most, are quick."""
    return [value if type(value) is str else plain(value) for value in values]


def _no_nan(value: Any) -> Any:
    """JSON has no NaN: what is missing is None."""
    return None if isinstance(value, float) and not np.isfinite(value) else value
