"""What a notebook shows of an evaluation or a study: a card, a picture, a table, a report."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from haystat.core.arguments import checked_path
from haystat.core.disk import write_whole
from haystat.core.wording import label_count
from haystat.display.card import Card
from haystat.display.plots import plot_course
from haystat.display.shown import Shown
from haystat.errors import BadOption, HaystatError

ENDINGS = {".html": "html", ".htm": "html", ".md": "md", ".json": "json"}


class ShownLoop(Shown):
    """The display of an evaluation or a study."""

    @abstractmethod
    def estimate(self, measure: Any = None, level: float = 0.95) -> Any:
        """The measure from all answers."""

    @abstractmethod
    def reading(self) -> Any:
        """The state as of now."""

    def plot(self, ax: Any = None, level: float = 0.95) -> Any:
        """Draw the estimate after each stage, as it stood then, with its interval.

        Of a measure with several components it is the first. Returns the axes.
        """
        from haystat.report.collect import convergence

        points = convergence(self, level)  # type: ignore[arg-type]
        first = [point["components"][0] for point in points]
        ends = np.array([(one["low"], one["high"]) for one in first])
        return plot_course(
            [point["labels"] for point in points],
            [one["value"] for one in first],
            ends,
            title=f"{level:.0%} interval after each stage",
            y_title=first[0]["name"] if first else "",
            ax=ax,
        )

    def report(self, path: str | Path, level: float = 0.95, examples: int = 5) -> None:
        """Write a report for the people who decide: .html, .md or .json.

        examples: how many mistakes of each kind it shows with their records.
        """
        from haystat.report import FORMATS, collect

        target = checked_path("the path of a report", path)
        name = ENDINGS.get(target.suffix.lower())
        if name is None:
            raise BadOption(f"the report goes to {target}; end the name in {', '.join(ENDINGS)}")
        write_whole(target, FORMATS[name](collect(self, level, examples)))  # type: ignore[arg-type]

    def label(
        self,
        show: Any = None,
        *,
        question: str = "",
        names: Sequence[str] = (),
        batch: int = 10,
    ) -> Any:
        """A widget to answer questions in Jupyter or VS Code, by keyboard.

        show: what people see of an item: a table or {column: values} in the order of the pool, or
        a function of the item; a study shows what it was made with. names: the labels as people
        see them. batch: questions that are drawn at a time. Answers count at once, so that
        `estimate()` in the next cell knows them.
        """
        from haystat.notebook.session import Session, record_of
        from haystat.notebook.widget import label_widget

        return label_widget(Session(self, record_of(self, show), question, names, batch))

    def __repr__(self) -> str:
        with self.reading() as state:
            about = f"{state.ledger.design}, {state.pool.size:,} items"
            n_labels = state.ledger.n_told
        kind = type(self).__name__
        return f"{kind}({self._found()}, {about}, {label_count(n_labels)})"

    def _found(self) -> str:
        """The estimate in a few letters."""
        try:
            estimate = self.estimate()
        except HaystatError:
            return "no estimate"
        if not estimate.scalar or np.isnan(estimate.values[0]):
            return str(estimate.measure)
        low, high = estimate.intervals[0]
        return f"{estimate.measure} {estimate.values[0]:.4g} [{low:.4g}, {high:.4g}]"

    def _card(self) -> Card:
        estimate = self.estimate()
        card: Card = estimate._card()
        with self.reading() as state:
            n_open = len(state.ledger.pending)
            about = f"Design {state.ledger.design}, pool of {state.pool.size:,} items."
        waiting = f" {n_open:,} questions are open." if n_open else ""
        changes: dict[str, Any] = {"facts": (*card.facts, about + waiting)}
        if not estimate.n_labels + estimate.n_known:
            changes |= {"bars": (), "lead": "", "warnings": ("No labels yet: ask() and tell().",)}
        return Card(**{**vars(card), **changes})

    def _columns(self) -> dict[str, list[Any]]:
        """The answers that count, and what the systems say about their items."""
        with self.reading() as state:
            told = [(state.ledger.item_of(q), answer) for q, answer in state.answers()]
            columns: dict[str, list[Any]] = {
                "item": [answer.item for _, answer in told],
                "label": [answer.label for _, answer in told],
                "annotator": [answer.who for _, answer in told],
                "time": [answer.time for _, answer in told],
            }
            outputs = state.pool.outputs(np.array([index for index, _ in told], dtype=np.int64))
            classes = np.array(state.pool.classes, dtype=object)
            for place, system in enumerate(state.pool.schema.systems):
                columns[f"{system}_score"] = outputs.scores[:, place].tolist()
                if len(classes):
                    predicted = classes[outputs.predictions[:, place]]
                    columns[f"{system}_prediction"] = predicted.tolist()
        return columns
