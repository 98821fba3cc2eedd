"""TREC: run files as pools, qrels as answers. An item is a query and a document."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from haystat.core.arguments import brief
from haystat.core.disk import write_whole
from haystat.core.spelling import whole_number
from haystat.errors import BadOption, FileError
from haystat.formats.base import Format, PoolTable, Reply, read_text
from haystat.study.study import Study


def item_of(query: str, document: str) -> str:
    """Id of a query and a document; neither has a space in it, so they can be told apart again.

    >>> item_of("301", "FT911-22")
    '301 FT911-22'
    """
    return f"{query} {document}"


def read_run(path: Path) -> PoolTable:
    """The pool of a run file: query, Q0, document, rank, score, tag."""
    rows = list(_fields(path, 6, "query Q0 document rank score tag"))
    if not rows:
        raise FileError(f"{path} is empty")
    try:
        score = np.array([float(row[4]) for row in rows])
        rank = np.array([int(row[3]) for row in rows])
    except (ValueError, OverflowError) as error:
        raise FileError(f"{path} has a rank or score that is no number ({error})") from None
    if not np.isfinite(score).all():
        row = rows[int(np.argmin(np.isfinite(score)))]
        raise FileError(f"{path} gives {row[2]} the score {row[4]}; give finite numbers")
    columns = {"query": [row[0] for row in rows], "document": [row[2] for row in rows]}
    ids = np.array([item_of(row[0], row[2]) for row in rows])
    show = {name: np.array(values) for name, values in columns.items()}
    return PoolTable(ids, score, {**show, "rank": rank})


def write_qrels(study: Study, path: Path) -> int:
    """The answers as qrels: query, 0, document, relevance. Skipped items are left out."""
    lines = []
    for answer in study.answers:
        query, space, document = str(answer.item).partition(" ")
        if not space:
            raise BadOption(
                f"item {answer.item!r} is not a query and a document; qrels are for pools made "
                "with haystat pool --from trec"
            )
        if answer.label is not None:
            relevance = study.pool.classes.index(answer.label)
            lines.append(f"{query} 0 {document} {relevance}\n")
    write_whole(path, "".join(lines))
    return len(lines)


def read_qrels(path: Path, classes: tuple[Any, ...]) -> list[Reply]:
    """Relevance judgements as labels; with two classes, every relevance above 0 is the second."""
    found = []
    for query, _, document, text in _fields(path, 4, "query 0 document relevance"):
        grade = whole_number(text)
        if grade is None:
            raise FileError(f"{path} has a relevance {brief(text)}; whole numbers are wanted")
        position = int(grade > 0) if len(classes) == 2 else max(grade, 0)
        if position >= len(classes):
            raise FileError(f"{path} has relevance {grade}; the study has {len(classes)} classes")
        found.append(Reply(item_of(query, document), classes[position]))
    return found


def _fields(path: Path, n: int, form: str) -> Iterator[list[str]]:
    for number, line in enumerate(read_text(path).splitlines(), start=1):
        parts = line.split()
        if not parts:
            continue
        if len(parts) != n:
            raise FileError(f"{path}, line {number} has {len(parts)} fields; a line is: {form}")
        yield parts


TREC = Format(
    "trec",
    "TREC runs and qrels",
    answers=write_qrels,
    replies=read_qrels,
    pool=read_run,
)
