"""haystat gate: may this version ship?"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from haystat.cli.show import JSON, STUDY, console, print_json, show_in_use
from haystat.decisions.candidate_thresholds import InUse
from haystat.decisions.gate import INTERVALS, Verdict
from haystat.decisions.gate import gate as judge
from haystat.errors import BadOption
from haystat.study import Study

EXITS = {"pass": 0, "fail": 1, "undecided": 3}
HOLDER = "haystat gate"  # who asks for the next questions; nobody holds them


def gate(
    study: Path = STUDY,
    require: list[str] = typer.Option([], help="Such as 'recall>=0.8'; again for further ones."),
    level: float = typer.Option(0.95, help="1 minus the chance that a bad version passes."),
    interval: str = typer.Option("anytime", help=f"What decides: {', '.join(INTERVALS)}."),
    baseline: str | None = typer.Option(None, help="System that 'baseline' stands for."),
    batch: int = typer.Option(20, help="Questions to show while undecided."),
    as_json: bool = JSON,
) -> None:
    """Whether requirements hold: exit 0 pass, 1 fail, 3 undecided with the next questions.

    Example: haystat gate cats.haystat --require 'recall>=0.8' --require 'f1>=baseline-0.01'
    """
    if not require:
        raise BadOption("what must hold? Give --require 'recall>=0.8'")
    with Study.open(study) as opened:
        verdict = judge(opened, *require, level=level, interval=interval, baseline=baseline)
        items = _next_items(opened, batch) if verdict.undecided else []
        in_use = opened.in_use
    if as_json:
        print_json(
            {**verdict.to_dict(), "questions": items, "in_use": [asdict(one) for one in in_use]}
        )
    else:
        _show(verdict, items, in_use)
    raise typer.Exit(EXITS[verdict.state])


def _next_items(study: Study, n: int) -> list[Any]:
    """Questions that wait for an answer; a new stage where none do. Nobody holds them."""
    waiting = [question.item for question in study.pending][:n]
    if waiting:
        return waiting
    items = [question.item for question in study.ask(n, HOLDER)]
    if items:
        study.release(HOLDER, items)
    return items


def _show(verdict: Verdict, items: list[Any], in_use: list[InUse]) -> None:
    out = console()
    out.print(str(verdict), markup=False)
    show_in_use(out, in_use)
    if items:
        out.print(f"next questions: {', '.join(map(str, items))}", markup=False)
    for warning in verdict.warnings:
        out.print(f"note: {warning}", markup=False)
