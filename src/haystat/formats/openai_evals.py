"""OpenAI evals: the record of a run as JSON lines, of the evals package or of the Evals API.

The package writes events, of which those of one sample are a trace; the API's output items are a
trace each.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from haystat.formats.base import Format
from haystat.formats.conversation import Message, messages_of
from haystat.formats.log_files import json_lines, reading
from haystat.formats.traces import Trace, Verdict, verdict_of

TOOL = "OpenAI evals"
HEADS = ("spec", "final_report")


def read_record(path: Path) -> Iterator[Trace]:
    """The samples of a run, in the order in which they began."""
    with reading(path, TOOL):
        events: dict[str, list[dict[str, Any]]] = {}
        for _, line in json_lines(path):
            if "results" in line and "sample" in line:
                yield _output_item(line)
            elif not any(head in line for head in HEADS):
                events.setdefault(str(line["sample_id"]), []).append(line)
        for sample, of_sample in events.items():
            yield _trace(sample, of_sample)


def _output_item(line: dict[str, Any]) -> Trace:
    sample = line["sample"]
    messages = messages_of(sample.get("input"), "user")
    messages += messages_of(sample.get("output"), "assistant")
    verdicts: dict[str, Verdict] = {}
    for result in line["results"]:
        verdict = verdict_of(result.get("score"), _reason(result), result.get("passed"))
        if verdict is not None:
            verdicts[str(result["name"])] = verdict
    given = (line.get("datasource_item") or {}).items()
    facts = {name: value for name, value in given if isinstance(value, str | int | float)}
    return Trace(str(line["id"]), messages, verdicts, facts)


def _reason(result: dict[str, Any]) -> str:
    sample = result.get("sample") or {}
    return "\n\n".join(m["content"] for m in messages_of(sample.get("output"), "assistant"))


def _trace(sample: str, events: list[dict[str, Any]]) -> Trace:
    messages: list[Message] = []
    verdicts: dict[str, Verdict] = {}
    for event in events:
        kind, data = event.get("type"), event.get("data") or {}
        if kind == "sampling" and not messages:  # later ones are those of a model that grades
            messages = messages_of(data.get("prompt"), "user")
            messages += _sampled(data.get("sampled"))
        elif kind == "sampling":
            verdicts = verdicts | _graded(verdicts, data)
        elif kind == "match":
            verdicts["match"] = _match(data)
        elif kind == "metrics":
            verdicts |= _metrics(data, verdicts)
    return Trace(sample, messages, {n: v for n, v in verdicts.items() if n})


def _sampled(sampled: Any) -> list[Message]:
    texts = sampled if isinstance(sampled, list) else [sampled]
    return [found for text in texts[:1] for found in messages_of(text, "assistant")]


def _graded(verdicts: dict[str, Verdict], data: dict[str, Any]) -> dict[str, Verdict]:
    """What the grading model wrote, until its verdict comes."""
    texts = _sampled(data.get("sampled"))
    return {"": Verdict(reason=texts[0]["content"])} if texts else {}


def _match(data: dict[str, Any]) -> Verdict:
    passed = bool(data["correct"])
    wanted, picked = data.get("expected"), data.get("picked", data.get("sampled"))
    return Verdict(float(passed), "", passed, f"expected {wanted!r}, got {picked!r}")


def _metrics(data: dict[str, Any], verdicts: dict[str, Verdict]) -> dict[str, Verdict]:
    """A choice with its score is one verdict; every other number or word is one of its own."""
    reason = verdicts.get("", Verdict()).reason
    choice, score = data.get("choice"), data.get("score")
    if isinstance(choice, str):
        number = float(score) if isinstance(score, int | float) else None
        return {"choice": Verdict(number, choice, None, reason)}
    found = {str(name): verdict_of(value, reason) for name, value in data.items()}
    return {name: verdict for name, verdict in found.items() if verdict is not None}


OPENAI_EVALS = Format("openai-evals", TOOL, traces=read_record)
