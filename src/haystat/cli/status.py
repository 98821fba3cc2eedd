"""haystat status, estimate: what a study says."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from haystat.cli.show import (
    JSON,
    STUDY,
    console,
    plain_table,
    print_json,
    show_estimate,
    show_in_use,
)
from haystat.core.wording import label_count
from haystat.study import Status, Study

LEVEL = typer.Option(0.95, help="Confidence level of the interval.")
MEASURE = typer.Option(None, "--measure", help="Another measure; several with commas.")


def status(study: Path = STUDY, as_json: bool = JSON) -> None:
    """How far the study is: labels, open questions, who did what.

    Example: haystat status cats.haystat
    """
    with Study.open(study) as opened:
        found, in_use = opened.status(), opened.in_use
        estimate = opened.estimate()
    if as_json:
        cuts = [asdict(one) for one in in_use]
        print_json({**asdict(found), "in_use": cuts, "estimate": estimate.to_dict()})
        return
    out = console()
    table = plain_table()
    table.add_column()
    table.add_column()
    for name, text in _status_lines(found):
        table.add_row(name, text)
    out.print(table)
    show_in_use(out, in_use)
    show_estimate(out, estimate)


def estimate(
    study: Path = STUDY,
    measure: str | None = MEASURE,
    by: str | None = typer.Option(None, help="Column of the pool: the measure in each group."),
    level: float = LEVEL,
    as_json: bool = JSON,
) -> None:
    """The estimate with its interval; another measure reuses the same labels.

    Example: haystat estimate cats.haystat --measure recall --level 0.9
    """
    with Study.open(study) as opened:
        found, in_use = opened.estimate(measure_named(measure), level, by=by), opened.in_use
    if as_json:
        print_json({**found.to_dict(), "in_use": [asdict(one) for one in in_use]})
    else:
        show_estimate(console(), found)
        show_in_use(console(), in_use)


def measure_named(text: str | None) -> Any:
    """A measure given by an option; several with commas between."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    return names[0] if len(names) == 1 else names


def _status_lines(found: Status) -> list[tuple[str, str]]:
    by_label = ", ".join(f"{n} x {label}" for label, n in found.labels_of.items())
    people = ", ".join(f"{who or 'nameless'} {n}" for who, n in found.annotators.items())
    before = f", {found.carried} carried over" if found.carried else ""
    return [
        ("study", f"{found.measure} of {found.size:,} items, design {found.design}"),
        (
            "labels",
            f"{found.labels} ({by_label}), {found.finished_labels} in finished stages{before}",
        ),
        *([("known", f"{label_count(found.known)} from before")] if found.known else []),
        ("skipped", str(found.skipped)),
        ("open", f"{found.pending} questions, {found.leased} of them in somebody's hands"),
        ("stages", f"{found.stages}, {found.finished_stages} finished"),
        ("people", people or "nobody yet"),
        ("since", f"{found.started[:19]}, last change {found.last_change[:19]}"),
        ("journal", f"{found.entries} entries, newest hash {found.head}"),
    ]
