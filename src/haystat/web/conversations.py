"""Conversations that are too long for a page: every message is cut, none of the JSON breaks."""

from __future__ import annotations

import json
from typing import Any

MOST_MESSAGES = 400
MOST_CALLS = 50  # of tools, in one message
LONGEST = 20_000_000  # letters of one that is looked into
LARGEST = 1_000_000  # letters of what a page gets
SHORTEST = 500  # letters that are left of a message, however many there are


def cut_conversation(text: str, most: int, longest: int) -> str | None:
    """The conversation in at most about `most` letters, no message longer than `longest`.

    None where the text is no conversation, or one that nobody could read. Of very many messages
    the first and last are kept.
    """
    if len(text) > LONGEST or not text.startswith("[{") or '"role"' not in text[:200]:
        return None
    try:
        found = _cut_messages(json.loads(text), most, longest, len(text) <= most)
    except (ValueError, RecursionError):
        return None
    return found if found is None or len(found) <= LARGEST else None


def _cut_messages(messages: list[Any], most: int, longest: int, fits: bool) -> str | None:
    if not all(isinstance(one, dict) and isinstance(one.get("role"), str) for one in messages):
        return None
    if len(messages) > MOST_MESSAGES:
        half = MOST_MESSAGES // 2
        note = {"role": "note", "content": f"… {len(messages) - 2 * half:,} messages left out …"}
        messages = [*messages[:half], note, *messages[-half:]]
    limit = longest if fits else max(min(longest, most // max(len(messages), 1)), SHORTEST)
    found = json.dumps([_cut(one, limit) for one in messages], ensure_ascii=False)
    return found.encode(errors="replace").decode()  # JSON may spell half of a surrogate pair


def _cut(message: dict[str, Any], limit: int) -> dict[str, Any]:
    calls = message.get("tool_calls")
    made = {"role": message["role"][:100], "content": cut_text(message.get("content"), limit)}
    if isinstance(calls, list):
        made["tool_calls"] = [
            {name: cut_text(call.get(name), limit) for name in ("name", "arguments")}
            for call in calls[:MOST_CALLS]
            if isinstance(call, dict)
        ]
    return made


def cut_text(value: Any, limit: int) -> str:
    """The beginning and the end of a text: what a reply comes to often stands last.

    >>> cut_text("abcdefghij", 4)
    'ab … (10 letters in all) … ij'
    """
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value)
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]} … ({len(text):,} letters in all) … {text[-half:]}"
