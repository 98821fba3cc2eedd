"""haystat bench: how well designs do on a pool whose labels are known."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, JustifyMethod
from rich.table import Table

from haystat import designs as all_designs
from haystat import measures
from haystat.cli.new import id_columns, of_all_systems, own_engine, values
from haystat.cli.sketch import ENGINE, TABLE
from haystat.core.disk import write_whole
from haystat.core.json_text import json_text
from haystat.core.table_writers import WRITERS, write_rows
from haystat.engines.open import open_pool
from haystat.errors import BadOption
from haystat.experiments.labelled_pool import read_pool
from haystat.experiments.simulate import simulate

if TYPE_CHECKING:
    from pandas import DataFrame


def bench(
    pool: Path | None = typer.Argument(
        None,
        help="Parquet, CSV, Feather, or HDF5 in the layout of the paper's pools; a pattern, "
        "DuckDB file or sketch.",
    ),
    label: str | None = typer.Option(None, help="Column with the true label."),
    score: list[str] = typer.Option([], help="Column with a score; again for further systems."),
    prediction: list[str] = typer.Option(
        [], help="Column with hard predictions; one for each --score."
    ),
    id: str | None = typer.Option(
        None, help="Column with the id, of what does not fit into memory; two with a comma."
    ),
    measure: str = typer.Option("f1", help="What to estimate; of every system if several."),
    designs: str | None = typer.Option(
        None, help="Designs to compare, with commas; else the default, adaptive and passive."
    ),
    budgets: str = typer.Option("500,1000,2000", help="Numbers of labels, with commas."),
    repeats: int = typer.Option(100, help="Evaluations of each design."),
    jobs: int = typer.Option(1, help="Processes to use."),
    seed: int = typer.Option(0, help="Seed of everything random."),
    batch: int = typer.Option(50, help="Labels of a stage."),
    strata: int = typer.Option(256, help="Strata to cut the scores into."),
    level: float = typer.Option(0.95, help="Confidence level of the intervals."),
    classes: str = typer.Option(
        "0,1", help="Label values, the negative first, with commas; or: numbers."
    ),
    deviation: str | None = typer.Option(
        None, help="Column with the standard deviation of each predicted number."
    ),
    oracle: str = typer.Option(
        "deterministic", help="Or stochastic: the label is the chance of a positive answer."
    ),
    store: Path | None = typer.Option(
        None, help="Folder for finished repeats; run again to go on."
    ),
    engine: str | None = ENGINE,
    source_table: str | None = TABLE,
    as_json: str | None = typer.Option(
        None, "--json", metavar="FILE", help="Write the table as JSON; - is standard output."
    ),
    table: Path | None = typer.Option(None, help="Save the table as CSV, Parquet or Feather."),
    picture: Path | None = typer.Option(None, help="Save a picture of MSE against labels."),
    show_list: bool = typer.Option(False, "--list", help="Show all designs and measures."),
) -> None:
    """Compare designs on a pool with known labels: error, coverage and cost at each budget.

    Example: haystat bench pool.parquet --label y --score s --designs assisted,passive
    """
    console = _console(as_json)
    if show_list:
        _show_list(as_json)
        return
    if pool is None:
        raise BadOption("give a file to read, such as: haystat bench pool.parquet --label y …")
    # A slip in a name should not wait for a large file to load.
    if table is not None and table.suffix not in WRITERS:
        raise BadOption(f"--table is {table}; give a file ending in {', '.join(WRITERS)}")
    wanted_designs, wanted_measure = _checked_designs(designs), measures.resolve(measure)
    wanted_budgets = _numbers("--budgets", budgets)
    start = time.perf_counter()
    given: dict[str, Any] = {
        "strata": strata,
        "classes": None if classes == "numbers" else values(classes),
        "seed": seed,
    }
    reader = engine or own_engine(pool, has_id=id is not None)
    if reader is None:
        data = read_pool(pool, label, score, prediction, deviation, **given)
        items, labels = data.pool, data.labels
    else:
        given |= {"deviation": deviation, "engine": reader, "table": source_table}
        items, labels = _opened(pool, label, score, prediction, id, given)
    loaded = time.perf_counter()
    frame = simulate(
        items,
        labels,
        of_all_systems(wanted_measure, items),
        wanted_designs,
        wanted_budgets,
        repeats,
        random_state=seed,
        jobs=jobs,
        oracle=oracle,
        batch_size=batch,
        level=level,
        store=store,
        progress=console.is_terminal,
    )
    _show(console, frame, f"{pool.stem}: {len(items):,} items", measure)
    console.print(
        f"Loaded in {loaded - start:.1f} s, simulated in {time.perf_counter() - loaded:.1f} s."
    )
    _write(frame, as_json)
    if table is not None:
        write_rows(_rows(frame), table, [str(name) for name in frame])
    if picture is not None:
        _save_picture(frame, f"{measure} of {pool.stem}", picture)
        console.print(f"Picture saved as {picture}.")


def _opened(
    pool: Path,
    label: str | None,
    score: list[str],
    prediction: list[str],
    id: str | None,
    options: dict[str, Any],
) -> tuple[Any, Any]:
    """A pool that is not read into memory, and the column of its labels."""
    if label is None:
        raise BadOption("name the column that holds the label: --label")
    named: dict[str, Any] = {"score": tuple(score), "prediction": tuple(prediction) or None}
    return open_pool(str(pool), id=id_columns(id), **named, **options), label


def _show(console: Console, frame: DataFrame, items: str, measure: str) -> None:
    truth = frame.truth[0]
    known = "" if truth != truth else f", {measure} {truth:.4f}"
    console.print(f"{items}{known}, {frame.repeats[0]} repeats")
    heads = [head for head, (wide, _) in COLUMNS.items() if not wide or console.width >= WIDE]
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for head in heads:
        side: JustifyMethod = "left" if head == "design" else "right"
        table.add_column(head, justify=side, no_wrap=True)
    for _, rows in frame.groupby("design", sort=False):
        for row in rows.to_dict("records"):
            table.add_row(*(COLUMNS[head][1](row) for head in heads))
        table.add_section()
    console.print(table)


def _console(as_json: str | None) -> Console:
    """Results go to standard output unless JSON does; into a pipe they are never cut short."""
    console = Console(stderr=as_json == "-")
    return console if console.is_terminal else Console(stderr=as_json == "-", width=WIDE)


def _number(name: str, form: str) -> Callable[[Mapping[Any, Any]], str]:
    return lambda row: "–" if row[name] != row[name] else format(row[name], form)


#: heading -> whether only a wide table has the column, and what a row shows in it
COLUMNS: dict[str, tuple[bool, Callable[[Mapping[Any, Any]], str]]] = {
    "design": (False, lambda row: str(row["design"])),
    "labels": (False, _number("budget", ",")),
    "MSE": (False, _number("mse", ".2e")),
    "95% bootstrap": (False, lambda row: f"{row['mse_low']:.1e} … {row['mse_high']:.1e}"),
    "bias": (True, _number("bias", "+.1e")),
    "covered": (False, _number("coverage", ".1%")),
    "width": (False, _number("median_width", ".3f")),
    "KL": (True, _number("kl", ".2f")),
    "limit": (True, _number("limit", ".1e")),
    "0/0": (False, lambda row: str(row["undefined"] or "")),
    "seconds": (False, _number("seconds", ".3f")),
}
WIDE = 112  # characters that all columns need


def _rows(frame: DataFrame) -> list[dict[str, Any]]:
    """The rows of a table; a number that does not exist is None."""
    return [
        {str(name): None if value != value else value for name, value in row.items()}
        for row in frame.to_dict("records")
    ]


def _write(frame: DataFrame, target: str | None) -> None:
    if target is None:
        return
    text = json_text(_rows(frame))
    if target == "-":
        typer.echo(text)
    else:
        write_whole(target, text + "\n")


def _save_picture(frame: DataFrame, title: str, path: Path) -> None:
    from haystat.experiments.figures import save_bench

    try:
        save_bench(frame, title, path)
    except ValueError as error:
        raise BadOption(f"{path} cannot be a picture: {error}") from None


def _show_list(as_json: str | None) -> None:
    found = {"designs": list(all_designs.DESIGNS), "measures": list(measures.MEASURES)}
    if as_json is not None:
        text = json_text(found)
        sys.stdout.write(text + "\n") if as_json == "-" else write_whole(as_json, text + "\n")
        return
    for kind, names in found.items():
        typer.echo(f"{kind}: {' '.join(names)}")


def _checked_designs(text: str | None) -> list[str] | None:
    if text is None:
        return None
    names = [name for name in text.split(",") if name.strip()]
    for name in names:
        all_designs.resolve(name.strip())
    return [name.strip() for name in names]


def _numbers(option: str, text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise BadOption(f"{option} is {text!r}; give whole numbers, such as 500,1000") from None
