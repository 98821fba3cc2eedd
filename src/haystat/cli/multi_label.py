"""haystat new --multi-label: every column of scores is a label that an item may have."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from haystat import measures
from haystat.core.tables import read_columns
from haystat.errors import BadOption
from haystat.pool.memory import Pool


def per_label(wanted: Any, labels: Sequence[str]) -> Any:
    """A measure of each label and its averages."""
    one = measures.resolve(wanted)
    return measures.PerLabel(one, tuple(labels))


def refuse_others(**given: Any) -> None:
    """Raise on options that go with items of one label."""
    named = [f"--{name.replace('_', '-')}" for name, value in given.items() if value]
    if named:
        raise BadOption(
            f"--multi-label makes a pair of every item and label; leave out {', '.join(named)}"
        )


def multi_label_pool(
    path: Path,
    score: Sequence[str],
    prediction: Sequence[str],
    id: str | None,
    shown: Sequence[str],
    options: dict[str, Any],
) -> tuple[Pool, dict[str, Any]]:
    """The pool of all pairs of an item and a label, and what the labeller sees of each."""
    if prediction and len(prediction) != len(score):
        raise BadOption(
            f"there are {len(prediction)} --prediction and {len(score)} --score; give one for "
            "each label, in the same order"
        )
    names = dict.fromkeys((*score, *prediction, *shown, *([] if id is None else [id])))
    columns = read_columns(path, list(names))
    scores = {name: columns[name] for name in score}
    said = {name: columns[of] for name, of in zip(score, prediction, strict=False)}
    ids = None if id is None else columns[id]
    pool = Pool.multi_label(scores, said or None, ids=ids, **options)
    more = {name: np.tile(columns[name], len(score)) for name in shown}
    return pool, {**more, **pool.columns}
