"""The log: an append-only list of stages and answers. Everything else is a fold over it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from haystat.arguments import checked_path
from haystat.disk import readable, whole_file
from haystat.errors import LogError
from haystat.measures.outputs import FloatArray, IntArray

FORMAT = 1
NO_ANSWER = -1  # the label index of an item about which nobody can tell


#: a class index, the shares of all classes, or a number
Label = int | float | tuple[float, ...]


@dataclass(frozen=True)
class Stage:
    """The draws of one stage: item positions, how often drawn, weights; all (n,).

    The first n_new rows are items that had not been asked about before. inclusion (K,), of a
    design without replacement, is the probability that an item of each cell was drawn by now.
    """

    item: IntArray
    count: IntArray
    weight: FloatArray
    n_new: int
    inclusion: FloatArray | None = None


@dataclass(frozen=True)
class Answers:
    """Labels that arrived together: label index by item position.

    NO_ANSWER is an item that nobody can label; an item that was answered before is corrected.
    """

    labels: Mapping[int, Label]
    annotator: str | None = None


Event = Stage | Answers


def stage_records(stages: Sequence[Stage], n_finished: int) -> list[dict[str, Any]]:
    """One record a stage: draws, new labels, whether it is finished."""
    return [
        {
            "stage": number,
            "draws": int(stage.count.sum()),
            "new_labels": stage.n_new,
            "largest_weight": float(stage.weight.max()),
            "finished": number < n_finished,
        }
        for number, stage in enumerate(stages)
    ]


@dataclass
class Log:
    """Events in the order in which they happened, under the settings that made them."""

    settings: Mapping[str, Any]
    events: list[Event] = field(default_factory=list)

    def append(self, event: Event) -> None:
        """Add an event; nothing is ever changed or removed."""
        self.events.append(event)

    def write(self, path: str | Path) -> None:
        """Save as JSON lines, whole or not at all."""
        with whole_file(path) as draft, draft.open("w", encoding="utf-8") as file:
            file.write(json.dumps({"haystat": FORMAT, **self.settings}) + "\n")
            for event in self.events:
                file.write(json.dumps(_encode(event)) + "\n")
            file.write(json.dumps({"end": len(self.events)}) + "\n")

    @classmethod
    def read(cls, path: str | Path) -> Log:
        """Load a saved log; raises LogError on anything but a whole file of ours."""
        path = checked_path("the path of a log", path)
        with readable(path):
            lines = list(_json_lines(path))
        if not lines or lines[0].get("haystat") != FORMAT:
            raise LogError(f"{path} is not a haystat log of format {FORMAT}")
        if lines[-1] != {"end": len(lines) - 2}:
            raise LogError(f"{path} is cut short: {len(lines)} lines and no end; use a copy")
        settings = {key: value for key, value in lines[0].items() if key != "haystat"}
        try:
            return cls(settings, [_decode(line) for line in lines[1:-1]])
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise LogError(f"{path} is damaged: an entry makes no sense ({error!r})") from None


def _json_lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, start=1):
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise LogError(f"{path}, line {number} is damaged: {error}") from None
            if not isinstance(entry, dict):
                raise LogError(f"{path}, line {number} is damaged: not a record")
            yield entry


def _encode(event: Event) -> dict[str, Any]:
    if isinstance(event, Answers):
        line: dict[str, Any] = {"answers": [[item, label] for item, label in event.labels.items()]}
        return line if event.annotator is None else line | {"annotator": event.annotator}
    line = {
        "stage": event.item.tolist(),
        "count": event.count.tolist(),
        "weight": event.weight.tolist(),
        "new": event.n_new,
    }
    return line if event.inclusion is None else line | {"inclusion": event.inclusion.tolist()}


def _decode(line: dict[str, Any]) -> Event:
    if "answers" in line:
        labels = {
            int(item): tuple(label) if isinstance(label, list) else label
            for item, label in line["answers"]
        }
        return Answers(labels, line.get("annotator"))
    if "stage" not in line:
        raise LogError(f"unknown log entry with keys {sorted(line)}")
    return Stage(
        np.array(line["stage"], dtype=np.int64),
        np.array(line["count"], dtype=np.int64),
        np.array(line["weight"], dtype=np.float64),
        int(line["new"]),
        np.array(line["inclusion"], dtype=np.float64) if "inclusion" in line else None,
    )
