"""haystat threshold: where to cut a score so that a requirement is met."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from haystat.cli.show import JSON, STUDY, console, print_json
from haystat.core.disk import write_whole
from haystat.errors import BadOption
from haystat.report.page import cuts_picture
from haystat.study import Study


def threshold(
    study: Path = STUDY,
    precision: float | None = typer.Option(None, help="Precision that the cut must have."),
    recall: float | None = typer.Option(None, help="Recall that the cut must have."),
    false_positive_rate: float | None = typer.Option(None, help="Rate that it must not exceed."),
    f1: str | None = typer.Option(None, help="'best': the cut with the largest F1."),
    system: str | None = typer.Option(None, help="Whose score to cut; by default the first."),
    level: float = typer.Option(0.95, help="Probability that the requirement is met."),
    picture: Path | None = typer.Option(None, help="SVG file for precision and recall by cut."),
    as_json: bool = JSON,
) -> None:
    """The cut that meets a requirement, what it costs, and what the cut in use does.

    Example: haystat threshold cats.haystat --precision 0.95
    """
    wanted = {
        "precision": precision,
        "recall": recall,
        "f1": f1,
        "false_positive_rate": false_positive_rate,
    }
    given: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
    if not given:
        raise BadOption(
            "what must the cut do? Give --precision 0.95, --recall 0.9, --f1 best or "
            "--false-positive-rate 0.01"
        )
    with Study.open(study) as opened:
        found = opened.threshold(system=system, level=level, **given)
        in_use = opened.in_use
    if picture is not None:
        if not found.curve:
            raise BadOption("there is nothing to draw yet: the study has no labels")
        write_whole(picture, cuts_picture(found))
    if as_json:
        print_json({**found.to_dict(), "in_use": [asdict(one) for one in in_use]})
        return
    out = console()
    out.print(found.sentence, markup=False)
    if found.own is not None:
        out.print(f"In use: {found.own}.", markup=False)
    for one in in_use if found.own is None else ():
        out.print(f"In use: {one}", markup=False)
    for warning in found.warnings:
        out.print(f"note: {warning}", markup=False)
    if picture is not None:
        out.print(f"{picture} written", markup=False)
