"""Pools of other tools on the command line: scored items, and traces with verdicts of judges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from haystat.errors import BadOption
from haystat.formats import Format, Judged, PoolTable
from haystat.formats.base import read_text

JUDGE = typer.Option([], help="Whose verdicts of a log count; again to compare judges.")
FAILS = typer.Option(
    None,
    help="Which verdicts are failures: '<0.5', '>=3', or words with commas; by default as the log "
    "says, or words such as no and fail, or numbers below 0.5.",
)


def read_table(source: Path, form: Format) -> PoolTable:
    """The items that a tool scored."""
    if form.pool is None:
        raise BadOption(f"{form.tool} has no pools")
    return form.pool(source)


def new_command(path: Path, found: Judged | PoolTable) -> list[str]:
    """The command that makes a study of a table."""
    command = ["haystat", "new", "study.haystat", str(path), "--id", "item"]
    if isinstance(found, PoolTable):
        command += ["--score", found.score_name]
        return command + (["--show", ",".join(found.show)] if found.show else [])
    for score, prediction in found.names.values():
        command += ["--score", score, "--prediction", prediction]
    return [*command, "--show", ",".join(found.show), "--after", ",".join(found.after)]


def left_out(found: Judged) -> str:
    """How many traces are not in the pool."""
    return (
        f"{found.n_left_out:,} traces have no verdict of {' and '.join(found.scores)} and are left "
        "out. The estimate is about the others; judge them too, or count them apart."
    )


def refuse_columns(**given: Any) -> None:
    """Raise on columns that are named for a log, whose columns are known."""
    named = [f"--{name}" for name, value in given.items() if value]
    if named:
        raise BadOption(f"--from knows the columns of a log; leave out {', '.join(named)}")


def read_guidelines(path: Path) -> str:
    """The text of a file for the people who label."""
    text = read_text(path).strip()
    if not text:
        raise BadOption(f"{path} is empty; write what makes an item a positive")
    return text
