"""Phoenix: spans with their annotations in, labels as annotations out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from haystat.formats.base import Format
from haystat.formats.conversation import Message, message, messages_of
from haystat.formats.http_api import Target
from haystat.formats.log_files import reading
from haystat.formats.results import labels, write_metrics
from haystat.formats.traces import Trace, Verdict, verdict_of
from haystat.formats.verdict_tables import Row, cell, parsed, read_rows
from haystat.study.study import Study

TOOL = "Phoenix"
SPAN = ("context.span_id", "span_id")
BATCH = 500  # annotations of one request
FLAT = re.compile(r"llm\.(input|output)_messages\.(\d+)\.message\.(role|content)")


def read_spans(path: Path) -> Iterator[Trace]:
    """Rows of spans and rows of annotations, in one file and any order, joined by the span."""
    with reading(path, TOOL):
        spans: dict[str, list[Message]] = {}
        verdicts: dict[str, dict[str, Verdict]] = {}
        for row in read_rows(path):
            span = _span(row)
            found = _annotation(row)
            if found is not None:
                verdicts.setdefault(span, {}).update(found)
            if found is None or _attribute(row, "input.value") is not None:
                spans[span] = _messages(row)
        for span, messages in spans.items():
            yield Trace(span, messages, verdicts.get(span, {}))
        for span in verdicts.keys() - spans.keys():
            yield Trace(span, [], verdicts[span])


def _span(row: Row) -> str:
    context = row.get("context")
    inner = context.get("span_id") if isinstance(context, dict) else None
    found = inner or cell(row, SPAN)
    if found is None:
        raise ValueError("a row without span_id")
    return str(found)


def _annotation(row: Row) -> dict[str, Verdict] | None:
    """The verdict of a row that is an annotation; {} where it is one of a person."""
    result = row.get("result")
    if isinstance(result, dict):
        name, given = row["name"], result
    elif row.get("annotation_name"):
        parts = ("label", "score", "explanation")
        name, given = row["annotation_name"], {p: row.get(f"result.{p}") for p in parts}
    else:
        return None
    if row.get("annotator_kind") == "HUMAN":
        return {}
    label, score = given.get("label"), given.get("score")
    verdict = verdict_of(score, given.get("explanation"))
    worded = verdict_of(label, given.get("explanation"))
    if verdict is not None and worded is not None:
        verdict = Verdict(verdict.score, worded.word, None, verdict.reason)
    chosen = verdict or worded
    return {} if chosen is None else {str(name): chosen}


def _attribute(row: Row, name: str) -> Any:
    inner = row.get("attributes")
    found = inner.get(name) if isinstance(inner, dict) else None
    return found if found is not None else cell(row, (f"attributes.{name}",))


def _messages(row: Row) -> list[Message]:
    """The messages of a call of a model, else input and output."""
    sides: dict[str, list[Message]] = {"input": [], "output": []}
    for side, made in sides.items():
        listed = _attribute(row, f"llm.{side}_messages")
        for entry in listed if isinstance(listed, list) else ():
            given = {key.removeprefix("message."): value for key, value in entry.items()}
            made.append(message(given.get("role"), given.get("content"), given.get("tool_calls")))
        made += _flat(row, side)
    asked = sides["input"] or messages_of(parsed(_attribute(row, "input.value")), "user")
    said = sides["output"] or messages_of(parsed(_attribute(row, "output.value")), "assistant")
    return asked + said


def _flat(row: Row, side: str) -> list[Message]:
    """Messages as OpenTelemetry spells them: one attribute for each part."""
    inner = row.get("attributes")
    found: dict[int, dict[str, Any]] = {}
    for name, value in inner.items() if isinstance(inner, dict) else ():
        match = FLAT.fullmatch(name)
        if match and match[1] == side:
            found.setdefault(int(match[2]), {})[match[3]] = value
    return [message(found[n].get("role"), found[n].get("content")) for n in sorted(found)]


def send(study: Study, target: Target) -> dict[str, Any]:
    """Labels to their spans, as annotations of people; the same again changes nothing."""
    rows = [_sent(study, row, target.name) for row in labels(study)]
    for start in range(0, len(rows), BATCH):
        target.post("/v1/span_annotations?sync=true", {"data": rows[start : start + BATCH]})
    return {"sent": len(rows)}


def _sent(study: Study, row: dict[str, Any], name: str) -> dict[str, Any]:
    who, label = row["annotator"] or "somebody", row["label"]
    classes = study.pool.classes
    score = float(classes.index(label)) if label in classes else float(label)
    return {
        "span_id": str(row["item"]),
        "name": name,
        "annotator_kind": "HUMAN",
        "result": {"label": str(label), "score": score},
        # Phoenix replaces an annotation of the same name and identifier.
        "identifier": f"haystat {who}",
        "metadata": {"annotator": who, "answered": row["time"], "tool": "haystat"},
    }


PHOENIX = Format(
    "phoenix",
    TOOL,
    traces=read_spans,
    summary=write_metrics,
    send=send,
    token="PHOENIX_API_KEY",
)
