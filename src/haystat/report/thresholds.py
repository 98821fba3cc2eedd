"""Precision and recall over all thresholds, with the cut that is certain and the one in use."""

from __future__ import annotations

from typing import Any

from haystat.decisions.candidate_thresholds import labels_below, places_of
from haystat.decisions.threshold import choose_threshold
from haystat.errors import HaystatError
from haystat.inference.estimate import Estimate
from haystat.loop.estimates import estimate_state
from haystat.loop.state import State
from haystat.measures.base import Measure
from haystat.measures.threshold_search import WORDS, Threshold


def cuts_of(state: State, system: str, level: float) -> dict[str, Any]:
    """The choice of a threshold as data: what the study is about, else the best F1."""
    need: dict[str, Any] = {"f1": "best"}
    if isinstance(state.measure, Threshold):
        given = {word: getattr(state.measure, word) for word in WORDS}
        need = {word: value for word, value in given.items() if value is not None}

    def estimate(measure: Measure) -> Estimate:
        return estimate_state(state, measure, level)

    try:
        places = places_of(state.pool, state.ledger.problem, system)
        item, share = state.ledger.drawn_shares()
        below = labels_below(state.pool, item, share, places.cuts, system)
        choice = choose_threshold(estimate, places, below, system, level=level, **need)
    except HaystatError as error:
        return {"system": system, "curve": [], "reason": str(error)}
    if not choice.curve:
        return {"system": system, "curve": [], "reason": choice.sentence}
    return {"system": system, **choice.to_dict(), "curve": choice.curve}
