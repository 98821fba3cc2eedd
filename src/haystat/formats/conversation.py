"""Conversations as one kind of JSON, whatever a tool calls their parts.

A conversation is a text: a JSON list of messages {"role", "content", "tool_calls"}, where
tool_calls are {"name", "arguments"} and may be left out. The page shows such a text as a chat.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

Message = dict[str, Any]


def conversation(messages: Iterable[Message]) -> str:
    """Messages as the text that a pool keeps.

    >>> conversation([message("user", "Hi")])
    '[{"role": "user", "content": "Hi"}]'
    """
    return json.dumps(list(messages), ensure_ascii=False)


def shown_conversation(text: Any) -> str | None:
    """A conversation as a terminal shows it; None where a value is none.

    >>> print(shown_conversation('[{"role": "user", "content": "Hi"}]'))
    [user] Hi
    """
    found = _parsed(text) if isinstance(text, str) and text.startswith("[{") else None
    if not isinstance(found, list) or not all(_is_message(one) for one in found):
        return None
    return "\n".join(
        _shown(message(m["role"], m.get("content"), m.get("tool_calls"))) for m in found
    )


def _shown(made: Message) -> str:
    calls = [f"(calls {call['name']} {call['arguments']})" for call in made.get("tool_calls", ())]
    return " ".join(part for part in (f"[{made['role']}]", made["content"], *calls) if part)


def message(role: Any, content: Any, tool_calls: Any = ()) -> Message:
    """One message: its text, and the calls of tools it makes.

    >>> message("assistant", [{"type": "text", "text": "See:"}], [{"function": "add"}])
    {'role': 'assistant', 'content': 'See:', 'tool_calls': [{'name': 'add', 'arguments': ''}]}
    """
    made: Message = {"role": str(role or "unknown"), "content": text_of(content)}
    calls = [_call(call) for call in tool_calls or () if isinstance(call, Mapping)]
    return made | ({"tool_calls": calls} if calls else {})


def messages_of(value: Any, role: str) -> list[Message]:
    """What an input or output holds: a list of messages, a reply of a model, or any text.

    >>> messages_of('[{"role": "system", "content": "Be brief."}]', "user")
    [{'role': 'system', 'content': 'Be brief.'}]
    >>> messages_of({"question": "Why?"}, "user")
    [{'role': 'user', 'content': 'question: Why?'}]
    """
    value = _parsed(value)
    if value is None or value == "":
        return []
    if isinstance(value, Mapping):
        return _of_object(value, role)
    if isinstance(value, list) and value and all(_is_message(entry) for entry in value):
        return [_read(entry) for entry in value]
    return [message(role, value)]


def text_of(content: Any) -> str:
    """The text of a message; what is no text is named in brackets.

    >>> text_of([{"type": "text", "text": "See:"}, {"type": "image", "image": "data:…"}])
    'See:\\n[image]'
    """
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list) and content and all(_is_part(part) for part in content):
        return "\n".join(_part(part) for part in content)
    if isinstance(content, Mapping) and content and all(_is_plain(v) for v in content.values()):
        return "\n".join(f"{name}: {value}" for name, value in content.items())
    return json.dumps(content, ensure_ascii=False, indent=1, default=str)


def _of_object(value: Mapping[str, Any], role: str) -> list[Message]:
    choices = value.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        value = choices[0].get("message") or choices[0]
    for name in ("messages", "input", "output"):
        inner = value.get(name)
        if isinstance(inner, list) and inner and all(_is_message(entry) for entry in inner):
            return [_read(entry) for entry in inner]
    return [_read(value)] if _is_message(value) else [message(role, value)]


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("role"), str)


def _read(value: Mapping[str, Any]) -> Message:
    return message(value["role"], value.get("content"), value.get("tool_calls"))


def _call(call: Mapping[str, Any]) -> Message:
    inner = call.get("function")
    given = {**call, **inner} if isinstance(inner, Mapping) else call
    name = given.get("name") or (inner if isinstance(inner, str) else "tool")
    found = next((given[n] for n in ("arguments", "args", "input") if given.get(n)), "")
    is_text = isinstance(found, str)
    text = found if is_text else json.dumps(found, ensure_ascii=False, indent=1, default=str)
    return {"name": str(name), "arguments": text}


def _is_part(part: Any) -> bool:
    return isinstance(part, Mapping) and isinstance(part.get("type"), str)


def _part(part: Mapping[str, Any]) -> str:
    for name in ("text", "reasoning"):
        if isinstance(part.get(name), str):
            return str(part[name])
    return f"[{part['type']}]"


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float) or value is None


def _parsed(value: Any) -> Any:
    """What a text holds, if it is JSON of messages; the text itself otherwise."""
    if not isinstance(value, str) or value[:1] not in ("[", "{") or '"role"' not in value:
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
