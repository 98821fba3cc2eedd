"""Inspect: the .eval and .json logs that inspect_ai writes, one trace a sample and epoch."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from haystat.errors import FileError
from haystat.formats.base import Format
from haystat.formats.conversation import Message, message, messages_of
from haystat.formats.log_files import check_version, read_document, reading, zip_entry
from haystat.formats.traces import Trace, Verdict, verdict_of

TOOL = "Inspect"
NEWEST = 2  # version of the log format
ADVICE = "write it as .eval: inspect log convert --to eval --output-dir DIR FILE"
HEADS = ("header.json", "_journal/start.json")  # the second alone while an evaluation runs
ATTACHED = "attachment://"


def read_log(path: Path) -> Iterator[Trace]:
    """The samples of a log, one after the other."""
    with reading(path, TOOL):
        if zipfile.is_zipfile(path) or path.suffix.lower() == ".eval":
            yield from _of_archive(path)
            return
        log = read_document(path, ADVICE)
        check_version(path, TOOL, log["version"], NEWEST)
        for sample in log.get("samples") or ():
            yield trace_of(sample)


def _of_archive(path: Path) -> Iterator[Trace]:
    with zipfile.ZipFile(path) as archive, path.open("rb") as file:
        entries = {entry.filename: entry for entry in archive.infolist()}
        head = next((entries[name] for name in HEADS if name in entries), None)
        if head is None:
            raise FileError(f"{path} is a ZIP file without the header of an {TOOL} log")
        version = json.loads(zip_entry(file, head, archive))["version"]
        check_version(path, TOOL, version, NEWEST)
        for name, entry in entries.items():
            if name.startswith("samples/") and name.endswith(".json"):
                yield trace_of(json.loads(zip_entry(file, entry, archive)))


def trace_of(sample: dict[str, Any]) -> Trace:
    """A sample; what Inspect moved into attachments is put back."""
    attached = sample.get("attachments") or {}
    found = [_message(entry, attached) for entry in sample.get("messages") or ()]
    if not found:
        output = sample.get("output") or {}
        found = messages_of(sample["input"], "user") + messages_of(
            output.get("completion"), "assistant"
        )
    scores = (sample.get("scores") or {}).items()
    verdicts = dict(pair for name, score in scores for pair in _verdicts(name, score))
    epoch = int(sample.get("epoch") or 1)
    item = str(sample["id"]) if epoch == 1 else f"{sample['id']} epoch {epoch}"
    return Trace(item, found, verdicts, _facts(sample))


def _verdicts(name: str, score: dict[str, Any]) -> Iterator[tuple[str, Verdict]]:
    """A score is one verdict, or several by name."""
    value, reason = score.get("value"), score.get("explanation")
    values = {f"{name}.{key}": v for key, v in value.items()} if isinstance(value, dict) else {}
    for judge, one in (values or {name: value}).items():
        verdict = verdict_of(one, reason)
        if verdict is not None:
            yield judge, verdict


def _message(entry: dict[str, Any], attached: dict[str, str]) -> Message:
    made = message(entry.get("role"), entry.get("content"), entry.get("tool_calls"))
    return {**made, "content": _whole(made["content"], attached)}


def _whole(text: str, attached: dict[str, str]) -> str:
    if ATTACHED not in text:
        return text
    for key, content in attached.items():
        text = text.replace(ATTACHED + key, str(content))
    return text


def _facts(sample: dict[str, Any]) -> dict[str, Any]:
    target = sample.get("target")
    texts = target if isinstance(target, list) else [target]
    wanted = "\n".join(str(text) for text in texts if text)
    given = (sample.get("metadata") or {}).items()
    plain = {key: value for key, value in given if isinstance(value, str | int | float)}
    return ({"target": wanted} if wanted else {}) | plain


INSPECT = Format("inspect", TOOL, traces=read_log)
