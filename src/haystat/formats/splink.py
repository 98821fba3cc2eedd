"""Splink: scored pairs as a pool, and the table of labels that its accuracy charts take."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from haystat.core.table_writers import write_rows
from haystat.display.records import paired_names
from haystat.errors import BadOption, FileError, UnknownName
from haystat.formats.base import Format, PoolTable, Reply, read_table
from haystat.study.answer_files import answer_rows
from haystat.study.study import Study

IDS = ("unique_id_l", "unique_id_r")
SOURCES = ("source_dataset_l", "source_dataset_r")
PARTS = (SOURCES[0], IDS[0], SOURCES[1], IDS[1])
WHOLE = re.compile(r"0|-?[1-9]\d{0,17}")
SCORE = "clerical_match_score"
#: pairs of the pool that a label stands for, as the draws weigh it
WEIGHT = "haystat_weight"
#: columns of a prediction that tell the score, which a person who labels must not see
TELLING = ("match_probability", "match_weight", "match_key")


def pair_id(parts: Sequence[Any]) -> str:
    """The id of a pair: its parts with a bar between them, a bar inside a part escaped.

    >>> pair_id(["a", 17, "b", "x|y"])
    'a|17|b|x\\\\|y'
    """
    texts = [str(part).replace("\\", "\\\\").replace("|", "\\|") for part in parts]
    return "|".join(texts)


def pair_parts(item: str) -> list[str]:
    """The parts of a pair's id, as text."""
    parts, escaped = [""], False
    for letter in item:
        if letter == "|" and not escaped:
            parts.append("")
        elif letter == "\\" and not escaped:
            escaped = True
            continue
        else:
            parts[-1] += letter
        escaped = False
    return parts


def read_predictions(source: Any) -> PoolTable:
    """Scored pairs, from a file or a pandas, Polars or Arrow table, as a pool.

    The pool is what Splink predicted: pairs that its blocking rules left out are not in it, so
    recall is about the pairs that were compared. Columns that come as _l and _r are shown.
    """
    table = read_table(Path(source)) if isinstance(source, str | Path) else _columns(source)
    return PoolTable(
        _pair_ids(table),
        _probability(table),
        _shown(table),
        score_name="match_probability",
    )


def label_rows(study: Study) -> list[dict[str, Any]]:
    """The table of labels: the ids of both records, clerical_match_score, and our weight."""
    if len(study.pool.classes) != 2:
        raise BadOption(f"Splink knows two classes, the study has {len(study.pool.classes)}")
    rows = answer_rows(study)
    n_draws = sum(row["draws"] for row in rows)
    size = study.pool.size
    labelled = [row for row in rows if row["label"] is not None]
    pairs = labelled_pairs(study, [row["item"] for row in labelled])
    return [
        {
            **pair,
            SCORE: float(row["label"] == study.pool.classes[1]),
            WEIGHT: row["weight"] / n_draws * size if n_draws else 0.0,
        }
        for row, pair in zip(labelled, pairs, strict=True)
    ]


def write_labels(study: Study, path: Path) -> int:
    """Save the table of labels; how many."""
    rows = label_rows(study)
    columns = list(rows[0]) if rows else [*IDS, SCORE, WEIGHT]
    write_rows(rows, path, columns)
    return len(rows)


def read_labels(path: Path, classes: tuple[Any, ...]) -> list[Reply]:
    """A table of labels; a clerical_match_score of 0.5 or more is the second class."""
    if len(classes) != 2:
        raise BadOption(f"Splink knows two classes, the study has {len(classes)}")
    table = read_table(path)
    if SCORE not in table:
        raise UnknownName(f"no column {SCORE!r} in {path}; it has {', '.join(table)}")
    score = np.asarray(table[SCORE], dtype=np.float64)
    if np.any((score < 0) | (score > 1)):
        raise FileError(f"{path}: {SCORE} must lie between 0 and 1")
    # A study of pairs with two ids calls them by these alone.
    short = _pair_ids({name: table[name] for name in table if name not in SOURCES})
    pairs = zip(_pair_ids(table).tolist(), short.tolist(), score.tolist(), strict=True)
    return [Reply(item, classes[int(s >= 0.5)], also=also) for item, also, s in pairs if s == s]


def labelled_pairs(study: Study, items: Sequence[Any]) -> list[dict[str, Any]]:
    """The ids of both records of each pair, and the names of their tables where they are told.

    Ids are of the type they have where the study shows them, as it always does where unblocked
    pairs are in the pool. Else they are texts, or whole numbers if all of them look like some.
    """
    records = [study.record_of(item) for item in items]
    pairs = [_pair(record, item) for record, item in zip(records, items, strict=True)]
    shown = any(name in record for record in records for name in IDS)
    if not shown and all(WHOLE.fullmatch(pair[name]) for pair in pairs for name in IDS):
        pairs = [pair | {name: int(pair[name]) for name in IDS} for pair in pairs]
    told = {name: {pair[name] for pair in pairs if name in pair} for name in SOURCES}
    if not all(told.values()):
        return [{name: pair[name] for name in IDS} for pair in pairs]
    for item, pair in zip(items, pairs, strict=True):
        for name in SOURCES:
            if name not in pair and len(told[name]) > 1:
                raise BadOption(
                    f"the {name} of item {item!r} is not known, and Splink needs it; pairs that "
                    "were not blocked are of one table, or of a left and a right one"
                )
    only = {name: next(iter(values)) for name, values in told.items()}
    return [{name: (only | pair)[name] for name in PARTS} for pair in pairs]


def _pair(record: Mapping[str, Any], item: Any) -> dict[str, Any]:
    """What is known of the two records: what the study shows, and the parts of the item's id."""
    shown = {name: record[name] for name in PARTS if record.get(name) is not None}
    parts = pair_parts(str(item))
    own = dict(zip(IDS if len(parts) == 2 else PARTS, parts, strict=False))
    has_ids = set(IDS) <= shown.keys()
    if has_ids and (len(parts) != 4 or any(str(shown[name]) != own[name] for name in IDS)):
        return shown
    if len(parts) not in (2, 4):
        raise BadOption(
            f"item {item!r} is not a pair; a study for Splink is made of a pool from haystat pool "
            "--from splink, or of pairs with two ids"
        )
    return own | shown


def _pair_ids(table: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    for name in IDS:
        if name not in table:
            raise UnknownName(f"no column {name!r}; the table has {', '.join(table)}")
    has_sources = all(name in table for name in SOURCES)
    names = PARTS if has_sources else IDS
    columns = [np.asarray(table[name]).tolist() for name in names]
    return np.array([pair_id(parts) for parts in zip(*columns, strict=True)])


def _probability(table: Mapping[str, NDArray[Any]]) -> NDArray[np.float64]:
    if "match_probability" in table:
        return np.asarray(table["match_probability"], dtype=np.float64)
    if "match_weight" in table:
        # A match weight is the logarithm to base 2 of the odds.
        weight = np.asarray(table["match_weight"], dtype=np.float64)
        return 1.0 / (1.0 + np.exp2(-np.clip(weight, -500, 500)))
    raise UnknownName(f"neither match_probability nor match_weight in {', '.join(table)}")


def _shown(table: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    names = [f"{name}_{side}" for name in paired_names(list(table)) for side in "lr"]
    # Comparison vectors, term frequencies and Bayes factors would give the score away.
    telling = (*TELLING, "gamma_", "bf_", "tf_", "mw_")
    return {name: table[name] for name in names if not name.startswith(telling)}


def _columns(frame: Any) -> dict[str, NDArray[Any]]:
    import narwhals as nw  # only those who give a table wait for it

    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError:
        raise BadOption(
            f"a {type(frame).__name__} is no table; give a file, or a pandas, Polars or Arrow "
            "table, such as predictions.as_pandas_dataframe()"
        ) from None
    return {name: np.asarray(table[name].to_numpy()) for name in table.columns}


SPLINK = Format(
    "splink",
    "Splink",
    answers=write_labels,
    replies=read_labels,
    pool=read_predictions,
)
