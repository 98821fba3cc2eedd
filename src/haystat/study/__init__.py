"""The loop of an evaluation, durable: one file, several people, an audit trail."""

from haystat.state import Answer
from haystat.study.journal import Entry
from haystat.study.merge import merged_estimate
from haystat.study.questions import Question
from haystat.study.source import PoolFile
from haystat.study.status import Status
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
