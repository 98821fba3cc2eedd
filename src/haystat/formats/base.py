"""What every format shares: tasks out, replies in, and a pool as a table."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from haystat.core.arrow_files import ARROW, arrow_dataset
from haystat.core.disk import existing_file, not_utf8, readable
from haystat.core.spelling import strict_json
from haystat.core.table_writers import write_rows
from haystat.core.tables import read_columns, readable_table
from haystat.display.records import paired_names
from haystat.errors import BadOption, FileError
from haystat.formats.http_api import Target
from haystat.formats.label_studio_api import Server
from haystat.pool.memory import Pool
from haystat.study.question import Question
from haystat.study.study import Study

if TYPE_CHECKING:
    from haystat.formats.traces import Trace

#: where our part of a task is kept, in whatever place the tool leaves alone
OURS = "haystat"


@dataclass(frozen=True)
class Tasks:
    """Questions for people, as a tool gets them: what to show, what can be answered, no scores.

    names are the classes as people see them, one each; prompt is the question to answer.
    """

    questions: Sequence[Question]
    classes: tuple[Any, ...]
    names: tuple[str, ...]
    prompt: str
    pool: str

    def mark(self, question: Question) -> dict[str, Any]:
        """What a task carries so that its answer finds the way back."""
        labels = dict(zip(self.names, self.classes, strict=True))
        return {"item": question.item, "key": question.key, "pool": self.pool, "labels": labels}

    @property
    def columns(self) -> list[str]:
        """Names of the columns to show, in order."""
        return list(dict.fromkeys(name for q in self.questions for name in q.record))

    @property
    def paired(self) -> list[str]:
        """Columns that come as two, name_l and name_r, without the ending."""
        return paired_names(self.columns)

    @property
    def single(self) -> list[str]:
        """Columns that come alone."""
        pairs = {f"{name}_{side}" for name in self.paired for side in "lr"}
        return [name for name in self.columns if name not in pairs]


@dataclass(frozen=True)
class Reply:
    """What somebody said about an item: a label, or None for "cannot tell" with a reason.

    pool is the fingerprint that the task carried, where it did; seconds is the time it took; also
    is what the item is called in a study that does not know it under its first name.
    """

    item: Any
    label: Any
    annotator: str | None = None
    reason: str = ""
    time: str = ""
    seconds: float | None = None
    pool: str | None = None
    also: Any = None


@dataclass(frozen=True)
class PoolTable:
    """A pool as another tool wrote it: ids and scores, and columns for the person who labels."""

    ids: NDArray[Any]
    score: NDArray[np.float64]
    show: Mapping[str, NDArray[Any]]
    prediction: NDArray[np.int64] | None = None
    score_name: str = "score"

    def pool(self, **options: Any) -> Pool:
        """The pool; `options` are those of hs.Pool."""
        return Pool(self.score, self.prediction, ids=self.ids, **options)

    def write(self, path: Path) -> None:
        """Save as a table that `haystat new` reads."""
        columns = {"item": self.ids, self.score_name: self.score}
        columns |= {} if self.prediction is None else {"prediction": self.prediction}
        columns |= dict(self.show)
        values = [np.asarray(column).tolist() for column in columns.values()]
        rows = [dict(zip(columns, row, strict=True)) for row in zip(*values, strict=True)]
        write_rows(rows, path, list(columns))


@dataclass(frozen=True)
class Format:
    """How a study talks to one tool; None where there is nothing to say.

    tasks: the open questions as the text of a file. config: what else the tool needs to show
    them. answers: writes what the study knows. replies: reads a file of answers; classes of the
    study are given. fetch: the answers that a server has now. pool: reads scored items. traces:
    reads conversations that judges gave verdicts on. summary: writes the estimate to a file. send:
    gives estimate and labels to a server; token: the environment variable with its secret.
    """

    name: str
    tool: str
    tasks: Callable[[Tasks], str] | None = None
    config: Callable[[Tasks], str] | None = None
    answers: Callable[[Study, Path], int] | None = None
    replies: Callable[[Path, tuple[Any, ...]], list[Reply]] | None = None
    fetch: Callable[[Server], list[Reply]] | None = None
    pool: Callable[[Path], PoolTable] | None = None
    traces: Callable[[Path], Iterator[Trace]] | None = None
    summary: Callable[[Study, Path], int] | None = None
    send: Callable[[Study, Target], dict[str, Any]] | None = None
    token: str = ""


def make_tasks(
    study: Study,
    questions: Sequence[Question],
    names: Sequence[str] | None = None,
    prompt: str = "",
) -> Tasks:
    """Tasks for some questions of a study; names are the classes as people should see them."""
    classes = study.pool.classes
    shown = tuple(str(label) for label in classes) if names is None else tuple(names)
    if len(shown) != len(classes) or len(set(shown)) != len(shown) or not all(shown):
        raise BadOption(
            f"names are {list(shown)}; give {len(classes)} different ones for {list(classes)}"
        )
    asked = prompt or "Which of these is it?"
    return Tasks(tuple(questions), classes, shown, asked, study.pool.fingerprint)


def marked(task: Mapping[str, Any], where: str, place: Mapping[str, Any] | None) -> dict[str, Any]:
    """Our part of a task that came back."""
    mark = (place or {}).get(OURS)
    if not isinstance(mark, dict) or not {"item", "labels"} <= mark.keys():
        raise FileError(
            f"{where} has no {OURS} key; is it an answer to tasks that haystat export wrote?"
        )
    return mark


def named_label(mark: Mapping[str, Any], name: str, where: str) -> Any:
    """The class that people know under a name."""
    if name not in mark["labels"]:
        raise FileError(f"{where} is answered {name!r}, which is not one of {list(mark['labels'])}")
    return mark["labels"][name]


def read_text(path: Path) -> str:
    """A text file in UTF-8, or one line about what is wrong."""
    try:
        with readable(existing_file(path)):
            return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise not_utf8(path) from None


def read_objects(path: Path) -> list[dict[str, Any]]:
    """Objects of a JSON list, or of JSON lines."""
    text = read_text(path)
    try:
        if text.lstrip().startswith("["):
            objects = strict_json(text)
        else:
            objects = [strict_json(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path} is not JSON: {error}") from None
    if not all(isinstance(entry, dict) for entry in objects):
        raise FileError(f"{path} is not a list of objects")
    return list(objects)


def json_lines(objects: Sequence[Mapping[str, Any]]) -> str:
    """One object a line."""
    return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in objects)


def read_table(path: Path) -> dict[str, NDArray[Any]]:
    """All columns of a Parquet, CSV, TSV, Feather or JSON lines file."""
    existing_file(path)
    if path.suffix.lower() not in ARROW:
        raise FileError(
            f"{path} is of no known kind; give .parquet, .csv, .tsv, .feather or .jsonl"
        )
    with readable_table(path):
        names = list(arrow_dataset(path).schema.names)
    return dict(read_columns(path, names))
