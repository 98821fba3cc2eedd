"""haystat export, import: answers as files."""

from __future__ import annotations

from pathlib import Path

import typer

from haystat.cli.ask import report
from haystat.cli.show import JSON, STUDY, WHO, print_json, say
from haystat.study import Study
from haystat.study.answer_files import COLUMNS, answer_rows, print_csv, read_rows, write_answers


def export(
    study: Path = STUDY,
    out: Path | None = typer.Option(
        None, "--out", "-o", help="File ending in .csv, .jsonl, .parquet or .feather."
    ),
    as_json: bool = JSON,
) -> None:
    """Write the answers: item, label, who, when, and what the item's draws weigh.

    Without --out they go to standard output as CSV.

    Example: haystat export cats.haystat -o answers.csv
    """
    with Study.open(study) as opened:
        rows = answer_rows(opened)
    if out is not None:
        write_answers(rows, out)
        done = {"file": str(out), "answers": len(rows)}
        say(as_json, done, f"{len(rows)} answers written to {out}")
    elif as_json:
        print_json(rows)
    else:
        print_csv(rows, COLUMNS)


def import_answers(
    study: Path = STUDY,
    files: list[Path] = typer.Argument(help="Files with the columns item and label."),
    annotator: str | None = WHO,
    correct: bool = typer.Option(False, help="Take answers that differ as corrections."),
    as_json: bool = JSON,
) -> None:
    """Take answers from files: CSV, JSON lines, Parquet or Feather.

    Columns are item, label and, if there are, annotator and skipped. Only items that were asked
    about can be taken, because the label of another one could not be weighted.

    Example: haystat import cats.haystat answers.csv --annotator ann
    """
    rows = [row for path in files for row in read_rows(path)]
    report(study, rows, annotator, correct, as_json)
