"""Label Studio: tasks and a labelling config out, its JSON export in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from haystat.display.records import shown_text
from haystat.errors import FileError
from haystat.formats.base import (
    OURS,
    Format,
    Reply,
    Tasks,
    marked,
    named_label,
    read_objects,
)
from haystat.formats.label_studio_api import Server, project_tasks
from haystat.study.question import Question

KEYS = "1234567890qwertyuiopasdfghjklzxcvbnm"
CHOICES = "haystat_label"


def tasks(given: Tasks) -> str:
    """A list of tasks to import. They are blind: neither scores nor predictions are in them."""
    entries = [
        {"data": _data(given, question), "meta": {OURS: given.mark(question)}}
        for question in given.questions
    ]
    return json.dumps(entries, indent=1, ensure_ascii=False) + "\n"


def config(given: Tasks) -> str:
    """The labelling interface: pairs of columns side by side, one key a class."""
    shown, first = _shown(given)
    options = "\n".join(
        f"    <Choice value={quoteattr(name)} hotkey={quoteattr(key)}/>"
        for name, key in zip(given.names, hotkeys(given.names), strict=True)
    )
    return (
        f"<View>\n  <Header value={quoteattr(given.prompt)}/>\n{shown}"
        f'  <Choices name="{CHOICES}" toName="{first}" choice="single" showInline="true" '
        f'required="true">\n{options}\n  </Choices>\n</View>\n'
    )


def replies(path: Path, classes: tuple[Any, ...]) -> list[Reply]:
    """Answers of a JSON export; a cancelled annotation means that somebody could not tell."""
    return [reply for task in read_objects(path) for reply in task_replies(str(path), task)]


def fetch(server: Server) -> list[Reply]:
    """The answers that a project holds now."""
    found = project_tasks(server)
    return [reply for task in found for reply in task_replies(server.address, task)]


def task_replies(source: str, task: dict[str, Any]) -> Iterator[Reply]:
    """Answers in one task of an export, or in one that a webhook brought."""
    where = f"{source}: task {task.get('id', '?')}"
    if not isinstance(task.get("annotations"), list):
        raise FileError(f"{where} has no annotations; export the project as JSON, not JSON-MIN")
    mark = marked(task, where, task.get("meta"))
    for annotation in task["annotations"]:
        reply = _of_annotation(where, mark, annotation)
        if reply is not None:
            yield reply


def hotkeys(names: tuple[str, ...]) -> list[str]:
    """One key a class: its name if all names are single letters or digits, else 1, 2, 3 …

    >>> hotkeys(("0", "1")), hotkeys(("no", "yes"))
    (['0', '1'], ['1', '2'])
    """
    letters = [name.lower() for name in names]
    if len(set(letters)) == len(names) and all(re.fullmatch("[0-9a-z]", key) for key in letters):
        return letters
    return [KEYS[position % len(KEYS)] for position in range(len(names))]


def _shown(given: Tasks) -> tuple[str, str]:
    """The part of the interface that shows an item, and the name of an element in it."""
    lines, names = [], []
    if given.paired:
        sides = "".join(
            f'    <View style="flex: 1; min-width: 16em">\n'
            f'      <Header value="{title}" size="5"/>\n'
            f'      <Table name="{side}" value="${side}"/>\n    </View>\n'
            for side, title in (("left", "Left"), ("right", "Right"))
        )
        style = "display: flex; flex-wrap: wrap; gap: 2em"
        lines.append(f'  <View style="{style}">\n{sides}  </View>\n')
        names.append("left")
    for key, column in _keys(given).items():
        lines.append(f'  <Header value={quoteattr(column)} size="5"/>\n')
        lines.append(f'  <Text name="{key}" value="${key}"/>\n')
        names.append(key)
    if not names:
        lines.append('  <Text name="item" value="$item"/>\n')
        names.append("item")
    return "".join(lines), names[0]


def _keys(given: Tasks) -> dict[str, str]:
    """A name that can stand in the interface for each column that comes alone."""
    return {
        f"field_{number}_{re.sub(r'[^0-9A-Za-z]+', '_', column)}": column
        for number, column in enumerate(given.single, start=1)
    }


def _data(given: Tasks, question: Question) -> dict[str, Any]:
    record = question.record
    data: dict[str, Any] = {"item": shown_text(question.item)}
    if given.paired:
        for side, end in (("left", "l"), ("right", "r")):
            data[side] = {n: shown_text(record.get(f"{n}_{end}")) for n in given.paired}
    # Label Studio does not take an empty text for something that it is to show.
    fields = {key: shown_text(record.get(column)) for key, column in _keys(given).items()}
    return data | {key: text or " " for key, text in fields.items()}


def _of_annotation(where: str, mark: dict[str, Any], annotation: dict[str, Any]) -> Reply | None:
    common: dict[str, Any] = {
        "annotator": _who(annotation.get("completed_by")),
        "time": str(annotation.get("updated_at") or annotation.get("created_at") or ""),
        "seconds": annotation.get("lead_time"),
        "pool": mark.get("pool"),
    }
    if annotation.get("was_cancelled"):
        return Reply(mark["item"], None, reason="skipped in Label Studio", **common)
    chosen = [
        name
        for result in annotation.get("result") or []
        if result.get("from_name") == CHOICES
        for name in result.get("value", {}).get("choices", [])
    ]
    if not chosen:
        return None
    if len(chosen) > 1:
        raise FileError(f"{where} has {len(chosen)} choices {chosen}; one is wanted")
    return Reply(mark["item"], named_label(mark, chosen[0], where), **common)


def _who(completed_by: Any) -> str | None:
    if isinstance(completed_by, dict):
        name = completed_by.get("email") or completed_by.get("username")
        return str(name) if name else _who(completed_by.get("id"))
    return None if completed_by is None else f"label-studio-{completed_by}"


LABEL_STUDIO = Format(
    "label-studio",
    "Label Studio",
    tasks=tasks,
    config=config,
    replies=replies,
    fetch=fetch,
)
