"""The loop of an evaluation, durable: one file, several people, an audit trail."""

from typing import TYPE_CHECKING

from haystat.core.lazy import lazy_names
from haystat.loop.state import Answer
from haystat.loop.status import Status

if TYPE_CHECKING:
    from haystat.study.audit import Finding, Verdict, verify
    from haystat.study.merge import merged_estimate
    from haystat.study.pool_source import PoolFile
    from haystat.study.question import Question
    from haystat.study.sqlite_journal import Entry
    from haystat.study.study import Study

__all__ = [
    "Answer",
    "Entry",
    "Finding",
    "PoolFile",
    "Question",
    "Status",
    "Study",
    "Verdict",
    "merged_estimate",
    "verify",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "audit": "Finding Verdict verify",
        "merge": "merged_estimate",
        "pool_source": "PoolFile",
        "question": "Question",
        "sqlite_journal": "Entry",
        "study": "Study",
    },
)
