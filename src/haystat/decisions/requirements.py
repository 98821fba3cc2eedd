"""Requirements as people write them: recall>=0.8, new:f1>=baseline-0.01, false alarms by name."""

from __future__ import annotations

import re
from dataclasses import dataclass

from haystat.core.arguments import brief
from haystat.errors import BadOption
from haystat.measures import registry, resolve
from haystat.measures.base import Measure
from haystat.measures.combine import Difference
from haystat.measures.outputs import Schema

WRITTEN = re.compile(
    r"\s*(?:(?P<system>[^:<>=]+):)?\s*(?P<measure>\w+(?::\w+=[\w.]+)*)\s*(?P<sign>>=|<=)\s*"
    r"(?:(?P<baseline>baseline)\s*(?P<offset>[+-]\s*[\d.]+(?:[eE][+-]?\d+)?)?"
    r"|(?P<number>[+-]?[\d.]+(?:[eE][+-]?\d+)?))\s*"
)


@dataclass(frozen=True)
class Requirement:
    """A measure that must be at least, or at most, `bound`; of a difference if to a baseline."""

    text: str
    measure: Measure
    at_least: bool
    bound: float


def parsed(text: str, schema: Schema, baseline: str | None = None) -> Requirement:
    """A requirement about a pool's first system, the one that is named, or its lead.

    baseline: the system that "baseline" stands for; by default one of that name, or the other of
    two.
    """
    found = WRITTEN.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise BadOption(
            f"requirement {brief(text)} cannot be read; write such as 'recall>=0.8', "
            "'new:precision>=0.9' or 'f1>=baseline-0.01'"
        )
    system = found["system"].strip() if found["system"] else None
    at_least = found["sign"] == ">="
    if found["baseline"] is None:
        measure = resolve(found["measure"])
        measure = measure if system is None else measure.for_system(system)
        bound = _number(found["number"], text)
        return Requirement(text, _scalar(measure, schema, text, bound), at_least, bound)
    own = schema.systems[0] if system is None else system
    other = _baseline(schema, own, baseline)
    measure = Difference(resolve(found["measure"]), own, other)
    bound = _number((found["offset"] or "0").replace(" ", ""), text)
    return Requirement(text, _scalar(measure, schema, text, bound), at_least, bound)


def _baseline(schema: Schema, own: str, given: str | None) -> str:
    others = [name for name in schema.systems if name != own]
    if given is not None:
        if given not in others:
            raise BadOption(f"baseline is {given!r}; {own!r} can be compared with {others}")
        return given
    if "baseline" in others:
        return "baseline"
    if not others:
        raise BadOption(
            f"a baseline is a second system, and the pool has {own!r} alone; make the study with "
            "both scores (haystat new … --score new --score old)"
        )
    if len(others) != 1:
        raise BadOption(
            f"which system is the baseline of {own!r}? The pool has {list(schema.systems)}; give "
            "baseline="
        )
    return others[0]


def _scalar(measure: Measure, schema: Schema, text: str, needed: float) -> Measure:
    """The measure, once it is known to be one number that can be as needed."""
    bound = registry.bound(measure, schema)
    if len(bound.components) != 1:
        raise BadOption(
            f"{measure.name} has {len(bound.components)} values; a requirement is about one"
        )
    least, most = bound.bounds
    if not least <= needed <= most:
        raise BadOption(
            f"requirement {text!r} decides nothing: {measure.name} lies between {least:g} and "
            f"{most:g}; give a number between them"
        )
    return measure


def _number(text: str, whole: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise BadOption(f"{text!r} in requirement {whole!r} is not a number") from None
