"""How items are chosen: one small file a design."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, MutableMapping
from typing import TYPE_CHECKING, Any

from haystat.core.arguments import brief
from haystat.core.lazy import LazyTable, lazy_names
from haystat.designs.base import Batch, Choice, Design, Proposal, Sheet
from haystat.errors import BadOption, LogError, UnknownName
from haystat.measures.outputs import Schema
from haystat.pool.problem import Problem

if TYPE_CHECKING:
    from haystat.designs.adaptive import Adaptive, AdaptiveFlat
    from haystat.designs.assisted import Assisted
    from haystat.designs.importance import Importance
    from haystat.designs.oasis import Oasis
    from haystat.designs.passive import Passive
    from haystat.designs.replacement import ReplacementDesign
    from haystat.designs.stratified import Stratified
    from haystat.designs.watch import Watch

DESIGNS: MutableMapping[str, Callable[..., Design]] = LazyTable(
    "haystat.designs",
    {
        "passive": "passive:Passive",
        "stratified": "stratified:Stratified",
        "importance": "importance:Importance",
        "oasis": "oasis:Oasis",
        "adaptive": "adaptive:Adaptive",
        "adaptive_flat": "adaptive:AdaptiveFlat",
        "assisted": "assisted:Assisted",
        "watch": "watch:Watch",
    },
)


TINIEST, LARGEST = 1e-30, 1e6  # of an option of a design; what is computed from it stays finite


def default_name(schema: Schema, oracle: str) -> str:
    """The design to use when none is named: our own where it applies, else the paper's."""
    return "adaptive" if schema.numeric or oracle != "deterministic" else "assisted"


def default_names(schema: Schema, oracle: str) -> tuple[str, ...]:
    """Designs to compare when none are named: the default, the paper's, and the simplest."""
    return tuple(dict.fromkeys([default_name(schema, oracle), "adaptive", "passive"]))


def resolve(design: str | Design, **options: Any) -> Design:
    """A design from its name and options, or the design itself."""
    if isinstance(design, Design):
        if options:
            raise BadOption(f"options {sorted(options)} go with the name of a design, not with one")
        return design
    if not isinstance(design, str) or design not in DESIGNS:
        close = difflib.get_close_matches(str(design), DESIGNS, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise UnknownName(f"no design {brief(design)}; there are {list(DESIGNS)}{hint}")
    kind = DESIGNS[design]
    for name, value in options.items():
        # `default` of a field of the dataclass; an unknown name is refused below.
        if isinstance(getattr(kind, name, None), float) and not _is_sane(value):
            raise BadOption(
                f"design {design!r}: {name} is {brief(value)}; give a number, 0 or from "
                f"{TINIEST:g} to {LARGEST:g}"
            )
    try:
        return kind(**options)
    except TypeError as error:
        raise BadOption(f"design {design!r}: {error}") from None


def recorded(name: str, options: Mapping[str, Any]) -> Design:
    """The design of a log, by the method that it was made with; LogError if that is gone."""
    method = getattr(DESIGNS.get(name), "method", None)
    made = options.get("method", 1)
    if method is not None and made != method:
        of, how = "another version of haystat", "the version that made it"
        if made == 1:
            of, how = "haystat 0.1.0", "pip install haystat==0.1.0"
        raise LogError(
            f"this was made by method {made} of design {name!r}, of {of}; this version knows "
            f"method {method}. Open it with {how}, or start anew"
        )
    return resolve(name, **options)


def _is_sane(value: Any) -> bool:
    return isinstance(value, int | float) and (value == 0 or TINIEST <= abs(value) <= LARGEST)


__all__ = [
    "DESIGNS",
    "Adaptive",
    "AdaptiveFlat",
    "Assisted",
    "Batch",
    "Choice",
    "Design",
    "Importance",
    "Oasis",
    "Passive",
    "Problem",
    "Proposal",
    "ReplacementDesign",
    "Sheet",
    "Stratified",
    "Watch",
    "default_name",
    "default_names",
    "recorded",
    "resolve",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "adaptive": "Adaptive AdaptiveFlat",
        "assisted": "Assisted",
        "importance": "Importance",
        "oasis": "Oasis",
        "passive": "Passive",
        "replacement": "ReplacementDesign",
        "stratified": "Stratified",
        "watch": "Watch",
    },
)
