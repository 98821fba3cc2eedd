"""Labelled pools from files: Parquet, CSV, Feather and the HDF5 layout of the paper's pools."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from haystat.core.disk import existing_file
from haystat.core.tables import Columns, read_columns
from haystat.errors import BadOption
from haystat.pool.memory import Pool

PAPER_LABEL, PAPER_SCORE, PAPER_PREDICTION = "labels", "scores", "preds"
PAPER_SUFFIXES = (".h5", ".hdf5")


@dataclass(frozen=True)
class LabelledPool:
    """A pool and the true label of each of its items, (M,)."""

    name: str
    pool: Pool
    labels: NDArray[Any]


def read_pool(
    path: str | Path,
    label: str | None = None,
    scores: Sequence[str] = (),
    predictions: Sequence[str] = (),
    deviation: str | None = None,
    **options: Any,
) -> LabelledPool:
    """A pool from the named columns of a file; no other column is read.

    Several score columns are several systems, each with its column of predictions if any are
    given. In an HDF5 file of the paper the columns need no naming, and a system without
    predictions predicts a positive from score 0 on. `options` are those of Pool.
    `deviation` is the column of the standard deviations of predicted numbers.
    """
    path = existing_file(path)
    is_paper = path.suffix.lower() in PAPER_SUFFIXES
    label = label or (PAPER_LABEL if is_paper else None)
    scores = list(scores) or ([PAPER_SCORE] if is_paper else [])
    if label is None or not scores:
        raise BadOption("name the columns that hold the label and the score: --label, --score")
    if predictions and len(predictions) != len(scores):
        raise BadOption(
            f"{len(predictions)} prediction columns for {len(scores)} score columns; give one for "
            "each, in the same order"
        )
    optional = [PAPER_PREDICTION] if is_paper and not predictions else []
    further = [] if deviation is None else [deviation]
    columns = read_columns(path, [label, *scores, *predictions, *further], optional)
    if deviation is not None:
        options["deviations"] = columns[deviation]
    given = {s: columns[p] for s, p in zip(scores, predictions, strict=False)}
    if optional and len(scores) == 1:
        given = {scores[0]: _paper_predictions(columns, scores[0])}
    systems = {name: columns[name] for name in scores}
    return LabelledPool(path.stem, Pool(systems, given or None, **options), columns[label])


def _paper_predictions(columns: Columns, score: str) -> NDArray[Any]:
    if PAPER_PREDICTION in columns:
        return columns[PAPER_PREDICTION]
    return np.asarray(columns[score] >= 0, dtype=np.int64)
