"""Shown: what every object of a notebook can do."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from haystat.core.arguments import checked_path
from haystat.core.disk import write_whole
from haystat.display.card import Card, card_html
from haystat.display.extras import needed
from haystat.errors import BadOption


class Shown:
    """A rich display in notebooks, a table, a picture and a page, all from one card and table."""

    @abstractmethod
    def _card(self) -> Card:
        """What a notebook shows."""

    @abstractmethod
    def _columns(self) -> Mapping[str, Any]:
        """Columns of the table, all of one length."""

    def _repr_html_(self) -> str:
        return card_html(self._card())

    def to_frame(self) -> Any:
        """A pandas table of what this holds."""
        with needed("to_frame", "pandas", "frames"):
            import pandas as pd
        return pd.DataFrame(dict(self._columns()))

    def report(self, path: str | Path) -> None:
        """Write what a notebook shows as one HTML page, which needs no network."""
        target = checked_path("the path of a report", path)
        if target.suffix.lower() not in (".html", ".htm"):
            raise BadOption(f"the report goes to {target}; end the name in .html")
        write_whole(target, card_html(self._card(), "card_page.html"))
