"""Bridges to the tools people label with, and to those whose output is evaluated."""

from haystat.errors import UnknownName
from haystat.formats.argilla import ARGILLA
from haystat.formats.base import Format, PoolTable, Reply, Tasks, make_tasks
from haystat.formats.deepeval import DEEPEVAL
from haystat.formats.http_api import Target
from haystat.formats.inspect_logs import INSPECT
from haystat.formats.label_studio import LABEL_STUDIO
from haystat.formats.label_studio_api import Server
from haystat.formats.mlflow import MLFLOW
from haystat.formats.openai_evals import OPENAI_EVALS
from haystat.formats.phoenix import PHOENIX
from haystat.formats.prodigy import PRODIGY
from haystat.formats.promptfoo import PROMPTFOO
from haystat.formats.replies import DISAGREEMENT, fetch_replies, read_replies, take_replies
from haystat.formats.splink import SPLINK
from haystat.formats.traces import Judged, judged
from haystat.formats.trec import TREC

#: name -> format
FORMATS: dict[str, Format] = {
    form.name: form
    for form in (
        LABEL_STUDIO, SPLINK, ARGILLA, PRODIGY, TREC,
        INSPECT, PROMPTFOO, DEEPEVAL, OPENAI_EVALS, MLFLOW, PHOENIX,
    )
}  # fmt: skip


def resolve(name: str) -> Format:
    """The format of that name."""
    if name not in FORMATS:
        raise UnknownName(f"no format {name!r}; known are {', '.join(FORMATS)}")
    return FORMATS[name]


__all__ = [
    "DISAGREEMENT",
    "FORMATS",
    "Format",
    "Judged",
    "PoolTable",
    "Reply",
    "Server",
    "Target",
    "Tasks",
    "fetch_replies",
    "judged",
    "make_tasks",
    "read_replies",
    "resolve",
    "take_replies",
]
