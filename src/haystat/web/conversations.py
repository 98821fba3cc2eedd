"""Conversations that are too long for a page: every message is cut, none of the JSON breaks."""

from __future__ import annotations

import json
from typing import Any

MOST_MESSAGES = 400
SHORTEST = 500  # letters that are left of a message, however many there are


def cut_conversation(text: str, most: int, longest: int) -> str | None:
    """The conversation in at most about `most` letters, no message longer than `longest`.

    None where the text is no conversation. Of very many messages the first and last are kept.
    """
    if not text.startswith("[{") or '"role"' not in text[:200]:
        return None
    try:
        messages = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not all(isinstance(one, dict) and isinstance(one.get("role"), str) for one in messages):
        return None
    if len(messages) > MOST_MESSAGES:
        half = MOST_MESSAGES // 2
        note = {"role": "note", "content": f"… {len(messages) - 2 * half:,} messages left out …"}
        messages = [*messages[:half], note, *messages[-half:]]
    limit = max(min(longest, most // max(len(messages), 1)), SHORTEST)
    if len(text) <= most:
        limit = longest
    return json.dumps([_cut(one, limit) for one in messages], ensure_ascii=False)


def _cut(message: dict[str, Any], limit: int) -> dict[str, Any]:
    calls = message.get("tool_calls")
    made = {"role": message["role"][:100], "content": cut_text(message.get("content"), limit)}
    if isinstance(calls, list):
        made["tool_calls"] = [
            {name: cut_text(call.get(name), limit) for name in ("name", "arguments")}
            for call in calls[:MOST_MESSAGES]
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
