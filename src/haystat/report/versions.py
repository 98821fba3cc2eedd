"""The measure over the versions of a study: a line with a band."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from haystat.report import charts

Data = Mapping[str, Any]


def versions_of(study: Any, level: float) -> list[dict[str, Any]]:
    """One record a version, the first one first; none where there is but one."""
    found = study.version_estimates(level)
    if len(found) < 2:
        return []
    return [
        {
            "name": name,
            "labels": estimate.n_labels,
            "carried": carried,
            "value": float(estimate.values[0]),
            "low": float(estimate.intervals[0, 0]),
            "high": float(estimate.intervals[0, 1]),
        }
        for name, carried, estimate in found
    ]


def versions_section(rows: Sequence[Data], measure: str) -> str:
    """The picture and the table as HTML; nothing where there is but one version."""
    known = [row for row in rows if np.isfinite(row["value"])]
    if len(known) < 2:
        return ""
    points = [
        (float(place), row["value"], row["low"], row["high"])
        for place, row in enumerate(rows, start=1)
        if np.isfinite(row["value"])
    ]
    ends = [end for point in points for end in point[2:]]
    picture = charts.line_with_band(
        points,
        f"{measure} by version",
        "version",
        measure,
        (1.0, len(rows)),
        (min(ends), max(ends)),
    )
    cells = "".join(
        f'<tr><td class="name">{escape(str(row["name"]))}</td><td class="n">{row["value"]:.3f}</td>'
        f'<td class="n">{row["low"]:.3f} to {row["high"]:.3f}</td>'
        f'<td class="n">{row["labels"]:,}</td><td class="n">{row["carried"]:,}</td></tr>'
        for row in known
    )
    heads = "".join(
        f'<th class="{kind}">{title}</th>'
        for title, kind in (
            ("version", "name"),
            (escape(measure), "n"),
            ("interval", "n"),
            ("labels", "n"),
            ("carried over", "n"),
        )
    )
    return (
        "<h2>From version to version</h2><p>Every version as it stood when the next one began. "
        "<code>haystat change</code> tells what the model and what the data did.</p>"
        f'<div class="cards"><figure>{picture}</figure></div>'
        f'<div class="table"><table><tr>{heads}</tr>{cells}</table></div>'
    )
