"""What a notebook shows of items in memory: a card, a picture, and a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from haystat.display.card import Card, number
from haystat.display.plots import plot_scores

if TYPE_CHECKING:
    from haystat.pool.memory import Pool


def pool_card(pool: Pool, predictions: NDArray[Any]) -> Card:
    """How many items there are, and between which scores; predictions (M, S) of the systems."""
    heads: tuple[str, ...] = ("system", "lowest score", "highest score")
    rows: list[tuple[Any, ...]] = [
        (name, number(low), number(high))
        for name, (low, high) in zip(pool.systems, pool.schema.score_range, strict=True)
    ]
    if len(pool.classes) == 2:
        heads = (*heads, "predicted positive")
        positive = (predictions == 1).sum(axis=0).tolist()
        rows = [(*row, f"{n:,}") for row, n in zip(rows, positive, strict=True)]
    classes = f"Labels: {', '.join(map(str, pool.classes))}." if pool.classes else "Numbers."
    facts = (f"{pool.n_strata} strata. {classes}",)
    return Card("Pool", f"{pool.size:,}", "items", heads=heads, rows=tuple(rows), facts=facts)


def plot_pool(pool: Pool, predictions: NDArray[Any], ax: Any) -> Any:
    """How many items have which score of the first system, and where it is cut; the axes."""
    above = pool.scores[predictions[:, 0] == 1, 0]
    two = len(pool.classes) == 2 and pool.schema.scored
    cut = float(above.min()) if two and len(above) else None
    title = f"{pool.systems[0]}: {pool.size:,} items"
    return plot_scores(pool.scores[:, 0], cut, title=title, ax=ax)


def pool_columns(pool: Pool, predictions: NDArray[Any]) -> dict[str, Any]:
    """One row an item: its id, scores, predictions (M, S), stratum and further facts."""
    columns: dict[str, Any] = {"id": pool.ids}
    for index, name in enumerate(pool.systems):
        columns[name if name not in columns else f"{name}_score"] = pool.scores[:, index]
    if pool.classes:
        for index, name in enumerate(pool.systems):
            label = np.array(pool.classes, dtype=object)[predictions[:, index]]
            columns[f"{name}_prediction"] = label
    return {**columns, "stratum": pool.stratum, **pool.columns}
