"""Audit of a study: the hash chain, the sketch, and every draw and weight worked out again.

The chain tells whether an entry was changed after others followed it. It cannot tell whether all
of it was written anew; for that, write down the newest hash (`haystat status`) and compare. The
replay does not trust the chain: it draws every stage again from the seed and what was known.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from haystat.core.arguments import checked_path
from haystat.core.disk import readable
from haystat.designs.base import Design
from haystat.errors import HaystatError, StudyError
from haystat.inference.estimate import Estimate
from haystat.loop.estimates import estimate_state
from haystat.loop.journal import moment
from haystat.loop.state import plain
from haystat.loop.versions import carried
from haystat.pool.permanent_numbers import keys_of_each
from haystat.pool.version import is_asked_again
from haystat.study import sqlite_journal
from haystat.study.damage import SYMPTOMS, damage_told
from haystat.study.leases import StudyState
from haystat.study.sketch_codec import chunk_digest, sketch_digest
from haystat.study.sketch_pool import CellDry
from haystat.study.sqlite_journal import Entry
from haystat.study.store import Store
from haystat.study.study import Study
from haystat.study.versions import previous_file, unpacked

RELATIVE = 1e-9  # by which a weight may differ on another machine


@dataclass(frozen=True)
class Finding:
    """What is wrong, and in which entry of the journal, if in one."""

    entry: int | None
    text: str

    def __str__(self) -> str:
        return self.text if self.entry is None else f"entry {self.entry}: {self.text}"


@dataclass(frozen=True)
class Verdict:
    """The outcome of an audit: nothing found means that all of it was worked out again."""

    n_entries: int
    n_stages: int
    n_labels: int
    head: str
    findings: tuple[Finding, ...]
    estimate: Estimate | None
    n_versions: int = 1

    @property
    def ok(self) -> bool:
        return not self.findings


def verify(path: str | Path, *, measure: Any = None, design: Design | None = None) -> Verdict:
    """Audit a study file; one that is no study is an error, a damaged one is a finding.

    measure, design: as for Study.open, if they were objects of your own.
    """
    path = checked_path("the path of a study", path)
    verdict, entries, content = _audited(path, measure, design)
    findings, n_versions = list(verdict.findings), 1
    while content is not None:  # versions may be many: no deeper, and one open at a time
        with unpacked(content) as before:
            found, entries, content = _audited_before(before, entries, measure, design)
        findings, n_versions = findings + found, n_versions + 1
    return replace(verdict, findings=tuple(findings), n_versions=n_versions)


def _audited(path: Path, measure: Any, design: Any) -> tuple[Verdict, list[Entry], bytes | None]:
    """The verdict on one version, its journal, and the file of the study before it."""
    with readable(path), damage_told(path):
        store = Store(path)
    try:
        connection = store.connection()
        findings = _guarded(None, partial(_file_findings, connection))
        entries, broken = _read_entries(connection)
        findings += broken
        findings += _guarded(None, partial(_chain_findings, entries))
        findings += _guarded(None, partial(_sketch_findings, connection, entries))
        earlier = None if findings else previous_file(connection)
    finally:
        store.close()
    if findings:
        head = entries[-1].hash if entries else ""
        return Verdict(len(entries), 0, 0, head, tuple(findings), None), entries, None
    return _replayed(path, entries, measure, design), entries, earlier


def _audited_before(
    path: Path, later: list[Entry], measure: Any, design: Any
) -> tuple[list[Finding], list[Entry], bytes | None]:
    """What is wrong with the study before a version, or with what was carried over from it."""
    try:
        verdict, entries, content = _audited(path, measure, design)
    except HaystatError as error:
        return [Finding(None, f"an earlier version cannot be read: {error}")], [], None
    findings = [Finding(None, f"in an earlier version, {found}") for found in verdict.findings]
    if not findings:
        with Study.open(path, measure=measure, design=design, read_only=True) as study:
            findings = _guarded(None, partial(_carried_findings, study, later))
    return findings, entries, content


def _carried_findings(study: Study, entries: list[Entry]) -> Iterator[Finding]:
    """What was carried over against what the study before it says."""
    oldest = entries[0].data["version"]["oldest"]
    with study.reading() as state:
        inclusion, told = carried(state, None if oldest is None else moment(oldest))
        cell_of, index_of = state.ledger.problem.cells.of_item, state.questions.index_of
        for entry in [entry for entry in entries if entry.kind == "carried"]:
            yield from _again_findings(entries[0], entry)
            parts = (entry.data, entry.data.get("asked_again", {"new": [], "answers": []}))
            rows = [row for part in parts for row in zip(part["new"], part["answers"], strict=True)]
            for (item, _, _, weight), said in rows:
                known = told.get(index_of.get(item, -1))
                if known is None or [known.label, known.who, known.time, known.reason] != said:
                    yield Finding(entry.seq, f"item {item!r} had no such label before")
                    return
                chance = float(inclusion[cell_of[np.array([index_of[item]])][0]])
                if 1 / weight > chance * (1 + RELATIVE):
                    yield Finding(entry.seq, f"item {item!r} was less likely to be drawn before")
                    return


def _again_findings(created: Entry, entry: Entry) -> Iterator[Finding]:
    """What is asked about again against what the seed says."""
    share = created.data["version"].get("ask_again", 0.0)
    again = entry.data.get("asked_again", {"new": []})["new"]
    for rows, expected in ((entry.data["new"], False), (again, True)):
        keys = keys_of_each([row[0] for row in rows])
        if rows and np.any(is_asked_again(keys, created.data["seed"], share) != expected):
            yield Finding(entry.seq, "other items are asked about again than the seed says")
            return


def _replayed(path: Path, entries: list[Entry], measure: Any, design: Any) -> Verdict:
    findings: list[Finding] = []
    head = entries[-1].hash if entries else ""
    n_stages, n_labels, estimate = 0, 0, None
    try:
        with damage_told(path), Study.open(path, measure=measure, design=design) as study:
            state = study.new_state()
            for entry in entries:
                findings += _guarded(entry.seq, partial(_applied, state, entry))
                if findings:
                    break
            n_stages, n_labels = state.ledger.n_stages, state.ledger.n_labels
            estimate = None if findings else estimate_state(state, None, 0.95)
    except HaystatError as error:
        findings.append(Finding(None, str(error)))
    return Verdict(len(entries), n_stages, n_labels, head, tuple(findings), estimate)


def _applied(state: StudyState, entry: Entry) -> Iterator[Finding]:
    """Check an entry against the state so far, then take it into account."""
    yield from _entry_findings(state, entry)
    state.apply(entry)


def _guarded(seq: int | None, check: Callable[[], Iterator[Finding]]) -> list[Finding]:
    """The findings of a check; that it cannot be carried out is one too."""
    try:
        return list(check())
    except CellDry as dry:
        return [Finding(seq, f"candidates of cell {dry.cell} are missing")]
    except HaystatError as error:
        return [Finding(seq, str(error))]
    except SYMPTOMS as error:
        return [Finding(seq, f"cannot be read: {error!r}")]


def _file_findings(connection: sqlite3.Connection) -> Iterator[Finding]:
    """What SQLite itself says about the file."""
    try:
        for (text,) in connection.execute("PRAGMA integrity_check(5)").fetchall():
            if text != "ok":
                yield Finding(None, f"the file is damaged: {text.splitlines()[-1]}")
    except sqlite3.Error as error:
        yield Finding(None, f"the file is damaged: {error}")


def _read_entries(connection: sqlite3.Connection) -> tuple[list[Entry], list[Finding]]:
    """Every entry that can be read, and those that cannot."""
    entries: list[Entry] = []
    findings: list[Finding] = []
    try:
        numbers = [seq for (seq,) in connection.execute("SELECT seq FROM journal ORDER BY seq")]
    except SYMPTOMS as error:
        return [], [Finding(None, f"the journal cannot be read: {error}")]
    for seq in numbers:
        try:
            entries += sqlite_journal.entries(connection, seq - 1, seq)
        except SYMPTOMS as error:
            findings.append(Finding(seq, f"cannot be read: {error}"))
    return entries, findings


def _chain_findings(entries: list[Entry]) -> Iterator[Finding]:
    """Entries that are missing or were changed; each is judged by what stands before it."""
    last = None
    if not entries or entries[0].kind != "created":
        yield Finding(None, "the journal has no beginning")
    for entry in entries:
        try:
            sqlite_journal.check_link(last, entry)
        except StudyError as error:
            yield Finding(entry.seq, str(error))
        last = entry


def _sketch_findings(connection: sqlite3.Connection, entries: list[Entry]) -> Iterator[Finding]:
    later: set[tuple[int, int]] = set()
    for entry in entries:
        if entry.kind != "candidates":
            continue
        for first, digest in entry.data["chunks"]:
            cell = entry.data["cell"]
            later.add((cell, first))
            if chunk_digest(connection, cell, first) != digest:
                yield Finding(entry.seq, f"the candidates of cell {cell} were changed")
    if entries and sketch_digest(connection, later) != entries[0].data["sketch"]:
        yield Finding(None, "the pool's sketch was changed after the study began")


def _entry_findings(state: StudyState, entry: Entry) -> Iterator[Finding]:
    """What an entry says against what the entries before it allow."""
    data = entry.data
    if entry.kind == "stage":
        yield from _stage_findings(state, entry)
    elif entry.kind == "lease":
        now = moment(entry.time)
        for item, question in zip(data["items"], state.asked_in(data), strict=True):
            if not state.is_free(question, now, entry.who):
                yield Finding(entry.seq, f"item {item!r} was handed out while somebody held it")
            if question in state.ledger.label_of:
                yield Finding(entry.seq, f"item {item!r} was handed out after its answer")
    elif entry.kind == "answer":
        for item, label, *key in data["labels"]:
            known = state.own(state.question_at(item, *key), entry.who)
            if known is not None and known.label not in (None, plain(label)):
                yield Finding(entry.seq, f"item {item!r} had another answer already")
    elif entry.kind == "correction":
        known = state.own(state.question_at(data["item"], data.get("key")), entry.who)
        if known is None or known.label != plain(data["was"]):
            yield Finding(entry.seq, f"item {data['item']!r} had no such answer to correct")


def _stage_findings(state: StudyState, entry: Entry) -> Iterator[Finding]:
    """Draw the stage again."""
    data = entry.data
    again = state.stage_data(state.ledger.draw(data["labels"]), data["labels"])
    drawn, right = (np.array(given.get("inclusion", [])) for given in (data, again))
    if drawn.shape != right.shape or not np.allclose(drawn, right, rtol=RELATIVE, atol=0):
        yield Finding(entry.seq, "the inclusion probabilities are wrong")
        return
    for part in ("new", "again"):
        given, found = data[part], again[part]
        if [row[:-1] for row in given] != [row[:-1] for row in found]:
            yield Finding(entry.seq, "the draws are not those of the seed and the answers so far")
            return
        weight, right = (np.array([row[-1] for row in rows]) for rows in (given, found))
        wrong = np.flatnonzero(~np.isclose(weight, right, rtol=RELATIVE, atol=0))
        if len(wrong):
            yield Finding(entry.seq, f"the weight of item {given[wrong[0]][0]!r} is wrong")
            return
