"""A card: a title, one large number, intervals as bars, a small table, warnings; as HTML."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from haystat.display.render import environment


@dataclass(frozen=True)
class Bar:
    """A value and its interval, to be drawn on a range."""

    name: str
    value: float
    low: float
    high: float

    @property
    def interval(self) -> str:
        """The interval in words."""
        if math.isnan(self.low) or math.isnan(self.high):
            return ""
        return f"{number(self.low)} to {number(self.high)}"


@dataclass(frozen=True)
class Card:
    """What there is to say about an object.

    bars share the range `ends`. heads and rows are a table; text of the first column goes to the
    left, everything else to the right. picture is SVG.
    """

    title: str
    lead: str = ""
    aside: str = ""
    bars: tuple[Bar, ...] = ()
    ends: tuple[float, float] = (0.0, 1.0)
    heads: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    picture: str = ""
    facts: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def can_draw(self, bar: Bar) -> bool:
        """Whether all of a bar is known and there is a range to draw it on."""
        places = (bar.value, bar.low, bar.high, *self.ends)
        return all(map(math.isfinite, places)) and self.ends[0] < self.ends[1]

    def at(self, value: float) -> float:
        """Where a value lies on a bar of 220 units; beyond the ends, at the end."""
        low, high = self.ends
        return 2 + 216 * (min(max(value, low), high) - low) / (high - low)


def number(value: float) -> str:
    """A number for people: three digits after the point, or four that matter.

    >>> number(0.77312), number(0.00012), number(1234.5), number(float("nan"))
    ('0.773', '0.00012', '1,234', 'unknown')
    """
    if not math.isfinite(value):
        return "unknown" if math.isnan(value) else str(value)
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3f}" if size >= 0.001 or size == 0 else f"{value:.4g}"


def card_html(card: Card, template: str = "card.html") -> str:
    """The card, to stand in any page; by card_page.html as a page of its own."""
    return str(
        environment("haystat.display", number=number).get_template(template).render(card=card)
    )
