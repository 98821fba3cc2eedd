"""haystat compare: which system of a study is better."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from haystat.cli.new import split
from haystat.cli.show import JSON, STUDY, console, plain_table, print_json
from haystat.cli.status import LEVEL
from haystat.comparison.compare import Comparison
from haystat.comparison.compare import compare as make_comparison
from haystat.comparison.duels import INTERVALS
from haystat.core.wording import label_count
from haystat.study import Study


def compare(
    study: Path = STUDY,
    measure: str | None = typer.Option(None, help="Another measure than the study's."),
    systems: str | None = typer.Option(None, help="Only these, with commas."),
    level: float = LEVEL,
    interval: str = typer.Option(
        "anytime", help=f"The interval that decides: {', '.join(INTERVALS)}."
    ),
    as_json: bool = JSON,
) -> None:
    """Which of a study's systems is better, by how much, and how many labels would tell.

    Example: haystat compare cats.haystat --systems old,new
    """
    names = tuple(split(systems)) if systems is not None else None
    with Study.open(study) as opened:
        found = make_comparison(opened, measure, systems=names, level=level, interval=interval)
    if as_json:
        print_json(comparison_dict(found))
        return
    out = console()
    if not found.n_labels:
        out.print(str(found), markup=False)
        out.print(f"Next: haystat label {study}, or haystat serve {study}", markup=False)
        return
    out.print(f"{found.measure} from {label_count(found.n_labels)}", markup=False)
    table = plain_table("system", found.measure, "low", "high")
    for row in found.standings:
        table.add_row(row.system, f"{row.value:.4f}", f"{row.low:.4f}", f"{row.high:.4f}")
    out.print(table)
    table = plain_table("difference", "", "low", "high", "")
    for duel in found.against_best:
        ends = f"{duel.difference:+.4f}", f"{duel.low:+.4f}", f"{duel.high:+.4f}"
        table.add_row(f"{duel.system} - {duel.other}", *ends, duel.verdict(level))
    out.print(table)
    for warning in found.warnings:
        out.print(f"note: {warning}", markup=False)


def comparison_dict(found: Comparison) -> dict[str, Any]:
    """A comparison as JSON."""
    verdicts = [
        {**asdict(duel), "verdict": duel.verdict(found.level)} for duel in found.against_best
    ]
    return {**asdict(found), "best": found.best, "winner": found.winner, "against_best": verdicts}
