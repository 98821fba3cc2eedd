"""The report as one HTML page: no scripts, no network, every text of the user escaped.

templates/report.html lays it out; here is what a template cannot say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from haystat.decisions.threshold import ThresholdChoice
from haystat.display.records import paired_names, shown_text
from haystat.display.render import environment
from haystat.report import charts, words

Data = Mapping[str, Any]


def html_page(report: Data) -> str:
    """The whole page."""
    records = [_paired(mistake["record"]) for mistake in report["mistakes"]]
    columns = list(dict.fromkeys(name for record in records for name in record))
    template = _templates().get_template("report.html")
    own = {"counts": _counts(report), "records": records, "columns": columns}
    return str(template.render(**report, **own))


def cuts_picture(choice: ThresholdChoice) -> str:
    """Precision and recall over all thresholds as an SVG file of its own."""
    found = {**choice.to_dict(), "curve": choice.curve}
    return str(_templates().get_template("cuts.svg").render(found=found))


@cache
def _templates() -> Any:
    found = environment("haystat.report", number=words.number, span=_span, spelt=words.spelt)
    found.tests |= {"finite": _finite, "known": lambda point: _finite(point[:2])}
    found.globals |= {
        "amount": words.amount,
        "around": charts.around,
        "axis": charts.Axis,
        "by_class": _by_class,
        "effort": words.effort,
        "frame_of": charts.frame,
        "headline": words.headline,
        "in_use_mark": _mark,
        "meaning": words.meaning,
        "points_of": charts.points_of,
        "shares": _shares,
        "waiting": words.waiting,
    }
    return found


def _finite(value: float | Sequence[float]) -> bool:
    return all(map(math.isfinite, value)) if isinstance(value, Sequence) else math.isfinite(value)


def _counts(report: Data) -> list[tuple[str, str]]:
    status = report["status"]
    people = ", ".join(f"{who or 'nameless'} {n:,}" for who, n in status["annotators"].items())
    times = (status["started"], status["last_change"])
    return [
        ("items in the pool", f"{status['size']:,}"),
        ("labels", f"{status['labels']:,} ({_by_class(status['labels_of'], 0)})"),
        ("cannot be told", f"{status['skipped']:,}"),
        ("answered by", people or "nobody yet"),
        ("agreement", _agreement(report["agreement"])),
        *((f"threshold of {one['system']}", _in_use(one)) for one in report["in_use"]),
        ("from, to", " to ".join(time[:10] for time in times if time)),
    ]


def _by_class(counts: Mapping[Any, int], least: int = 1) -> str:
    return ", ".join(f"{n:,} × {label}" for label, n in counts.items() if n >= least)


def _agreement(agreed: Data | None) -> str:
    if agreed is None:
        return "not known: nobody saw the same item as somebody else"
    kappa = f", Cohen's kappa {agreed['kappa']:.2f}" if math.isfinite(agreed["kappa"]) else ""
    return f"{agreed['share']:.0%} of {agreed['items']:,} items{kappa}"


def _in_use(one: Data) -> str:
    cut = "none" if one["threshold"] is None else f"{one['threshold']:.4g}"
    return f"{cut}; {one['n_predicted']:,} items predicted positive"


def _mark(curve: Data) -> tuple[float, float, str] | None:
    """Where the threshold in use lies on a curve."""
    cut = curve.get("operating")
    if cut is None:
        return None
    own = min(curve["points"], key=lambda point: abs(point["threshold"] - cut))
    return own["recall"], own["precision"], f"in use: {cut:.4g}"


def _span(region: Data) -> str:
    return f"{region['from']:.2g} – {region['to']:.2g}"


def _shares(regions: Sequence[Data], name: str) -> list[float]:
    total = sum(region[name] for region in regions) or 1
    return [region[name] / total for region in regions]


def _paired(record: Data) -> dict[str, Any]:
    """A record with the two sides of a pair in one column."""
    pairs = paired_names(list(record))
    both = {
        name: " / ".join(shown_text(record[f"{name}_{side}"]) or "–" for side in "lr")
        for name in pairs
    }
    sides = {f"{name}_{side}" for name in pairs for side in "lr"}
    return both | {name: value for name, value in record.items() if name not in sides}
