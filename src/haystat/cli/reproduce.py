"""haystat reproduce: the experiments of the paper."""

from __future__ import annotations

import json
from enum import Enum
from pathlib import Path

import typer
from rich.console import Console

from haystat.errors import BadOption
from haystat.experiments.tasks import TASKS

Which = Enum("Which", {name: name for name in TASKS}, type=str)  # type: ignore[misc]


def reproduce(
    pools: Path = typer.Option(Path("pools"), help="Folder with the paper's HDF5 pools."),
    only: Which | None = typer.Option(None, help="Run one of the experiments; default all."),
    repeats: int = typer.Option(1000, help="Evaluations of each design; at most 100 for curves."),
    jobs: int = typer.Option(2, help="Processes to use."),
    out: Path = typer.Option(Path("reproduction"), help="Folder for the results."),
    budget: int | None = typer.Option(None, help="Stop at this number of labels."),
    seed: int = typer.Option(0, help="Seed of everything random."),
    as_json: bool = typer.Option(False, "--json", help="Print where things are as JSON."),
) -> None:
    """Run the experiments of the paper and write figures, tables and a page into one folder.

    Stopped, it goes on where it was when started again with the same options.

    Example: haystat reproduce --pools pools --only f1 --repeats 100
    """
    from haystat.experiments.reproduce import reproduce as run

    if repeats < 1 or jobs < 1 or (budget is not None and budget < 1):
        raise BadOption("--repeats, --jobs and --budget must be at least 1")
    console = Console(stderr=as_json)
    page = run(
        pools,
        out,
        [only.value] if only else [],
        repeats,
        jobs,
        budget,
        seed,
        progress=console.is_terminal,
        say=console.print,
    )
    if as_json:
        typer.echo(json.dumps({"page": str(page), "tables": str(out / "tables")}))
    else:
        console.print(f"Results are in {out}; open {page}.")
