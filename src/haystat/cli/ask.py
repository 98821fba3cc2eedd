"""haystat ask, tell, skip, correct: questions out, answers in."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from haystat.cli.record import show_record
from haystat.cli.show import JSON, STUDY, WHO, console, estimate_line, print_json, say
from haystat.core.table_writers import Row
from haystat.core.tables import READERS
from haystat.errors import BadOption, FileError
from haystat.loop.questions import Query
from haystat.study import Study
from haystat.study.answer_files import (
    Taken,
    item_named,
    label_named,
    print_csv,
    read_csv,
    read_json_lines,
    read_rows,
    take_rows,
)

KEY = typer.Option(None, help="Which question, if the item was asked about several times.")


def ask(
    study: Path = STUDY,
    number: int = typer.Option(10, "--number", "-n", help="How many questions."),
    annotator: str | None = WHO,
    lease: str = typer.Option("1h", help="How long nobody else gets them: 90s, 30m, 1h, 2d."),
    as_json: bool = JSON,
) -> None:
    """Hand out questions; nobody else gets them until the lease is over.

    Into a pipe they go as CSV: fill in a column `label` and give the file to haystat tell.

    Example: haystat ask cats.haystat -n 20 --annotator ann > batch.csv
    """
    with Study.open(study) as opened:
        questions = opened.ask(number, annotator, lease)
        soft = opened.settings["oracle"] == "stochastic"
    if as_json:
        print_json([asdict(question) for question in questions])
        return
    if not questions:
        console(True).print("nothing left to ask: every item that matters has its label")
        return
    names = list(dict.fromkeys(name for question in questions for name in question.record))
    out = console()
    first = ["item", "label", *(["key"] if soft else [])]
    if not out.is_terminal:
        # A shown column called label is not the answer.
        column = {name: f"shown {name}" if name in first else name for name in names}
        rows = [
            {"item": q.item, "key": q.key} | {column[n]: value for n, value in q.record.items()}
            for q in questions
        ]
        print_csv(rows, [*first, *column.values()])
        return
    for question in questions:
        out.print(f"item {question.item}", markup=False)
        show_record(out, question.record)


def tell(
    study: Path = STUDY,
    answers: list[str] = typer.Argument(help="item=label, or a file of answers; - reads CSV."),
    annotator: str | None = WHO,
    correct: bool = typer.Option(False, help="Take answers that differ as corrections."),
    as_json: bool = JSON,
) -> None:
    """Take answers: pairs item=label, or files with the columns item and label.

    Example: haystat tell cats.haystat 17=1 42=0 --annotator ann
    """
    rows = [row for text in answers for row in _rows(text)]
    report(study, rows, annotator, correct, as_json)


def skip(
    study: Path = STUDY,
    item: str = typer.Argument(help="The item nobody can tell about."),
    reason: str = typer.Option("", help="Why."),
    annotator: str | None = WHO,
    key: str | None = KEY,
    as_json: bool = JSON,
) -> None:
    """Record that nobody can tell the label of an item.

    Example: haystat skip cats.haystat 17 --reason "the page is torn"
    """
    rows = [{"item": item, "label": None, "skipped": reason or "yes", "key": key}]
    report(study, rows, annotator, False, as_json)


def correct(
    study: Path = STUDY,
    answer: str = typer.Argument(help="item=label; item= makes it one nobody can tell."),
    reason: str = typer.Option("", help="Why."),
    annotator: str | None = WHO,
    key: str | None = KEY,
    as_json: bool = JSON,
) -> None:
    """Change an answer; the journal keeps both.

    Example: haystat correct cats.haystat 17=0 --reason "wrong key"
    """
    pair = _pair(answer)
    with Study.open(study) as opened:
        with opened.reading() as state:
            item = item_named(state, pair["item"])
            name = item if key is None else Query(item, key)
            label = label_named(state, pair["label"]) if pair["label"] else None
        opened.correct(name, label, reason, annotator)
    text = f"{item} is now {'skipped' if label is None else label}"
    say(as_json, {"item": item, "label": label}, text)


def report(
    study: Path, rows: Iterable[Row], annotator: str | None, correct: bool, as_json: bool
) -> None:
    """Tell the rows, and say what became of them."""
    with Study.open(study) as opened:
        taken = take_rows(opened, rows, annotator, correct=correct)
        estimate = opened.estimate()
        n_labels = opened.n_labels
    if as_json:
        print_json({**asdict(taken), "total": n_labels})
        return
    out = console()
    out.print(_sentence(taken))
    out.print(estimate_line(estimate), markup=False)


def _sentence(taken: Taken) -> str:
    parts = [f"{count} {name}" for name, count in asdict(taken).items() if count]
    return (", ".join(parts) or "nothing") + " taken" * (not taken.open)


def _rows(text: str) -> Iterable[Row]:
    if text == "-":
        try:
            lines = sys.stdin.readlines()
        except UnicodeDecodeError:
            raise FileError("standard input is not text in UTF-8") from None
        first = next((line for line in lines if line.strip()), "")
        read = read_json_lines if first.lstrip().startswith("{") else read_csv
        return read(lines, "standard input")
    if Path(text).suffix.lower() in READERS:
        return read_rows(text)
    return [_pair(text)]


def _pair(text: str) -> dict[str, Any]:
    item, equals, label = text.rpartition("=")
    if not equals or not item:
        raise BadOption(f"{text!r} is neither item=label nor a file ending in {', '.join(READERS)}")
    return {"item": item, "label": label}
