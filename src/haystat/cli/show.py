"""What several commands print: numbers as JSON, an estimate in words, a table that fits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from haystat.core.json_text import json_text
from haystat.core.wording import label_count
from haystat.decisions.candidate_thresholds import InUse
from haystat.inference.estimate import Estimate, signals_sentence, worth_sentence

MOST_ROWS = 40  # components of an estimate that are shown one by one
PIPE_WIDTH = 112

STUDY = typer.Argument(help="The study file.")
WHO = typer.Option(None, "--annotator", "-a", help="Who asks or answers.")
JSON = typer.Option(False, "--json", help="Print the result as JSON.")


def console(as_json: bool = False) -> Console:
    """Where results go: standard output unless JSON does; into a pipe lines are not cut short.

    Brackets are text, as in recall[spam]: rich would take them for a style and drop them.
    """
    result = Console(stderr=as_json, highlight=False, markup=False)
    if not result.is_terminal:
        result.width = PIPE_WIDTH
    return result


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Say what is going on while it takes long; nothing where nobody watches."""
    out = Console(stderr=True)
    if not out.is_terminal:
        yield
        return
    with out.status(what):
        yield


def print_json(value: Any) -> None:
    """JSON on standard output; a number that does not exist is null."""
    typer.echo(json_text(value))


def say(as_json: bool, value: Any, text: str) -> None:
    """What was done: as JSON, or in words."""
    if as_json:
        print_json(value)
    else:
        console().print(text, markup=False)


def estimate_line(estimate: Estimate) -> str:
    """An estimate in one line."""
    if not estimate.scalar:
        return f"{estimate.measure} from {label_count(estimate.n_labels)}"
    value, (low, high) = estimate.values[0], estimate.intervals[0]
    if np.isnan(value):
        return f"{estimate.measure} is not known yet, {label_count(estimate.n_labels)}"
    found = f"{estimate.measure} {value:.4f} [{low:.4f}, {high:.4f}] {estimate.level:.0%}"
    return f"{found}, {label_count(estimate.n_labels)}"


def show_estimate(out: Console, estimate: Estimate) -> None:
    """An estimate for people."""
    out.print(estimate_line(estimate))
    if estimate.scalar and (
        worth := worth_sentence(estimate.n_labels, estimate.worth[0], estimate.n_known)
    ):
        out.print(worth)
    if sentence := signals_sentence(estimate.signals):
        out.print(sentence)
    if not estimate.scalar:
        table = plain_table("", "value", "low", "high")
        rows = zip(estimate.components, estimate.values, estimate.intervals, strict=True)
        for name, value, (low, high) in list(rows)[:MOST_ROWS]:
            known = [
                f"{number:.4f}" if np.isfinite(number) else "–" for number in (value, low, high)
            ]
            table.add_row(name, *known)
        out.print(table)
        if len(estimate.values) > MOST_ROWS:
            out.print(f"… {len(estimate.values) - MOST_ROWS} more; --json shows all")
    if drift := estimate.details.get("drift"):
        out.print(f"{drift}, {drift.n_asked} were asked")
    for warning in estimate.warnings:
        out.print(f"note: {warning}")


def show_in_use(out: Console, in_use: Sequence[InUse]) -> None:
    """Which thresholds are in use, and how many items they predict positive."""
    for one in in_use:
        out.print(f"in use: {one}")


def plain_table(*heads: str) -> Table:
    """A table without lines, numbers to the right."""
    table = Table(box=None, pad_edge=False, show_header=any(heads))
    for position, head in enumerate(heads):
        table.add_column(head, justify="left" if position == 0 else "right")
    return table
