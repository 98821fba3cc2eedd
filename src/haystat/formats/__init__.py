"""Bridges to the tools people label with, and to those whose output is evaluated."""

from haystat.errors import UnknownName
from haystat.formats.argilla import ARGILLA
from haystat.formats.base import Format, PoolTable, Reply, Tasks, make_tasks
from haystat.formats.label_studio import LABEL_STUDIO
from haystat.formats.label_studio_api import Server
from haystat.formats.prodigy import PRODIGY
from haystat.formats.replies import DISAGREEMENT, fetch_replies, read_replies, take_replies
from haystat.formats.splink import SPLINK
from haystat.formats.trec import TREC

#: name -> format
FORMATS: dict[str, Format] = {
    form.name: form for form in (LABEL_STUDIO, SPLINK, ARGILLA, PRODIGY, TREC)
}


def resolve(name: str) -> Format:
    """The format of that name."""
    if name not in FORMATS:
        raise UnknownName(f"no format {name!r}; known are {', '.join(FORMATS)}")
    return FORMATS[name]


__all__ = [
    "DISAGREEMENT",
    "FORMATS",
    "Format",
    "PoolTable",
    "Reply",
    "Server",
    "Tasks",
    "fetch_replies",
    "make_tasks",
    "read_replies",
    "resolve",
    "take_replies",
]
