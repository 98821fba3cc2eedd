"""Prodigy: JSON lines for its `choice` interface out, what `prodigy db-out` prints in."""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any

from haystat.display.records import shown_text
from haystat.errors import FileError
from haystat.formats.base import (
    OURS,
    Format,
    Reply,
    Tasks,
    json_lines,
    marked,
    read_objects,
)
from haystat.study.question import Question


def tasks(given: Tasks) -> str:
    """One task a line, without scores. What people see is HTML made of escaped text."""
    options = [{"id": position, "text": name} for position, name in enumerate(given.names)]
    return json_lines(
        [
            {"html": _html(given, question), "options": options, OURS: given.mark(question)}
            for question in given.questions
        ]
    )


def replies(path: Path, classes: tuple[Any, ...]) -> list[Reply]:
    """Accepted choices as labels; ignored and rejected tasks as "cannot tell"."""
    found = [_reply(f"{path}: task {n}", task) for n, task in enumerate(read_objects(path), 1)]
    return [reply for reply in found if reply is not None]


def _reply(where: str, task: dict[str, Any]) -> Reply | None:
    mark = marked(task, where, task)
    answer = task.get("answer")
    if answer is None:
        return None
    stamp = task.get("_timestamp")
    common: dict[str, Any] = {
        "annotator": task.get("_annotator_id") or task.get("_session_id"),
        "time": "" if stamp is None else datetime.fromtimestamp(float(stamp), UTC).isoformat(),
        "pool": mark.get("pool"),
    }
    if answer in ("ignore", "reject"):
        return Reply(mark["item"], None, reason=f"{answer} in Prodigy", **common)
    chosen = task.get("accept") or []
    if len(chosen) != 1:
        raise FileError(f"{where} has {len(chosen)} choices; one is wanted")
    labels = list(mark["labels"].values())
    if not isinstance(chosen[0], int) or not 0 <= chosen[0] < len(labels):
        raise FileError(
            f"{where} is answered {chosen[0]!r}; options go from 0 to {len(labels) - 1}"
        )
    return Reply(mark["item"], labels[chosen[0]], **common)


def _html(given: Tasks, question: Question) -> str:
    record = question.record
    rows = [
        _row(name, record.get(f"{name}_l"), record.get(f"{name}_r")) for name in given.paired
    ] + [_row(name, record.get(name)) for name in given.single]
    shown = "".join(rows) or _row("item", question.item)
    return f"<p><b>{escape(given.prompt)}</b></p><table>{shown}</table>"


def _row(name: str, *values: Any) -> str:
    cells = "".join(f"<td>{escape(shown_text(value))}</td>" for value in values)
    return f"<tr><th>{escape(name)}</th>{cells}</tr>"


PRODIGY = Format("prodigy", "Prodigy", tasks=tasks, replies=replies)
