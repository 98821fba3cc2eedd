"""promptfoo: the results that `promptfoo eval -o results.json` or .jsonl writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from haystat.errors import FileError
from haystat.formats.base import Format
from haystat.formats.conversation import messages_of
from haystat.formats.log_files import (
    check_version,
    is_json_lines,
    json_lines,
    read_document,
    reading,
)
from haystat.formats.traces import Trace, Verdict, verdict_of

TOOL = "promptfoo"
NEWEST = 3  # version of the results
ADVICE = "write JSON lines: promptfoo export eval ID -o results.jsonl"
ALL = "all assertions"  # the judge that passes what passes every other


def read_results(path: Path) -> Iterator[Trace]:
    """One trace for each prompt, provider and test."""
    with reading(path, TOOL):
        if is_json_lines(path):
            for number, result in json_lines(path):
                yield trace_of(result, number)
            return
        document = read_document(path, ADVICE)
        summary = document["results"]
        check_version(path, TOOL, summary.get("version"), NEWEST)
        if not isinstance(summary.get("results"), list):
            raise FileError(f"{path} has no list of results; write it again: {TOOL} eval -o FILE")
        for number, result in enumerate(summary["results"], start=1):
            yield trace_of(result, number)


def trace_of(result: dict[str, Any], number: int) -> Trace:
    """A result: the prompt as it was sent, what came back, and every assertion as a judge."""
    prompt, reply = result["prompt"], result.get("response") or {}
    messages = messages_of(prompt["raw"] if isinstance(prompt, dict) else prompt, "user")
    messages += messages_of(reply.get("output"), "assistant")
    grading = result.get("gradingResult") or {}
    verdicts: dict[str, Verdict] = {}
    for part in grading.get("componentResults") or ():
        assertion = part.get("assertion") or {}
        name = str(assertion.get("metric") or assertion.get("type") or "assertion")
        verdict = verdict_of(part.get("score"), part.get("reason"), part.get("pass"))
        if verdict is not None:
            verdicts.setdefault(name, verdict)
    whole = verdict_of(result.get("score"), grading.get("reason"), result.get("success"))
    if whole is not None and not result.get("error"):
        verdicts[ALL] = whole
    provider = result.get("provider") or {}
    sender = provider.get("id") if isinstance(provider, dict) else provider
    facts = {"provider": sender} if sender else {}
    item = result.get("id") or f"test {result.get('testIdx', number)}"
    return Trace(str(item), messages, verdicts, facts)


PROMPTFOO = Format("promptfoo", TOOL, traces=read_results)
