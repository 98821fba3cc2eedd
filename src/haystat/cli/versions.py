"""haystat next, change, labels: studies that go on from one version to the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from haystat import measures
from haystat.cli.new import split
from haystat.cli.show import JSON, STUDY, busy, console, plain_table, print_json, say, show_in_use
from haystat.cli.status import LEVEL
from haystat.comparison.change import change as make_change
from haystat.core.table_writers import write_rows
from haystat.core.wording import label_count
from haystat.errors import BadOption, DuplicateId
from haystat.study import PoolFile, Study
from haystat.study.answer_files import print_csv
from haystat.study.label_bank import COLUMNS, known_labels
from haystat.study.versions import version_name

ASK_AGAIN = typer.Option(0.0, help="Share of the labels to ask about again, such as 0.05.")


def next_version(
    study: Path = STUDY,
    pool: Path = typer.Argument(help="Items as the next version scores them; further ones."),
    out: Path | None = typer.Option(
        None, "--out", "-o", help="File to make; by default beside the study, with --name added."
    ),
    name: str | None = typer.Option(None, help="What to call the version; v2, v3, … by default."),
    score: list[str] = typer.Option([], help="Column with a score, if it has another name now."),
    id: str | None = typer.Option(None, help="Column with the id, if it has another name now."),
    prediction: list[str] = typer.Option([], help="Column with predictions, if it has another."),
    show: list[str] = typer.Option([], help="Columns the labeller sees, if they are others now."),
    threshold: float | None = typer.Option(None, help="Score from which one is positive now."),
    table: str | None = typer.Option(None, help="Table of a DuckDB file, if it is another now."),
    engine: str | None = typer.Option(None, help="The study's; its versions keep it."),
    measure: str | None = typer.Option(None, help="Another measure than the study's."),
    max_age: str | None = typer.Option(None, help="Leave out labels older than 90d, 12h, 4w."),
    ask_again: float = ASK_AGAIN,
    add: bool = typer.Option(False, "--add", help="The items are further ones of the same model."),
    window: str | None = typer.Option(
        None, help="With --add: keep the last, such as day=30; as before if not given."
    ),
    candidates: int = typer.Option(100_000, help="Items to keep in the file."),
    as_json: bool = JSON,
) -> None:
    """Go on with the next version: a new model, new items, items gone. No label is lost.

    Examples: haystat next cats.haystat scored-v2.parquet -o cats-v2.haystat;
    haystat next stream.haystat tuesday.parquet --add --window day=30 --name tuesday
    """
    others = {
        "score": tuple(score),
        "id": id,
        "prediction": tuple(prediction),
        "table": table,
        "show": tuple(split(",".join(show))),
        "options": {} if threshold is None else {"threshold": threshold},
    }
    others = {field: given for field, given in others.items() if given}
    with Study.open(study) as opened:
        known = PoolFile.recorded(opened.settings["source"], study)
        if known is None:
            raise BadOption(
                f"{study} was made from a pool in memory; use Study.next in Python instead"
            )
        if engine is not None and engine != known.engine:
            raise BadOption(
                f"--engine is {engine!r} and the study has {known.engine!r}; its versions are read "
                "as it is: leave out --engine"
            )
        source = _further(known, pool, window, others) if add else known.anew(str(pool), **others)
        if window is not None and not add:
            raise BadOption("--window is for items that are added to those there are: --add")
        names = None if measure is None else split(measure)
        wanted: Any = names[0] if names is not None and len(names) == 1 else names
        if wanted is not None and known.multi_label:
            wanted = measures.PerLabel(measures.resolve(wanted), known.score)
        with busy(f"reading {pool}"), _new_ids(pool, add):
            made = opened.next(
                source,
                name,
                path=out,
                measure=wanted,
                max_age=max_age,
                ask_again=ask_again,
                candidates=candidates,
            )
        n_open = opened.status().pending
    with made:
        status, in_use = made.status(), made.in_use
        called, carried = version_name(made.settings), made.n_carried
    about = {"study": str(made.path), "version": called, "left_open": n_open}
    if as_json:
        print_json({**about, **asdict(status), "in_use": [asdict(one) for one in in_use]})
        return
    out_to = console()
    size = f"{status.measure} of {status.size:,} items"
    out_to.print(f"{made.path}: version {called}, {size}, {label_count(carried)} carried over")
    show_in_use(out_to, in_use)
    if source.window is not None and pool not in source.paths:
        out_to.print(f"note: {_none_came(pool, source.window)}", markup=False)
    if n_open:
        out_to.print(f"note: {_left_open(study, n_open)}", markup=False)
    out_to.print(f"Next: haystat estimate {made.path}, or haystat label {made.path}")


def _left_open(study: Path, n_open: int) -> str:
    waiting = "a question waits" if n_open == 1 else f"{n_open:,} questions wait"
    return (
        f"in {study} {waiting} for an answer. What is answered there from now on is not in the "
        "version; let people answer first, and make it then, if they are about to."
    )


@contextmanager
def _new_ids(pool: Path, add: bool) -> Iterator[None]:
    """Say of ids that are given twice what that means for items that are added."""
    try:
        yield
    except DuplicateId as error:
        if not add:
            raise
        raise DuplicateId(
            f"{error}. With --add, {pool} holds new items only: was it added before, or does it "
            "repeat items of a file before?"
        ) from None


def _further(known: PoolFile, pool: Path, window: str | None, others: dict[str, Any]) -> PoolFile:
    """Where the items lie if those of a file are added to those there are."""
    if others:
        raise BadOption(
            "items are added under the columns and the threshold of the study; leave out "
            f"{', '.join(_options(others))}, and rename the columns of {pool} if they are called "
            "otherwise"
        )
    known.check_there()
    return known.with_more(str(pool), None if window is None else _window(window))


def _options(others: dict[str, Any]) -> list[str]:
    """What was given for the next pool, as options of the command."""
    return ["--threshold" if name == "options" else f"--{name}" for name in others]


def _none_came(pool: Path, window: tuple[str, float]) -> str:
    column, length = window
    return f"no row of {pool} is in the window {column}={length:g}, so nothing was added."


def _window(text: str) -> tuple[str, float]:
    column, _, length = text.rpartition("=")
    try:
        return column, float(length)
    except ValueError:
        raise BadOption(f"--window is {text!r}; give a column and a length: day=30") from None


def change(
    old: Path = typer.Argument(help="The study before."),
    new: Path = typer.Argument(help="The study after."),
    measure: str | None = typer.Option(None, help="Another measure than the second study's."),
    systems: str | None = typer.Option(None, help="Which system of each, with a comma."),
    items: str = typer.Option("same", help="apart: no item is in both, whatever the ids say."),
    level: float = LEVEL,
    as_json: bool = JSON,
) -> None:
    """What became of the measure from one version to the next: by the model, and by the data.

    Example: haystat change cats.haystat cats-v2.haystat
    """
    names = None if systems is None else tuple(split(systems))
    if names is not None and len(names) != 2:
        raise BadOption(f"--systems is {systems!r}; name two with a comma")
    with Study.open(old) as before, Study.open(new) as after:
        pair = None if names is None else (names[0], names[1])
        found = make_change(before, after, measure, level=level, systems=pair, items=items)
    say(as_json, found.to_dict(), str(found))


def labels(
    study: Path = STUDY,
    out: Path | None = typer.Option(
        None, "--out", "-o", help="File ending in .csv, .jsonl, .parquet or .feather."
    ),
    as_csv: bool = typer.Option(False, "--csv", help="Print every label as CSV."),
    as_json: bool = JSON,
) -> None:
    """What is known about which items, by whom, when, and since which version.

    Labels whose items are gone or were asked about again, or that have become too old, are known
    and do not count.

    Example: haystat labels cats-v2.haystat -o labels.csv
    """
    with Study.open(study) as opened:
        rows = [label.as_row() for label in known_labels(opened)]
    if out is not None:
        write_rows(rows, out, COLUMNS)
    if as_json:
        print_json(rows)
    elif as_csv:
        print_csv(rows, COLUMNS)
    elif out is not None:
        console().print(f"{label_count(len(rows))} written to {out}", markup=False)
    else:
        kinds = Counter((row["version"], row["annotator"] or "nameless") for row in rows)
        table = plain_table("version", "who", "labels", "counting", "from", "until")
        for (version, who), n in kinds.items():
            mine = [
                row
                for row in rows
                if (row["version"], row["annotator"] or "nameless") == (version, who)
            ]
            times = [row["time"][:10] for row in mine]
            counting = sum(row["counts"] for row in mine)
            table.add_row(version, who, str(n), str(counting), min(times), max(times))
        console().print(table)
