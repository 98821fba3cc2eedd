"""The loop of an evaluation, durable: one file, several people, an audit trail."""

from haystat.loop.state import Answer
from haystat.loop.status import Status
from haystat.study.merge import merged_estimate
from haystat.study.pool_source import PoolFile
from haystat.study.question import Question
from haystat.study.sqlite_journal import Entry
from haystat.study.study import Study
from haystat.study.verify import Finding, Verdict, verify

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
