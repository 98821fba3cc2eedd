"""The record of an item in the terminal: its fields, those of a pair side by side."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from haystat.cli.show import plain_table
from haystat.formats.conversation import shown_conversation

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
SIDES = (("_l", "_r"), ("_left", "_right"))


def show_record(out: Console, record: Mapping[str, Any]) -> None:
    """The fields of an item; those of a pair side by side, marked where they differ."""
    pairs = side_by_side(record)
    if not pairs:
        for name, value in record.items():
            out.print(Text.assemble((f"  {name}: ", "bold"), _text(value)))
        return
    table = plain_table("", "left", "right", "")
    for column in table.columns:
        column.justify = "left"
    for name, left, right in pairs:
        differ = left != right
        style = "yellow" if differ else ""
        mark = "≠" if differ else ""
        table.add_row(Text(f"  {name}"), Text(left, style), Text(right, style), Text(mark))
    out.print(table)
    paired = {name + side for name, _, _ in pairs for sides in SIDES for side in sides}
    for name, value in record.items():
        if name not in paired:
            out.print(Text.assemble((f"  {name}: ", "bold"), _text(value)))


def side_by_side(record: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Fields that come as name_l and name_r, or name_left and name_right: name, left, right."""
    found = []
    for name in record:
        for left, right in SIDES:
            stem = name.removesuffix(left)
            if name.endswith(left) and stem + right in record:
                found.append((stem, _text(record[name]), _text(record[stem + right])))
    return found


def _text(value: Any) -> str:
    """A value without what a terminal would obey."""
    chat = shown_conversation(value)
    text = str(value) if chat is None else f"\n{chat}"
    return "-" if value is None or value == "" else CONTROL.sub("\ufffd", text)
