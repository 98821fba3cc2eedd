"""Precision and recall over all thresholds, with the cut that is certain and the one in use."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from haystat.decisions.candidate_thresholds import places_of
from haystat.decisions.threshold import ThresholdChoice, choose_threshold
from haystat.errors import HaystatError
from haystat.inference.estimate import Estimate
from haystat.loop.estimates import estimate_state
from haystat.loop.state import State
from haystat.measures.base import Measure
from haystat.measures.threshold_search import WORDS, Threshold
from haystat.report.charts import BOTTOM, LEFT, RIGHT, WIDTH, Axis, framed, grid, nice_ticks
from haystat.report.style import STYLE

HEIGHT = 340
ABOVE = 50  # the legend, and the words of the two cuts
Data = Mapping[str, Any]


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
        choice = choose_threshold(estimate, places, system, level=level, **need)
    except HaystatError as error:
        return {"system": system, "curve": [], "reason": str(error)}
    if not choice.curve:
        return {"system": system, "curve": [], "reason": choice.sentence}
    return {"system": system, **choice.to_dict(), "curve": choice.curve}


def cuts_section(found: Data) -> str:
    """A section of the page."""
    title = f"<h2>Where to cut: {escape(found['system'])}</h2>"
    if not found["curve"]:
        return f"{title}<p>{escape(found['reason'])}</p>"
    own = found["own"]
    use = (
        f" The cut in use, {own['threshold']:.6g}, predicts {own['n_predicted']:,} items positive."
        if own
        else ""
    )
    about = (
        f"Bands hold at all cuts at once, at {found['level']:.0%}. Other requirements: "
        "haystat threshold."
    )
    return (
        f"{title}<p>{escape(found['sentence'] + use)}</p>"
        f"<figure>{cuts_chart(found)}<figcaption>{about}</figcaption></figure>"
    )


def cuts_chart(found: Data) -> str:
    """Precision and recall by how many items a cut predicts positive."""
    curve = found["curve"]
    low, high = math.log10(curve[-1]["n_predicted"]), math.log10(curve[0]["n_predicted"])
    high = high if high > low else low + 1
    tens = tuple(float(t) for t in range(math.ceil(low), math.floor(high) + 1))
    x = Axis(low, high, LEFT, WIDTH - RIGHT, tens, "10^")
    y = Axis(0, 1, HEIGHT - BOTTOM, ABOVE, nice_ticks(0, 1))
    body = grid(x, y, "items predicted positive", "precision, recall")
    for name, colour in (("precision", "a"), ("recall", "b")):
        body += _banded(curve, name, colour, x, y)
    marks = [(found.get("certified"), "certified"), (found.get("own"), "in use")]
    body += "".join(_mark(point, word, x, y) for point, word in marks if point)
    key = "".join(
        f'<rect class="fill-{colour}" x="{LEFT + at}" y="4" width="12" height="10"/>'
        f'<text x="{LEFT + at + 17}" y="13">{name}</text>'
        for name, colour, at in (("precision", "a", 0), ("recall", "b", 110))
    )
    return framed("precision and recall by threshold", HEIGHT, key + body)


def cuts_picture(choice: ThresholdChoice, system: str) -> str:
    """The chart as an SVG file of its own."""
    found = {"system": system, **choice.to_dict(), "curve": choice.curve}
    opening = '<svg xmlns="http://www.w3.org/2000/svg"'
    back = f'<style>{STYLE}</style><rect width="{WIDTH}" height="{HEIGHT}" fill="var(--paper)"/>'
    chart = cuts_chart(found).replace("<svg", opening, 1)
    return chart.replace(">", f">{back}", 1)


def _banded(curve: Sequence[Data], name: str, colour: str, x: Axis, y: Axis) -> str:
    at = [x.at(math.log10(point["n_predicted"])) for point in curve]

    def path(end: str) -> list[str]:
        return [f"{a:.1f},{y.at(p[end]):.1f}" for a, p in zip(at, curve, strict=True)]

    band = " ".join([*path(f"{name}_high"), *reversed(path(f"{name}_low"))])
    return (
        f'<polygon class="band-{colour}" points="{band}"/>'
        f'<polyline class="line-{colour}" points="{" ".join(path(name))}"/>'
    )


def _mark(point: Data, word: str, x: Axis, y: Axis) -> str:
    """A line at a cut, with its threshold above; the words of two cuts have a row each."""
    at = x.at(math.log10(max(point["n_predicted"], 1)))
    top = y.stop - (19 if word == "certified" else 5)
    side = "end" if at > WIDTH / 2 else "start"
    dash = ' stroke-dasharray="4 3"' if word == "in use" else ""
    return (
        f'<line class="axis" x1="{at:.1f}" y1="{y.stop}" x2="{at:.1f}" y2="{y.start}"{dash}/>'
        f'<text class="{side}" x="{at:.1f}" y="{top}">{word}: '
        f"{point['threshold']:.4g}</text>"
    )
