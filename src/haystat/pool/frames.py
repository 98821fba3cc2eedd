"""Columns of pandas, Polars and Arrow tables as what a pool is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from haystat.core.arguments import brief, several_names
from haystat.errors import BadOption, UnknownName


def column_reader(frame: Any) -> Callable[[str], NDArray[Any]]:
    """A function that gives a column of a table by its name, (M,); raises if there is none."""
    import narwhals as nw  # only those who give a table wait for it
    from narwhals.exceptions import NarwhalsError

    try:
        table = nw.from_native(frame, eager_only=True)
    except (TypeError, ValueError, NarwhalsError):
        raise BadOption(
            f"a {type(frame).__name__} is no table in memory; give a pandas, Polars or Arrow "
            "table (collect a lazy one first)"
        ) from None

    def column(name: str) -> NDArray[Any]:
        if not isinstance(name, str) or name not in table.columns:
            raise UnknownName(f"no column {brief(name)}; the table has {table.columns}")
        return np.asarray(table[name].to_numpy())

    return column


def pool_arguments(
    frame: Any,
    score: str | Sequence[str],
    id: str | None,
    prediction: str | Sequence[str] | None,
    columns: Sequence[str],
    signals: Sequence[str] | Mapping[str, Any] = (),
) -> dict[str, Any]:
    """Scores, predictions, ids, columns and signals by name, as Pool takes them."""
    column = column_reader(frame)
    systems = list(several_names("score", score))
    predicted = list(several_names("prediction", prediction))
    if predicted and len(predicted) != len(systems):
        raise BadOption(
            f"{len(predicted)} prediction columns {predicted} for {len(systems)} score columns "
            f"{systems}; give one for each, in the same order"
        )
    return {
        "scores": {name: column(name) for name in systems},
        "predictions": {s: column(p) for s, p in zip(systems, predicted, strict=False)} or None,
        "ids": None if id is None else column(id),
        "columns": {name: column(name) for name in several_names("columns", columns)},
        "signals": _signals(signals, column) or None,
    }


def _signals(
    given: Sequence[str] | Mapping[str, Any], column: Callable[[str], NDArray[Any]]
) -> dict[str, Any]:
    """Columns by name, or {name: column or signal that is to be fitted}."""
    if not isinstance(given, Mapping):
        return {name: column(name) for name in several_names("signals", given)}
    return {name: one if hasattr(one, "fitted") else column(one) for name, one in given.items()}
