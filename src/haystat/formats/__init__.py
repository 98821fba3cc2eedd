"""Bridges to the tools people label with, and to those whose output is evaluated."""

from collections.abc import Sequence
from pathlib import Path

from haystat.core.arguments import brief, checked_path, several_names
from haystat.errors import BadOption, UnknownName
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
    if not isinstance(name, str) or name not in FORMATS:
        raise UnknownName(f"no format {brief(name)}; known are {', '.join(FORMATS)}")
    return FORMATS[name]


def read_log(
    path: str | Path, tool: str, judges: str | Sequence[str] = (), fails: str | None = None
) -> Judged:
    """A log of judged traces as a pool; tool is the name of its format, the rest as in `judged`.

    >>> import tempfile
    >>> from haystat.demo.traces import write_traces
    >>> path = tempfile.mkdtemp() + "/traces.jsonl"
    >>> truth = write_traces(path, n=50, seed=1)
    >>> read_log(path, "openai-evals", "policy").pool(strata=4).size
    50
    """
    form = resolve(tool)
    if form.traces is None:
        raise BadOption(
            f"{form.tool} has no judges; make a table of its scores: haystat pool --from {tool}"
        )
    path = checked_path("the path of a log", path)
    return judged(form.traces(path), str(path), several_names("judges", judges), fails)


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
    "read_log",
    "read_replies",
    "resolve",
    "take_replies",
]
