"""Values, measures and designs as JSON, and back. Nothing is pickled: a study may come by mail."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from haystat import designs, measures
from haystat.arguments import brief
from haystat.designs.base import Design
from haystat.errors import BadOption, StudyError
from haystat.measures.base import Measure
from haystat.study.journal import canonical

LEVEL = 6  # of compression
PLAIN = (bool, int, float, str)


def pack(value: Any) -> bytes:
    """Compressed JSON."""
    try:
        return zlib.compress(canonical(value).encode(), LEVEL)
    except UnicodeEncodeError as error:
        near = error.object[max(error.start - 20, 0) : error.end]
        raise BadOption(f"a text of the pool is not Unicode, near {brief(near)}") from None


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


def encode_measure(measure: Any) -> Any:
    """A measure as JSON; {"object": name} for one that only its maker can make again."""
    if isinstance(measure, str):
        return measure
    if isinstance(measure, Measure):
        try:
            return _encode_object(measure)
        except _NotPlain:
            return {"object": measure.name}
    return [encode_measure(part) for part in measure]


def decode_measure(spec: Any, given: Any = None) -> Measure:
    """The measure of a study; `given` is one that cannot be made from the file."""
    if given is not None:
        measures.resolve(given)
        if encode_measure(given) != spec:
            raise StudyError(f"the study's measure is {spec!r}, not {encode_measure(given)!r}")
        return measures.resolve(given)
    if isinstance(spec, str | list):
        return measures.resolve(
            [decode_measure(s) for s in spec] if isinstance(spec, list) else spec
        )
    if "object" in spec:
        raise StudyError(
            f"the study's measure {spec['object']!r} is an object of your own; give it again: "
            "Study.open(path, measure=…)"
        )
    measure = _decode_object(spec)
    if not isinstance(measure, Measure):
        raise StudyError(f"the study's measure {spec!r} is none that this haystat knows")
    return measure


def encode_design(design: Design) -> dict[str, Any]:
    """A design by name and options; {"object": name} for one of the user's own."""
    known: Any = designs.DESIGNS.get(design.name)
    if known is not type(design):
        return {"object": design.name}
    options: dict[str, Any] = asdict(design)  # type: ignore[call-overload]
    return {"name": design.name, "options": {k: _encode_object(v) for k, v in options.items()}}


def decode_design(spec: Mapping[str, Any], given: Design | None = None) -> Design:
    """The design of a study; `given` is one that cannot be made from the file."""
    if given is not None:
        if not isinstance(given, Design):
            raise BadOption(f"design is {brief(given)}; give the design object of the study")
        if encode_design(given) != spec:
            raise StudyError(f"the study's design is {spec!r}, not {encode_design(given)!r}")
        return given
    if "object" in spec:
        raise StudyError(
            f"the study's design {spec['object']!r} is an object of your own; give it again: "
            "Study.open(path, design=…)"
        )
    return designs.recorded(spec["name"], spec["options"])


class _NotPlain(Exception):
    """The value has no JSON form."""


def _encode_object(value: Any) -> Any:
    if value is None or isinstance(value, PLAIN):
        return value
    if isinstance(value, Sequence):
        return [_encode_object(part) for part in value]
    name = type(value).__name__
    if not is_dataclass(value) or getattr(measures, name, None) is not type(value):
        raise _NotPlain
    options = {f.name: _encode_object(getattr(value, f.name)) for f in fields(value) if f.init}
    return {"measure": name, "options": options}


def _decode_object(spec: Any) -> Any:
    if isinstance(spec, list):
        return tuple(_decode_object(part) for part in spec)
    if not isinstance(spec, dict):
        return spec
    kind = getattr(measures, str(spec.get("measure")), None)
    if not (isinstance(kind, type) and issubclass(kind, Measure)):
        raise StudyError(f"the study's measure {spec!r} is none that this haystat knows")
    return kind(**{name: _decode_object(value) for name, value in spec["options"].items()})


def _no_nan(value: Any) -> Any:
    """JSON has no NaN: what is missing is None."""
    return None if isinstance(value, float) and not np.isfinite(value) else value
