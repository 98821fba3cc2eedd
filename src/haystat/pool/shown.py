"""What a notebook shows of a pool: a card; of items in memory also a picture and a table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from haystat.display.card import Card, number
from haystat.display.plots import plot_scores

if TYPE_CHECKING:
    from haystat.pool.base import AnyPool
    from haystat.pool.memory import Pool


def pool_card(pool: Pool, predictions: NDArray[Any]) -> Card:
    """The card with what is predicted; predictions (M, S) of the systems."""
    card = score_card(pool, f"{pool.n_strata} strata.")
    if len(pool.classes) != 2:
        return card
    positive = (predictions == 1).sum(axis=0).tolist()
    rows = tuple((*row, f"{n:,}") for row, n in zip(card.rows, positive, strict=True))
    return replace(card, heads=(*card.heads, "predicted positive"), rows=rows)


def score_card(pool: AnyPool, about: str) -> Card:
    """How many items there are, between which scores, of which classes, and something more."""
    heads = ("system", "lowest score", "highest score")
    rows = tuple(
        (name, number(low), number(high))
        for name, (low, high) in zip(pool.schema.systems, pool.schema.score_range, strict=True)
    )
    classes = f"Labels: {', '.join(map(str, pool.classes))}." if pool.classes else "Numbers."
    return Card(
        "Pool", f"{pool.size:,}", "items", heads=heads, rows=rows, facts=(f"{about} {classes}",)
    )


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
