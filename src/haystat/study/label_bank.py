"""What a study file knows about labels: of all its versions, by whom and when."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

from haystat.loop.state import Answer
from haystat.study.study import Study
from haystat.study.versions import earlier_versions, version_name

COLUMNS = ("item", "label", "annotator", "time", "skipped", "version", "counts")


@dataclass(frozen=True)
class KnownLabel:
    """A label that somebody gave: to which version, and whether it counts in the newest.

    One does not count whose item is gone, that was left out because it is too old, or whose item
    was asked about again.
    """

    item: Any
    label: Any
    annotator: str | None
    time: str
    skipped: str | None
    version: str
    counts: bool

    def as_row(self) -> dict[str, Any]:
        """The label as a row of a table."""
        return asdict(self)


def known_labels(study: Study) -> list[KnownLabel]:
    """All labels that a study file holds, in the order in which they were given."""
    newest: dict[Any, KnownLabel] = {}
    replaced: list[KnownLabel] = []
    for version in chain(earlier_versions(study, Study), (study,)):
        name = version_name(version.settings)
        for answer in version.answers:
            before = newest.get(answer.item)
            if before is not None and (before.label, before.time) == (answer.label, answer.time):
                continue
            replaced += [] if before is None else [before]
            newest[answer.item] = _known(answer, name)
    now = {answer.item for answer in study.answers}
    rows = [label if label.item in now else _lost(label) for label in newest.values()]
    rows += [_lost(label) for label in replaced]
    return sorted(rows, key=lambda label: (label.time, str(label.item)))


def _known(answer: Answer, version: str) -> KnownLabel:
    skipped = (answer.reason or "yes") if answer.label is None else None
    return KnownLabel(answer.item, answer.label, answer.who, answer.time, skipped, version, True)


def _lost(label: KnownLabel) -> KnownLabel:
    return KnownLabel(**{**label.as_row(), "counts": False})
