"""What an evaluation was made with, as JSON and back: measure, design, oracle, rules, seeds.

Nothing is pickled: a study may come by mail.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from typing import Any

from haystat import designs, measures
from haystat.core.arguments import brief
from haystat.designs.base import Design
from haystat.errors import BadOption, LogError
from haystat.loop.annotators import Rules
from haystat.measures.base import Measure

PLAIN = (bool, int, float, str)


def encode_settings(
    measure: Any, design: Design, oracle: str, seed: int, rules: Rules
) -> dict[str, Any]:
    """The settings of an evaluation; rules that leave everything open are left out."""
    found = {"measure": encode_measure(measure), "design": encode_design(design)}
    found |= {"oracle": oracle, "seed": seed}
    return found if rules == Rules() else {**found, "rules": asdict(rules)}


def decode_rules(settings: Mapping[str, Any]) -> Rules:
    """The rules that `encode_settings` wrote."""
    given = dict(settings.get("rules", {}))
    if given.get("annotators") is not None:
        given["annotators"] = tuple(given["annotators"])
    return Rules(**given)


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
            raise LogError(f"it was made with measure {spec!r}, not {encode_measure(given)!r}")
        return measures.resolve(given)
    if isinstance(spec, str | list):
        return measures.resolve(
            [decode_measure(s) for s in spec] if isinstance(spec, list) else spec
        )
    if "object" in spec:
        raise LogError(
            f"its measure {spec['object']!r} was an object of your own; give it again: measure=…"
        )
    measure = _decode_object(spec)
    if not isinstance(measure, Measure):
        raise LogError(f"its measure {spec!r} is none that this haystat knows")
    return measure


def encode_design(design: Design) -> dict[str, Any]:
    """A design by name and options; {"object": name} for one of the user's own."""
    known: Any = designs.DESIGNS.get(design.name)
    if known is not type(design):
        return {"object": design.name}
    options: dict[str, Any] = asdict(design)  # type: ignore[call-overload]
    given = {k: _encode_object(v) for k, v in options.items() if v is not None}
    return {"name": design.name, "options": given}


def decode_design(spec: Mapping[str, Any], given: Design | None = None) -> Design:
    """The design of a study; `given` is one that cannot be made from the file."""
    if given is not None:
        if not isinstance(given, Design):
            raise BadOption(f"design is {brief(given)}; give the design object of the study")
        if encode_design(given) != spec:
            names = [dict(part).get("name", part) for part in (spec, encode_design(given))]
            told = names if names[0] != names[1] else [spec, encode_design(given)]
            raise LogError(f"it was made with design {told[0]!r}, not {told[1]!r}")
        return given
    if "object" in spec:
        raise LogError(
            f"its design {spec['object']!r} was an object of your own; give it again: design=…"
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
        raise LogError(f"its measure {spec!r} is none that this haystat knows")
    return kind(**{name: _decode_object(value) for name, value in spec["options"].items()})
