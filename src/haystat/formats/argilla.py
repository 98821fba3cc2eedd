"""Argilla: records as JSON out, exported records in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from haystat.display.records import shown_text
from haystat.errors import FileError
from haystat.formats.base import (
    Format,
    Reply,
    Tasks,
    json_lines,
    named_label,
    read_objects,
)
from haystat.study.question import Question

QUESTION = "label"
MARK = "haystat"  # metadata of Argilla are texts and numbers, so our part is JSON inside a text


def tasks(given: Tasks) -> str:
    """One record a line, in the form of `Record.from_dict`, without suggestions."""
    return json_lines(
        [
            {
                "id": question.key,
                "fields": _fields(given, question),
                "metadata": {MARK: json.dumps(given.mark(question), ensure_ascii=False)},
            }
            for question in given.questions
        ]
    )


def replies(path: Path, classes: tuple[Any, ...]) -> list[Reply]:
    """Responses to the question `label`; a record whose only response is discarded is a skip."""
    records = enumerate(read_objects(path), start=1)
    return [reply for number, record in records for reply in _of_record(path, number, record)]


def _of_record(path: Path, number: int, record: dict[str, Any]) -> Iterator[Reply]:
    where = f"{path}: record {record.get('id') or number}"
    mark = _mark(where, record)
    for response in _responses(where, record):
        who = response.get("user_id")
        status = response.get("status") or "submitted"
        common: dict[str, Any] = {
            "annotator": None if who is None else str(who),
            "time": str(response.get("updated_at") or ""),
            "pool": mark.get("pool"),
        }
        if status == "discarded":
            yield Reply(mark["item"], None, reason="discarded in Argilla", **common)
        elif status == "submitted" and response.get("value") is not None:
            label = named_label(mark, str(response["value"]), where)
            yield Reply(mark["item"], label, **common)


def _responses(where: str, record: dict[str, Any]) -> list[dict[str, Any]]:
    given = record.get("responses") or {}
    found = given.get(QUESTION, []) if isinstance(given, dict) else None
    if not isinstance(found, list) or not all(isinstance(entry, dict) for entry in found):
        raise FileError(
            f"{where} has responses of another form; export with dataset.records.to_json(…)"
        )
    return found


def _mark(where: str, record: dict[str, Any]) -> dict[str, Any]:
    try:
        mark = json.loads(record["metadata"][MARK])
        return {"item": mark["item"], "labels": mark["labels"], "pool": mark.get("pool")}
    except (KeyError, TypeError, ValueError):
        raise FileError(
            f"{where} has no {MARK} metadata; is it an answer to tasks that haystat export wrote?"
        ) from None


def _fields(given: Tasks, question: Question) -> dict[str, str]:
    record = question.record
    fields = {name: shown_text(record.get(name)) for name in given.single}
    if given.paired:
        fields |= {"left": _lines(given, question, "l"), "right": _lines(given, question, "r")}
    return fields or {"item": shown_text(question.item)}


def _lines(given: Tasks, question: Question, side: str) -> str:
    record = question.record
    return "\n".join(f"{n}: {shown_text(record.get(f'{n}_{side}'))}" for n in given.paired)


ARGILLA = Format("argilla", "Argilla", tasks=tasks, replies=replies)
